#include "common/exec/needed_pixels.h"

#include <cstddef>

#include "common/exec/value_masks.h"
#include "common/model/graph/geometry.h"

namespace cacheinf {

NeededPixels::NeededPixels(const Graph& graph, const std::vector<bool>& is_kept, PixelSets& sets)
    : graph_(graph), sets_(sets), sources_(graph.operators.size()), values_(graph.values.size()) {
  for (size_t id = 0; id < graph.values.size(); ++id) {
    const Value& value = graph.values[id];
    if (value.producer == kNone || is_kept[id]) continue;
    values_[id] = {sets.Make(HeightOf(value), WidthOf(value)),
                   sets.Make(HeightOf(value), WidthOf(value))};
  }
  for (size_t id = 0; id < graph.operators.size(); ++id) {
    const Operator& op = graph.operators[id];
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueId input = op.inputs[i];
      if (graph.value(input).producer == kNone || is_kept[input]) continue;
      sources_[id].push_back({input, sets.MakeWay(InputWindow(graph, op, static_cast<int>(i)))});
    }
  }
}

void NeededPixels::Begin() {
  for (const ValuePixels& value : values_) {
    if (value.computed.exists()) sets_.Clear(value.computed);
  }
}

void NeededPixels::AddNeeded(OpId reader, PixelSet pixels) {
  for (const Source& source : sources_[reader]) {
    sets_.AddRead(source.way, pixels, values_[source.map].needed);
  }
}

void NeededPixels::Find(const Stage& stage, PixelSet root_pixels) {
  for (const OpId op : stage.inner) sets_.Clear(Of(op));
  AddNeeded(stage.root, root_pixels);
  for (size_t i = stage.inner.size(); i-- > 0;) {
    const OpId op = stage.inner[i];
    const auto [needed, computed] = values_[OutputOf(op)];
    sets_.Remove(computed, needed);
    sets_.Add(needed, computed);
    AddNeeded(op, needed);
  }
}

}  // namespace cacheinf
