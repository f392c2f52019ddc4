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
// All little-endian. Whole numbers from 0 to 255, as class maps hold, are a byte each under codecs
// with zstd, if all numbers of the slice are such; they come back with the bits that they had. They
// take zstd's seventh level.

namespace cacheinf {

enum class SliceCodec : uint8_t {
  kRaw,
  kFp16,  // as float16.h says
  // zstd's quickest level, of all numbers' first bytes, then their second ones, …: leaves 73 to 81
  // % of what yolov5n and espnet keep; of numbers as they lie, 80 to 87 %. (Of squeezenet's, half
  // of which are 0, either leaves 50 to 53 %.)
  kZstd,
  kFp16Zstd,
};
constexpr Words<4> WordsOf(SliceCodec) { return {"raw", "fp16", "zstd", "fp16-zstd"}; }

constexpr bool IsLossless(SliceCodec codec) {
  return codec == SliceCodec::kRaw || codec == SliceCodec::kZstd;
}

// Where a slice's numbers begin. REQUIRES: what AppendSlice wrote.
size_t NumbersBegin(std::span<const uint8_t> slice);

// Adds a coded slice to `bytes`. REQUIRES: what AppendSlice wrote.
void AppendCodedSlice(SliceCodec codec, std::span<const uint8_t> slice,
                      std::vector<uint8_t>* bytes);

// Replaces `slice`, which takes at most so many bytes. Trusts no byte: null, or one sentence on
// what is wrong; then anything may stand in `slice`. (Whether it is a slice, ReadSlice says.)
const char* DecodeSlice(std::span<const uint8_t> bytes, size_t most_bytes,
                        std::vector<uint8_t>* slice);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CODEC_SLICE_CODEC_H_
