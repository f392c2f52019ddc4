#include "common/exec/executor.h"

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/exec/active_masks.h"
#include "common/exec/cache_choice.h"
#include "common/exec/needed_pixels.h"
#include "common/exec/operator_call.h"
#include "common/exec/stages.h"
#include "common/exec/stored_check.h"
#include "common/exec/value_masks.h"
#include "common/model/cost.h"

namespace cacheinf {
namespace {

// An operator, ready to run.
struct Step {
  int handle = kNone;  // kNone: done by placement
  Range all_rows;
  bool is_local = false;
  const Stage* stage = nullptr;  // of which it is the root
  int64_t multiply_adds = 0;
  int64_t pixels = 1;  // of its output, in one image
  std::vector<ConstTensorView> inputs;
  std::vector<TensorView> outputs;
};

int64_t PixelsIn(const ActivePixels& runs) {
  return runs.pixels_before[runs.run_count] - runs.pixels_before[0];
}

// Whether RunChanged looks at what it has stored.
#ifdef NDEBUG
constexpr bool kChecksEveryFrame = false;
#else
constexpr bool kChecksEveryFrame = true;
#endif
constexpr int kSamplesOfAFrame = 4;

void CheckDims(const ConstTensorView& host, const ConstTensorView& own, const Value& value) {
  if (host.rank != own.rank || host.dims != own.dims) {
    throw std::invalid_argument("'" + value.name + "' has shape " + ToString(value.shape) +
                                ", not that of the given tensor");
  }
}

}  // namespace

struct Executor::State {
  State(std::shared_ptr<const Graph> graph, std::unique_ptr<Backend> backend,
        const ExecutorOptions& options)
      : graph(std::move(graph)),
        backend(std::move(backend)),
        layout(PlanLayout(*this->graph, options.persistent, options.keep)),
        order(RunningOrder(*this->graph, layout.stages)),
        arena(this->backend->Allocate(layout.arena_floats)) {
    CopyConstantsIn();
    PrepareSteps();
    FillReport();
    if (options.keep == Keep::kListed) return;
    active.emplace(*this->graph, layout);
    needed.emplace(*this->graph, layout.is_kept);
    check.emplace(*this->graph, layout);
  }

  TensorView ViewOf(ValueId value) const {
    return cacheinf::ViewOf(*graph, layout, value, arena.get());
  }

  void CopyConstantsIn() {
    for (ValueId id = 0; id < static_cast<ValueId>(graph->values.size()); ++id) {
      const Value& value = graph->value(id);
      if (!value.is_constant() || !layout.places[id].exists) continue;
      backend->CopyIn(value.constant.view(), ViewOf(id), AllPixels(ViewOf(id)));
    }
  }

  void PrepareSteps() {
    size_t scratch_floats = 0;
    for (size_t id = 0; id < graph->operators.size(); ++id) {
      const Operator& op = graph->operators[id];
      Step step;
      step.all_rows = {0, RowCount(*graph, op)};
      step.is_local = IsLocal(*graph, op);
      step.multiply_adds = CostOf(*graph, op).multiply_adds;
      const Value& output = graph->value(op.outputs[0]);
      step.pixels = int64_t{HeightOf(output)} * WidthOf(output);
      for (size_t i = 0; i < op.inputs.size(); ++i) step.inputs.push_back(InputView(op, i));
      for (ValueId output : op.outputs) step.outputs.push_back(ViewOf(output));
      if (!layout.is_done_by_placement[id]) {
        step.handle = backend->Prepare(*graph, op);
        scratch_floats = std::max(scratch_floats, backend->ScratchFloats(step.handle));
      }
      steps.push_back(std::move(step));
    }
    for (const Stage& stage : layout.stages) steps[stage.root].stage = &stage;
    scratch = backend->Allocate(scratch_floats);
    memory.scratch_bytes = scratch_floats * sizeof(float);
  }

  ConstTensorView InputView(const Operator& op, size_t input) const {
    const ValueId id = op.inputs[input];
    return IsParameter(op, input) ? graph->value(id).constant.view() : ViewOf(id);
  }

  void FillReport() {
    const size_t constant_floats = layout.constant_floats;
    const CacheMemory extremes = MemoryOfExtremes(*graph);
    memory.no_cache_bytes = extremes.no_cache_bytes;
    memory.cache_all_bytes = extremes.cache_all_bytes;
    memory.arena_bytes = (layout.arena_floats - constant_floats) * sizeof(float);
    memory.persistent_bytes = (layout.persistent_floats - constant_floats) * sizeof(float);
    memory.lower_bound_bytes = (layout.lower_bound_floats - constant_floats) * sizeof(float);
    memory.constant_bytes = constant_floats * sizeof(float);
    for (const Value& value : graph->values) {
      if (value.is_constant()) continue;
      memory.activation_bytes += static_cast<size_t>(ElementCount(value.shape)) * sizeof(float);
    }
  }

