#include "common/exec/frame_masks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "common/exec/peer_rows.h"
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

// A map that a local operator reads.
struct Source {
  ValueId map;
  PixelWay way;
};

struct OperatorMasks {
  std::vector<ValueId> reads;   // every value that is not constant
  std::vector<Source> sources;  // if it is local
  bool is_local = false;
  bool is_kept = false;  // its output
  bool prepares_input = false;
  bool can_be_tested = false;  // whether some pixels may come out as they were
  bool shows_picture = false;  // its output lies over the input picture
  int resolution = kNone;      // if it does: its entry
};

// What all maps of a size that show the picture share.
struct Resolution {
  PixelSet fixed;  // what is active under kFixed
  PixelSet forced;
};

// The masks of one value.
struct ValueMasks {
  PixelSet own;
  PixelSet current;  // in this frame: `own`, or one that it shares
  // If an operator computes it and it is not kept.
  PixelSet needed;
  PixelSet computed;
  // If it is kept.
  PixelSet stale;
  bool may_be_stale = false;
};

}  // namespace

struct FrameMasks::State {
  State(const Graph& graph, const Layout& layout, PixelSets& sets, bool trades)
      : graph(graph), sets(sets), values(graph.values.size()) {
    if (trades) peer.emplace(graph, layout, sets);
    for (size_t id = 0; id < graph.values.size(); ++id) MakeValue(static_cast<ValueId>(id), layout);
    std::vector<bool> shows_picture(graph.values.size(), false);
    for (const ValueId input : graph.inputs) {
      shows_picture[input] = graph.value(input).is_map();
      if (!shows_picture[input] || picture.exists()) continue;
      picture = MakeLike(values[input].own);
      picture_input = input;
      picture_mask = Mask(picture.height, picture.width);
    }
    for (const Operator& op : graph.operators) {
      operators.push_back(MakeOperator(op, layout, shows_picture));
    }
    ends_stem.resize(graph.operators.size());
    MarkAll(/*are_stale=*/true);
  }

  PixelSet MakeLike(PixelSet set) { return sets.Make(set.height, set.width); }

  void MakeValue(ValueId id, const Layout& layout) {
    const Value& value = graph.value(id);
    if (value.is_constant()) return;
    ValueMasks& made = values[id];
    made.own = made.current = sets.Make(HeightOf(value), WidthOf(value));
    (void)ScratchOf(made.own);
    const bool is_input = value.producer == kNone;
    if (!layout.is_kept[id] && !is_input) {
      made.needed = MakeLike(made.own);
      made.computed = MakeLike(made.own);
    }
    if (!layout.is_kept[id] || (is_input && !peer)) return;
    made.stale = MakeLike(made.own);
    if (peer) entered.reserve(std::max(entered.capacity(), size_t(made.own.height)));
  }

