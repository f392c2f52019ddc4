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
#include "common/exec/moving_maps.h"
#include "common/exec/needed_pixels.h"
#include "common/exec/operator_call.h"
#include "common/exec/stages.h"
#include "common/exec/stem.h"
#include "common/exec/stored_check.h"
#include "common/exec/value_masks.h"
#include "common/model/graph/cost.h"

namespace cacheinf {
namespace {

struct Operands {
  std::vector<ConstTensorView> inputs;
  std::vector<TensorView> outputs;
};

// An operator, ready to run.
struct Step {
  int handle = kNone;  // kNone: done by placement
  Range all_rows;
  bool is_local = false;
  const Stage* stage = nullptr;  // of which it is the root
  int64_t multiply_adds = 0;
  int64_t pixels = 1;  // of its output, in one image
  bool prepares_input = false;
  std::array<Operands, 2> operands;  // by the place in front, if maps move
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
    if (options.moves) {
      if (options.keep == Keep::kListed) throw std::invalid_argument("what moves must be kept");
      moving.emplace(*this->graph, layout, arena.get(), *this->backend);
    }
    CopyConstantsIn();
    PrepareSteps();
    FillReport();
    if (options.keep == Keep::kListed) return;
    active.emplace(*this->graph, layout);
    needed.emplace(*this->graph, layout.is_kept);
    check.emplace(*this->graph, layout);
  }

  TensorView ViewOf(ValueId value) const { return ViewOf(value, front()); }

  TensorView ViewOf(ValueId value, int place) const {
    if (moving && moving->has_two_places(value)) return moving->View(value, place);
    return cacheinf::ViewOf(*graph, layout, value, arena.get());
  }

  int front() const { return moving ? moving->front() : 0; }

  const Operands& OperandsOf(const Step& step) const {
    return step.operands[static_cast<size_t>(front())];
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
      step.prepares_input = PreparesInput(*graph, op);
      step.multiply_adds = CostOf(*graph, op).multiply_adds;
      const Value& output = graph->value(op.outputs[0]);
      step.pixels = int64_t{HeightOf(output)} * WidthOf(output);
      for (const int place : {0, 1}) {
        if (place == 0 || moving) step.operands[static_cast<size_t>(place)] = OperandsOf(op, place);
      }
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

  Operands OperandsOf(const Operator& op, int place) const {
    Operands operands;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueId id = op.inputs[i];
      operands.inputs.push_back(IsParameter(op, i) ? graph->value(id).constant.view()
                                                   : ViewOf(id, place));
    }
    for (const ValueId output : op.outputs) operands.outputs.push_back(ViewOf(output, place));
    return operands;
  }

  void FillReport() {
    const size_t constant_floats = layout.constant_floats;
    const CacheMemory extremes = MemoryOfExtremes(*graph);
    memory.no_cache_bytes = extremes.no_cache_bytes;
    memory.cache_all_bytes = extremes.cache_all_bytes;
    const size_t second_floats = moving ? moving->second_floats() : 0;
    const auto bytes_of = [&](size_t arena_floats) {
      return (arena_floats - constant_floats + second_floats) * sizeof(float);
    };
    memory.arena_bytes = bytes_of(layout.arena_floats);
    memory.persistent_bytes = bytes_of(layout.persistent_floats);
    memory.lower_bound_bytes = bytes_of(layout.lower_bound_floats);
    memory.constant_bytes = constant_floats * sizeof(float);
    for (const Value& value : graph->values) {
      if (value.is_constant()) continue;
      memory.activation_bytes += static_cast<size_t>(ElementCount(value.shape)) * sizeof(float);
    }
  }

  void Run(const Step& step, Range rows) {
    if (step.handle == kNone || rows.empty()) return;
    const Operands& operands = OperandsOf(step);
    backend->Run(step.handle, operands.inputs, operands.outputs,
                 step.is_local ? rows : step.all_rows, /*test=*/nullptr, scratch.get());
  }

  // What a caller may read before the maps are settled.
  void FetchOutputs() {
    if (!moving) return;
    for (const ValueId output : graph->outputs) moving->FetchAll(output);
  }

  // The frame ends while this operator runs. Of moved maps nothing can be said then.
  void Abandon(OpId op) {
    active->Abandon(op);
    if (moving && !moving->is_settled()) Forget();
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
    FetchReads(op, {});
    Run(step, step.all_rows);
    active->ActivateAll(op);
    if (moving) {
      for (const ValueId output : graph->operators[op].outputs) moving->AddAllComputed(output);
    }
    return step.multiply_adds;
  }

  // Old values that the operator reads for these pixels, or for all of them if it is not local.
  void FetchReads(OpId op, ConstMaskView pixels) {
    if (moving && steps[op].handle != kNone) moving->FetchReads(op, pixels);
  }

