#include "tests/gpu/timing.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "common/backend/forwarding_backend.h"
#include "common/exec/model_state.h"
#include "common/model/graph/cost.h"
#include "sparse_ops/mask/mask.h"
#include "sparse_ops/view_transforms.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double Quantile(std::vector<double> numbers, double share) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[static_cast<size_t>(share * static_cast<double>(numbers.size() - 1))];
}

// Inputs of two frames that differ in a rectangle in the middle, and masks of that.
class TwoFrames {
 public:
  TwoFrames(const Graph& graph, double active) {
    frames_[0] = RandomInputs(graph, 1);
    frames_[1] = RandomInputs(graph, 2);
    const double side = std::sqrt(active);
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      const Shape& shape = frames_[0][i].shape();
      const bool is_map = shape.size() == 4;
      const int height = is_map ? static_cast<int>(shape[2]) : 1;
      const int width = is_map ? static_cast<int>(shape[3]) : 1;
      masks_.emplace_back(height, width);
      const auto middle = [side](int size) {
        const int length = static_cast<int>(std::lround(side * size));
        return Range{(size - length) / 2, (size - length) / 2 + length};
      };
      if (is_map) SetRectangle(middle(height), middle(width), masks_.back());
      CopyWhereUnchanged(i, is_map);
    }
    for (const Mask& mask : masks_) views_.emplace_back(mask.view());
  }

  const std::vector<Tensor>& inputs(int frame) const {
    return frames_[static_cast<size_t>(frame % 2)];
  }
  const std::vector<ConstMaskView>& changed() const { return views_; }

 private:
  void CopyWhereUnchanged(size_t input, bool is_map) {
    const Tensor& before = frames_[0][input];
    Tensor& after = frames_[1][input];
    if (!is_map) {
      after = before;
      return;
    }
    const Shape& shape = before.shape();
    std::vector<float> numbers(after.data(), after.data() + after.count());
    const ConstMaskView mask = masks_[input];
    for (int64_t i = 0; i < after.count(); ++i) {
      const auto y = static_cast<int>(i / shape[3] % shape[2]);
      const auto x = static_cast<int>(i % shape[3]);
      if (!mask.Test(y, x)) numbers[static_cast<size_t>(i)] = before.data()[i];
    }
    after = Tensor(shape, std::move(numbers));
  }

  std::array<std::vector<Tensor>, 2> frames_;
  std::vector<Mask> masks_;
  std::vector<ConstMaskView> views_;
};

// Where outputs are read to, in logical order, as decoders want them.
class Answer {
 public:
  explicit Answer(const Graph& graph) {
    for (const ValueId output : graph.outputs) {
      const Shape& shape = graph.value(output).shape;
      numbers_.emplace_back(static_cast<size_t>(ElementCount(shape)));
      const auto rank = static_cast<int>(shape.size());
      views_.push_back(PackedView(numbers_.back().data(), shape.data(), rank, rank - 1));
    }
  }

  void Read(const ModelState& state) {
    for (size_t i = 0; i < views_.size(); ++i) state.GetOutput(i, views_[i]);
  }

 private:
  std::vector<std::vector<float>> numbers_;
  std::vector<TensorView> views_;
};

// Calls run(i) for `seconds`, at least 13 times. Returns what each took but the first three.
template <typename Run>
std::vector<double> TimesOf(double seconds, const Run& run) {
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < 13 || MillisecondsSince(begin) < seconds * 1e3; ++i) {
    const Clock::time_point frame_begin = Clock::now();
    run(i);
    if (i >= 3) times.push_back(MillisecondsSince(frame_begin));
  }
  return times;
}

FrameTime RowOf(const std::vector<double>& times, double active, std::string policy, double work) {
  return {active,
          std::move(policy),
          Quantile(times, 0.5),
          Quantile(times, 0.95),
          work,
          static_cast<int>(times.size())};
}

