#include "common/exec/active_masks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "common/exec/stem.h"
#include "common/exec/value_masks.h"
#include "common/model/graph/geometry.h"
#include "sparse_ops/mask/lists.h"
#include "sparse_ops/mask/propagation.h"

namespace cacheinf {
namespace {

// Operators that only move numbers: what is kept has been tested before they are given it.
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
  std::optional<MaskPropagation> propagation;  // none: the same pixel
};

struct OperatorMasks {
  std::vector<ValueId> reads;   // every value that is not constant
  std::vector<Source> sources;  // of a local operator
  bool is_local = false;
  bool is_kept = false;  // what it computes
  bool prepares_input = false;
  bool can_be_tested = false;  // whether some outputs may come out as they were
  bool shows_picture = false;  // its pixels lie over those of the input picture
  int resolution = kNone;      // then: its entry
};

// What all maps of a size that show the picture have in common.
struct Resolution {
  Resolution(int height, int width)
      : fixed(height, width), refresh(height, width), runs(RunList::MaxRuns(height, width)) {}

  Mask fixed;  // under kFixed, what is active
  Mask refresh;
  RunList runs;  // of `fixed`
};

}  // namespace

struct ActiveMasks::State {
  State(const Graph& graph, const Layout& layout) : graph(graph) {
    for (size_t id = 0; id < graph.values.size(); ++id) {
      const Value& value = graph.values[id];
      const bool may_be_stale = value.producer != kNone && layout.is_kept[id];
      masks.push_back(value.is_constant() ? Mask() : Mask(HeightOf(value), WidthOf(value)));
      stale.push_back(may_be_stale ? Mask(HeightOf(value), WidthOf(value)) : Mask());
    }
    std::vector<bool> shows_picture(graph.values.size(), false);
    for (ValueId input : graph.inputs) shows_picture[input] = graph.value(input).is_map();
    int most_runs = 0;
    int64_t most_pixels = 0;
    size_t most_words = 0;
    for (const Operator& op : graph.operators) {
      operators.push_back(MakeOperator(op, layout, shows_picture));
      const Value& output = graph.value(op.outputs[0]);
      most_runs = std::max(most_runs, RunList::MaxRuns(HeightOf(output), WidthOf(output)));
      most_pixels = std::max(most_pixels, int64_t{HeightOf(output)} * WidthOf(output));
      most_words = std::max(most_words, MaskWords(HeightOf(output), WidthOf(output)));
    }
    for (size_t i = 0; i < kMostParts; ++i) lists.emplace_back(most_runs);
    changed.resize(static_cast<size_t>(most_pixels));
    scratch.resize(most_words);
    rest_words.resize(most_words);
    ends_stem.resize(graph.operators.size());
    MarkAll(/*are_stale=*/true);
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
      made.sources.push_back({input, PropagationOf(InputWindow(graph, op, static_cast<int>(i)))});
    }
    made.prepares_input = PreparesInput(graph, op);
    made.can_be_tested = made.is_local && made.is_kept && BringsChanges(op, layout) &&
                         graph.value(op.outputs[0]).shape[0] == 1;
    for (ValueId output : op.outputs) shows_picture[output] = made.shows_picture;
    if (made.shows_picture) made.resolution = ResolutionOf(graph.value(op.outputs[0]));
    return made;
  }

  // Whether its output may change where no test has seen a change.
  static bool BringsChanges(const Operator& op, const Layout& layout) {
    if (!OnlyMoves(op)) return true;
    // What lies in its place in a concatenation is no change to a test.
    const auto lies_in_place = [&](ValueId input) {
      return layout.places[input].viewed == op.outputs[0];
    };
    return !std::all_of(op.inputs.begin(), op.inputs.end(), [&](ValueId input) {
      return layout.is_kept[input];
    }) && std::none_of(op.inputs.begin(), op.inputs.end(), lies_in_place);
  }

  int ResolutionOf(const Value& map) {
    for (size_t i = 0; i < resolutions.size(); ++i) {
      const ConstMaskView mask = std::as_const(resolutions[i].fixed);
      if (mask.height == HeightOf(map) && mask.width == WidthOf(map)) return static_cast<int>(i);
    }
    resolutions.emplace_back(HeightOf(map), WidthOf(map));
    return static_cast<int>(resolutions.size()) - 1;
  }

  MaskView Scratch(ConstMaskView like) { return {scratch.data(), like.height, like.width}; }
  ValueId OutputOf(OpId op) const { return graph.operators[op].outputs[0]; }

  // Which operators are the stem's, and which of them decide what a change is.
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

  void RescaleRefresh(ConstMaskView refresh) {
    has_refresh = refresh.words != nullptr && !IsEmpty(refresh);
    refreshes_rest = has_refresh && refresh.Test(0, 0);
    if (!has_refresh) return;
    for (Resolution& resolution : resolutions) Rescale(refresh, resolution.refresh);
  }

  // Under kFixed, the masks of all resolutions: where the stem's outputs changed, or the inputs.
  void FixMasks() {
    masks_are_fixed = true;
    for (Resolution& resolution : resolutions) {
      const MaskView mask = resolution.fixed;
      ClearAll(mask);
      if (stem_size == 0) {
        for (ValueId input : graph.inputs) {
          if (graph.value(input).is_map()) AddRescaled(std::as_const(masks[input]), mask);
        }
      }
      for (size_t op = 0; op < stem_size; ++op) {
        if (ends_stem[op] != 0 && operators[op].shows_picture) {
          AddRescaled(std::as_const(masks[OutputOf(static_cast<OpId>(op))]), mask);
        }
      }
      const MaskView grown = Scratch(mask);
      Grow(mask, Reach::Of(policy.growth), grown);
      if (has_refresh) Unite(grown, std::as_const(resolution.refresh), grown);
      Copy(grown, mask);
      resolution.runs.Assign(mask, {0, mask.height});
    }
  }

  void AddRescaled(ConstMaskView from, MaskView to) {
    const MaskView rescaled = Scratch(to);
    Rescale(from, rescaled);
    Unite(to, rescaled, to);
  }

  // Whether the operator's mask is the one of its resolution.
  bool IsFixed(OpId op) const {
    return policy.kind == ChangePolicy::Kind::kFixed && operators[op].shows_picture &&
           !IsInStem(op);
  }

  bool ReadsActive(OpId op) const {
    const std::vector<ValueId>& reads = operators[op].reads;
    return std::any_of(reads.begin(), reads.end(),
                       [this](ValueId value) { return !IsEmpty(std::as_const(masks[value])); });
  }

  bool IsStale(OpId op) const { return has_stale && !IsEmpty(std::as_const(stale[OutputOf(op)])); }

  void GrowFromSources(OpId op, MaskView output) {
    ClearAll(output);
    for (Source& source : operators[op].sources) GrowFromSource(source, output);
  }

  void GrowFromSource(Source& source, MaskView output) {
    const ConstMaskView input = std::as_const(masks[source.map]);
    if (!source.propagation) {
      Unite(output, input, output);
    } else if (!IsEmpty(input)) {
      const MaskView grown = Scratch(output);
      source.propagation->GrowThrough(input, grown);
      Unite(output, grown, output);
    }
  }

  void FindActive(OpId op, MaskView output) {
    if (IsFixed(op)) {
      if (!masks_are_fixed) FixMasks();
      Copy(std::as_const(resolutions[operators[op].resolution].fixed), output);
    } else {
      GrowFromSources(op, output);
      if (IsRefreshed(op)) AddRefresh(op, output);
    }
    if (IsStale(op)) Unite(output, std::as_const(stale[OutputOf(op)]), output);
  }

  // None: what the operator computes is not tested.
  std::optional<ChangeTest> TestOf(OpId op) const {
    const bool is_fixed = policy.kind == ChangePolicy::Kind::kFixed;
    if (!operators[op].can_be_tested || (is_fixed && !IsInStem(op))) return std::nullopt;
    // The caller has decided what a change of the input is.
    const bool is_change = policy.kind == ChangePolicy::Kind::kChange;
    if (is_change && stem_size == 0 && operators[op].prepares_input) return std::nullopt;
    ChangeTest test;
    const bool decides = !IsInStem(op) || ends_stem[op] != 0;
    if (decides && policy.kind != ChangePolicy::Kind::kExact && policy.threshold > 0.0f) {
      test.threshold = policy.threshold;
      test.inverse_spread = (*policy.spreads)[OutputOf(op)].data();
    }
    return test;
  }

  // What an operator that does not run would have had to compute becomes stale, or, where nothing
  // is kept of it, what is kept after it.
  void AddMissed(OpId op, ValueId output) {
    const MaskView missed = stale[output];
    const MaskView active = masks[output];
    if (!operators[op].is_kept) return GrowFromSources(op, active);
    if (!operators[op].is_local) {
      if (ReadsActive(op)) SetAll(missed);
    } else if (!IsFixed(op) || masks_are_fixed || stem_size == 0) {
      FindActive(op, active);
      Unite(missed, active, missed);
    } else {
      GrowFromSources(op, active);
      Unite(missed, active, missed);
    }
    ClearAll(active);
  }

  // The pixels that read what a map which is not kept has lost when it was shifted.
  void AddLostThroughSources(OpId op, MaskView lost) {
    for (Source& source : operators[op].sources) {
      const OpId producer = graph.value(source.map).producer;
      if (producer == kNone || operators[producer].is_kept) continue;
      GrowFromSource(source, lost);
    }
  }

  bool IsRefreshed(OpId op) const {
    return operators[op].shows_picture ? has_refresh : refreshes_rest;
  }

  void AddRefresh(OpId op, MaskView pixels) const {
    if (operators[op].shows_picture) {
      Unite(pixels, std::as_const(resolutions[operators[op].resolution].refresh), pixels);
    } else {
      SetAll(pixels);
    }
  }

  void AddPart(ConstMaskView pixels, const ChangeTest* test) {
    if (IsEmpty(pixels)) return;
    RunList& list = lists[part_count];
    list.Assign(pixels, {0, pixels.height});
    ActivePart& part = parts[part_count];
    part = {list.pixels(), nullptr};
    if (test != nullptr) {
      tests[part_count] = *test;
      tests[part_count].changed = changed.data() + tested_count;
      tested_count += static_cast<size_t>(list.pixel_count());
      part.test = &tests[part_count];
    }
    ++part_count;
  }

  void ListActive(OpId op, ConstMaskView active) {
    part_count = 0;
    tested_count = 0;
    if (IsFixed(op) && !IsStale(op)) {
      if (!IsEmpty(active)) parts[part_count++] = {FixedRuns(op), nullptr};
      return;
    }
    const std::optional<ChangeTest> test = TestOf(op);
    if (!test) return AddPart(active, nullptr);
    const MaskView rest(rest_words.data(), active.height, active.width);
    Copy(active, rest);
    if (IsStale(op)) {
      const ConstMaskView stale_pixels = std::as_const(stale[OutputOf(op)]);
      AddPart(stale_pixels, nullptr);
      Subtract(rest, stale_pixels, rest);
    }
    if (IsRefreshed(op) && test->threshold > 0.0f) {
      const MaskView refreshed = Scratch(active);
      ClearAll(refreshed);
      AddRefresh(op, refreshed);
      Intersect(rest, refreshed, refreshed);
      ChangeTest stored = *test;
      stored.stores_all = true;
      AddPart(refreshed, &stored);
      Subtract(rest, refreshed, rest);
    }
    AddPart(rest, &*test);
  }

  ActivePixels FixedRuns(OpId op) const {
    return resolutions[operators[op].resolution].runs.pixels();
  }

  static constexpr size_t kMostParts = 3;

  void MarkAll(bool are_stale) {
    has_stale = are_stale;
    for (Mask& mask : stale) are_stale ? SetAll(mask) : ClearAll(mask);
  }

  const Graph& graph;
  ChangePolicy policy;
  std::vector<Mask> masks;  // one a value; of one pixel for a value that is not a map
  std::vector<Mask> stale;  // likewise, of values that operators compute
  bool has_stale = false;
  std::vector<OperatorMasks> operators;
  std::vector<Resolution> resolutions;
  bool masks_are_fixed = false;  // in this frame
  bool has_refresh = false;
  bool refreshes_rest = false;  // what shows no picture, gates say
  int stem_depth = 0;
  size_t stem_size = 0;            // operators
  std::vector<uint8_t> ends_stem;  // one an operator
  std::vector<uint64_t> scratch;
  std::vector<uint64_t> rest_words;
  // The parts of the operator in hand.
  std::array<ActivePart, kMostParts> parts;
  std::vector<RunList> lists;  // kMostParts
  std::array<ChangeTest, kMostParts> tests;
  size_t part_count = 0;
  size_t tested_count = 0;
  std::vector<uint8_t> changed;
};

