#ifndef CACHEINF_TESTS_BENCH_CHANGED_BYTES_H_
#define CACHEINF_TESTS_BENCH_CHANGED_BYTES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "common/exec/model_state.h"

// What a link would have to carry of the values that a state keeps.

namespace cacheinf {

// Raw, and through zstd at its fastest level. int8 is a number's share of the value's largest.
inline constexpr std::array<std::string_view, 6> kValueCodecs = {
    "fp32", "fp16", "int8", "zstd-fp32", "zstd-fp16", "zstd-int8"};

// Some pixels of a value in one codec, measured with both ends on one thread of this machine.
struct CodedValue {
  int64_t bytes = 0;  // with the mask of the pixels (sparse_ops/mask/wire.h)
  double encode_ms = 0;
  double decode_ms = 0;
};
using CodedForms = std::array<CodedValue, kValueCodecs.size()>;

class ChangedBytes {
 public:
  // For these values, which the state keeps. It must outlive this.
  ChangedBytes(const ModelState& state, std::vector<ValueId> values);
  ~ChangedBytes();
  ChangedBytes(const ChangedBytes&) = delete;
  ChangedBytes& operator=(const ChangedBytes&) = delete;

  void Remember();

  // One per value of the graph: all channels of the pixels that have changed in any bit since
  // Remember. A value that is not a map is one pixel.
  std::vector<CodedForms> Encode();

 private:
  struct Codecs;

  CodedForms EncodeValue(ValueId value);

  const ModelState& state_;
  std::vector<ValueId> values_;
  std::vector<std::vector<float>> remembered_;  // one per value of the graph
  std::vector<float> changed_;
  std::unique_ptr<Codecs> codecs_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_CHANGED_BYTES_H_
