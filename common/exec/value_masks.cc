#include "common/exec/value_masks.h"

#include "common/model/graph/cost.h"

namespace cacheinf {
namespace {

bool IsSamePixel(const AxisWindow& axis) {
  const WindowAxis& window = axis.window;
  return axis.kind == AxisWindow::Kind::kSliding && axis.in_size == axis.out_size &&
         window.kernel == 1 && window.stride == 1 && window.pad_begin == 0 && axis.tile == 1;
}

}  // namespace

int64_t WeightOf(const Graph& graph, const Operator& op) {
  const Value& output = graph.value(op.outputs[0]);
  return CostOf(graph, op).multiply_adds / (int64_t{HeightOf(output)} * WidthOf(output));
}

std::optional<MaskPropagation> PropagationOf(const Window& window) {
  if (IsSamePixel(window.rows) && IsSamePixel(window.columns)) return std::nullopt;
  return std::make_optional<MaskPropagation>(window.rows, window.columns);
}

}  // namespace cacheinf