ActiveMasks::ActiveMasks(const Graph& graph, const Layout& layout)
    : state_(std::make_unique<State>(graph, layout)) {}
ActiveMasks::~ActiveMasks() = default;

void ActiveMasks::Begin(const ChangePolicy& policy, std::span<const ConstMaskView> changed,
                        ConstMaskView refresh) {
  state_->policy = policy;
  state_->masks_are_fixed = false;
  state_->FindStem(policy.stem_depth);
  for (size_t i = 0; i < changed.size(); ++i) {
    Copy(changed[i], state_->masks[state_->graph.inputs[i]]);
  }
  state_->RescaleRefresh(refresh);
}

bool ActiveMasks::IsActive(OpId op) const {
  return state_->ReadsActive(op) || state_->IsStale(op) || state_->refreshes_rest;
}

std::span<const ActivePart> ActiveMasks::Activate(OpId op) {
  const MaskView output = state_->masks[state_->OutputOf(op)];
  state_->FindActive(op, output);
  state_->ListActive(op, output);
  return {state_->parts.data(), state_->part_count};
}

void ActiveMasks::Follow(OpId op) {
  const MaskView output = state_->masks[state_->OutputOf(op)];
  if (state_->IsFixed(op)) {
    ClearAll(output);
  } else {
    state_->GrowFromSources(op, output);
  }
}