  void Run(const Step& step, Range rows) {
    if (step.handle == kNone || rows.empty()) return;
    backend->Run(step.handle, step.inputs, step.outputs, step.is_local ? rows : step.all_rows,
                 /*test=*/nullptr, scratch.get());
  }

  // Returns the multiply-adds that it took.
  int64_t RunChanged(OpId op) {
    const Step& step = steps[op];
    if (step.stage == nullptr) {
      active->Follow(op);
      return 0;
    }
    const int64_t multiply_adds = step.is_local ? RunActive(op, step) : RunIfActive(op, step);
    active->Finish(op);
    return multiply_adds;
  }

  int64_t RunIfActive(OpId op, const Step& step) {
    if (!active->IsActive(op)) {
      active->Deactivate(op);
      return 0;
    }
    Run(step, step.all_rows);
    active->ActivateAll(op);
    return step.multiply_adds;
  }

  int64_t RunActive(OpId op, const Step& step) {
    const std::span<const ActivePart> parts = active->Activate(op);
    if (parts.empty()) return 0;
    int64_t multiply_adds = RunInner(*step.stage, active->mask(graph->operators[op].outputs[0]));
    for (const ActivePart& part : parts) {
      multiply_adds += RunPixels(step, step.outputs, part.pixels, part.test);
    }
    return multiply_adds;
  }

  // What the root of a stage reads for these pixels of its output.
  int64_t RunInner(const Stage& stage, ConstMaskView root_pixels) {
    if (stage.inner.empty()) return 0;
    needed->Find(stage, root_pixels);
    int64_t multiply_adds = 0;
    for (const OpId op : stage.inner) {
      multiply_adds += RunPixels(steps[op], steps[op].outputs, needed->Of(op), /*test=*/nullptr);
    }
    return multiply_adds;
  }

  int64_t RunPixels(const Step& step, std::span<const TensorView> outputs,
                    const ActivePixels& pixels, const ChangeTest* test) {
    if (step.handle == kNone || pixels.run_count == 0) return 0;
    backend->Run(step.handle, step.inputs, outputs, pixels, test, scratch.get());
    return step.multiply_adds * PixelsIn(pixels) / step.pixels;
  }

  std::optional<StoredPixel> CheckStored(int samples, uint32_t seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < samples; ++i) {
      const std::optional<StoredPixel> pixel = check->Choose(random, *active);
      if (pixel && !IsAsPromised(*pixel)) return pixel;
    }
    return std::nullopt;
  }

  void ThrowIfFaulty() {
    const std::optional<StoredPixel> fault = CheckStored(kSamplesOfAFrame, checked_frames++);
    if (!fault) return;
    throw std::logic_error("pixel " + std::to_string(fault->row) + ", " +
                           std::to_string(fault->column) + " of '" + graph->value(fault->map).name +
                           "' is not what the stored maps give");
  }

  bool IsAsPromised(const StoredPixel& pixel) {
    const Step& step = steps[graph->value(pixel.map).producer];
    const PixelRun run = {pixel.row, pixel.column, pixel.column + 1};
    constexpr std::array<int, 2> kBefore = {0, 1};
    // Within all rows, as in a frame: LibTorch's bits may depend on the rows that it computes.
    const ActivePixels alone(step.all_rows, &run, kBefore.data(), 1);
    needed->Begin();
    RunInner(*step.stage, check->MaskOf(pixel));
    const TensorView stored = ViewOf(pixel.map);
    const TensorView again = check->Shadow(stored, *backend);
    RunPixels(step, {&again, 1}, alone, /*test=*/nullptr);
    return check->AreAlike(pixel, stored, again, *backend,
                           active->mask(pixel.map).Test(pixel.row, pixel.column));
  }

  void Scroll(const Shift& picture) {
    std::vector<ShiftedMap> maps = ShiftMaps(*graph, picture);
    for (ValueId id = 0; id < static_cast<ValueId>(maps.size()); ++id) {
      if (!layout.is_kept[id]) continue;
      maps[id].is_known = maps[id].is_known && MovesWithItsBuffer(id, maps);
    }
    for (ValueId id = 0; id < static_cast<ValueId>(maps.size()); ++id) {
      const bool owns_buffer = layout.places[id].exists && layout.places[id].viewed == kNone;
      const bool is_stored = owns_buffer && layout.is_kept[id];
      if (!maps[id].is_known || !is_stored || graph->value(id).producer == kNone) continue;
      backend->Move(ViewOf(id), maps[id].shift.rows, maps[id].shift.columns);
    }
    active->Shift(maps);
  }