  OperatorMasks MakeOperator(const Operator& op, const Layout& layout,
                             std::vector<bool>& shows_picture) {
    OperatorMasks made;
    made.is_local = IsLocal(graph, op);
    made.is_kept = layout.is_kept[op.outputs[0]];
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueId input = op.inputs[i];
      if (graph.value(input).is_constant()) continue;
      made.reads.push_back(input);
      if (!made.is_local) continue;
      made.shows_picture = made.shows_picture || shows_picture[input];
      made.sources.push_back({input, sets.MakeWay(InputWindow(graph, op, static_cast<int>(i)))});
    }
    made.prepares_input = PreparesInput(graph, op);
    made.can_be_tested = made.is_local && made.is_kept && BringsChanges(op, layout) &&
                         graph.value(op.outputs[0]).shape[0] == 1;
    for (ValueId output : op.outputs) shows_picture[output] = made.shows_picture;
    if (made.shows_picture) made.resolution = ResolutionOf(graph.value(op.outputs[0]));
    return made;
  }

  // Whether the output may change where no test has seen a change.
  static bool BringsChanges(const Operator& op, const Layout& layout) {
    if (!OnlyMoves(op)) return true;
    // A test sees no change in what lies in place in a concatenation.
    const auto lies_in_place = [&](ValueId input) {
      return layout.places[input].viewed == op.outputs[0];
    };
    return !std::all_of(op.inputs.begin(), op.inputs.end(), [&](ValueId input) {
      return layout.is_kept[input];
    }) && std::none_of(op.inputs.begin(), op.inputs.end(), lies_in_place);
  }

  int ResolutionOf(const Value& map) {
    const int height = HeightOf(map);
    const int width = WidthOf(map);
    for (size_t i = 0; i < resolutions.size(); ++i) {
      const PixelSet& set = resolutions[i].fixed;
      if (set.height == height && set.width == width) return static_cast<int>(i);
    }
    resolutions.push_back({sets.Make(height, width, /*is_listed=*/true), sets.Make(height, width)});
    return static_cast<int>(resolutions.size()) - 1;
  }

  // There is one per size.
  PixelSet ScratchOf(PixelSet like) {
    for (const PixelSet& set : scratch) {
      if (set.height == like.height && set.width == like.width) return set;
    }
    scratch.push_back(MakeLike(like));
    return scratch.back();
  }

  ValueMasks& OutputOf(OpId op) { return values[graph.operators[op].outputs[0]]; }

  // Finds which operators are in the stem, and which of them decide what a change is.
  void FindStem(int depth) {
    if (depth == stem_depth) return;
    stem_depth = depth;
    stem_size = StemSize(graph, depth);
    std::fill(ends_stem.begin(), ends_stem.end(), uint8_t{0});
    for (size_t op = stem_size; op < operators.size(); ++op) {
      for (ValueId value : operators[op].reads) EndStemAt(value);
    }
  }

  // Operators that only move numbers cannot decide; those before them do.
  void EndStemAt(ValueId value) {
    const OpId producer = graph.value(value).producer;
    if (producer == kNone || static_cast<size_t>(producer) >= stem_size) return;
    ends_stem[producer] = 1;
    if (operators[producer].can_be_tested) return;
    for (ValueId input : operators[producer].reads) EndStemAt(input);
  }

  bool IsInStem(OpId op) const { return static_cast<size_t>(op) < stem_size; }

  void SetForced(ConstMaskView forced) {
    has_forced = forced.words != nullptr && picture.exists() && !IsEmpty(forced);
    forces_rest = has_forced && forced.Test(0, 0);
    if (!has_forced) return;
    if (forced.height == picture.height && forced.width == picture.width) {
      sets.Write(forced, picture);
    } else {
      Rescale(forced, picture_mask);
      sets.Write(std::as_const(picture_mask), picture);
    }
    for (const Resolution& resolution : resolutions) {
      sets.Clear(resolution.forced);
      sets.AddRescaled(picture, resolution.forced);
    }
  }

  // Whether some of its pixels may have changed by so little that nobody called it a change.
  bool IsRefreshed(ValueId value) const {
    return value == picture_input && has_forced && policy.kind != ChangePolicy::Kind::kExact;
  }

  // Sets kFixed's masks of all resolutions: where the stem's outputs changed, or else the inputs.
  void FixMasks() {
    masks_are_fixed = true;
    for (const Resolution& resolution : resolutions) {
      const PixelSet fixed = resolution.fixed;
      sets.Clear(fixed);
      if (stem_size == 0) {
        for (ValueId input : graph.inputs) {
          if (graph.value(input).is_map()) sets.AddRescaled(values[input].current, fixed);
        }
      }
      for (size_t op = 0; op < stem_size; ++op) {
        if (ends_stem[op] != 0 && operators[op].shows_picture) {
          sets.AddRescaled(OutputOf(static_cast<OpId>(op)).current, fixed);
        }
      }
      sets.Grow(fixed, policy.growth);
      if (has_forced) sets.Add(resolution.forced, fixed);
    }
  }

  // Whether the operator uses the mask of its resolution.
  bool IsFixed(OpId op) const {
    return policy.kind == ChangePolicy::Kind::kFixed && operators[op].shows_picture &&
           !IsInStem(op);
  }

  void AddGrown(OpId op, PixelSet output) {
    for (const Source& source : operators[op].sources) {
      sets.AddReaders(source.way, values[source.map].current, output);
    }
  }

  PixelSet ForcedOf(OpId op) const { return resolutions[operators[op].resolution].forced; }

  // Finds what is active in all rows, this side's or not. Leaves it in the output's own mask.
  void FindActive(OpId op) {
    ValueMasks& output = OutputOf(op);
    output.current = output.own;
    const OperatorMasks& masks = operators[op];
    if (IsFixed(op)) {
      if (!masks_are_fixed) FixMasks();
      sets.Copy(resolutions[masks.resolution].fixed, output.own);
    } else {
      sets.Clear(output.own);
      if (masks.is_local) {
        AddGrown(op, output.own);
      } else {
        for (const ValueId read : masks.reads) sets.FillIfAny(values[read].current, output.own);
      }
      if (masks.shows_picture && has_forced) {
        sets.Add(ForcedOf(op), output.own);
      } else if (!masks.shows_picture && forces_rest) {
        sets.Fill(output.own);
      }
    }
    if (!output.may_be_stale) return;
    masks.is_local ? sets.Add(output.stale, output.own) : sets.FillIfAny(output.stale, output.own);
  }

  bool SharesMask(OpId op) { return IsFixed(op) && !OutputOf(op).may_be_stale && IsMine(op); }

  Range AllRowsOf(OpId op) { return {0, OutputOf(op).own.height}; }
  // Whether this side always computes all rows, not only because they have moved that far: what is
  // asked of a device must not depend on how rows move.
  bool IsMine(OpId op) {
    return rows == nullptr || (!rows->may_move[op] && rows->computed[op] == AllRowsOf(op));
  }
  // An operator that is not local runs whole.
  Range RowsOf(OpId op) {
    if (IsMine(op)) return AllRowsOf(op);
    const Range computed = rows->computed[op];
    return operators[op].is_local || computed.empty() ? computed : AllRowsOf(op);
  }

  // Has rows that this side did not hold in the last frame computed whole. Under kChange also those
  // that it received: they are within the threshold of what the peer's inputs give.
  void EnterRows(OpId op) {
    const bool trusts_received = policy.kind != ChangePolicy::Kind::kChange;
    const Range mine = RowsOf(op);
    for (const ValueId id : graph.operators[op].outputs) {
      ValueMasks& output = values[id];
      const auto is_trusted = [&](int y) {
        const PeerRows::Row last = peer->last_row(id, y);
        return last == PeerRows::kComputed || (last == PeerRows::kReceived && trusts_received);
      };
      entered.assign(static_cast<size_t>(output.own.height), 0);
      bool any = !IsMine(op);
      for (int y = mine.begin; y < mine.end; ++y) {
        if (is_trusted(y)) continue;
        entered[static_cast<size_t>(y)] = 1;
        any = true;
      }
      if (!any) continue;
      sets.FillRows(output.stale, entered);
      MayBeStale(output);
    }
  }

  void KeepMyRows(OpId op) {
    const Range mine = RowsOf(op);
    for (const ValueId id : graph.operators[op].outputs) {
      const PixelSet active = values[id].own;
      sets.ClearRows(active, {0, mine.begin});
      sets.ClearRows(active, {mine.end, active.height});
    }
  }

  static void MayBeStale(ValueMasks& value) { value.may_be_stale = true; }

  PixelRunArgs Activate(OpId op) {
    const OperatorMasks& masks = operators[op];
    ValueMasks& output = OutputOf(op);
    PixelRunArgs args;
    if (peer) EnterRows(op);
    if (SharesMask(op)) {
      if (!masks_are_fixed) FixMasks();
      output.current = resolutions[masks.resolution].fixed;
    } else {
      FindActive(op);
      for (const ValueId id : graph.operators[op].outputs) {
        if (values[id].own.id == output.own.id) continue;
        values[id].current = values[id].own;
        sets.Clear(values[id].own);
        sets.FillIfAny(output.own, values[id].own);
      }
      if (!IsMine(op)) KeepMyRows(op);
    }
    args.active = output.current;
    FindTest(op, args);
    if (args.has_test) {
      if (output.may_be_stale) args.untested = output.stale;
      if (IsForced(op)) args.forced = masks.shows_picture ? ForcedOf(op) : output.own;
    } else if (masks.prepares_input) {
      // Whatever is computed from an input later reads it as it is now, around the changes too.
      args.active = ScratchOf(output.own);
      sets.Clear(args.active);
      sets.FillIfAny(output.current, args.active);
      const Range mine = RowsOf(op);
      sets.ClearRows(args.active, {0, mine.begin});
      sets.ClearRows(args.active, {mine.end, output.own.height});
    }
    return args;
  }

  void AddNeeded(OpId reader, PixelSet pixels) {
    for (const Source& source : operators[reader].sources) {
      const PixelSet needed = values[source.map].needed;
      if (needed.exists()) sets.AddRead(source.way, pixels, needed);
    }
  }

  void FindNeeded(const Stage& stage, PixelSet root_pixels) {
    for (const OpId op : stage.inner) sets.Clear(OutputOf(op).needed);
    AddNeeded(stage.root, root_pixels);
    for (size_t i = stage.inner.size(); i-- > 0;) {
      const ValueMasks& inner = OutputOf(stage.inner[i]);
      sets.Remove(inner.computed, inner.needed);
      sets.Add(inner.needed, inner.computed);
      AddNeeded(stage.inner[i], inner.needed);
    }
  }

  // Whether any of these output pixels reads a stale one.
  bool ReadsStale(OpId op, PixelSet pixels) {
    return std::any_of(operators[op].sources.begin(), operators[op].sources.end(),
                       [&](const Source& source) {
                         const ValueMasks& value = values[source.map];
                         if (!value.stale.exists()) return false;
                         const PixelSet read = ScratchOf(value.own);
                         sets.Clear(read);
                         sets.AddRead(source.way, pixels, read);
                         sets.Keep(value.stale, read);
                         Mask mask(read.height, read.width);
                         sets.Read(read, mask);
                         return !IsEmpty(std::as_const(mask));
                       });
  }

  bool IsForced(OpId op) const { return operators[op].shows_picture ? has_forced : forces_rest; }

  void FindTest(OpId op, PixelRunArgs& args) const {
    const bool is_fixed = policy.kind == ChangePolicy::Kind::kFixed;
    if (!operators[op].can_be_tested || (is_fixed && !IsInStem(op))) return;
    // The caller has already decided what a change of the input is.
    const bool is_change = policy.kind == ChangePolicy::Kind::kChange;
    if (is_change && stem_size == 0 && operators[op].prepares_input) return;
    args.has_test = true;
    const bool decides = !IsInStem(op) || ends_stem[op] != 0;
    if (decides && policy.kind != ChangePolicy::Kind::kExact && policy.threshold > 0.0f) {
      args.threshold = policy.threshold;
      args.inverse_spread = (*policy.spreads)[graph.operators[op].outputs[0]].data();
    }
  }

  void Finish(OpId op) {
    const Range mine = RowsOf(op);
    for (const ValueId id : graph.operators[op].outputs) {
      ValueMasks& output = values[id];
      if (peer) {
        if (!peer->lacks_all()) AddWritten(op, id, mine);
        peer->SetRows(id, mine, PeerRows::kComputed);
      }
      if (!output.may_be_stale) continue;
      sets.ClearRows(output.stale, mine);
      output.may_be_stale = !IsMine(op);
    }
  }

  void AddWritten(OpId op, ValueId id, Range mine) {
    peer->Write(id, values[id].current, mine);
    // Small changes that are stored are news to the peer, though not to readers.
    if (policy.threshold <= 0.0f || !IsForced(op)) return;
    if (operators[op].shows_picture) return peer->Write(id, ForcedOf(op), mine);
    const PixelSet all = ScratchOf(values[id].own);
    sets.Fill(all);
    peer->Write(id, all, mine);
  }

  // For an operator that does not run: makes stale what it should have computed or, if it is not
  // kept, what is kept after it.
  void AddMissed(OpId op) {
    ValueMasks& output = OutputOf(op);
    if (!operators[op].is_kept) return AddGrown(op, output.own);
    const bool is_unknown = IsFixed(op) && !masks_are_fixed && stem_size != 0;
    if (is_unknown) {
      AddGrown(op, output.own);
    } else {
      FindActive(op);
    }
    for (const ValueId id : graph.operators[op].outputs) {
      ValueMasks& missed = values[id];
      if (missed.own.id == output.own.id) {
        sets.Add(output.own, missed.stale);
      } else {
        sets.FillIfAny(output.own, missed.stale);
        sets.FillIfAny(output.own, missed.own);
      }
      MayBeStale(missed);
    }
  }

  // Nothing is known of rows that the peer should have sent and that have not arrived.
  void AddMissingRows(OpId op) {
    for (const ValueId id : graph.operators[op].outputs) {
      ValueMasks& output = values[id];
      for (int y = 0; y < output.own.height; ++y) {
        if (peer->row(id, y) != PeerRows::kUnknown) continue;
        sets.FillRows(output.own, {y, y + 1});
      }
    }
  }

  // Nothing is known of rows that this side would not have computed.
  void LoseOtherRows(OpId op) {
    if (!operators[op].is_kept) return;
    const Range mine = RowsOf(op);
    for (const ValueId id : graph.operators[op].outputs) {
      ValueMasks& output = values[id];
      for (const Range rest : {Range{0, mine.begin}, Range{mine.end, output.own.height}}) {
        peer->LoseLastRows(id, rest);
        sets.FillRows(output.own, rest);
      }
    }
  }

  // Adds the pixels that read what a map that is not kept lost in a shift.
  void AddLostThroughSources(OpId op, PixelSet lost) {
    for (const Source& source : operators[op].sources) {
      const OpId producer = graph.value(source.map).producer;
      if (producer == kNone || operators[producer].is_kept) continue;
      sets.AddReaders(source.way, values[source.map].current, lost);
    }
  }

  void Shift(std::span<const ShiftedMap> maps) {
    std::vector<bool> has_moved(maps.size(), false);
    for (ValueId input : graph.inputs) {
      has_moved[input] = maps[input].is_known;
      if (!peer || !has_moved[input]) continue;
      // The caller marks what came in as changed.
      ShiftSet(sets, maps[input], /*entered=*/{}, values[input].stale);
      peer->Shift(input, maps[input], ScratchOf(values[input].own));
    }
    for (size_t op = 0; op < operators.size(); ++op) {
      const std::vector<ValueId>& reads = operators[op].reads;
      const bool moves =
          std::any_of(reads.begin(), reads.end(), [&](ValueId input) { return has_moved[input]; });
      for (ValueId id : graph.operators[op].outputs) {
        ValueMasks& output = values[id];
        has_moved[id] = moves;
        if (operators[op].is_kept) {
          if (!moves) continue;
          ShiftSet(sets, maps[id], ScratchOf(output.own), output.stale);
          AddLostThroughSources(static_cast<OpId>(op), output.stale);
          MayBeStale(output);
          if (peer) peer->Shift(id, maps[id], ScratchOf(output.own));
        } else {
          output.current = output.own;
          sets.Clear(output.own);
          if (!moves) continue;
          sets.Fill(output.own);
          if (maps[id].is_known) {
            sets.ClearRectangle(output.own, maps[id].kept_rows, maps[id].kept_columns);
          }
          AddLostThroughSources(static_cast<OpId>(op), output.own);
        }
      }
    }
  }

  void MarkAll(bool are_stale) {
    for (ValueMasks& value : values) {
      if (!value.stale.exists()) continue;
      value.may_be_stale = are_stale;
      are_stale ? sets.Fill(value.stale) : sets.Clear(value.stale);
    }
    if (peer) peer->MarkAll(are_stale ? PeerRows::kUnknown : PeerRows::kComputed);
  }

  const Graph& graph;
  PixelSets& sets;
  ChangePolicy policy;
  const FrameRows* rows = nullptr;
  std::optional<PeerRows> peer;
  std::vector<ValueMasks> values;
  std::vector<OperatorMasks> operators;
  std::vector<Resolution> resolutions;
  std::vector<PixelSet> scratch;
  std::vector<uint8_t> entered;  // one per row
  PixelSet picture;              // forced pixels of the first map among the inputs
  ValueId picture_input = kNone;
  Mask picture_mask;
  bool masks_are_fixed = false;  // in this frame
  bool has_forced = false;
  bool forces_rest = false;  // what shows no picture, such as gates
  int stem_depth = 0;
  size_t stem_size = 0;            // in operators
  std::vector<uint8_t> ends_stem;  // one per operator
};

