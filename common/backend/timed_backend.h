#ifndef CACHEINF_COMMON_BACKEND_TIMED_BACKEND_H_
#define CACHEINF_COMMON_BACKEND_TIMED_BACKEND_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/backend/forwarding_backend.h"
#include "common/base/clock.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {

// How long the operators of a frame took, by OpId.
struct OperatorTimes {
  std::vector<double> run_ms;  // the runs alone
  std::vector<double> lap_ms;  // since the end of the last run, so including masks and the like
  double before_ms = 0;        // from Begin to the first run
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds lap_begin{0};
  bool has_run = false;
  size_t first = 0;  // operator that ran
  size_t last = 0;

  // Whether to count the pixels that changed frames compute; the time for it counts for no
  // operator.
  bool counts_pixels = false;
  std::vector<int64_t> pixels;

  void Begin(std::chrono::nanoseconds now) {
    run_ms.assign(run_ms.size(), 0.0);
    lap_ms.assign(lap_ms.size(), 0.0);
    pixels.assign(run_ms.size(), 0);
    before_ms = 0;
    begin = lap_begin = now;
    has_run = false;
  }
};

// Measures how long operators take.
class TimedBackend final : public ForwardingBackend {
 public:
  // The clock must outlive this.
  TimedBackend(std::unique_ptr<Backend> backend, std::shared_ptr<OperatorTimes> times,
               const Clock& clock)
      : ForwardingBackend(std::move(backend)), clock_(clock), times_(std::move(times)) {}

  int Prepare(const Graph& graph, const Operator& op) override {
    const int handle = backend_->Prepare(graph, op);
    if (operators_.size() <= static_cast<size_t>(handle)) operators_.resize(handle + 1);
    operators_[handle] = static_cast<size_t>(&op - graph.operators.data());
    times_->run_ms.resize(graph.operators.size());
    times_->lap_ms.resize(graph.operators.size());
    return handle;
  }
  void Run(int handle, std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           Range rows) override {
    const auto begin = clock_.Now();
    backend_->Run(handle, inputs, outputs, rows);
    Note(operators_[handle], begin);
  }
  void Run(int handle, std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           PixelSets& sets, const PixelRunArgs& args) override {
    if (args.is_check) return backend_->Run(handle, inputs, outputs, sets, args);
    if (times_->counts_pixels) CountPixels(operators_[handle], sets, args.active);
    const auto begin = clock_.Now();
    backend_->Run(handle, inputs, outputs, sets, args);
    Note(operators_[handle], begin);
  }

 private:
  void CountPixels(size_t op, const PixelSets& sets, PixelSet active) {
    const auto begin = clock_.Now();
    words_.resize(std::max(words_.size(), MaskWords(active.height, active.width)));
    const MaskView mask(words_.data(), active.height, active.width);
    sets.Read(active, mask);
    times_->pixels[op] += CountActive(mask);
    const auto counting = clock_.Now() - begin;
    times_->lap_begin += counting;
    if (!times_->has_run) times_->begin += counting;
  }

  void Note(size_t op, std::chrono::nanoseconds begin) {
    const auto end = clock_.Now();
    if (!times_->has_run) {
      times_->before_ms = Milliseconds(begin - times_->begin);
      times_->lap_begin = begin;
      times_->has_run = true;
      times_->first = op;
    }
    times_->last = op;
    times_->run_ms[op] += Milliseconds(end - begin);
    times_->lap_ms[op] += Milliseconds(end - times_->lap_begin);
    times_->lap_begin = end;
  }

  const Clock& clock_;
  std::shared_ptr<OperatorTimes> times_;
  std::vector<size_t> operators_;  // by handle
  std::vector<uint64_t> words_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_TIMED_BACKEND_H_
