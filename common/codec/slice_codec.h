#ifndef CACHEINF_COMMON_CODEC_SLICE_CODEC_H_
#define CACHEINF_COMMON_CODEC_SLICE_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/words.h"

// Slices (common/exec/slice.h) in fewer bytes.
//
//   bytes 0..1    'E', version 1
//   byte 2        the codec
//   byte 3        the form of its numbers: 0, as the codec has them; 1, a byte each
//   bytes 4..7    bytes of the slice before its numbers
//   bytes 8..11   how many numbers the slice has
//   then          the slice before its numbers
//   then          its numbers
//
// All little-endian. If all numbers of a slice are whole and from 0 to 255, as in class maps,
// codecs with zstd store a byte each, at zstd's level 7; they come back bit by bit.

namespace cacheinf {

enum class SliceCodec : uint8_t {
  kRaw,
  kFp16,  // see float16.h
  // zstd's quickest level, over all numbers' first bytes, then their second ones, …: leaves 73 to
  // 81 % of the bytes that yolov5n and espnet keep, against 80 to 87 % without this order. (Half of
  // squeezenet's numbers are 0; there both leave 50 to 53 %.)
  kZstd,
  kFp16Zstd,
};
constexpr Words<4> WordsOf(SliceCodec) { return {"raw", "fp16", "zstd", "fp16-zstd"}; }

constexpr bool IsLossless(SliceCodec codec) {
  return codec == SliceCodec::kRaw || codec == SliceCodec::kZstd;
}

// Returns where a slice's numbers begin. REQUIRES: a slice that AppendSlice wrote.
size_t NumbersBegin(std::span<const uint8_t> slice);

// Adds a coded slice to `bytes`. REQUIRES: a slice that AppendSlice wrote.
void AppendCodedSlice(SliceCodec codec, std::span<const uint8_t> slice,
                      std::vector<uint8_t>* bytes);

// Replaces `slice`, by at most `most_bytes`. Trusts no byte. Returns null, or one sentence on what
// is wrong, after which `slice` may hold anything. (ReadSlice checks whether it is a slice.)
const char* DecodeSlice(std::span<const uint8_t> bytes, size_t most_bytes,
                        std::vector<uint8_t>* slice);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CODEC_SLICE_CODEC_H_
