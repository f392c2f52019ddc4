#include "common/model/graph/geometry.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <variant>

#include "sparse_ops/winograd.h"

namespace cacheinf {
namespace {

AxisWindow Shifted(int in_size, int out_size, int64_t pad_begin, int64_t stride = 1) {
  WindowAxis window;
  window.pad_begin = static_cast<int>(pad_begin);
  window.stride = static_cast<int>(stride);
  return AxisWindow::Sliding(in_size, out_size, window);
}

// Finds the window from one input map of an operator to its output map; none if what an output
// pixel reads is not bounded, or is not a window.
class WindowFinder {
 public:
  // REQUIRES: the input and the operator's output are maps.
  WindowFinder(const Graph& graph, const Operator& op, size_t input)
      : graph_(graph),
        op_(op),
        input_(input),
        in_(graph.value(op.inputs[input]).shape),
        out_(graph.value(op.outputs[0]).shape) {}

  std::optional<Window> Find() const { return std::visit(*this, op_.attributes); }

  std::optional<Window> operator()(const op::Conv& conv) const {
    if (input_ != 0) return Identity();  // the residual
    Window window = Sliding(conv.spec.rows, conv.spec.columns);
    if (conv.spec.transposed) {
      window.rows.kind = AxisWindow::Kind::kTransposed;
      window.columns.kind = AxisWindow::Kind::kTransposed;
    }
    if (conv.scheme == Scheme::kWinograd) {
      window.rows.tile = window.columns.tile = kWinogradTile;
    }
    return window;
  }
  std::optional<Window> operator()(const op::QuantConv& conv) const {
    return input_ == 0 ? Sliding(conv.spec.rows, conv.spec.columns) : Identity();
  }
  std::optional<Window> operator()(const op::QuantPool& pool) const {
    return Sliding(pool.spec.rows, pool.spec.columns);
  }
  std::optional<Window> operator()(const op::FakeQuantise&) const { return Identity(); }
  std::optional<Window> operator()(const op::Quantise&) const { return Identity(); }
  std::optional<Window> operator()(const op::Dequantise&) const { return Identity(); }
  std::optional<Window> operator()(const op::Table&) const { return Identity(); }
  std::optional<Window> operator()(const op::QuantBinary&) const { return Identity(); }
  std::optional<Window> operator()(const op::ScaleShift&) const { return Identity(); }
  std::optional<Window> operator()(const op::LayerNorm& norm) const {
    return IdentityIf(norm.axis_count == 1 && norm.first_axis <= 1);
  }
  std::optional<Window> operator()(const op::Activation&) const { return Identity(); }
  std::optional<Window> operator()(const op::Binary&) const { return Broadcast(); }
  std::optional<Window> operator()(const op::Expand&) const { return Broadcast(); }
  std::optional<Window> operator()(const op::Concat& concat) const {
    int64_t begin = 0;
    for (size_t i = 0; i < input_; ++i) begin += graph_.value(op_.inputs[i]).shape[concat.axis];
    return Window{Shifted(InRows(), OutRows(), concat.axis == 2 ? begin : 0),
                  Shifted(InColumns(), OutColumns(), concat.axis == 3 ? begin : 0)};
  }
  std::optional<Window> operator()(const op::Slice& slice) const {
    return Window{Shifted(InRows(), OutRows(), -slice.starts[2], slice.steps[2]),
                  Shifted(InColumns(), OutColumns(), -slice.starts[3], slice.steps[3])};
  }
  std::optional<Window> operator()(const op::Gather& gather) const {
    return IdentityIf(gather.axis <= 1);
  }
  std::optional<Window> operator()(const op::Pool& pool) const {
    return Sliding(pool.spec.rows, pool.spec.columns);
  }
  std::optional<Window> operator()(const op::AdaptivePool&) const {
    const std::optional<WindowAxis> rows = Cells(InRows(), OutRows());
    const std::optional<WindowAxis> columns = Cells(InColumns(), OutColumns());
    if (!rows || !columns) return std::nullopt;
    return Sliding(*rows, *columns);
  }
  std::optional<Window> operator()(const op::Resize& resize) const {
    Window window = Identity();
    window.rows.kind = window.columns.kind = AxisWindow::Kind::kResize;
    window.rows.resize = window.columns.resize = resize.spec;
    window.columns.is_rows = false;
    return window;
  }
  std::optional<Window> operator()(const op::DepthToSpace& shuffle) const {
    Window window = Sliding(Block(shuffle.block), Block(shuffle.block));
    window.rows.kind = window.columns.kind = AxisWindow::Kind::kTransposed;
    return window;
  }
  std::optional<Window> operator()(const op::SpaceToDepth& shuffle) const {
    return Sliding(Block(shuffle.block), Block(shuffle.block));
  }
  std::optional<Window> operator()(const op::Pad& pad) const {
    Window window = {Shifted(InRows(), OutRows(), pad.begins[2]),
                     Shifted(InColumns(), OutColumns(), pad.begins[3])};
    if (pad.mode != PadMode::kConstant) {
      window.rows.kind = window.columns.kind =
          pad.mode == PadMode::kReflect ? AxisWindow::Kind::kReflect : AxisWindow::Kind::kEdge;
    }
    return window;
  }
  std::optional<Window> operator()(const op::Reshape&) const { return IdentityIf(in_ == out_); }
  std::optional<Window> operator()(const op::Permute& permute) const {
    return IdentityIf(permute.order[2] == 2 && permute.order[3] == 3);
  }
  std::optional<Window> operator()(const op::Softmax& softmax) const {
    return IdentityIf(softmax.axis <= 1);
  }
  std::optional<Window> operator()(const op::ArgMax& arg_max) const {
    return IdentityIf(arg_max.axis <= 1);
  }
  std::optional<Window> operator()(const op::Reduce& reduce) const {
    return IdentityIf(reduce.axes.size() == 1 && reduce.axes[0] <= 1);
  }

