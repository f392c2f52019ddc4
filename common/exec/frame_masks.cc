#include "common/exec/frame_masks.h"

#include <algorithm>

#include "common/exec/stem.h"
#include "common/model/graph/geometry.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

// Operators that only move numbers: what is kept was tested before it reaches them.
bool OnlyMoves(const Operator& op) {
  return op.As<op::Concat>() != nullptr || op.As<op::Slice>() != nullptr ||
         op.As<op::Gather>() != nullptr || op.As<op::Pad>() != nullptr ||
         op.As<op::Reshape>() != nullptr || op.As<op::Permute>() != nullptr ||
         op.As<op::Expand>() != nullptr || op.As<op::DepthToSpace>() != nullptr ||
         op.As<op::SpaceToDepth>() != nullptr;
}

}  // namespace

// ------------------------------------------------------------------------------------------
// What is made once.

FrameMasks::FrameMasks(const Graph& graph, const Layout& layout, PixelSets& sets, bool trades)
    : graph_(graph), layout_(layout), sets_(sets), values_(graph.values.size()) {
  if (trades) peer_.emplace(graph, layout, sets);
  for (const ValueId input : graph.inputs) {
    MakeValue(input, graph.value(input).is_map());
    if (values_[input].shows_picture && !picture_.exists()) picture_ = ForcedOf(values_[input]);
  }
  for (const Operator& op : graph.operators) MakeOperator(op);
  MarkAll(/*stale=*/true);
}

void FrameMasks::MakeOperator(const Operator& op) {
  OfOperator& made = operators_.emplace_back();
  made.is_local = IsLocal(graph_, op);
  made.prepares_input = PreparesInput(graph_, op);
  made.can_be_tested = made.is_local && layout_.is_kept[op.outputs[0]] && BringsChanges(op) &&
                       graph_.value(op.outputs[0]).shape[0] == 1;
  bool shows_picture = false;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const ValueId input = op.inputs[i];
    if (graph_.value(input).is_constant()) continue;
    Read& read = made.reads.emplace_back();
    read.value = input;
    if (!made.is_local) continue;
    read.way = sets_.MakeWay(InputWindow(graph_, op, static_cast<int>(i)));
    shows_picture = shows_picture || values_[input].shows_picture;
  }
  for (const ValueId output : op.outputs) MakeValue(output, shows_picture);
}

// Whether the output may change where no test has seen a change.
bool FrameMasks::BringsChanges(const Operator& op) const {
  if (!OnlyMoves(op)) return true;
  // A test sees no change in what lies in place in a concatenation.
  return std::ranges::none_of(
             op.inputs,
             [&](ValueId input) { return layout_.places[input].viewed == op.outputs[0]; }) &&
         !std::ranges::all_of(op.inputs, [&](ValueId input) { return layout_.is_kept[input]; });
}

void FrameMasks::MakeValue(ValueId id, bool shows_picture) {
  const Value& value = graph_.value(id);
  const auto make = [&](bool is_listed = false) {
    return sets_.Make(HeightOf(value), WidthOf(value), is_listed);
  };
  OfValue& made = values_[id];
  made.own = made.changed = make();
  made.size = SizeOf(value);
  made.shows_picture = shows_picture;
  if (layout_.is_kept[id]) {
    made.stale = make();
    some_rows_.reserve(std::max(some_rows_.capacity(), static_cast<size_t>(HeightOf(value))));
  } else {
    made.needed = make();
    made.computed = make();
  }
  Size& size = sizes_[made.size];
  if (!shows_picture) return;
  if (!size.forced.exists()) size.forced = make();
  if (!size.fixed.exists() && value.producer != kNone) size.fixed = make(/*is_listed=*/true);
}

size_t FrameMasks::SizeOf(const Value& value) {
  const int height = HeightOf(value);
  const int width = WidthOf(value);
  size_t index = 0;
  while (index < sizes_.size() &&
         (sizes_[index].all.height != height || sizes_[index].all.width != width)) {
    ++index;
  }
  if (index < sizes_.size()) return index;
  sizes_.push_back({sets_.Make(height, width), sets_.Make(height, width), {}, {}});
  sets_.Fill(sizes_.back().all);
  return index;
}

// ------------------------------------------------------------------------------------------
// Which rows are mine.

