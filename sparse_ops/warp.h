#ifndef CACHEINF_SPARSE_OPS_WARP_H_
#define CACHEINF_SPARSE_OPS_WARP_H_

#include <cstdint>

#include "sparse_ops/homography.h"
#include "sparse_ops/views.h"

// Old values for a map of the new frame after the camera moved (Eq. 6), fetched from the last
// frame's map through a homography. reference/warp.cc is the definition as code.

namespace cacheinf {

enum class Interpolation : uint8_t { kNearest, kBilinear };

// Positions are counted in these parts of a pixel.
constexpr int kPositionParts = 1024;

// What a wanted pixel (x, y) of `to` gets from `from`, a map with the same batch, height, width and
// channels. With (m, all in doubles, every operation rounded separately, so that vectors, rows and
// threads do not matter)
//
//   X = m00 x + (m01 y + m02)      U = 1024 (X / W) + 512.5
//   Y = m10 x + (m11 y + m12)      V = 1024 (Y / W) + 512.5
//   W = m20 x + (m21 y + m22)
//
// the pixel is in view if 0 < W < infinity, 0 <= U < 1024 width and 0 <= V < 1024 height: if its
// source lies on a pixel of `from`. Any m is valid: with NaN, infinite or huge numbers a pixel is
// out of view. Then u = floor(U) and v = floor(V) are its source in 1024ths of a pixel, counted
// from the border of the first one, and
//
// kNearest: the value is from(u / 1024, v / 1024), rounded down.
// kBilinear: with u' = u - 512 bounded to [0, 1024 (width - 1)], column x0 = u' / 1024 rounded down
//   and weight wx = (u' % 1024) / 1024; rows likewise:
//     row(y) = mix(from(x0, y), from(x0 + 1, y), wx);   value = mix(row(y0), row(y0 + 1), wy)
//     mix(a, b, w) = w == 0 ? a : fma(b, w, a (1 - w))   in single precision
//   A pixel of weight 0 is not read. So a shift by whole pixels copies bits.
//
// With a batch of 0 (maps without images) it touches no numbers, and only finds the pixels out of
// view.
//
// REQUIRES: height and width below 2^20; masks as large as the maps. No maps or masks overlap.
struct WarpArgs {
  Interpolation interpolation = Interpolation::kBilinear;
  Homography from_of_to;  // of these maps (OfMap): to a pixel of `to`, its place in `from`
  ConstImageView from;
  ImageView to;
  ConstMaskView wanted;  // all other pixels of `to` stay unchanged
  MaskView out_of_view;  // sets those wanted, clears none; not asked for if words is null
};

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_WARP_H_
