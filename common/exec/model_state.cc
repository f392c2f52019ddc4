#include "common/exec/model_state.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/backend/operator_call.h"
#include "common/base/error.h"
#include "common/exec/cache_choice.h"
#include "common/exec/frame_decision.h"
#include "common/exec/frame_masks.h"
#include "common/exec/moving_maps.h"
#include "common/exec/picture_levels.h"
#include "common/exec/slice.h"
#include "common/exec/stages.h"
#include "common/exec/stored_check.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

struct Operands {
  std::vector<ConstTensorView> inputs;
  std::vector<TensorView> outputs;
};

// An operator as this state runs it.
struct OperatorState {
  bool runs = true;                  // false: done by placement
  const Stage* stage = nullptr;      // that it is the root of
  std::array<Operands, 2> operands;  // by the place in front, if maps move
};

// Whether each frame checks what it has stored.
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

struct ModelState::State {
  State(std::shared_ptr<const CompiledModel> compiled, const StateOptions& options)
      : model(std::move(compiled)),
        graph(model->graph()),
        backend(model->backend()),
        trades(options.trades),
        layout(MakeLayout(graph, options.chosen, options.keep)),
        order(RunningOrder(graph, layout.stages)),
        arena(backend.Allocate(layout.arena_floats)),
        sets(backend.MakeSets()),
        is_output_read(graph.outputs.size()) {
    if (!graph.levels.empty()) levels.emplace(graph);
    const bool keeps = options.keep != Keep::kListed;
    if (options.moves && !keeps) throw std::invalid_argument("what moves must be kept");
    if (options.trades && (!keeps || options.moves)) {
      throw std::invalid_argument("what is traded must be kept, and does not move");
    }
    if (options.moves && HasEightBitMaps(graph)) {
      throw InputError(
          "8-bit maps cannot be warped: take the geometry none or canvas, or the model as it was "
          "before it was quantised");
    }
    if (options.moves) moving.emplace(graph, layout, arena.get(), backend, *sets);
    CopyConstantsIn();
    PrepareOperators();
    FillReport();
    if (!keeps) return;
    masks.emplace(graph, layout, *sets, trades);
    check.emplace(graph, layout, *sets);
    size_t most_words = 0;
    for (const Value& value : graph.values) {
      most_words = std::max(most_words, MaskWords(HeightOf(value), WidthOf(value)));
    }
    host_words.resize(most_words);
  }

  TensorView ViewOf(ValueId value) const { return ViewOf(value, front()); }

  TensorView ViewOf(ValueId value, int place) const {
    if (moving && moving->has_two_places(value)) return moving->View(value, place);
    return cacheinf::ViewOf(graph, layout, value, arena.get());
  }

  int front() const { return moving ? moving->front() : 0; }

  const Operands& OperandsOf(OpId op) const {
    return operators[op].operands[static_cast<size_t>(front())];
  }

  void CopyConstantsIn() {
    for (ValueId id = 0; id < static_cast<ValueId>(graph.values.size()); ++id) {
      const Value& value = graph.value(id);
      if (!value.is_constant() || !layout.places[id].exists) continue;
      backend.CopyIn(value.constant.view(), ViewOf(id));
    }
  }

  void PrepareOperators() {
    for (size_t id = 0; id < graph.operators.size(); ++id) {
      OperatorState state;
      for (const int place : {0, 1}) {
        if (place == 1 && !moving) continue;
        state.operands[static_cast<size_t>(place)] = FindOperands(graph.operators[id], place);
      }
      state.runs = !layout.is_done_by_placement[id];
      operators.push_back(std::move(state));
    }
    for (const Stage& stage : layout.stages) operators[stage.root].stage = &stage;
  }

