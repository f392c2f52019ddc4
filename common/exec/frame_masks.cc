#include "common/exec/frame_masks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

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
  // With a peer, once something was traded.
  PixelSet unsent;
  PixelSet sent;  // since both sides last committed a frame
  // One per row: what this side did with it in the last frame, and in this one.
  enum Row : uint8_t { kUnknown, kReceived, kComputed };
  std::vector<uint8_t> last_rows;
  std::vector<uint8_t> rows;
  std::vector<ValueId> writers;  // the values whose pixels are written where it lies
  std::vector<ValueId> parts;    // all that lie in it
};

}  // namespace

struct FrameMasks::State {
  State(const Graph& graph, const Layout& layout, PixelSets& sets, bool trades)
      : graph(graph), sets(sets), trades(trades), values(graph.values.size()) {
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
    if (!layout.is_kept[id] || (is_input && !trades)) return;
    made.stale = MakeLike(made.own);
    if (!trades) return;
    made.rows.resize(static_cast<size_t>(made.own.height));
    entered.reserve(std::max(entered.capacity(), made.rows.size()));
    made.last_rows = made.rows;
    made.unsent = MakeLike(made.own);
    made.sent = MakeLike(made.own);
    AddWriters(id, layout, made);
  }

  // What already lies in place is written by earlier operators.
  void AddWriters(ValueId id, const Layout& layout, ValueMasks& made) const {
    const OpId producer = graph.value(id).producer;
    if (producer == kNone || !layout.is_done_by_placement[producer]) made.writers.push_back(id);
    if (producer == kNone) return;
    const Operator& op = graph.operators[producer];
    const bool is_view = layout.is_done_by_placement[producer] && op.As<op::Concat>() == nullptr;
    for (const ValueId input : op.inputs) {
      if (graph.value(input).is_constant()) continue;
      const bool lies_here = op.As<op::Concat>() != nullptr && layout.places[input].viewed == id;
      if (!is_view && !lies_here) continue;
      made.parts.push_back(input);
      AddWriters(input, layout, made);
    }
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

  static void SetRows(ValueMasks& value, Range rows, ValueMasks::Row what) {
    std::fill(value.rows.begin() + rows.begin, value.rows.begin() + rows.end, what);
  }

  // Has rows that this side did not hold in the last frame computed whole. Under kChange also those
  // that it received: they are within the threshold of what the peer's inputs give.
  void EnterRows(OpId op) {
    const bool trusts_received = policy.kind != ChangePolicy::Kind::kChange;
    const Range mine = RowsOf(op);
    for (const ValueId id : graph.operators[op].outputs) {
      ValueMasks& output = values[id];
      const auto is_trusted = [&](int y) {
        const uint8_t last = output.last_rows[static_cast<size_t>(y)];
        return last == ValueMasks::kComputed || (last == ValueMasks::kReceived && trusts_received);
      };
      entered.assign(output.last_rows.size(), 0);
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
    if (trades) EnterRows(op);
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
      if (trades) {
        if (!all_is_unsent) AddWritten(op, output, mine);
        SetRows(output, mine, ValueMasks::kComputed);
      }
      if (!output.may_be_stale) continue;
      sets.ClearRows(output.stale, mine);
      output.may_be_stale = !IsMine(op);
    }
  }

  // From here on `unsent` says what the peer lacks.
  void BeginTrading() {
    if (!std::exchange(all_is_unsent, false)) return;
    for (const ValueMasks& value : values) {
      if (!value.unsent.exists()) continue;
      sets.Fill(value.unsent);
      sets.Clear(value.sent);
    }
  }

  void AddWritten(OpId op, ValueMasks& output, Range mine) {
    const auto add = [&](PixelSet written) {
      sets.AddRows(written, mine, output.unsent);
      // Rows beyond are not written.
      sets.Remove(written, output.sent);
    };
    add(output.current);
    // Small changes that are stored are news to the peer, though not to readers.
    if (policy.threshold <= 0.0f || !IsForced(op)) return;
    if (operators[op].shows_picture) return add(ForcedOf(op));
    const PixelSet all = ScratchOf(output.own);
    sets.Fill(all);
    add(all);
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
        if (output.rows[static_cast<size_t>(y)] != ValueMasks::kUnknown) continue;
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
        std::fill(output.last_rows.begin() + rest.begin, output.last_rows.begin() + rest.end,
                  ValueMasks::kUnknown);
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

  // Moves the set of a shifted map along, and with `with_entered` adds what came in.
  void ShiftSet(const ShiftedMap& map, bool with_entered, PixelSet set) {
    if (!map.is_known) return sets.Fill(set);
    sets.Shift(set, map.shift.rows, map.shift.columns);
    if (!with_entered) return;
    const PixelSet entered = ScratchOf(set);
    sets.Fill(entered);
    sets.ClearRectangle(entered, map.kept_rows, map.kept_columns);
    sets.Add(entered, set);
  }

  void ShiftTraded(const ShiftedMap& map, ValueMasks& value) {
    if (!all_is_unsent) {
      ShiftSet(map, /*with_entered=*/true, value.unsent);
      sets.Clear(value.sent);
    }
    const std::vector<uint8_t> before = std::exchange(
        value.last_rows, std::vector<uint8_t>(value.last_rows.size(), ValueMasks::kUnknown));
    const auto height = static_cast<int>(before.size());
    for (int y = 0; y < height && map.is_known; ++y) {
      const int from = y + map.shift.rows;
      if (from >= 0 && from < height) {
        value.last_rows[static_cast<size_t>(y)] = before[static_cast<size_t>(from)];
      }
    }
  }

  void Shift(std::span<const ShiftedMap> maps) {
    std::vector<bool> has_moved(maps.size(), false);
    for (ValueId input : graph.inputs) {
      has_moved[input] = maps[input].is_known;
      if (!trades || !has_moved[input]) continue;
      // The caller marks what came in as changed.
      ShiftSet(maps[input], /*with_entered=*/false, values[input].stale);
      ShiftTraded(maps[input], values[input]);
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
          ShiftSet(maps[id], /*with_entered=*/true, output.stale);
          AddLostThroughSources(static_cast<OpId>(op), output.stale);
          MayBeStale(output);
          if (trades) ShiftTraded(maps[id], output);
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
      std::fill(value.last_rows.begin(), value.last_rows.end(),
                are_stale ? ValueMasks::kUnknown : ValueMasks::kComputed);
    }
    all_is_unsent = true;
  }

  const Graph& graph;
  PixelSets& sets;
  const bool trades;
  ChangePolicy policy;
  const FrameRows* rows = nullptr;
  std::vector<ValueMasks> values;
  std::vector<OperatorMasks> operators;
  std::vector<Resolution> resolutions;
  std::vector<PixelSet> scratch;
  std::vector<uint8_t> entered;  // one per row
  PixelSet picture;              // forced pixels of the first map among the inputs
  ValueId picture_input = kNone;
  Mask picture_mask;
  bool all_is_unsent = true;     // whatever `unsent` says
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
  for (ValueMasks& value : state.values) std::fill(value.rows.begin(), value.rows.end(), 0);
  const bool holds_inputs = rows == nullptr || rows->holds_inputs;
  for (size_t i = 0; i < state.graph.inputs.size(); ++i) {
    ValueMasks& input = state.values[state.graph.inputs[i]];
    changed.empty() ? state.sets.Clear(input.own) : state.sets.Write(changed[i], input.own);
    if (!state.trades || !holds_inputs) continue;
    if (!state.all_is_unsent) {
      state.sets.Add(input.own, input.unsent);
      state.sets.Remove(input.own, input.sent);
    }
    state.sets.Clear(input.stale);
    state.SetRows(input, {0, input.own.height}, ValueMasks::kComputed);
  }
  state.SetForced(forced);
  if (!state.all_is_unsent && holds_inputs && state.IsRefreshed(state.picture_input)) {
    const ValueMasks& input = state.values[state.picture_input];
    state.sets.Add(state.picture, input.unsent);
    state.sets.Remove(state.picture, input.sent);
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
  for (ValueMasks& value : state_->values) value.last_rows = value.rows;
}

void FrameMasks::Abandon(OpId op) {
  State& state = *state_;
  const auto count = static_cast<OpId>(state.operators.size());
  for (OpId id = 0; state.trades && id < op; ++id) {
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
    if (!state.trades) {
      // It is news to its readers once it is computed.
      if (state.operators[id].is_kept) state.sets.Clear(state.OutputOf(id).own);
    } else {
      // By then the peer may have written pixels that come out unchanged here.
      state.LoseOtherRows(id);
    }
  }
  if (!state.trades) return;
  for (OpId id = op; id < count; ++id) {
    for (ValueId output : state.graph.operators[id].outputs) {
      state.sets.Clear(state.values[output].own);
    }
  }
  for (size_t id = 0; id < state.values.size(); ++id) {
    if (state.graph.values[id].producer < op) state.values[id].last_rows = state.values[id].rows;
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
  const std::vector<uint8_t>& rows = state_->values[value].last_rows;
  return rows.empty() || rows[static_cast<size_t>(row)] != ValueMasks::kUnknown;
}

bool FrameMasks::ReadsStale(const Stage& stage, PixelSet root_pixels) {
  FindNeeded(stage, root_pixels);
  return state_->ReadsStale(stage.root, root_pixels) ||
         std::any_of(stage.inner.begin(), stage.inner.end(),
                     [this](OpId op) { return state_->ReadsStale(op, needed(op)); });
}

bool FrameMasks::was_computed(ValueId value, int row) const {
  const std::vector<uint8_t>& rows = state_->values[value].last_rows;
  return rows.empty() || rows[static_cast<size_t>(row)] == ValueMasks::kComputed;
}

PixelSet FrameMasks::Unsent(ValueId value) {
  State& state = *state_;
  state.BeginTrading();
  const PixelSet all = state.ScratchOf(state.values[value].own);
  state.sets.Clear(all);
  for (const ValueId writer : state.values[value].writers) {
    state.sets.Add(state.values[writer].unsent, all);
  }
  return all;
}

void FrameMasks::Send(ValueId value, Range rows) {
  state_->BeginTrading();
  for (const ValueId writer : state_->values[value].writers) {
    ValueMasks& written = state_->values[writer];
    state_->sets.AddRows(written.unsent, rows, written.sent);
  }
}

void FrameMasks::ConfirmSent() {
  if (state_->all_is_unsent) return;
  for (const ValueMasks& value : state_->values) {
    if (!value.unsent.exists()) continue;
    state_->sets.Remove(value.sent, value.unsent);
    state_->sets.Clear(value.sent);
  }
}

void FrameMasks::ForgetSent() {
  if (state_->all_is_unsent) return;
  for (const ValueMasks& value : state_->values) {
    if (value.sent.exists()) state_->sets.Clear(value.sent);
  }
}

void FrameMasks::Receive(ValueId value, Range rows, ConstMaskView pixels) {
  State& state = *state_;
  state.BeginTrading();
  ValueMasks& received = state.values[value];
  state.sets.AddRows(received.stale, rows, received.own);
  state.sets.ClearRows(received.stale, rows);
  state.SetRows(received, rows, ValueMasks::kReceived);
  const PixelSet arrived = state.ScratchOf(received.own);
  state.sets.Clear(arrived);
  state.sets.AddWritten(pixels, rows, arrived);
  for (const ValueId writer : received.writers) {
    ValueMasks& written = state.values[writer];
    state.sets.Remove(arrived, written.unsent);
    state.sets.Remove(arrived, written.sent);
    if (writer == value) continue;
    // What this side wrote there in this frame is news to readers here, though not to the peer.
    state.sets.AddRows(written.current, rows, received.own);
  }
  // Readers of its parts may have run. Under kExact both sides compute the same; under kFixed
  // nothing is promised of inputs.
  if (state.policy.kind == ChangePolicy::Kind::kChange) {
    for (const ValueId part : received.parts) {
      if (!state.values[part].stale.exists()) continue;
      state.sets.Add(arrived, state.values[part].stale);
      state.MayBeStale(state.values[part]);
    }
  }
  // What a refresh brings of a picture changes nothing beyond the refreshed pixels.
  if (state.IsRefreshed(value)) state.sets.Remove(state.picture, arrived);
  state.sets.Add(arrived, received.own);
}

bool FrameMasks::has_parts(ValueId value) const { return !state_->values[value].parts.empty(); }

void FrameMasks::LosePeer() { state_->all_is_unsent = true; }

}  // namespace cacheinf
