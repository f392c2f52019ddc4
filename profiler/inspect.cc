#include "profiler/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/json_fields.h"
#include "common/base/words.h"
#include "common/model/graph/cost.h"
#include "common/model/graph/fields.h"
#include "common/model/graph/words.h"
#include "common/model/passes/passes.h"

namespace cacheinf {

CACHEINF_FIELDS(OperatorReport, id, name, kind, fused, groups, reads, shape, parameters,
                multiply_adds, operations, bytes, why_float)
// Its totals.
CACHEINF_FIELDS(ModelReport, local_operators, parameters, multiply_adds, operations, bytes)
CACHEINF_FIELDS(CacheMemory, no_cache_bytes, cache_all_bytes)
CACHEINF_FIELDS(CacheChoice, kept, bytes, extra_work)

namespace {

bool IsFunction(const Function& function) { return function.kind != Function::Kind::kIdentity; }

std::string FunctionName(const Function& function) {
  return KindName(Operator{{}, op::Activation{function}, {}, {}});
}

std::string Fused(const Operator& op) {
  std::vector<std::string> steps;
  const auto add_function = [&steps](const Function& function) {
    if (IsFunction(function)) steps.push_back(FunctionName(function));
  };
  if (const auto* conv = op.As<op::Conv>()) {
    add_function(conv->activation);
    if (conv->has_residual) {
      steps.insert(conv->activation_before_residual ? steps.end() : steps.begin(), "add");
    }
  } else if (const auto* linear = op.As<op::Linear>()) {
    add_function(linear->activation);
  } else if (const auto* quant_conv = op.As<op::QuantConv>()) {
    add_function(quant_conv->activation);
    if (quant_conv->has_residual) {
      steps.insert(quant_conv->activation_before_residual ? steps.end() : steps.begin(), "add");
    }
    if (!quant_conv->table.empty()) steps.insert(steps.begin(), "table");
    if (quant_conv->rounds_sums && quant_conv->gives_floats) steps.emplace_back("dequantise");
  } else if (const auto* quant_linear = op.As<op::QuantLinear>()) {
    add_function(quant_linear->activation);
  } else if (const auto* quant_binary = op.As<op::QuantBinary>()) {
    add_function(quant_binary->activation);
  } else if (const auto* binary = op.As<op::Binary>()) {
    add_function(binary->activation);
  } else if (const auto* affine = op.As<op::ScaleShift>()) {
    add_function(affine->activation);
  }
  return fmt::format("{}", fmt::join(steps, "+"));
}

std::optional<Window> FirstWindow(const Graph& graph, const Operator& op) {
  if (!IsLocal(graph, op)) return std::nullopt;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const Value& value = graph.value(op.inputs[i]);
    if (value.is_map() && !value.is_constant()) return InputWindow(graph, op, static_cast<int>(i));
  }
  return std::nullopt;
}

// How many numbers the operator has in a constant input, or in its attributes beside it.
int64_t ParametersIn(const Graph& graph, const Operator& op, ValueId constant) {
  const Shape& shape = graph.value(constant).shape;
  if (const auto* linear = op.As<op::QuantLinear>()) {
    return shape[0] * graph.value(op.inputs[0]).shape.back() +
           static_cast<int64_t>(linear->bias.size());
  }
  const auto* conv = op.As<op::QuantConv>();
  if (conv == nullptr) return ElementCount(shape);
  const int64_t inputs = graph.value(op.inputs[0]).channels / conv->spec.groups;
  return shape[0] * inputs * shape[2] * shape[3] + static_cast<int64_t>(conv->bias.size());
}

OperatorReport InspectOne(const Graph& graph, OpId id) {
  const Operator& op = graph.operators[static_cast<size_t>(id)];
  OperatorReport report;
  report.id = id;
  report.name = op.name;
  report.kind = KindName(op);
  report.fused = Fused(op);
  report.is_local = IsLocal(graph, op);
  report.window = FirstWindow(graph, op);
  if (!op.outputs.empty()) report.shape = graph.value(op.outputs.front()).shape_of_numbers();
  report.why_float = WhyFloat(graph, op);
  if (const auto* conv = op.As<op::Conv>()) {
    const int64_t channels = graph.value(op.inputs.front()).shape[1];
    report.groups = conv->spec.groups;
    report.is_depthwise = report.groups > 1 && report.groups == channels;
  } else if (const auto* quant_conv = op.As<op::QuantConv>()) {
    report.groups = quant_conv->spec.groups;
    report.is_depthwise =
        report.groups > 1 && report.groups == graph.value(op.inputs.front()).channels;
  }
  for (ValueId input : op.inputs) {
    const Value& value = graph.value(input);
    if (value.is_constant()) report.parameters += ParametersIn(graph, op, input);
    if (value.producer != kNone) report.reads.push_back(value.producer);
  }
  const OperatorCost cost = CostOf(graph, op);
  report.multiply_adds = cost.multiply_adds;
  report.operations = cost.operations;
  for (ValueId output : op.outputs) {
    report.bytes += ElementCount(graph.value(output).shape) * static_cast<int64_t>(sizeof(float));
  }
  return report;
}

// One number for both axes if they agree.
std::string Both(std::string_view prefix, int rows, int columns) {
  return rows == columns ? fmt::format(" {}{}", prefix, rows)
                         : fmt::format(" {}{},{}", prefix, rows, columns);
}

// "3x3 s2 p1": stride, padding and dilation (d) if unusual.
std::string WindowText(const Window& window) {
  const AxisWindow::Kind kind = window.rows.kind;
  const bool has_taps = kind == AxisWindow::Kind::kSliding || kind == AxisWindow::Kind::kTransposed;
  if (!has_taps || window.columns.kind != kind) return NameOf(kind);
  const WindowAxis& rows = window.rows.window;
  const WindowAxis& columns = window.columns.window;
  std::string text = fmt::format("{}x{}", rows.kernel, columns.kernel);
  if (rows.stride != 1 || columns.stride != 1) text += Both("s", rows.stride, columns.stride);
  if (rows.pad_begin != 0 || columns.pad_begin != 0) {
    text += Both("p", rows.pad_begin, columns.pad_begin);
  }
  if (rows.dilation != 1 || columns.dilation != 1) {
    text += Both("d", rows.dilation, columns.dilation);
  }
  return text;
}

// "3x3 s2 p1 dw", "1x1 g4".
std::string WindowAndGroups(const OperatorReport& op) {
  std::string text = op.window ? WindowText(*op.window) : "";
  if (op.is_depthwise) {
    text += " dw";
  } else if (op.groups > 1) {
    text += fmt::format(" g{}", op.groups);
  }
  return text;
}

// Puts a name on one line, whatever a model's file calls it.
std::string OneLine(std::string_view name) {
  std::string line;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    line += byte < ' ' || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return line;
}

std::string KindAndFused(const OperatorReport& op) {
  return op.fused.empty() ? op.kind : op.kind + "+" + op.fused;
}

nlohmann::json AxisJson(const AxisWindow& axis) {
  nlohmann::json json = WriteFields(axis.window);
  json["kind"] = NameOf(axis.kind);
  return json;
}

// "input   1x3x384x640  float32  images".
std::string ValuesText(std::string_view what, const std::vector<Value>& values, size_t width) {
  std::string text;
  for (const Value& value : values) {
    text += fmt::format("{:<8}{:<{}}  {:<7}  {}\n", what, ToString(value.shape), width,
                        NameOf(value.type), OneLine(value.name));
  }
  return text;
}

// "80 classes (0 person, 1 bicycle, 2 car, …)".
std::string ClassesText(const std::vector<std::string>& names) {
  constexpr size_t kMostShown = 5;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(kMostShown, names.size()); ++i) {
    shown.push_back(fmt::format("{} {}", i, OneLine(names[i])));
  }
  if (names.size() > kMostShown) shown.emplace_back("…");
  return fmt::format("{} {} ({})", names.size(), names.size() == 1 ? "class" : "classes",
                     fmt::join(shown, ", "));
}

