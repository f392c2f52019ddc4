#ifndef CACHEINF_TESTS_CODEC_SLICES_H_
#define CACHEINF_TESTS_CODEC_SLICES_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "common/backend/host/reference_backend.h"
#include "common/codec/slice_codec.h"
#include "common/exec/slice.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {

// Rows 2 and 3 of a map of 5 channels and 6 × 7 pixels, with the numbers of their first pixels.
inline std::vector<uint8_t> SliceOf(int pixels, const std::vector<float>& numbers) {
  const ConstTensorView map = {numbers.data(), 4, {1, 5, 6, 7}, {210, 1, 35, 5}};
  Mask mask(2, 7);
  for (int i = 0; i < pixels; ++i) mask.view().Set(i / 7, i % 7);
  ReferenceBackend backend;
  std::vector<uint8_t> bytes;
  AppendSlice(backend, map, /*id=*/3, {2, 4}, mask, &bytes);
  return bytes;
}

inline std::vector<uint8_t> SliceOf(int pixels, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> number;
  std::vector<float> numbers(5 * 6 * 7);
  for (float& value : numbers) value = number(random);
  return SliceOf(pixels, numbers);
}

// A slice as a class map gives it.
inline std::vector<uint8_t> SliceOfClasses(int pixels, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> numbers(5 * 6 * 7);
  for (float& value : numbers) value = static_cast<float>(random() % 256);
  return SliceOf(pixels, numbers);
}

// Takes what may be a slice in the place of SliceOf's. Returns what is wrong, or "".
inline std::string TakeSeedSlice(const std::vector<uint8_t>& slice) {
  std::vector<float> numbers(5 * 6 * 7);
  const TensorView map = {numbers.data(), 4, {1, 5, 6, 7}, {210, 1, 35, 5}};
  Mask mask(2, 7);
  ReferenceBackend backend;
  const char* const fault = ReadSlice(backend, slice, /*id=*/3, {2, 4}, mask, map);
  return fault == nullptr ? "" : fault;
}

inline std::vector<std::string> CodedSliceSeeds() {
  std::vector<std::string> seeds;
  for (size_t codec = 0; codec < WordsOf(SliceCodec()).size(); ++codec) {
    for (const auto& slice : {SliceOf(0, 1), SliceOf(5, 1), SliceOf(14, 1), SliceOfClasses(9, 1)}) {
      std::vector<uint8_t> bytes;
      AppendCodedSlice(static_cast<SliceCodec>(codec), slice, &bytes);
      seeds.emplace_back(bytes.begin(), bytes.end());
    }
  }
  return seeds;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_CODEC_SLICES_H_