  Operands FindOperands(const Operator& op, int place) const {
    Operands operands;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueId id = op.inputs[i];
      operands.inputs.push_back(IsParameter(op, i) ? graph.value(id).constant.view()
                                                   : ViewOf(id, place));
    }
    for (const ValueId output : op.outputs) operands.outputs.push_back(ViewOf(output, place));
    return operands;
  }

  void FillReport() {
    const size_t constant_floats = layout.constant_floats;
    const CacheMemory extremes = MemoryOfExtremes(graph);
    memory.no_cache_bytes = extremes.no_cache_bytes;
    memory.cache_all_bytes = extremes.cache_all_bytes;
    const size_t second_floats = moving ? moving->second_floats() : 0;
    const auto bytes_of = [&](size_t arena_floats) {
      return (arena_floats - constant_floats + second_floats) * sizeof(float);
    };
    memory.arena_bytes = bytes_of(layout.arena_floats);
    memory.second_bytes = second_floats * sizeof(float);
    memory.persistent_bytes = bytes_of(layout.kept_floats);
    memory.lower_bound_bytes = bytes_of(layout.lower_bound_floats);
    memory.constant_bytes = constant_floats * sizeof(float);
    memory.scratch_bytes = backend.scratch_bytes();
    for (const Value& value : graph.values) {
      if (value.is_constant()) continue;
      memory.activation_bytes += static_cast<size_t>(ElementCount(value.shape)) * sizeof(float);
    }
  }

  void Run(OpId op, Range rows) {
    if (!operators[op].runs || rows.empty()) return;
    const CompiledModel::OperatorFacts& facts = model->facts(op);
    const Operands& operands = OperandsOf(op);
    backend.Run(facts.handle, operands.inputs, operands.outputs,
                facts.is_local ? rows : facts.all_rows);
  }

  // Callers may read these before the maps are settled.
  void FetchOutputs() {
    if (!moving) return;
    for (const ValueId output : graph.outputs) {
      if (moving->has_two_places(output)) moving->Fetch(output, masks->all(output));
    }
  }

  // Ends the frame before the next operator has run, or while it runs. Nothing is known of moved
  // maps then.
  void Abandon() {
    const Frame ended = std::exchange(frame, Frame::kNone);
    if (ended == Frame::kDense && masks) Forget();
    if (ended != Frame::kOfChanges) return;
    masks->Abandon(next_op);
    if (moving && !moving->is_settled()) Forget();
  }

  // Expects that outputs read in an earlier frame will be read in this one.
  void ExpectReading() {
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      if (is_output_read[i]) backend.ExpectCopyOut(ViewOf(graph.outputs[i]));
    }
  }

  void CheckKeeps() const {
    if (!masks) throw std::logic_error("frames of changes need a state that keeps values");
  }

  void Begin(std::span<const ConstMaskView> changed, const ChangePolicy& policy,
             ConstMaskView forced, const FrameRows* rows) {
    if (!std::exchange(has_moved, false)) Settle();
    const bool stores_small_changes =
        policy.threshold > 0.0f && forced.words != nullptr && !IsEmpty(forced);
    check->Begin(policy, stores_small_changes);
    sets->BeginFrame();
    masks->Begin(policy, changed, forced, rows);
    frame = Frame::kOfChanges;
    next_op = 0;
    next_stage = 0;
  }

  void BeginNothing() {
    frame = Frame::kNothing;
    next_stage = layout.stages.size();
  }

  bool IsInFrame() const { return frame != Frame::kNone; }

  void BeginDense() {
    has_moved = false;
    frame = Frame::kDense;
    next_in_order = 0;
    next_stage = 0;
  }

  // Whether a whole frame must find the pixels that come out with the bits that a peer holds.
  bool IsCompared(const FrameDecision& decision, const ChangePolicy& policy,
                  const FrameRows* rows) const {
    const bool may_be = policy.kind == ChangePolicy::Kind::kExact && decision.base >= 0;
    return may_be && (rows != nullptr || (trades && !masks->peer()->lacks_all()));
  }

  // Goes on to the next root of a stage.
  void SkipUnkept() {
    const auto count = static_cast<OpId>(operators.size());
    while (next_op < count && operators[next_op].stage == nullptr) masks->Follow(next_op++);
  }

  void Step() {
    try {
      frame == Frame::kDense ? RunDenseStages() : RunActiveStage();
    } catch (...) {
      Abandon();
      throw;
    }
  }

  // Runs one stage, or all if the backend only notes them: else another state's work would join
  // theirs.
  void RunDenseStages() {
    do {
      RunAllOf(layout.stages[next_stage++]);
    } while (next_stage < layout.stages.size() && backend.RunsLater());
  }

  // Inner operators that an earlier stage has run are done.
  void RunAllOf(const Stage& stage) {
    OpId op = kNone;
    do {
      op = order[next_in_order++];
      Run(op, model->facts(op).all_rows);
    } while (op != stage.root);
  }

  void RunActiveStage() {
    SkipUnkept();
    RunActive(next_op);
    masks->Finish(next_op);
    ++next_op;
    ++next_stage;
  }

  void RunActive(OpId op) {
    const PixelRunArgs args = masks->Activate(op);
    if (operators[op].stage->inner.empty() && !operators[op].runs && !moving) return;
    RunInner(*operators[op].stage, args.active);
    if (moving) {
      if (operators[op].runs) moving->FetchReads(op, args.active);
      for (const ValueId output : graph.operators[op].outputs) {
        if (args.has_test) moving->Fetch(output, args.active);
        moving->AddComputed(output, output == graph.operators[op].outputs[0]
                                        ? args.active
                                        : masks->changed(output));
      }
    }
    RunPixels(op, OperandsOf(op).outputs, args);
  }

  // Computes what the root of a stage reads for these pixels of its output.
  void RunInner(const Stage& stage, PixelSet root_pixels, bool is_check = false) {
    if (stage.inner.empty()) return;
    masks->FindNeeded(stage, root_pixels);
    for (const OpId op : stage.inner) {
      PixelRunArgs args;
      args.active = masks->needed(op);
      args.is_check = is_check;
      if (moving && operators[op].runs) moving->FetchReads(op, args.active);
      RunPixels(op, OperandsOf(op).outputs, args);
    }
  }

  void RunPixels(OpId op, std::span<const TensorView> outputs, PixelRunArgs args) {
    if (!operators[op].runs) return;
    args.weight = model->facts(op).weight;
    backend.Run(model->facts(op).handle, OperandsOf(op).inputs, outputs, *sets, args);
  }

  ChangedWork WorkOfFrame() {
    ChangedWork work;
    work.done = sets->TakeCount();
    for (OpId op = 0; op < static_cast<OpId>(operators.size()); ++op) {
      work.of_all += model->facts(op).multiply_adds;
    }
    return work;
  }

  ChangedWork Commit() {
    if (frame != Frame::kOfChanges) return CommitUncounted();
    try {
      FetchOutputs();
    } catch (...) {
      Abandon();
      throw;
    }
    frame = Frame::kNone;
    SkipUnkept();
    masks->Commit();
    check->Commit();
    ExpectReading();
    const ChangedWork work = WorkOfFrame();
    if constexpr (kChecksEveryFrame) CheckOrForget();
    return work;
  }

  ChangedWork CommitUncounted() {
    if (std::exchange(frame, Frame::kNone) == Frame::kNothing) return {};
    ExpectReading();
    backend.Finish();
    if (!masks) return {};
    if (moving) moving->Drop();
    masks->MarkAll(/*stale=*/false);
    check->AllComputed();
    return {};
  }

  std::optional<StoredPixel> CheckStored(int samples, uint32_t seed) {
    check->MakeRoom(backend);
    std::mt19937 random(seed);
    for (int i = 0; i < samples; ++i) {
      const std::optional<StoredPixel> pixel = check->Choose(random, *masks);
      if (pixel && !IsAsPromised(*pixel)) return pixel;
    }
    return std::nullopt;
  }

  void ThrowIfFaulty() {
    const std::optional<StoredPixel> fault = CheckStored(kSamplesOfAFrame, checked_frames++);
    if (!fault) return;
    throw std::logic_error("pixel " + std::to_string(fault->row) + ", " +
                           std::to_string(fault->column) + " of '" + graph.value(fault->map).name +
                           "' is not what the stored maps give");
  }

  // Once a check has failed, nothing stored can be relied on.
  void CheckOrForget() {
    try {
      ThrowIfFaulty();
    } catch (...) {
      Forget();
      throw;
    }
  }

  bool IsAsPromised(const StoredPixel& pixel) {
    const OpId producer = graph.value(pixel.map).producer;
    PixelRunArgs args;
    args.active = check->Alone(pixel);
    args.is_check = true;
    masks->ForgetComputed();
    if (trades && masks->ReadsStale(*operators[producer].stage, args.active)) return true;
    masks->ForgetComputed();
    RunInner(*operators[producer].stage, args.active, args.is_check);
    const TensorView stored = ViewOf(pixel.map);
    const TensorView again = check->Shadow(stored);
    RunPixels(producer, {&again, 1}, args);
    return check->AreAlike(pixel, stored, again, backend);
  }

  // If something is stale already, moves nothing and has everything computed.
  void Move(const Homography& stored_from_frame) {
    Settle();
    if (masks->has_stale()) return masks->MarkAll(/*stale=*/true);
    moving->Move(stored_from_frame);
    has_moved = true;
    for (OpId op = 0; op < static_cast<OpId>(operators.size()); ++op) {
      model->facts(op).is_local ? LoseWhatIsOutOfView(op) : LoseIfReadsMoved(op);
    }
  }

  void LoseWhatIsOutOfView(OpId op) {
    for (const ValueId output : graph.operators[op].outputs) {
      if (!moving->has_two_places(output)) continue;
      const PixelSet out_of_view = moving->out_of_view(output);
      if (out_of_view.exists()) masks->AddStale(output, out_of_view);
    }
  }

  void LoseIfReadsMoved(OpId op) {
    const std::vector<ValueId>& reads = graph.operators[op].inputs;
    const bool reads_moved =
        std::ranges::any_of(reads, [this](ValueId value) { return moving->has_two_places(value); });
    if (!reads_moved) return;
    for (const ValueId output : graph.operators[op].outputs) {
      masks->AddStale(output, masks->all(output));
    }
  }

  bool Settle() {
    try {
      return moving && moving->Settle();
    } catch (...) {
      Forget();
      throw;
    }
  }

  void Forget() {
    if (moving) moving->Drop();
    masks->MarkAll(/*stale=*/true);
  }

  // `sets_inputs`: inputs are set as a whole before the next frame's first stage, and do not arrive
  // in slices.
  void Scroll(const Shift& picture, bool sets_inputs) {
    if (picture.is_zero()) return;
    CheckKeeps();
    Settle();
    check->Suspend();
    std::vector<ShiftedMap> maps = ShiftMaps(graph, picture);
    for (ValueId id = 0; id < static_cast<ValueId>(maps.size()); ++id) {
      if (!layout.is_kept[id]) continue;
      maps[id].is_known = maps[id].is_known && MovesWithItsBuffer(id, maps);
    }
    for (ValueId id = 0; id < static_cast<ValueId>(maps.size()); ++id) {
      const bool owns_buffer = layout.places[id].exists && layout.places[id].viewed == kNone;
      const bool is_stored = owns_buffer && layout.is_kept[id];
      const bool is_set = graph.value(id).producer == kNone && sets_inputs;
      if (!maps[id].is_known || !is_stored || is_set) continue;
      backend.Shift(ViewOf(id), maps[id].shift.rows, maps[id].shift.columns);
    }
    masks->Shift(maps);
  }

  // Whether shifting the buffer that the value lies in shifts the value correctly.
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

  MaskView OnHost(PixelSet set) {
    const MaskView mask(host_words.data(), set.height, set.width);
    sets->Read(set, mask);
    return mask;
  }

  Packing BeginPack(ValueId value, Range rows) {
    if (rows.empty() || !graph.value(value).is_map()) return nullptr;
    const PixelSet unsent = masks->Unsent(value);
    Backend::Gathered gathered = backend.BeginGather(ViewOf(value), *sets, unsent, rows);
    if (!gathered) return nullptr;
    masks->peer()->Send(value, rows);
    return [=, this, gathered = std::move(gathered)](std::vector<uint8_t>* bytes) {
      const MaskView mask(host_words.data(), unsent.height, unsent.width);
      gathered(mask, &slice_numbers);
      AppendSlice(value, rows, CutRows(mask, rows), slice_numbers, bytes);
    };
  }

  void Pack(ValueId value, Range rows, std::vector<uint8_t>* bytes) {
    if (rows.empty()) return;
    const PixelSet unsent = masks->Unsent(value);
    if (graph.value(value).is_map()) {
      const MaskView mask(host_words.data(), unsent.height, unsent.width);
      backend.Gather(ViewOf(value), *sets, unsent, rows, mask, &slice_numbers);
      AppendSlice(value, rows, CutRows(mask, rows), slice_numbers, bytes);
    } else {
      backend.ExpectCopyOut(ViewOf(value));
      AppendSlice(backend, ViewOf(value), value, rows, OnHost(unsent), bytes);
    }
    masks->peer()->Send(value, rows);
  }

  const char* Unpack(ValueId value, Range rows, std::span<const uint8_t> bytes) {
    const TensorView view = ViewOf(value);
    const PixelSet set = masks->changed(value);
    const MaskView pixels(host_words.data(), rows.size(), set.width);
    const char* error = ReadSlice(backend, bytes, value, rows, pixels, view);
    if (error != nullptr) return error;
    masks->Receive(value, rows, pixels);
    if (!masks->peer()->parts(value).empty()) check->ReceiveParts();
    return nullptr;
  }

  std::shared_ptr<const CompiledModel> model;
  const Graph& graph;
  Backend& backend;
  const bool trades;
  Layout layout;
  std::vector<OpId> order;  // of a dense run
  Backend::Memory arena;
  std::unique_ptr<PixelSets> sets;
  std::vector<OperatorState> operators;
  std::optional<MovingMaps> moving;
  bool has_moved = false;  // since the last frame
  // If values are kept.
  std::optional<FrameMasks> masks;
  std::optional<StoredCheck> check;
  enum class Frame : uint8_t { kNone, kNothing, kDense, kOfChanges };
  Frame frame = Frame::kNone;  // the one that has begun
  size_t next_in_order = 0;    // of a dense one
  OpId next_op = 0;            // of another
  size_t next_stage = 0;
  uint32_t checked_frames = 0;
  std::vector<uint64_t> host_words;
  std::vector<float> picture_numbers;
  std::optional<PictureLevels> levels;  // for a picture that is an 8-bit map
  std::vector<float> slice_numbers;
  std::vector<bool> is_output_read;
  MemoryReport memory;
};