// Empty if the file says nothing.
std::string NotesText(const ModelNotes& notes) {
  std::vector<std::string> parts;
  if (!notes.description.empty()) parts.push_back(OneLine(notes.description));
  if (!notes.task.empty()) parts.push_back("task " + OneLine(notes.task));
  if (!notes.class_names.empty()) parts.push_back(ClassesText(notes.class_names));
  if (notes.stride > 0) parts.push_back(fmt::format("stride {}", notes.stride));
  if (notes.image_size.size() == 2) {
    parts.push_back(
        fmt::format("images {} high, {} wide", notes.image_size[0], notes.image_size[1]));
  }
  if (notes.keypoint_shape.size() == 2) {
    parts.push_back(fmt::format("{} keypoints of {} numbers", notes.keypoint_shape[0],
                                notes.keypoint_shape[1]));
  }
  if (notes.has_byte_picture) parts.emplace_back("pictures of bytes");
  if (notes.has_suppression) parts.emplace_back("boxes are final");
  return parts.empty() ? "" : fmt::format("{:<8}{}\n", "notes", fmt::join(parts, "; "));
}

nlohmann::json ValuesJson(const std::vector<Value>& values) {
  nlohmann::json list = nlohmann::json::array();
  for (const Value& value : values) {
    list.push_back({{"name", value.name}, {"shape", value.shape}, {"type", NameOf(value.type)}});
  }
  return list;
}

double Megabytes(size_t bytes) { return static_cast<double>(bytes) / 1e6; }

std::string MemoryText(const ModelReport& report) {
  std::string text = fmt::format(
      "memory: {:.1f} MB where nothing is kept between frames, {:.1f} MB with all maps\n",
      Megabytes(report.memory.no_cache_bytes), Megabytes(report.memory.cache_all_bytes));
  for (const BudgetReport& budget : report.budgets) {
    const CacheChoice& choice = budget.choice;
    text += fmt::format(
        "budget {:.1f} MB: {:.1f} MB with {} of {} values kept, {:.1f} % more work{}\n",
        Megabytes(budget.budget_bytes), Megabytes(choice.bytes), choice.kept.size(), report.values,
        100.0 * choice.extra_work, choice.bytes > budget.budget_bytes ? "; no less was found" : "");
  }
  return text;
}

