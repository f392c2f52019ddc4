#include "profiler/slice_timer.h"

#include <algorithm>
#include <stdexcept>

#include "common/backend/shadow.h"
#include "common/exec/slice.h"
#include "common/model/graph/geometry.h"
#include "common/pair/shared_settings.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

constexpr int64_t kMostFloats = 1 << 19;

}  // namespace

SliceTimer::SliceTimer(const ModelState& state, Backend& backend, SliceCodec codec,
                       const Clock& clock)
    : state_(state), backend_(backend), codec_(codec), clock_(clock) {
  for (const Value& value : state.graph().values) {
    if (value.is_constant()) continue;
    elsewhere_floats_ = std::max(elsewhere_floats_, static_cast<size_t>(ElementCount(value.shape)));
  }
  elsewhere_ = backend.Allocate(elsewhere_floats_);
}

Range SliceTimer::SomeRows(ValueId value, int height) {
  const int64_t row_floats =
      std::max<int64_t>(1, ElementCount(state_.graph().value(value).shape) / height);
  const int rows = static_cast<int>(std::clamp<int64_t>(kMostFloats / row_floats, 1, height));
  const int begin = std::uniform_int_distribution<int>(0, height - rows)(random_);
  return {begin, begin + rows};
}

CodedSlice SliceTimer::Time(ValueId value, ConstMaskView pixels, int most_scores) {
  const Range rows = SomeRows(value, pixels.height);
  const ConstMaskView mask = CutRows(pixels, rows);
  const TensorView from = state_.view(value);
  TensorView to = from;
  to.data = elsewhere_.get();
  if (from.rank == 4) to = ShadowOf(from, elsewhere_.get());
  Mask taken(mask.height, mask.width);

  slice_.clear();
  coded_.clear();
  const auto begin = clock_.Now();
  AppendSlice(backend_, from, value, rows, mask, &slice_);
  if (most_scores > 0) KeepBestScores(most_scores, &slice_);
  AppendCodedSlice(codec_, slice_, &coded_);
  const auto middle = clock_.Now();
  const char* fault = DecodeSlice(coded_, slice_.size(), &decoded_);
  if (fault == nullptr) fault = ReadSlice(backend_, decoded_, value, rows, taken, to);
  const auto end = clock_.Now();
  if (fault != nullptr) throw std::logic_error(fault);

  const double times = static_cast<double>(pixels.height) / rows.size();
  return {static_cast<double>(CountActive(mask)) / static_cast<double>(mask.pixel_count()),
          times * static_cast<double>(coded_.size()), times * Milliseconds(middle - begin),
          times * Milliseconds(end - middle)};
}

CodedSlice SliceTimer::TimeWhole(ValueId value, int most_scores) {
  const Value& what = state_.graph().value(value);
  Mask all(HeightOf(what), WidthOf(what));
  SetAll(all);
  return Time(value, all, most_scores);
}

}  // namespace cacheinf
