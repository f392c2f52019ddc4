#ifndef CACHEINF_COMMON_CODEC_FLOAT16_H_
#define CACHEINF_COMMON_CODEC_FLOAT16_H_

#include <cstddef>
#include <cstdint>

// IEEE 754's binary16 in integers and exact sums, so that every machine gives the same bits. Rounds
// a float to the nearest half, ties to even; finite numbers beyond the largest half, 65504, become
// that; a NaN becomes 0x7e00 with its sign.

namespace cacheinf {

// Neither pointer needs to be aligned.
void ToHalves(const uint8_t* floats, size_t count, uint8_t* halves);
void FromHalves(const uint8_t* halves, size_t count, uint8_t* floats);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CODEC_FLOAT16_H_