ModelState::ModelState(std::shared_ptr<const CompiledModel> model, const StateOptions& options)
    : state_(std::make_unique<State>(std::move(model), options)) {}

ModelState::~ModelState() = default;
ModelState::ModelState(ModelState&&) noexcept = default;
ModelState& ModelState::operator=(ModelState&&) noexcept = default;

ChangedWork ModelState::Apply(const FrameDecision& decision, const PictureView& seen,
                              const ChangePolicy& policy) {
  BeginFrame(decision, seen, policy);
  return Finish();
}

void ModelState::BeginFrame(const FrameDecision& decision, const PictureView& seen,
                            const ChangePolicy& policy, const FrameRows* rows) {
  const bool is_whole = decision.kind == FrameDecision::Kind::kWhole;
  const bool is_refresh = decision.kind == FrameDecision::Kind::kRefresh;
  const bool is_compared = is_whole && state_->IsCompared(decision, policy, rows);
  if (is_whole && rows == nullptr && !is_compared) {
    SetPicture(seen);
    return BeginDense();
  }
  if (is_refresh && rows == nullptr && IsEmpty(decision.forced)) {
    Settle();
    return state_->BeginNothing();
  }
  state_->CheckKeeps();
  if (rows != nullptr && !state_->trades) {
    throw std::logic_error("some rows alone need a state that trades");
  }
  if (rows != nullptr && !policy.can_split()) {
    throw InputError(
        "policy fixed with a stem cannot be split: neither side sees all that comes out of the "
        "stem");
  }
  const ConstMaskView changed = decision.changed;
  const ConstMaskView forced = decision.forced;
  const Value& input = graph().value(graph().inputs.front());
  for (const ConstMaskView& mask : {changed, forced}) {
    if (mask.height != HeightOf(input) || mask.width != WidthOf(input)) {
      throw InputError("the masks are not of the model's picture");
    }
  }
  if (is_refresh) {
    Settle();
  } else {
    if (is_whole && !is_compared) Forget();
    const bool holds_inputs = rows == nullptr || rows->holds_inputs;
    state_->Scroll(decision.scroll, /*sets_inputs=*/holds_inputs);
    // Sets the whole picture, so that everything is computed from this frame: windows at the edges
    // of what changed would otherwise read older frames' levels.
    if (holds_inputs) SetPicture(seen);
    Move(decision.stored_from_frame);
  }
  state_->Begin({&changed, 1}, policy, forced, rows);
}

