#include "common/exec/active_masks.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "common/model/geometry.h"
#include "sparse_ops/mask/lists.h"
#include "sparse_ops/mask/propagation.h"

namespace cacheinf {
namespace {

int HeightOf(const Value& value) { return value.is_map() ? static_cast<int>(value.shape[2]) : 1; }
int WidthOf(const Value& value) { return value.is_map() ? static_cast<int>(value.shape[3]) : 1; }

// Operators that only move numbers: what they are given has been tested already.
bool OnlyMoves(const Operator& op) {
  return op.As<op::Concat>() != nullptr || op.As<op::Slice>() != nullptr ||
         op.As<op::Gather>() != nullptr || op.As<op::Pad>() != nullptr ||
         op.As<op::Reshape>() != nullptr || op.As<op::Permute>() != nullptr ||
         op.As<op::Expand>() != nullptr || op.As<op::DepthToSpace>() != nullptr ||
         op.As<op::SpaceToDepth>() != nullptr;
}

bool IsSamePixel(const AxisWindow& axis) {
  const WindowAxis& window = axis.window;
  return axis.kind == AxisWindow::Kind::kSliding && axis.in_size == axis.out_size &&
         window.kernel == 1 && window.stride == 1 && window.pad_begin == 0 && axis.tile == 1;
}

// A map that a local operator reads.
struct Source {
  ValueId map;
  // None: output pixel (y, x) reads input pixel (y, x) and no other.
  std::optional<MaskPropagation> propagation;
};

struct OperatorMasks {
  std::vector<ValueId> reads;   // every value that is not constant
  std::vector<Source> sources;  // of a local operator
  bool is_tested = false;       // whether some outputs may come out as they were
  bool shows_picture = false;   // its pixels lie over those of the input picture
  int resolution = kNone;       // then: its entry
};

// Under kFixed, the one mask of all maps of a size.
struct Resolution {
  Resolution(int height, int width) : mask(height, width), runs(RunList::MaxRuns(height, width)) {}

  Mask mask;
  RunList runs;
};

}  // namespace

struct ActiveMasks::State {
  explicit State(const Graph& graph) : graph(graph), runs(0) {
    for (const Value& value : graph.values) {
      masks.push_back(value.is_constant() ? Mask() : Mask(HeightOf(value), WidthOf(value)));
    }
    std::vector<bool> shows_picture(graph.values.size(), false);
    for (ValueId input : graph.inputs) shows_picture[input] = graph.value(input).is_map();
    int most_runs = 0;
    int64_t most_pixels = 0;
    for (const Operator& op : graph.operators) {
      operators.push_back(MakeOperator(op, shows_picture));
      const Value& output = graph.value(op.outputs[0]);
      most_runs = std::max(most_runs, RunList::MaxRuns(HeightOf(output), WidthOf(output)));
      most_pixels = std::max(most_pixels, int64_t{HeightOf(output)} * WidthOf(output));
      scratch_words = std::max(scratch_words, MaskWords(HeightOf(output), WidthOf(output)));
    }
    runs = RunList(most_runs);
    changed.resize(static_cast<size_t>(most_pixels));
    scratch.resize(scratch_words);
  }

  OperatorMasks MakeOperator(const Operator& op, std::vector<bool>& shows_picture) {
    OperatorMasks made;
    const bool is_local = IsLocal(graph, op);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueId input = op.inputs[i];
      if (graph.value(input).is_constant()) continue;
      made.reads.push_back(input);
      if (!is_local) continue;
      made.shows_picture = made.shows_picture || shows_picture[input];
      const Window window = InputWindow(graph, op, static_cast<int>(i));
      Source source = {input, std::nullopt};
      if (!IsSamePixel(window.rows) || !IsSamePixel(window.columns)) {
        source.propagation.emplace(window.rows, window.columns);
      }
      made.sources.push_back(std::move(source));
    }
    made.is_tested = is_local && !OnlyMoves(op) && graph.value(op.outputs[0]).shape[0] == 1;
    for (ValueId output : op.outputs) shows_picture[output] = made.shows_picture;
    if (made.shows_picture) made.resolution = ResolutionOf(graph.value(op.outputs[0]));
    return made;
  }

  int ResolutionOf(const Value& map) {
    for (size_t i = 0; i < resolutions.size(); ++i) {
      const ConstMaskView mask = std::as_const(resolutions[i].mask);
      if (mask.height == HeightOf(map) && mask.width == WidthOf(map)) return static_cast<int>(i);
    }
    resolutions.emplace_back(HeightOf(map), WidthOf(map));
    return static_cast<int>(resolutions.size()) - 1;
  }