void ActiveMasks::ActivateAll(OpId op) {
  for (ValueId output : state_->graph.operators[op].outputs) SetAll(state_->masks[output]);
}

void ActiveMasks::Deactivate(OpId op) {
  for (ValueId output : state_->graph.operators[op].outputs) ClearAll(state_->masks[output]);
}

void ActiveMasks::Finish(OpId op) {
  State& state = *state_;
  if (state.operators[op].is_local) {
    for (size_t i = 0; i < state.part_count; ++i) {
      const ActivePart& part = state.parts[i];
      if (part.test == nullptr) continue;
      ClearUnchanged(part.pixels, part.test->changed, state.masks[state.OutputOf(op)]);
    }
  }
  if (!state.has_stale) return;
  for (ValueId output : state.graph.operators[op].outputs) ClearAll(state.stale[output]);
}

void ActiveMasks::Commit() { state_->has_stale = false; }

void ActiveMasks::Abandon(OpId op) {
  State& state = *state_;
  const auto count = static_cast<OpId>(state.operators.size());
  for (OpId id = op; id < count; ++id) Deactivate(id);
  for (OpId id = op; id < count; ++id) {
    for (ValueId output : state.graph.operators[id].outputs) state.AddMissed(id, output);
  }
  state.has_stale = true;
}

