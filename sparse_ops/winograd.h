#ifndef CACHEINF_SPARSE_OPS_WINOGRAD_H_
#define CACHEINF_SPARSE_OPS_WINOGRAD_H_

// What everybody must know of Winograd's F(4x4, 3x3), whoever computes it (cpu/winograd.h).

namespace cacheinf {

// Output pixels per side of a tile. Tiles begin at multiples of it.
inline constexpr int kWinogradTile = 4;

// The points besides infinity are 0, ±kWinogradPoints[0] and ±kWinogradPoints[1]. Near sqrt(1/2)
// and sqrt(2) rounding errors are smallest; with so few bits all constants of the input and output
// transforms are exact.
inline constexpr double kWinogradPoints[2] = {11.0 / 16, 23.0 / 16};

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_WINOGRAD_H_