FrameMasks::FrameMasks(const Graph& graph, const Layout& layout, PixelSets& sets, bool trades)
    : state_(std::make_unique<State>(graph, layout, sets, trades)) {}
FrameMasks::~FrameMasks() = default;

void FrameMasks::Begin(const ChangePolicy& policy, std::span<const ConstMaskView> changed,
                       ConstMaskView forced, const FrameRows* rows) {
  State& state = *state_;
  state.policy = policy;
  state.rows = rows;
  state.masks_are_fixed = false;
  state.FindStem(policy.stem_depth);
  ForgetComputed();
  if (state.peer) state.peer->BeginFrame();
  const bool holds_inputs = rows == nullptr || rows->holds_inputs;
  for (size_t i = 0; i < state.graph.inputs.size(); ++i) {
    const ValueId id = state.graph.inputs[i];
    const ValueMasks& input = state.values[id];
    changed.empty() ? state.sets.Clear(input.own) : state.sets.Write(changed[i], input.own);
    if (!state.peer || !holds_inputs) continue;
    const Range all = {0, input.own.height};
    state.peer->Write(id, input.own, all);
    state.peer->SetRows(id, all, PeerRows::kComputed);
    state.sets.Clear(input.stale);
  }
  state.SetForced(forced);
  if (state.peer && holds_inputs && state.IsRefreshed(state.picture_input)) {
    state.peer->Write(state.picture_input, state.picture, {0, state.picture.height});
  }
}