Range FrameMasks::RowsOf(ValueId id) const {
  const Range all = {0, values_[id].own.height};
  const OpId producer = graph_.value(id).producer;
  if (rows_ == nullptr || producer == kNone) return all;
  const Range computed = rows_->computed[producer];
  return computed.empty() || operators_[producer].is_local ? computed : all;
}

// Whether this side always computes all rows, not just where rows lie now: the work that a device
// gets must not depend on how rows move.
bool FrameMasks::IsMine(OpId op) const {
  return rows_ == nullptr ||
         (!rows_->may_move[op] && rows_->computed[op] == Range{0, OutputOf(op).own.height});
}

void FrameMasks::KeepRows(Range rows, PixelSet set) {
  sets_.ClearRows(set, {0, rows.begin});
  sets_.ClearRows(set, {rows.end, set.height});
}

// ------------------------------------------------------------------------------------------
// A frame begins.

void FrameMasks::Begin(const ChangePolicy& policy, std::span<const ConstMaskView> changed,
                       ConstMaskView forced, const FrameRows* rows) {
  policy_ = policy;
  rows_ = rows;
  is_fixed_known_ = false;
  FindStem(policy.stem_depth);
  ForgetComputed();
  SetForced(forced);
  if (peer_) peer_->BeginFrame();
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    OfValue& input = values_[graph_.inputs[i]];
    changed.empty() ? sets_.Clear(input.own) : sets_.Write(changed[i], input.own);
    if (rows != nullptr && !rows->holds_inputs) continue;
    Store(graph_.inputs[i]);
    input.may_be_stale = false;
  }
}

void FrameMasks::ForgetComputed() {
  for (const OfValue& value : values_) {
    if (value.computed.exists()) sets_.Clear(value.computed);
  }
}

// forced, for every size.
void FrameMasks::SetForced(ConstMaskView forced) {
  has_forced_ = forced.words != nullptr && picture_.exists() && !IsEmpty(forced);
  forces_others_ = has_forced_ && forced.Test(0, 0);
  if (!has_forced_) return;
  sets_.Write(forced, picture_);
  for (const Size& size : sizes_) {
    if (!size.forced.exists() || size.forced.id == picture_.id) continue;
    sets_.Clear(size.forced);
    sets_.AddRescaled(picture_, size.forced);
  }
}

// Operators that only move numbers cannot decide what a change is; those before them do.
void FrameMasks::FindStem(int depth) {
  stem_size_ = StemSize(graph_, depth);
  for (OfOperator& op : operators_) op.ends_stem = false;
  for (auto id = static_cast<OpId>(operators_.size()); id-- > 0;) {
    const OfOperator& op = operators_[id];
    if (IsInStem(id) && (!op.ends_stem || op.can_be_tested)) continue;
    for (const Read& read : op.reads) {
      const OpId producer = graph_.value(read.value).producer;
      if (producer != kNone && IsInStem(producer)) operators_[producer].ends_stem = true;
    }
  }
}

// Whether the operator computes the pixels that are fixed for its size.
bool FrameMasks::IsFixed(OpId op) const {
  return policy_.kind == ChangePolicy::Kind::kFixed && OutputOf(op).shows_picture && !IsInStem(op);
}

PixelSet FrameMasks::FixedOf(const OfValue& value) {
  if (!is_fixed_known_) FindFixed();
  return sizes_[value.size].fixed;
}

// fixed(size) = grown(changed pixels of the inputs, or of what the stem brings) ∪ forced
void FrameMasks::FindFixed() {
  is_fixed_known_ = true;
  for (const Size& size : sizes_) {
    if (!size.fixed.exists()) continue;
    sets_.Clear(size.fixed);
    const auto add = [&](const OfValue& value) {
      if (value.shows_picture) sets_.AddRescaled(value.changed, size.fixed);
    };
    if (stem_size_ == 0) {
      for (const ValueId input : graph_.inputs) add(values_[input]);
    }
    for (OpId op = 0; IsInStem(op); ++op) {
      if (operators_[op].ends_stem) add(OutputOf(op));
    }
    sets_.Grow(size.fixed, policy_.growth);
    if (has_forced_) sets_.Add(size.forced, size.fixed);
  }
}

// ------------------------------------------------------------------------------------------
// An operator's turn.