// A view of one number.
template <typename T>
BasicTensorView<T> FirstNumber(const BasicTensorView<T>& view, T* data) {
  BasicTensorView<T> first = view;
  first.data = data;
  first.dims.fill(1);
  return first;
}

// Times each operator over many runs.
class RepeatingBackend final : public ForwardingBackend {
 public:
  RepeatingBackend(std::unique_ptr<Backend> backend, std::vector<double>& times)
      : ForwardingBackend(std::move(backend)), times_(times) {}

  void Run(int handle, std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           Range rows) override {
    const double few = Time(handle, inputs, outputs, rows, kFew);
    const double many = Time(handle, inputs, outputs, rows, kFew + kMore);
    times_.resize(std::max(times_.size(), static_cast<size_t>(handle) + 1));
    times_[static_cast<size_t>(handle)] = std::max(0.0, (many - few) / kMore);
  }

 private:
  static constexpr int kFew = 5;
  static constexpr int kMore = 30;

  double Time(int handle, std::span<const ConstTensorView> inputs,
              std::span<const TensorView> outputs, Range rows, int runs) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < runs; ++i) backend_->Run(handle, inputs, outputs, rows);
    float number = 0.0f;
    backend_->CopyOut(FirstNumber<const float>(outputs[0], outputs[0].data),
                      FirstNumber<float>(outputs[0], &number));
    return MillisecondsSince(begin);
  }

  std::vector<double>& times_;
};

FrameTime TimeWhole(ModelState& state, double seconds) {
  const TwoFrames whole(state.graph(), 1.0);
  Answer answer(state.graph());
  const auto run = [&](int frame) {
    SetInputs(state, whole.inputs(frame));
    state.Run();
    answer.Read(state);
  };
  return RowOf(TimesOf(seconds, run), 1.0, "dense", 1.0);
}

}  // namespace

DenseTime TimeDenseFrames(const Graph& graph, const Place& place, double seconds) {
  const auto state = MakeState(graph, place.MakeBackend());
  const FrameTime frame = TimeWhole(*state, seconds);
  return {frame, place.DeviceBytes(state->backend())};
}

std::vector<FrameTime> TimeFrames(const Graph& graph, const Place& place, double seconds) {
  std::vector<FrameTime> rows;
  const auto state = MakeState(graph, place.MakeBackend(), {{}, Keep::kAll});
  Answer answer(graph);
  rows.push_back(TimeWhole(*state, seconds));
  for (const double active : {0.02, 0.1, 0.3, 0.5, 1.0}) {
    const TwoFrames frames(graph, active);
    for (const auto kind : {ChangePolicy::Kind::kFixed, ChangePolicy::Kind::kExact}) {
      ChangePolicy policy;
      policy.kind = kind;
      SetInputs(*state, frames.inputs(1));
      state->Run();
      ChangedWork work;
      const std::vector<double> times = TimesOf(seconds, [&](int frame) {
        SetInputs(*state, frames.inputs(frame));
        work = InsideState::RunChanged(*state, frames.changed(), policy);
        answer.Read(*state);
      });
      rows.push_back(RowOf(times, active, kind == ChangePolicy::Kind::kFixed ? "fixed" : "exact",
                           work.share()));
    }
  }
  return rows;
}

std::vector<OperatorTime> TimeOperators(const Graph& graph, const Place& place) {
  std::vector<double> times;
  const auto state =
      MakeState(graph, std::make_unique<RepeatingBackend>(place.MakeBackend(), times), {});
  SetInputs(*state, RandomInputs(graph, 1));
  state->Run();
  std::vector<OperatorTime> rows;
  // Handles count from 0 in graph order.
  for (size_t i = 0; i < graph.operators.size(); ++i) {
    const Operator& op = graph.operators[i];
    rows.push_back({&op, i < times.size() ? times[i] : 0.0, CostOf(graph, op).multiply_adds});
  }
  return rows;
}

}  // namespace cacheinf
