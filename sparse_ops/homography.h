#ifndef CACHEINF_SPARSE_OPS_HOMOGRAPHY_H_
#define CACHEINF_SPARSE_OPS_HOMOGRAPHY_H_

#include "sparse_ops/window.h"

// Where the pixels of one picture lie in another picture of the same plane, and the same for maps
// of lower resolution. All in IEEE double precision; each product, sum and quotient is rounded
// separately, in the order of the equations from left to right.

namespace cacheinf {

// (x, y) goes to (X / W, Y / W), where (X, Y, W) = m (x, y, 1). Column x and row y count from the
// centre of the first pixel. Points with W <= 0 go nowhere, so a common positive factor of all
// entries does not matter.
struct Homography {
  double m[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

  // Whether the entries are exactly those of the identity.
  bool IsIdentity() const;
};

// adj(m) / det(m); the identity's inverse is exactly itself. Without an inverse no entry is finite.
Homography Inverse(const Homography& homography);

// Where a map's pixels lie along one axis of the picture that it was computed from: index i lies at
// i stride + offset.
struct AxisPlacement {
  double stride = 1;
  double offset = 0;
};

// The placement of an operator's output: each index lies in the middle of the input window that it
// reads. REQUIRES: a window of a kind that local operators have.
AxisPlacement PlaceOutput(const AxisPlacement& input, const AxisWindow& window);

// The homography between two maps; `picture` is the one between their pictures:
//
//            | 1/sx   0   -ox/sx |     | sx   0   ox |
//   S⁻¹ M S = |  0   1/sy  -oy/sy |  M  |  0  sy   oy |     sx, ox those of columns, sy, oy of rows
//            |  0    0      1    |     |  0   0    1 |
//
// computed as M S =: A and then (A0 - ox A2) / sx, (A1 - oy A2) / sy and A2, row by row. The
// identity stays exactly the identity; a shift by whole strides becomes one by whole pixels.
Homography OfMap(const Homography& picture, const AxisPlacement& rows,
                 const AxisPlacement& columns);

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_HOMOGRAPHY_H_