void FrameMasks::Follow(OpId op) {
  if (IsFixed(op)) return;  // so are all its readers
  const PixelSet changed = OutputOf(op).own;
  sets_.Clear(changed);
  AddReached(op, changed);
}

PixelRunArgs FrameMasks::Activate(OpId op) {
  if (peer_) AddEntered(op);
  FindActive(op);
  PixelRunArgs args;
  FindTest(op, &args);
  args.active = FindRun(op, args.has_test);
  return args;
}

// stale += rows of mine that this side did not hold in the last frame
void FrameMasks::AddEntered(OpId op) {
  const bool trusts_received = policy_.kind != ChangePolicy::Kind::kChange;
  for (const ValueId id : graph_.operators[op].outputs) {
    OfValue& output = values_[id];
    const Range mine = RowsOf(id);
    some_rows_.assign(static_cast<size_t>(output.own.height), 0);
    bool any = !IsMine(op);
    for (int y = mine.begin; y < mine.end; ++y) {
      const PeerRows::Row last = peer_->last_row(id, y);
      if (last == PeerRows::kComputed || (last == PeerRows::kReceived && trusts_received)) continue;
      some_rows_[static_cast<size_t>(y)] = 1;
      any = true;
    }
    if (!any) continue;
    sets_.FillRows(output.stale, some_rows_);
    output.may_be_stale = true;
  }
}

// reached = pixels that read a changed pixel of an input
void FrameMasks::AddReached(OpId op, PixelSet output) {
  for (const Read& read : operators_[op].reads) {
    const PixelSet changed = values_[read.value].changed;
    operators_[op].is_local ? sets_.AddReaders(read.way, changed, output)
                            : sets_.FillIfAny(changed, output);
  }
}

// active = (reached ∪ forced ∪ stale) ∩ mine
void FrameMasks::FindActive(OpId op) {
  OfValue& output = OutputOf(op);
  if (IsFixed(op) && IsMine(op) && !output.may_be_stale) {
    output.changed = FixedOf(output);  // the runs of a shared set are found once
    return;
  }
  FindActiveInAllRows(op);
  if (IsMine(op)) return;
  for (const ValueId id : graph_.operators[op].outputs) KeepRows(RowsOf(id), values_[id].own);
}

void FrameMasks::FindActiveInAllRows(OpId op) {
  OfValue& output = OutputOf(op);
  output.changed = output.own;
  if (IsFixed(op)) {
    sets_.Copy(FixedOf(output), output.own);
  } else {
    sets_.Clear(output.own);
    AddReached(op, output.own);
    if (IsForced(output)) sets_.Add(ForcedOf(output), output.own);
  }
  if (output.may_be_stale) sets_.Add(output.stale, output.own);
  if (operators_[op].is_local) return;
  sets_.FillIfAny(output.own, output.own);
  for (const ValueId id : graph_.operators[op].outputs) {
    if (values_[id].own.id == output.own.id) continue;
    sets_.Clear(values_[id].own);
    sets_.FillIfAny(output.own, values_[id].own);
  }
}

// changed = active less those that are not stale and that a test finds unchanged; the run does it
void FrameMasks::FindTest(OpId op, PixelRunArgs* args) const {
  using Kind = ChangePolicy::Kind;
  const OfOperator& tested = operators_[op];
  if (!tested.can_be_tested || (policy_.kind == Kind::kFixed && !IsInStem(op))) return;
  // The caller has already decided what a change of the input is.
  if (policy_.kind == Kind::kChange && stem_size_ == 0 && tested.prepares_input) return;
  args->has_test = true;
  const bool decides = !IsInStem(op) || tested.ends_stem;
  if (decides && policy_.kind != Kind::kExact && policy_.threshold > 0.0f) {
    const ValueId value = graph_.operators[op].outputs[0];
    args->threshold = policy_.threshold;
    args->inverse_spread = (*policy_.spreads)[value].data();
    args->numbers = NumbersOf(graph_.value(value));
  }
  const OfValue& output = OutputOf(op);
  if (output.may_be_stale) args->untested = output.stale;
  if (IsForced(output)) args->forced = ForcedOf(output);
}