void ModelState::SetInput(size_t index, const ConstTensorView& host) {
  const ValueId id = state_->graph.inputs.at(index);
  const TensorView own = state_->ViewOf(id);
  if (state_->levels) return SetPicture(state_->levels->Read(host));
  CheckDims(host, own, state_->graph.value(id));
  state_->backend.CopyIn(host, own);
}

void ModelState::SetPicture(const PictureView& picture) {
  if (state_->levels) {
    return state_->backend.CopyIn(state_->levels->WordsOf(picture),
                                  state_->ViewOf(graph().inputs[0]));
  }
  state_->picture_numbers.resize(picture.byte_count());
  const TensorView numbers = {
      state_->picture_numbers.data(),
      4,
      {1, picture.channels, picture.height, picture.width},
      {picture.row_bytes() * picture.height, 1, picture.row_bytes(), picture.channels}};
  ToFloats(picture.pixels, numbers);
  SetInput(0, numbers);
}

void ModelState::BeginDense() { state_->BeginDense(); }

void ModelState::Run() {
  BeginDense();
  Finish();
}

void ModelState::Run(const RowsOfOperators& rows) {
  if (rows.size() != state_->operators.size()) {
    throw std::invalid_argument(std::to_string(rows.size()) + " rows for " +
                                std::to_string(state_->operators.size()) + " operators");
  }
  for (const OpId op : state_->order) state_->Run(op, rows[op]);
}

