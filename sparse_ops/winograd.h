#ifndef CACHEINF_SPARSE_OPS_WINOGRAD_H_
#define CACHEINF_SPARSE_OPS_WINOGRAD_H_

#include <array>

#include "sparse_ops/specs.h"

// Winograd's F(4x4, 3x3) of a plain 3x3 convolution: ConvArgs up to rounding, with a quarter of the
// multiplications. It has bits of its own, the same in every family of kernels that has it. As in
// ops.h, with a and b the points, aa = a a, bb = b b, which are exact:
//
// Tiles of 4x4 pixels cut the output from row 0 and column 0. For each tile and input channel, the
// 6x6 input pixels that the tile reads (outside the picture: +0) are transformed, first every
// column, then every row, from x to
//   fma(aa bb, x0, fma(-(aa + bb), x2, x4)),
//   fma(±a, fma(-bb, x1, x3), fma(-bb, x2, x4)),     + first
//   fma(±b, fma(-aa, x1, x3), fma(-aa, x2, x4)),
//   fma(aa bb, x1, fma(-(aa + bb), x3, x5)).
// At each of the 36 places acc = fma(transformed input, weight, acc) from +0, channels of the group
// ascending. These are transformed back, first every column, then every row, from m to
//   (m0 + (m1 + m2)) + (m3 + m4),
//   fma(a, m1 - m2, b (m3 - m4)),
//   fma(aa, m1 + m2, bb (m3 + m4)),
//   fma(a aa, m1 - m2, fma(b bb, m3 - m4, m5)),
// which are the sums that ConvArgs begins with.

namespace cacheinf {

// Output pixels per side of a tile, input pixels per side that it reads, and places of a
// transformed patch.
inline constexpr int kWinogradTile = 4;
inline constexpr int kWinogradPatch = 6;
inline constexpr int kWinogradPlaces = 36;

// The points besides infinity are 0, ±kWinogradPoints[0] and ±kWinogradPoints[1]. Near sqrt(1/2)
// and sqrt(2) rounding errors are smallest; with so few bits all constants of the input and output
// transforms are exact.
inline constexpr double kWinogradPoints[2] = {11.0 / 16, 23.0 / 16};

// 3x3, stride 1, not dilated or transposed.
bool CanBeWinograd(const ConvSpec& spec);

// The weights of the 36 places, row by row, from the 3x3 of a pair of channels: computed in double
// precision, then rounded.
std::array<float, kWinogradPlaces> WinogradWeights(const float* taps);

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_WINOGRAD_H_
