#ifndef CACHEINF_SPARSE_OPS_HOMOGRAPHY_H_
#define CACHEINF_SPARSE_OPS_HOMOGRAPHY_H_

#include "sparse_ops/window.h"

// Where the pixels of one picture lie in another one of the same plane, and the same for maps of
// lower resolution. All of it is IEEE double precision, every product, sum and quotient rounded on
// its own, in the order that the equations have from left to right.

namespace cacheinf {

// (x, y) goes to (X / W, Y / W), where (X, Y, W) = m (x, y, 1). A column x and a row y are counted
// from the centre of the first pixel. Points with W <= 0 go nowhere; so a common factor of all
// entries does not matter, unless it is negative.
struct Homography {
  double m[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

  // Whether the entries are exactly those of the identity.
  bool IsIdentity() const;
};

// adj(m) / det(m): of the identity the identity, exactly. Where there is none, no entry is finite.
Homography Inverse(const Homography& homography);

// Where the pixels of a map stand along one axis of the picture that the map was computed from:
// index i stands at i stride + offset.
struct AxisPlacement {
  double stride = 1;
  double offset = 0;
};

// The placement of an operator's output, of which each index stands in the middle of the window
// that it reads of the input.
// REQUIRES: a window of one of the kinds that a local operator has.
AxisPlacement PlaceOutput(const AxisPlacement& input, const AxisWindow& window);

// The homography between two maps of which `picture` is that between their pictures:
//
//            | 1/sx   0   -ox/sx |     | sx   0   ox |
//   S⁻¹ M S = |  0   1/sy  -oy/sy |  M  |  0  sy   oy |     sx, ox those of columns, sy, oy of rows
//            |  0    0      1    |     |  0   0    1 |
//
// computed as M S =: A and then (A0 - ox A2) / sx, (A1 - oy A2) / sy and A2, row by row. Of the
// identity this is the identity, exactly; a shift by whole strides becomes one by whole pixels.
Homography OfMap(const Homography& picture, const AxisPlacement& rows,
                 const AxisPlacement& columns);

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_HOMOGRAPHY_H_