size_t ModelState::stage_count() const { return state_->layout.stages.size(); }
size_t ModelState::next_stage() const { return state_->next_stage; }

void ModelState::Step() {
  if (!state_->IsInFrame() || next_stage() == stage_count()) {
    throw std::logic_error("no stage is left");
  }
  state_->Step();
}

ChangedWork ModelState::Commit() {
  if (!state_->IsInFrame() || next_stage() != stage_count()) {
    throw std::logic_error("stages are left");
  }
  return state_->Commit();
}

ChangedWork ModelState::Abandon() {
  const bool is_dense = state_->frame == State::Frame::kDense;
  state_->Abandon();
  return is_dense ? ChangedWork() : state_->WorkOfFrame();
}

ChangedWork ModelState::Finish() {
  while (next_stage() < stage_count()) Step();
  return Commit();
}

void ModelState::BeginRest(const ChangePolicy& policy) {
  state_->CheckKeeps();
  state_->Begin({}, policy, {}, /*rows=*/nullptr);
}

ChangedWork ModelState::RunChanged(std::span<const ConstMaskView> changed,
                                   const ChangePolicy& policy, ConstMaskView forced) {
  state_->CheckKeeps();
  if (changed.size() != graph().inputs.size()) {
    throw std::invalid_argument(std::to_string(changed.size()) + " masks for " +
                                std::to_string(graph().inputs.size()) + " graph inputs");
  }
  state_->Begin(changed, policy, forced, /*rows=*/nullptr);
  return Finish();
}