  // Whether shifting the buffer that the value lies in shifts it as it must be.
  bool MovesWithItsBuffer(ValueId id, const std::vector<ShiftedMap>& maps) const {
    ValueId owner = id;
    while (layout.places[owner].viewed != kNone) owner = layout.places[owner].viewed;
    if (owner == id) return true;
    const auto moves_alike = [&](int axis, int shift, int owners_shift) {
      return shift * layout.places[id].strides[axis] ==
             owners_shift * layout.places[owner].strides[axis];
    };
    const Shift& shift = maps[id].shift;
    const Shift& owners = maps[owner].shift;
    return maps[owner].is_known && moves_alike(2, shift.rows, owners.rows) &&
           moves_alike(3, shift.columns, owners.columns);
  }

  // What is freed last is declared first: the backend must outlive the memory it gave.
  std::shared_ptr<const Graph> graph;
  std::unique_ptr<Backend> backend;
  Layout layout;
  std::vector<OpId> order;  // of dense runs
  Backend::Memory arena;
  Backend::Memory scratch;
  std::vector<Step> steps;
  // If values are kept.
  std::optional<ActiveMasks> active;
  std::optional<NeededPixels> needed;
  std::optional<StoredCheck> check;
  uint32_t checked_frames = 0;
  MemoryReport memory;
};

Executor::Executor(std::shared_ptr<const Graph> graph, std::unique_ptr<Backend> backend,
                   const ExecutorOptions& options)
    : state_(std::make_unique<State>(std::move(graph), std::move(backend), options)) {}

Executor::~Executor() = default;
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;

void Executor::SetInput(size_t index, const ConstTensorView& host) {
  SetInput(index, host, AllPixels(view(state_->graph->inputs.at(index))));
}

void Executor::SetInput(size_t index, const ConstTensorView& host, const ActivePixels& pixels) {
  const ValueId id = state_->graph->inputs.at(index);
  const TensorView own = state_->ViewOf(id);
  CheckDims(host, own, state_->graph->value(id));
  state_->backend->CopyIn(host, own, pixels);
}

void Executor::Run() {
  if (state_->active) state_->active->MarkAll(/*stale=*/true);
  for (const OpId op : state_->order) state_->Run(state_->steps[op], state_->steps[op].all_rows);
  if (!state_->active) return;
  state_->active->MarkAll(/*stale=*/false);
  state_->check->AllComputed();
}

void Executor::Run(const RowPlan& rows) {
  if (rows.size() != state_->steps.size()) {
    throw std::invalid_argument("a plan of " + std::to_string(rows.size()) + " rows for " +
                                std::to_string(state_->steps.size()) + " operators");
  }
  for (const OpId op : state_->order) state_->Run(state_->steps[op], rows[op]);
}

void Executor::RunOperator(OpId op, Range rows) {
  state_->Run(state_->steps.at(static_cast<size_t>(op)), rows);
}

ChangedWork Executor::RunChanged(std::span<const ConstMaskView> changed, const ChangePolicy& policy,
                                 ConstMaskView refresh) {
  if (!state_->active) throw std::logic_error("RunChanged needs an executor that keeps values");
  if (changed.size() != state_->graph->inputs.size()) {
    throw std::invalid_argument(std::to_string(changed.size()) + " masks for " +
                                std::to_string(state_->graph->inputs.size()) + " graph inputs");
  }
  state_->check->Begin(policy);
  state_->active->Begin(policy, changed, refresh);
  state_->needed->Begin();
  ChangedWork work;
  OpId op = 0;
  try {
    for (; op < static_cast<OpId>(state_->steps.size()); ++op) {
      work.done += state_->RunChanged(op);
      work.of_all += state_->steps[op].multiply_adds;
    }
  } catch (...) {
    state_->active->Abandon(op);
    throw;
  }
  state_->active->Commit();
  state_->check->Commit();
  if constexpr (kChecksEveryFrame) state_->ThrowIfFaulty();
  return work;
}

void Executor::Scroll(const Shift& picture) {
  if (!state_->active) throw std::logic_error("Scroll needs an executor that keeps values");
  if (picture.is_zero()) return;
  state_->check->Suspend();
  state_->Scroll(picture);
}

std::optional<StoredPixel> Executor::CheckStored(int samples, uint32_t seed) {
  if (!state_->active) throw std::logic_error("CheckStored needs an executor that keeps values");
  return state_->CheckStored(samples, seed);
}

ConstMaskView Executor::changed(ValueId map) const { return state_->active->mask(map); }

void Executor::GetOutput(size_t index, const TensorView& host) const {
  const ValueId id = state_->graph->outputs.at(index);
  const TensorView own = state_->ViewOf(id);
  CheckDims(host, own, state_->graph->value(id));
  state_->backend->CopyOut(own, host);
}

bool Executor::is_kept(ValueId value) const { return state_->layout.is_kept[value]; }
TensorView Executor::view(ValueId value) const { return state_->ViewOf(value); }
const Graph& Executor::graph() const { return *state_->graph; }
Backend& Executor::backend() { return *state_->backend; }
const MemoryReport& Executor::memory() const { return state_->memory; }

}  // namespace cacheinf