void ActiveMasks::Shift(std::span<const ShiftedMap> maps) {
  State& state = *state_;
  if (state.has_stale) return MarkAll(/*stale=*/true);
  state.has_stale = true;
  std::vector<bool> has_moved(maps.size(), false);
  for (ValueId input : state.graph.inputs) has_moved[input] = maps[input].is_known;
  for (size_t op = 0; op < state.operators.size(); ++op) {
    const std::vector<ValueId>& reads = state.operators[op].reads;
    const auto has_input_moved = [&](ValueId input) { return has_moved[input]; };
    const bool is_kept = state.operators[op].is_kept;
    const bool moves = std::any_of(reads.begin(), reads.end(), has_input_moved);
    for (ValueId output : state.graph.operators[op].outputs) {
      const MaskView lost = is_kept ? state.stale[output] : state.masks[output];
      if (!moves && !is_kept) ClearAll(lost);
      if (!moves) continue;
      has_moved[output] = true;
      SetAll(lost);
      const ShiftedMap& map = maps[output];
      if (map.is_known) ClearRectangle(map.kept_rows, map.kept_columns, lost);
      state.AddLostThroughSources(static_cast<OpId>(op), lost);
    }
  }
}

void ActiveMasks::MarkAll(bool stale) { state_->MarkAll(stale); }

void ActiveMasks::AddStale(ValueId value, ConstMaskView pixels) {
  Mask& stale = state_->stale[value];
  Unite(std::as_const(stale), pixels, stale);
  state_->has_stale = true;
}

void ActiveMasks::AddAllStale(ValueId value) {
  SetAll(state_->stale[value]);
  state_->has_stale = true;
}

bool ActiveMasks::has_stale() const { return state_->has_stale; }

ConstMaskView ActiveMasks::mask(ValueId map) const { return std::as_const(state_->masks[map]); }

}  // namespace cacheinf