// run = active; mine, if any pixel is active, where an input is prepared and nothing tested
PixelSet FrameMasks::FindRun(OpId op, bool has_test) {
  const OfValue& output = OutputOf(op);
  if (!operators_[op].prepares_input || has_test) return output.changed;
  const PixelSet run = ScratchOf(output);
  sets_.Clear(run);
  sets_.FillIfAny(output.changed, run);
  KeepRows(RowsOf(graph_.operators[op].outputs[0]), run);
  return run;
}

// needed, computed
void FrameMasks::FindNeeded(const Stage& stage, PixelSet root_pixels) {
  for (const OpId op : stage.inner) sets_.Clear(OutputOf(op).needed);
  AddNeeded(stage.root, root_pixels);
  for (size_t i = stage.inner.size(); i-- > 0;) {
    const OfValue& inner = OutputOf(stage.inner[i]);
    sets_.Remove(inner.computed, inner.needed);
    sets_.Add(inner.needed, inner.computed);
    AddNeeded(stage.inner[i], inner.needed);
  }
}

void FrameMasks::AddNeeded(OpId reader, PixelSet pixels) {
  for (const Read& read : operators_[reader].reads) {
    const PixelSet needed = values_[read.value].needed;
    if (needed.exists()) sets_.AddRead(read.way, pixels, needed);
  }
}

void FrameMasks::Finish(OpId op) {
  for (const ValueId id : graph_.operators[op].outputs) {
    Store(id);
    values_[id].may_be_stale = values_[id].may_be_stale && !IsMine(op);
  }
}

// stale -= mine; unsent += (changed ∪ small changes that are stored) ∩ mine
void FrameMasks::Store(ValueId id) {
  const OfValue& stored = values_[id];
  const Range mine = RowsOf(id);
  if (stored.may_be_stale) sets_.ClearRows(stored.stale, mine);
  if (!peer_) return;
  peer_->SetRows(id, mine, PeerRows::kComputed);
  peer_->Write(id, stored.changed, mine);
  if (StoresSmallChanges(stored)) peer_->Write(id, ForcedOf(stored), mine);
}

// ------------------------------------------------------------------------------------------
// A frame ends.

void FrameMasks::Commit() {
  if (peer_) peer_->Commit();
}

void FrameMasks::Abandon(OpId op) {
  // The stem brings less than what reaches its end, but it is not yet known what.
  if (!is_fixed_known_ && stem_size_ > 0) policy_.kind = ChangePolicy::Kind::kExact;
  for (OpId id = 0; id < static_cast<OpId>(operators_.size()); ++id) {
    if (!IsKept(id)) {
      Follow(id);
      continue;
    }
    if (id >= op) AddMissed(id);
    if (peer_) AddUnknownRows(id);
  }
  Commit();
}

// stale += active in all rows; alone, changed = nothing
void FrameMasks::AddMissed(OpId op) {
  FindActiveInAllRows(op);
  for (const ValueId id : graph_.operators[op].outputs) {
    AddStale(id, values_[id].own);
    peer_ ? peer_->KeepLastRows(id, RowsOf(id)) : sets_.Clear(values_[id].own);
  }
}

// changed += rows that this side neither computed nor received
void FrameMasks::AddUnknownRows(OpId op) {
  for (const ValueId id : graph_.operators[op].outputs) {
    const PixelSet changed = values_[id].own;
    some_rows_.assign(static_cast<size_t>(changed.height), 0);
    for (int y = 0; y < changed.height; ++y) {
      some_rows_[static_cast<size_t>(y)] = peer_->row(id, y) == PeerRows::kUnknown ? 1 : 0;
    }
    sets_.FillRows(changed, some_rows_);
  }
}

// ------------------------------------------------------------------------------------------
// What is stored becomes stale.

// stale = shifted(stale) ∪ lost
void FrameMasks::Shift(std::span<const ShiftedMap> maps) {
  for (OfValue& value : values_) {
    if (!value.own.exists()) continue;
    value.changed = value.own;
    sets_.Clear(value.own);
  }
  for (const ValueId input : graph_.inputs) {
    if (maps[input].is_known) ShiftStored(input, maps[input]);
  }
  for (OpId op = 0; op < static_cast<OpId>(operators_.size()); ++op) {
    for (const ValueId id : graph_.operators[op].outputs) {
      if (IsKept(op)) ShiftStored(id, maps[id]);
      const PixelSet lost = FindLost(op, id, maps[id]);
      if (IsKept(op)) AddStale(id, lost);
    }
  }
}

