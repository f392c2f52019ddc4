#include "common/plan/profiled_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "common/base/error.h"
#include "common/model/graph/geometry.h"

namespace cacheinf {
namespace {

// "conv 3x3/2", "silu".
std::string KindTextOf(const Operator& op) {
  const WindowAxis* rows = nullptr;
  const WindowAxis* columns = nullptr;
  if (const auto* conv = op.As<op::Conv>()) {
    rows = &conv->spec.rows;
    columns = &conv->spec.columns;
  } else if (const auto* quant_conv = op.As<op::QuantConv>()) {
    rows = &quant_conv->spec.rows;
    columns = &quant_conv->spec.columns;
  } else if (const auto* pool = op.As<op::Pool>()) {
    rows = &pool->spec.rows;
    columns = &pool->spec.columns;
  } else if (const auto* quant_pool = op.As<op::QuantPool>()) {
    rows = &quant_pool->spec.rows;
    columns = &quant_pool->spec.columns;
  }
  if (rows == nullptr) return KindName(op);
  std::string text = fmt::format("{} {}x{}", KindName(op), rows->kernel, columns->kernel);
  if (rows->stride != 1) text += fmt::format("/{}", rows->stride);
  return text;
}

AxisWindow RowsRead(const Graph& graph, const Operator& op, size_t input, bool is_local) {
  if (is_local) return InputWindow(graph, op, static_cast<int>(input)).rows;
  AxisWindow whole;
  whole.kind = AxisWindow::Kind::kWhole;
  whole.in_size = HeightOf(graph.value(op.inputs[input]));
  whole.out_size = RowCount(graph, op);
  return whole;
}

}  // namespace

std::vector<ProfiledOperator> DescribeOperators(const Graph& graph, const Layout& layout) {
  std::vector<ProfiledOperator> described;
  for (size_t id = 0; id < graph.operators.size(); ++id) {
    const Operator& op = graph.operators[id];
    const ValueId output = op.outputs[0];
    ProfiledOperator profiled;
    profiled.name = graph.value(output).name;
    profiled.kind = KindTextOf(op);
    profiled.is_local = IsLocal(graph, op);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Value& input = graph.value(op.inputs[i]);
      if (input.is_constant()) continue;
      profiled.inputs.push_back({input.producer, RowsRead(graph, op, i, profiled.is_local)});
    }
    profiled.rows = RowCount(graph, op);
    int64_t numbers = 0;
    for (const ValueId value : op.outputs) numbers += ElementCount(graph.value(value).shape);
    profiled.row_bytes = numbers * static_cast<int64_t>(sizeof(float)) / profiled.rows;
    profiled.is_kept = layout.is_kept[output];
    profiled.is_view = layout.is_done_by_placement[id] && op.As<op::Concat>() == nullptr;
    for (const ValueId value : op.outputs) {
      profiled.is_output |= std::ranges::find(graph.outputs, value) != graph.outputs.end();
    }
    described.push_back(std::move(profiled));
  }
  return described;
}

void CheckAreOf(const std::vector<ProfiledOperator>& operators, const std::string& name,
                const Graph& graph, const Layout& layout) {
  const auto is_same = [](const ProfiledOperator& a, const ProfiledOperator& b) {
    return a.name == b.name && a.rows == b.rows && a.row_bytes == b.row_bytes &&
           a.is_local == b.is_local && a.is_kept == b.is_kept;
  };
  if (!std::ranges::equal(operators, DescribeOperators(graph, layout), is_same)) {
    throw InputError(
        fmt::format("{}: made for another model than '{}', or for other values that are kept; "
                    "measure and solve "
                    "again (cacheinf-profile measure, cacheinf-schedule solve)",
                    name, graph.name));
  }
}

}  // namespace cacheinf