  int64_t RunActive(OpId op, const Step& step) {
    const std::span<const ActivePart> parts = active->Activate(op);
    if (parts.empty()) return 0;
    const ValueId output = graph->operators[op].outputs[0];
    const ConstMaskView pixels = active->mask(output);
    int64_t multiply_adds = RunInner(*step.stage, pixels);
    FetchReads(op, pixels);
    const bool is_tested = std::any_of(parts.begin(), parts.end(),
                                       [](const ActivePart& part) { return part.test != nullptr; });
    if (step.prepares_input && !is_tested) return multiply_adds + RunWhole(step, output);
    if (moving && is_tested) moving->Fetch(output, pixels);
    for (const ActivePart& part : parts) {
      multiply_adds += RunPixels(step, OperandsOf(step).outputs, part.pixels, part.test);
    }
    if (moving) moving->AddComputed(output, pixels);
    return multiply_adds;
  }

  // What is computed from an input later reads it as it is now, beside what changed as well.
  int64_t RunWhole(const Step& step, ValueId output) {
    Run(step, step.all_rows);
    if (moving) moving->AddAllComputed(output);
    return step.multiply_adds;
  }

  // What the root of a stage reads for these pixels of its output.
  int64_t RunInner(const Stage& stage, ConstMaskView root_pixels) {
    if (stage.inner.empty()) return 0;
    needed->Find(stage, root_pixels);
    int64_t multiply_adds = 0;
    for (const OpId op : stage.inner) {
      FetchReads(op, needed->mask(op));
      multiply_adds +=
          RunPixels(steps[op], OperandsOf(steps[op]).outputs, needed->Of(op), /*test=*/nullptr);
    }
    return multiply_adds;
  }

  int64_t RunPixels(const Step& step, std::span<const TensorView> outputs,
                    const ActivePixels& pixels, const ChangeTest* test) {
    if (step.handle == kNone || pixels.run_count == 0) return 0;
    backend->Run(step.handle, OperandsOf(step).inputs, outputs, pixels, test, scratch.get());
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

  // What is stored once a check has failed is not to be relied upon.
  void CheckOrForget() {
    try {
      ThrowIfFaulty();
    } catch (...) {
      Forget();
      throw;
    }
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

  // Where something is stale already nothing need be moved: all is computed.
  void Move(const Homography& stored_from_frame) {
    Settle();
    if (active->has_stale()) return active->MarkAll(/*stale=*/true);
    moving->Move(stored_from_frame);
    has_moved = true;
    for (OpId op = 0; op < static_cast<OpId>(steps.size()); ++op) {
      steps[op].is_local ? LoseWhatIsOutOfView(op) : LoseIfReadsMoved(op);
    }
  }

  void LoseWhatIsOutOfView(OpId op) {
    for (const ValueId output : graph->operators[op].outputs) {
      if (!moving->has_two_places(output)) continue;
      const ConstMaskView out_of_view = moving->out_of_view(output);
      if (out_of_view.words != nullptr) active->AddStale(output, out_of_view);
    }
  }

  void LoseIfReadsMoved(OpId op) {
    const std::vector<ValueId>& reads = graph->operators[op].inputs;
    const bool reads_moved = std::any_of(reads.begin(), reads.end(), [this](ValueId value) {
      return moving->has_two_places(value);
    });
    if (!reads_moved) return;
    for (const ValueId output : graph->operators[op].outputs) active->AddAllStale(output);
  }

  bool Settle() {
    try {
      return moving && moving->Settle();
    } catch (...) {
      Forget();
      throw;
    }
  }

  // Nothing that is stored is worth anything.
  void Forget() {
    if (moving) moving->Drop();
    active->MarkAll(/*stale=*/true);
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
  std::optional<MovingMaps> moving;
  bool has_moved = false;  // since the last frame
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
  const ValueId id = state_->graph->inputs.at(index);
  const TensorView own = state_->ViewOf(id);
  CheckDims(host, own, state_->graph->value(id));
  state_->backend->CopyIn(host, own, AllPixels(own));
}

void Executor::Run() {
  if (state_->active) state_->Forget();
  state_->has_moved = false;
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
  if (!std::exchange(state_->has_moved, false)) state_->Settle();
  const bool stores_small_changes =
      policy.threshold > 0.0f && refresh.words != nullptr && !IsEmpty(refresh);
  state_->check->Begin(policy, stores_small_changes);
  state_->active->Begin(policy, changed, refresh);
  state_->needed->Begin();
  ChangedWork work;
  OpId op = 0;
  try {
    for (; op < static_cast<OpId>(state_->steps.size()); ++op) {
      work.done += state_->RunChanged(op);
      work.of_all += state_->steps[op].multiply_adds;
    }
    state_->FetchOutputs();
  } catch (...) {
    state_->Abandon(op);
    throw;
  }
  state_->active->Commit();
  state_->check->Commit();
  if constexpr (kChecksEveryFrame) state_->CheckOrForget();
  return work;
}

void Executor::Move(const Homography& stored_from_frame) {
  if (!state_->moving) throw std::logic_error("Move needs an executor whose maps can move");
  if (stored_from_frame.IsIdentity()) return;
  state_->check->Move();
  state_->Move(stored_from_frame);
}

bool Executor::Settle() { return state_->Settle(); }

void Executor::Scroll(const Shift& picture) {
  if (!state_->active) throw std::logic_error("Scroll needs an executor that keeps values");
  if (picture.is_zero()) return;
  state_->Settle();
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