PixelRunArgs FrameMasks::Activate(OpId op) { return state_->Activate(op); }

void FrameMasks::Follow(OpId op) {
  State& state = *state_;
  const ValueMasks& output = state.OutputOf(op);
  state.sets.Clear(output.own);
  if (!state.IsFixed(op)) state.AddGrown(op, output.own);
}

void FrameMasks::FindNeeded(const Stage& stage, PixelSet root_pixels) {
  state_->FindNeeded(stage, root_pixels);
}

PixelSet FrameMasks::needed(OpId inner) const { return state_->OutputOf(inner).needed; }

void FrameMasks::ForgetComputed() {
  for (const ValueMasks& value : state_->values) {
    if (value.computed.exists()) state_->sets.Clear(value.computed);
  }
}

void FrameMasks::Finish(OpId op) { state_->Finish(op); }

void FrameMasks::Commit() {
  if (state_->peer) state_->peer->Commit();
}

void FrameMasks::Abandon(OpId op) {
  State& state = *state_;
  const auto count = static_cast<OpId>(state.operators.size());
  for (OpId id = 0; state.peer && id < op; ++id) {
    state.operators[id].is_kept ? state.AddMissingRows(id) : Follow(id);
  }
  for (OpId id = op; id < count; ++id) {
    for (ValueId output : state.graph.operators[id].outputs) {
      state.values[output].current = state.values[output].own;
      state.sets.Clear(state.values[output].own);
    }
  }
  for (OpId id = op; id < count; ++id) {
    state.AddMissed(id);
    if (!state.peer) {
      // It is news to its readers once it is computed.
      if (state.operators[id].is_kept) state.sets.Clear(state.OutputOf(id).own);
    } else {
      // By then the peer may have written pixels that come out unchanged here.
      state.LoseOtherRows(id);
    }
  }
  if (!state.peer) return;
  for (OpId id = op; id < count; ++id) {
    for (ValueId output : state.graph.operators[id].outputs) {
      state.sets.Clear(state.values[output].own);
    }
  }
  for (size_t id = 0; id < state.values.size(); ++id) {
    if (state.graph.values[id].producer < op) state.peer->Commit(static_cast<ValueId>(id));
  }
}