  // The masks of all resolutions from those of the input maps.
  void FixMasks() {
    for (Resolution& resolution : resolutions) {
      const MaskView mask = resolution.mask;
      const MaskView rescaled(scratch.data(), mask.height, mask.width);
      ClearAll(mask);
      for (ValueId input : graph.inputs) {
        if (!graph.value(input).is_map()) continue;
        Rescale(std::as_const(masks[input]), rescaled);
        Unite(mask, rescaled, mask);
      }
      Grow(mask, Reach::Of(policy.growth), rescaled);
      Copy(rescaled, mask);
      resolution.runs.Assign(mask, {0, mask.height});
    }
  }

  bool IsFixed(const OperatorMasks& op) const {
    return policy.kind == ChangePolicy::Kind::kFixed && op.shows_picture;
  }

  void GrowFromSources(OperatorMasks& op, MaskView output) {
    ClearAll(output);
    const MaskView grown(scratch.data(), output.height, output.width);
    for (Source& source : op.sources) {
      const ConstMaskView input = std::as_const(masks[source.map]);
      if (!source.propagation) {
        Unite(output, input, output);
      } else if (!IsEmpty(input)) {
        source.propagation->GrowThrough(input, grown);
        Unite(output, grown, output);
      }
    }
  }

  const Graph& graph;
  ChangePolicy policy;
  std::vector<Mask> masks;  // one a value; of one pixel for a value that is not a map
  std::vector<OperatorMasks> operators;
  std::vector<Resolution> resolutions;
  size_t scratch_words = 0;
  std::vector<uint64_t> scratch;
  RunList runs;
  ActivePixels active = Range{0, 0};
  std::vector<uint8_t> changed;
  ChangeTest test;
};

ActiveMasks::ActiveMasks(const Graph& graph) : state_(std::make_unique<State>(graph)) {}
ActiveMasks::~ActiveMasks() = default;

void ActiveMasks::Begin(const ChangePolicy& policy, std::span<const ConstMaskView> changed) {
  state_->policy = policy;
  for (size_t i = 0; i < changed.size(); ++i) {
    Copy(changed[i], state_->masks[state_->graph.inputs[i]]);
  }
  if (policy.kind == ChangePolicy::Kind::kFixed) state_->FixMasks();
}

bool ActiveMasks::ReadsActive(OpId op) const {
  const OperatorMasks& masks = state_->operators[op];
  return std::any_of(masks.reads.begin(), masks.reads.end(), [this](ValueId value) {
    return !IsEmpty(std::as_const(state_->masks[value]));
  });
}

const ActivePixels& ActiveMasks::Activate(OpId op) {
  OperatorMasks& operator_masks = state_->operators[op];
  const MaskView output = state_->masks[state_->graph.operators[op].outputs[0]];
  if (!ReadsActive(op)) {
    ClearAll(output);
    state_->active = ActivePixels(Range{0, 0});
  } else if (state_->IsFixed(operator_masks)) {
    const Resolution& resolution = state_->resolutions[operator_masks.resolution];
    Copy(resolution.mask, output);
    state_->active = resolution.runs.pixels();
  } else {
    state_->GrowFromSources(operator_masks, output);
    state_->runs.Assign(output, {0, output.height});
    state_->active = state_->runs.pixels();
  }
  return state_->active;
}

void ActiveMasks::ActivateAll(OpId op) {
  for (ValueId output : state_->graph.operators[op].outputs) SetAll(state_->masks[output]);
}

void ActiveMasks::Deactivate(OpId op) {
  for (ValueId output : state_->graph.operators[op].outputs) ClearAll(state_->masks[output]);
}

const ChangeTest* ActiveMasks::Test(OpId op) {
  if (state_->policy.kind == ChangePolicy::Kind::kFixed || !state_->operators[op].is_tested) {
    return nullptr;
  }
  ChangeTest& test = state_->test;
  test = {0.0f, nullptr, state_->changed.data()};
  if (state_->policy.kind == ChangePolicy::Kind::kChange && state_->policy.threshold > 0.0f) {
    const ValueId output = state_->graph.operators[op].outputs[0];
    test.threshold = state_->policy.threshold;
    test.inverse_spread = (*state_->policy.spreads)[output].data();
  }
  return &test;
}

void ActiveMasks::DropUnchanged(OpId op) {
  ClearUnchanged(state_->active, state_->changed.data(),
                 state_->masks[state_->graph.operators[op].outputs[0]]);
}

ConstMaskView ActiveMasks::mask(ValueId map) const { return std::as_const(state_->masks[map]); }

}  // namespace cacheinf