void FrameMasks::ShiftStored(ValueId id, const ShiftedMap& map) {
  if (map.is_known) sets_.Shift(values_[id].stale, map.shift.rows, map.shift.columns);
  if (peer_) peer_->Shift(id, map, ScratchOf(values_[id]));
}

// lost = what the shifted map no longer holds ∪ what reads lost pixels of inner values, of which it
// is `changed` here
PixelSet FrameMasks::FindLost(OpId op, ValueId id, const ShiftedMap& map) {
  const PixelSet lost = IsKept(op) ? ScratchOf(values_[id]) : values_[id].own;
  sets_.Fill(lost);
  if (map.is_known) sets_.ClearRectangle(lost, map.kept_rows, map.kept_columns);
  AddReached(op, lost);
  return lost;
}

void FrameMasks::MarkAll(bool stale) {
  for (OfValue& value : values_) {
    if (!value.stale.exists()) continue;
    value.may_be_stale = stale;
    stale ? sets_.Fill(value.stale) : sets_.Clear(value.stale);
  }
  if (peer_) peer_->MarkAll(stale ? PeerRows::kUnknown : PeerRows::kComputed);
}

void FrameMasks::AddStale(ValueId value, PixelSet pixels) {
  sets_.Add(pixels, values_[value].stale);
  values_[value].may_be_stale = true;
}

bool FrameMasks::has_stale() const {
  return std::ranges::any_of(values_, [](const OfValue& value) { return value.may_be_stale; });
}

bool FrameMasks::ReadsStale(const Stage& stage, PixelSet root_pixels) {
  FindNeeded(stage, root_pixels);
  return ReadsStale(stage.root, root_pixels) ||
         std::ranges::any_of(stage.inner, [this](OpId op) { return ReadsStale(op, needed(op)); });
}

bool FrameMasks::ReadsStale(OpId op, PixelSet pixels) {
  const std::vector<Read>& reads = operators_[op].reads;
  return std::ranges::any_of(reads, [&](const Read& read) {
    const OfValue& value = values_[read.value];
    if (!value.stale.exists()) return false;
    const PixelSet stale = ScratchOf(value);
    sets_.Clear(stale);
    sets_.AddRead(read.way, pixels, stale);
    sets_.Keep(value.stale, stale);
    Mask mask(stale.height, stale.width);
    sets_.Read(stale, mask);
    return !IsEmpty(mask);
  });
}

// ------------------------------------------------------------------------------------------
// Trading.

PixelSet FrameMasks::Unsent(ValueId value) {
  const PixelSet unsent = ScratchOf(values_[value]);
  sets_.Clear(unsent);
  peer_->AddUnsent(value, unsent);
  return unsent;
}

void FrameMasks::Receive(ValueId value, Range rows, ConstMaskView pixels) {
  TakeRows(value, rows);
  const PixelSet arrived = ScratchOf(values_[value]);
  sets_.Clear(arrived);
  sets_.AddWritten(pixels, rows, arrived);
  TakePixels(value, arrived);
}

// changed += (stale ∪ what this side changed in its parts) ∩ rows
// stale   -= rows
void FrameMasks::TakeRows(ValueId value, Range rows) {
  const OfValue& received = values_[value];
  sets_.AddRows(received.stale, rows, received.own);
  for (const ValueId writer : peer_->writers(value)) {
    if (writer != value) sets_.AddRows(values_[writer].changed, rows, received.own);
  }
  sets_.ClearRows(received.stale, rows);
  peer_->SetRows(value, rows, PeerRows::kReceived);
}

// changed += arrived, of an input less small changes that are forced
// stale(its parts) += arrived, under kChange
void FrameMasks::TakePixels(ValueId value, PixelSet arrived) {
  const OfValue& received = values_[value];
  peer_->Arrive(value, arrived);
  // Under kExact both sides compute the same; under kFixed nothing is promised about inputs.
  if (policy_.kind == ChangePolicy::Kind::kChange) {
    for (const ValueId part : peer_->parts(value)) {
      if (values_[part].stale.exists()) AddStale(part, arrived);
    }
  }
  const bool is_input = graph_.value(value).producer == kNone;
  if (is_input && StoresSmallChanges(received)) sets_.Remove(ForcedOf(received), arrived);
  sets_.Add(arrived, received.own);
}

}  // namespace cacheinf