void FrameMasks::Shift(std::span<const ShiftedMap> maps) { state_->Shift(maps); }

void FrameMasks::MarkAll(bool stale) { state_->MarkAll(stale); }

void FrameMasks::AddStale(ValueId value, PixelSet pixels) {
  state_->sets.Add(pixels, state_->values[value].stale);
  state_->MayBeStale(state_->values[value]);
}

void FrameMasks::AddAllStale(ValueId value) {
  state_->sets.Fill(state_->values[value].stale);
  state_->MayBeStale(state_->values[value]);
}

bool FrameMasks::has_stale() const {
  return std::any_of(state_->values.begin(), state_->values.end(),
                     [](const ValueMasks& value) { return value.may_be_stale; });
}

PixelSet FrameMasks::changed(ValueId value) const { return state_->values[value].current; }

PixelSet FrameMasks::stale(ValueId value) const { return state_->values[value].stale; }

bool FrameMasks::holds(ValueId value, int row) const {
  return !state_->peer || state_->peer->last_row(value, row) != PeerRows::kUnknown;
}

bool FrameMasks::ReadsStale(const Stage& stage, PixelSet root_pixels) {
  FindNeeded(stage, root_pixels);
  return state_->ReadsStale(stage.root, root_pixels) ||
         std::any_of(stage.inner.begin(), stage.inner.end(),
                     [this](OpId op) { return state_->ReadsStale(op, needed(op)); });
}