nlohmann::json MemoryJson(const ModelReport& report) {
  nlohmann::json json = WriteFields(report.memory);
  json["budgets"] = nlohmann::json::array();
  for (const BudgetReport& budget : report.budgets) {
    nlohmann::json entry = WriteFields(budget.choice);
    entry["budget_bytes"] = budget.budget_bytes;
    json["budgets"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace

ModelReport Inspect(const Graph& graph, std::span<const size_t> budgets) {
  ModelReport report;
  report.name = graph.name;
  for (const ValueId input : graph.inputs) report.inputs.push_back(graph.value(input));
  for (const ValueId output : graph.outputs) report.outputs.push_back(graph.value(output));
  report.notes = graph.notes;
  std::set<ValueId> constants;
  for (size_t i = 0; i < graph.operators.size(); ++i) {
    OperatorReport op = InspectOne(graph, static_cast<OpId>(i));
    report.multiply_adds += op.multiply_adds;
    report.operations += op.operations;
    report.bytes += op.bytes;
    report.local_operators += op.is_local;
    for (ValueId input : graph.operators[i].inputs) {
      const Value& value = graph.value(input);
      if (value.is_constant() && constants.insert(input).second) {
        report.parameters += ParametersIn(graph, graph.operators[i], input);
      }
    }
    report.operators.push_back(std::move(op));
  }
  report.values = static_cast<size_t>(
      std::ranges::count_if(graph.values, [](const Value& value) { return !value.is_constant(); }));
  report.memory = MemoryOfExtremes(graph);
  for (const size_t budget : budgets) {
    report.budgets.push_back({budget, ChooseCaches(graph, budget)});
  }
  return report;
}

std::string ToText(const ModelReport& report) {
  size_t kind_width = 4;
  size_t shape_width = 5;
  size_t window_width = 6;
  for (const OperatorReport& op : report.operators) {
    kind_width = std::max(kind_width, KindAndFused(op).size());
    shape_width = std::max(shape_width, ToString(op.shape).size());
    window_width = std::max(window_width, WindowAndGroups(op).size());
  }
  size_t end_width = 0;
  for (const std::vector<Value>* ends : {&report.inputs, &report.outputs}) {
    for (const Value& end : *ends) end_width = std::max(end_width, ToString(end.shape).size());
  }
  std::string text = ValuesText("input", report.inputs, end_width) +
                     ValuesText("output", report.outputs, end_width) + NotesText(report.notes) +
                     "\n";
  text += fmt::format("{:>4}  {:<{}}  {:<5}  {:>{}}  {:<{}}  {:>11}  {:>9}  {:>9}  {}\n", "id",
                      "kind", kind_width, "local", "shape", shape_width, "window", window_width,
                      "parameters", "GFLOP", "KiB", "name");
  for (const OperatorReport& op : report.operators) {
    text += fmt::format("{:>4}  {:<{}}  {:<5}  {:>{}}  {:<{}}  {:>11}  {:>9.4f}  {:>9.1f}  {}\n",
                        op.id, KindAndFused(op), kind_width, op.is_local ? "yes" : "no",
                        ToString(op.shape), shape_width, WindowAndGroups(op), window_width,
                        op.parameters, static_cast<double>(op.operations) / 1e9,
                        static_cast<double>(op.bytes) / 1024.0, OneLine(op.name));
  }
  for (const OperatorReport& op : report.operators) {
    if (op.why_float.empty()) continue;
    text += fmt::format("stays float: {} '{}': {}\n", op.kind, OneLine(op.name), op.why_float);
  }
  text += fmt::format(
      "{}: {} operators, {} of them local; {:.3f} M parameters, {:.3f} GMAC, {:.3f} GFLOP, {:.1f} "
      "MiB of activations\n",
      OneLine(report.name), report.operators.size(), report.local_operators,
      static_cast<double>(report.parameters) / 1e6, static_cast<double>(report.multiply_adds) / 1e9,
      static_cast<double>(report.operations) / 1e9,
      static_cast<double>(report.bytes) / (1024.0 * 1024.0));
  return text + MemoryText(report);
}

nlohmann::json ToJson(const ModelReport& report) {
  nlohmann::json operators = nlohmann::json::array();
  for (const OperatorReport& op : report.operators) {
    nlohmann::json entry = WriteFields(op);
    entry["local"] = op.is_local;
    if (op.window) {
      entry["window"] = {{"rows", AxisJson(op.window->rows)},
                         {"columns", AxisJson(op.window->columns)}};
    }
    operators.push_back(std::move(entry));
  }
  nlohmann::json totals = WriteFields(report);
  totals["operators"] = report.operators.size();
  return {{"model", report.name},
          {"inputs", ValuesJson(report.inputs)},
          {"outputs", ValuesJson(report.outputs)},
          {"notes", WriteFields(report.notes)},
          {"operators", std::move(operators)},
          {"memory", MemoryJson(report)},
          {"totals", std::move(totals)}};
}

}  // namespace cacheinf