void ModelState::Forget() { state_->Forget(); }

ModelState::Packing ModelState::BeginPack(ValueId value, Range rows) {
  return state_->BeginPack(value, rows);
}

void ModelState::Pack(ValueId value, Range rows, std::vector<uint8_t>* bytes) {
  state_->Pack(value, rows, bytes);
}

const char* ModelState::Unpack(ValueId value, Range rows, std::span<const uint8_t> bytes) {
  return state_->Unpack(value, rows, bytes);
}

void ModelState::ConfirmSent() { state_->masks->peer()->ConfirmSent(); }
void ModelState::ForgetSent() { state_->masks->peer()->ForgetSent(); }
void ModelState::LosePeer() { state_->masks->peer()->LosePeer(); }

void ModelState::Move(const Homography& stored_from_frame) {
  if (stored_from_frame.IsIdentity()) return;
  if (!state_->moving) throw std::logic_error("Move needs a state whose maps can move");
  state_->check->Move();
  state_->Move(stored_from_frame);
}

bool ModelState::Settle() { return state_->Settle(); }

void ModelState::Scroll(const Shift& picture) { state_->Scroll(picture, /*sets_inputs=*/true); }

std::optional<StoredPixel> ModelState::CheckStored(int samples, uint32_t seed) {
  state_->CheckKeeps();
  return state_->CheckStored(samples, seed);
}

ConstMaskView ModelState::changed(ValueId map) const {
  return state_->OnHost(state_->masks->changed(map));
}

bool ModelState::Holds(ValueId value, int row) const {
  const PeerRows* peer = state_->masks->peer();
  return peer == nullptr || peer->last_row(value, row) != PeerRows::kUnknown;
}

void ModelState::GetOutput(size_t index, const TensorView& host) const {
  const ValueId id = state_->graph.outputs.at(index);
  const TensorView own = state_->ViewOf(id);
  CheckDims(host, own, state_->graph.value(id));
  state_->is_output_read[index] = true;
  state_->backend.CopyOut(own, host);
}

bool ModelState::is_kept(ValueId value) const { return state_->layout.is_kept[value]; }
TensorView ModelState::view(ValueId value) const { return state_->ViewOf(value); }
const Graph& ModelState::graph() const { return state_->graph; }
Backend& ModelState::backend() const { return state_->backend; }

const Layout& ModelState::layout() const { return state_->layout; }
const MemoryReport& ModelState::memory() const { return state_->memory; }

}  // namespace cacheinf