bool FrameMasks::was_computed(ValueId value, int row) const {
  return !state_->peer || state_->peer->last_row(value, row) == PeerRows::kComputed;
}

PixelSet FrameMasks::Unsent(ValueId value) {
  const PixelSet unsent = state_->ScratchOf(state_->values[value].own);
  state_->sets.Clear(unsent);
  state_->peer->AddUnsent(value, unsent);
  return unsent;
}

void FrameMasks::Send(ValueId value, Range rows) { state_->peer->Send(value, rows); }

void FrameMasks::ConfirmSent() { state_->peer->ConfirmSent(); }

void FrameMasks::ForgetSent() { state_->peer->ForgetSent(); }

void FrameMasks::Receive(ValueId value, Range rows, ConstMaskView pixels) {
  State& state = *state_;
  ValueMasks& received = state.values[value];
  state.sets.AddRows(received.stale, rows, received.own);
  state.sets.ClearRows(received.stale, rows);
  state.peer->SetRows(value, rows, PeerRows::kReceived);
  const PixelSet arrived = state.ScratchOf(received.own);
  state.sets.Clear(arrived);
  state.sets.AddWritten(pixels, rows, arrived);
  state.peer->Arrive(value, arrived);
  // What this side wrote there in this frame is news to readers here, though not to the peer.
  for (const ValueId writer : state.peer->writers(value)) {
    if (writer != value) state.sets.AddRows(state.values[writer].current, rows, received.own);
  }
  // Readers of its parts may have run. Under kExact both sides compute the same; under kFixed
  // nothing is promised of inputs.
  if (state.policy.kind == ChangePolicy::Kind::kChange) {
    for (const ValueId part : state.peer->parts(value)) {
      if (!state.values[part].stale.exists()) continue;
      state.sets.Add(arrived, state.values[part].stale);
      state.MayBeStale(state.values[part]);
    }
  }
  // What a refresh brings of a picture changes nothing beyond the refreshed pixels.
  if (state.IsRefreshed(value)) state.sets.Remove(state.picture, arrived);
  state.sets.Add(arrived, received.own);
}

bool FrameMasks::has_parts(ValueId value) const { return !state_->peer->parts(value).empty(); }

void FrameMasks::LosePeer() { state_->peer->LosePeer(); }

}  // namespace cacheinf
