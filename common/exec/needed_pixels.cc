#include "common/exec/needed_pixels.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "common/exec/value_masks.h"
#include "common/model/graph/geometry.h"
#include "sparse_ops/mask/lists.h"
#include "sparse_ops/mask/propagation.h"

namespace cacheinf {
namespace {

// A value that is not kept, as an operator reads it.
struct Source {
  ValueId map;
  std::optional<MaskPropagation> propagation;  // none: the same pixel
};

}  // namespace

struct NeededPixels::State {
  State(const Graph& graph, const std::vector<bool>& is_kept)
      : graph(graph), sources(graph.operators.size()) {
    int most_runs = 0;
    size_t most_words = 0;
    for (size_t id = 0; id < graph.values.size(); ++id) {
      const Value& value = graph.values[id];
      const bool is_computed = value.producer != kNone && !is_kept[id];
      const int height = is_computed ? HeightOf(value) : 0;
      const int width = is_computed ? WidthOf(value) : 0;
      needed.emplace_back(height, width);
      computed.emplace_back(height, width);
      most_runs = std::max(most_runs, RunList::MaxRuns(height, width));
      most_words = std::max(most_words, MaskWords(height, width));
    }
    list.emplace(most_runs);
    scratch.resize(most_words);
    for (size_t id = 0; id < graph.operators.size(); ++id) {
      const Operator& op = graph.operators[id];
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const ValueId input = op.inputs[i];
        if (graph.value(input).producer == kNone || is_kept[input]) continue;
        sources[id].push_back({input, PropagationOf(InputWindow(graph, op, static_cast<int>(i)))});
      }
    }
  }

  ValueId OutputOf(OpId op) const { return graph.operators[op].outputs[0]; }

  void AddNeeded(OpId reader, ConstMaskView pixels) {
    for (Source& source : sources[reader]) {
      const MaskView all = needed[source.map];
      if (!source.propagation) {
        Unite(all, pixels, all);
        continue;
      }
      const MaskView read(scratch.data(), all.height, all.width);
      source.propagation->NeededThrough(pixels, read);
      Unite(all, read, all);
    }
  }

  const Graph& graph;
  std::vector<std::vector<Source>> sources;  // one list an operator
  // One a value; without pixels for those that are kept.
  std::vector<Mask> needed;
  std::vector<Mask> computed;
  std::optional<RunList> list;
  std::vector<uint64_t> scratch;
};

NeededPixels::NeededPixels(const Graph& graph, const std::vector<bool>& is_kept)
    : state_(std::make_unique<State>(graph, is_kept)) {}
NeededPixels::~NeededPixels() = default;

void NeededPixels::Begin() {
  for (Mask& mask : state_->computed) ClearAll(mask);
}

void NeededPixels::Find(const Stage& stage, ConstMaskView root_pixels) {
  State& state = *state_;
  for (const OpId op : stage.inner) ClearAll(state.needed[state.OutputOf(op)]);
  state.AddNeeded(stage.root, root_pixels);
  for (size_t i = stage.inner.size(); i-- > 0;) {
    const OpId op = stage.inner[i];
    const MaskView needed = state.needed[state.OutputOf(op)];
    const MaskView computed = state.computed[state.OutputOf(op)];
    Subtract(needed, computed, needed);
    if (IsEmpty(needed)) continue;
    Unite(computed, needed, computed);
    state.AddNeeded(op, needed);
  }
}

ActivePixels NeededPixels::Of(OpId inner) {
  const ConstMaskView needed = mask(inner);
  state_->list->Assign(needed, {0, needed.height});
  return state_->list->pixels();
}

ConstMaskView NeededPixels::mask(OpId inner) const {
  return std::as_const(state_->needed[state_->OutputOf(inner)]);
}

}  // namespace cacheinf
