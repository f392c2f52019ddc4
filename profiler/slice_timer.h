#ifndef CACHEINF_PROFILER_SLICE_TIMER_H_
#define CACHEINF_PROFILER_SLICE_TIMER_H_

#include <cstdint>
#include <random>
#include <vector>

#include "common/backend/backend.h"
#include "common/base/clock.h"
#include "common/codec/slice_codec.h"
#include "common/exec/model_state.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// What it takes for a value's pixels to cross, scaled to all of its rows.
struct CodedSlice {
  double share = 0;  // of its pixels
  double bytes = 0;
  double encode_ms = 0;
  double decode_ms = 0;
};

// Codes what a state stores as slices, and decodes it into unused memory. Takes only some rows of
// large values, which stand for all.
class SliceTimer {
 public:
  // All arguments must outlive this.
  SliceTimer(const ModelState& state, Backend& backend, SliceCodec codec, const Clock& clock);

  // REQUIRES: a kept value, and a mask of its size.
  CodedSlice Time(ValueId value, ConstMaskView pixels, int most_scores = 0);
  // `most_scores`: see KeepBestScores; 0: all numbers.
  CodedSlice TimeWhole(ValueId value, int most_scores = 0);

 private:
  Range SomeRows(ValueId value, int height);

  const ModelState& state_;
  Backend& backend_;
  const SliceCodec codec_;
  const Clock& clock_;
  std::mt19937 random_{1};
  Backend::Memory elsewhere_;
  size_t elsewhere_floats_ = 0;
  std::vector<uint8_t> slice_;
  std::vector<uint8_t> coded_;
  std::vector<uint8_t> decoded_;
};

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_SLICE_TIMER_H_