  // A matrix product over a map's last two dimensions mixes its pixels; so does a norm over them.
  std::optional<Window> operator()(const op::Linear&) const { return std::nullopt; }
  std::optional<Window> operator()(const op::MatMul&) const { return std::nullopt; }
  std::optional<Window> operator()(const op::QuantLinear&) const { return std::nullopt; }
  std::optional<Window> operator()(const op::GroupNorm&) const { return std::nullopt; }
  std::optional<Window> operator()(const op::DecodeBoxes&) const { return std::nullopt; }
  std::optional<Window> operator()(const op::NonMaxSuppression&) const { return std::nullopt; }
  std::optional<Window> operator()(const op::GatherElements&) const { return std::nullopt; }
  std::optional<Window> operator()(const op::TopK&) const { return std::nullopt; }
  std::optional<Window> operator()(const op::Foreign&) const { return std::nullopt; }

 private:
  int InRows() const { return static_cast<int>(in_[2]); }
  int InColumns() const { return static_cast<int>(in_[3]); }
  int OutRows() const { return static_cast<int>(out_[2]); }
  int OutColumns() const { return static_cast<int>(out_[3]); }

  Window Sliding(const WindowAxis& rows, const WindowAxis& columns) const {
    return {AxisWindow::Sliding(InRows(), OutRows(), rows),
            AxisWindow::Sliding(InColumns(), OutColumns(), columns)};
  }
  Window Identity() const { return Sliding(WindowAxis{}, WindowAxis{}); }
  std::optional<Window> IdentityIf(bool condition) const {
    if (!condition) return std::nullopt;
    return Identity();
  }

  Window Broadcast() const {
    Window window = Identity();
    if (InRows() != OutRows()) window.rows.kind = AxisWindow::Kind::kBroadcast;
    if (InColumns() != OutColumns()) window.columns.kind = AxisWindow::Kind::kBroadcast;
    return window;
  }

  static WindowAxis Block(int block) {
    WindowAxis window;
    window.kernel = window.stride = block;
    return window;
  }

  // The window of an adaptive pool; none if it pools everything into one cell.
  static std::optional<WindowAxis> Cells(int in_size, int out_size) {
    if (in_size % out_size != 0 || (out_size == 1 && in_size > 1)) return std::nullopt;
    return Block(in_size / out_size);
  }

  const Graph& graph_;
  const Operator& op_;
  size_t input_;
  const Shape& in_;
  const Shape& out_;
};

std::optional<Window> FindWindow(const Graph& graph, const Operator& op, size_t input) {
  if (!graph.value(op.inputs[input]).is_map() || !graph.value(op.outputs[0]).is_map()) {
    return std::nullopt;
  }
  return WindowFinder(graph, op, input).Find();
}

}  // namespace

bool IsLocal(const Graph& graph, const Operator& op) {
  bool reads_a_map = false;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (graph.value(op.inputs[i]).is_constant()) continue;
    if (!FindWindow(graph, op, i)) return false;
    reads_a_map = true;
  }
  return reads_a_map;
}

Window InputWindow(const Graph& graph, const Operator& op, int input) {
  const std::optional<Window> window = FindWindow(graph, op, static_cast<size_t>(input));
  if (!window) throw std::logic_error("InputWindow: operator '" + op.name + "' is not local");
  return *window;
}

RowsOfOperators RowsNeeded(const Graph& graph, ValueId output, Range rows) {
  std::vector<Range> needed(graph.values.size());
  needed[output] = rows;
  RowsOfOperators computed(graph.operators.size());
  for (size_t id = graph.operators.size(); id-- > 0;) {
    const Operator& op = graph.operators[id];
    Range own;
    for (ValueId value : op.outputs) own = Hull(own, needed[value]);
    if (own.empty()) continue;

    const bool is_local = IsLocal(graph, op);
    computed[id] = is_local ? own : Range{0, RowCount(graph, op)};
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Value& input = graph.value(op.inputs[i]);
      if (input.is_constant()) continue;
      const Range read = is_local ? InputWindow(graph, op, static_cast<int>(i)).rows.Needed(own)
                                  : Range{0, HeightOf(input)};
      needed[op.inputs[i]] = Hull(needed[op.inputs[i]], read);
    }
  }
  return computed;
}

Range Hull(Range a, Range b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

Range Intersect(Range a, Range b) {
  const Range both = {std::max(a.begin, b.begin), std::min(a.end, b.end)};
  return both.empty() ? Range{} : both;
}

}  // namespace cacheinf
