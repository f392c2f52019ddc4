#include "common/exec/schemes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "common/base/error.h"
#include "common/exec/cpu_backend.h"
#include "common/exec/model_state.h"
#include "common/model/graph/cost.h"
#include "sparse_ops/cpu/winograd.h"

namespace cacheinf {
namespace {

constexpr int kFewestRounds = 3;
constexpr int kMostRounds = 15;
constexpr std::chrono::milliseconds kEnoughTime{60};  // for a layer, after kFewestRounds

std::string FunctionText(const Function& function) {
  return KindName(
      {.name = "", .attributes = op::Activation{function}, .inputs = {}, .outputs = {}});
}

// One operator of each distinct layer where Winograd applies, the most costly first.
std::vector<const Operator*> DistinctLayers(const Graph& graph) {
  std::vector<const Operator*> layers;
  std::set<std::string> seen;
  for (const Operator& op : graph.operators) {
    if (WinogradApplies(graph, op) && seen.insert(LayerText(graph, op)).second)
      layers.push_back(&op);
  }
  const auto cost = [&](const Operator* op) { return CostOf(graph, *op).multiply_adds; };
  std::stable_sort(layers.begin(), layers.end(),
                   [&](const Operator* a, const Operator* b) { return cost(a) > cost(b); });
  return layers;
}

// Those of DistinctLayers whose times are not known.
std::vector<const Operator*> UnknownLayers(const Graph& graph, const SchemeTimes& known) {
  std::vector<const Operator*> layers = DistinctLayers(graph);
  std::erase_if(layers, [&](const Operator* op) {
    const std::string text = LayerText(graph, *op);
    return std::any_of(known.begin(), known.end(),
                       [&](const LayerTimes& times) { return times.layer == text; });
  });
  return layers;
}

// Numbers between -1 and 1 whose order no kernel could guess.
Tensor SyntheticTensor(const Shape& shape) {
  std::vector<float> numbers(static_cast<size_t>(ElementCount(shape)));
  uint32_t state = 1;
  for (float& number : numbers) {
    state = state * 1664525u + 1013904223u;
    number = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  }
  return {shape, std::move(numbers)};
}

// The same convolution twice, directly and by Winograd, on the same input.
class LayerUnderTest {
 public:
  LayerUnderTest(const Graph& graph, const Operator& op, int threads, const Clock& clock)
      : clock_(clock),
        state_(std::make_shared<const CompiledModel>(
            std::make_shared<const Graph>(BothSchemes(graph, op)),
            std::make_unique<CpuBackend>(CpuBackendOptions{.threads = threads}))) {
    const Graph& both = state_.graph();
    for (size_t i = 0; i < both.inputs.size(); ++i) {
      state_.SetInput(i, SyntheticTensor(both.value(both.inputs[i]).shape).view());
    }
  }

  // Milliseconds.
  double TimeDirect() { return Time({Rows(), {}}); }
  double TimeWinograd() { return Time({{}, Rows()}); }

 private:
  static Graph BothSchemes(const Graph& graph, const Operator& op) {
    Graph both;
    std::vector<ValueId> inputs;
    for (const ValueId input : op.inputs) {
      const Value& value = graph.value(input);
      inputs.push_back(value.is_constant() ? both.AddConstant(value.name, value.constant)
                                           : both.AddInput(value.name, value.shape));
    }
    for (const Scheme scheme : {Scheme::kDirect, Scheme::kWinograd}) {
      op::Conv conv = *op.As<op::Conv>();
      conv.scheme = scheme;
      both.outputs.push_back(both.AddOne(op.name, conv, inputs));
    }
    return both;
  }

  Range Rows() const { return {0, RowCount(state_.graph(), state_.graph().operators[0])}; }

  double Time(const RowPlan& rows) {
    const auto start = clock_.Now();
    state_.Run(rows);
    return Milliseconds(clock_.Now() - start);
  }

  const Clock& clock_;
  ModelState state_;
};

double Median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

}  // namespace

bool WinogradApplies(const Graph& graph, const Operator& op) {
  const auto* conv = op.As<op::Conv>();
  if (conv == nullptr || !cpu::Winograd::CanRun(conv->spec)) return false;
  const int groups = conv->spec.groups;
  return groups == 1 || graph.value(op.inputs[0]).shape[1] > groups;
}

void SetSchemes(Graph& graph, const SchemePlan& plan) {
  if (plan.size() != graph.operators.size()) {
    throw InputError(
        fmt::format("a plan of {} schemes for {} operators", plan.size(), graph.operators.size()));
  }
  for (size_t i = 0; i < plan.size(); ++i) {
    Operator& op = graph.operators[i];
    if (plan[i] == Scheme::kWinograd && !WinogradApplies(graph, op)) {
      throw InputError(
          fmt::format("operator '{}' ({}) cannot be computed by Winograd", op.name, KindName(op)));
    }
    if (auto* conv = op.As<op::Conv>()) conv->scheme = plan[i];
  }
}

std::string LayerText(const Graph& graph, const Operator& op) {
  const op::Conv& conv = *op.As<op::Conv>();
  const ConvSpec& spec = conv.spec;
  const Shape& input = graph.value(op.inputs[0]).shape;
  const Shape& output = graph.value(op.outputs[0]).shape;
  std::string text = fmt::format("{}x{} {}->{} {}x{}x{} pad {},{}", spec.rows.kernel,
                                 spec.columns.kernel, input[1], output[1], output[0], output[2],
                                 output[3], spec.rows.pad_begin, spec.columns.pad_begin);
  if (spec.groups != 1) text += fmt::format(" groups {}", spec.groups);
  if (conv.has_residual) text += " residual";
  if (conv.activation.kind != Function::Kind::kIdentity) {
    text += ' ' + FunctionText(conv.activation);
  }
  return text;
}

std::string ModelDigest(const Graph& graph) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    hash = (hash ^ '\n') * 0x100000001b3u;
  };
  for (const Operator& op : graph.operators) {
    add(WinogradApplies(graph, op) ? LayerText(graph, op) : KindName(op));
    for (const ValueId output : op.outputs) add(ToString(graph.value(output).shape));
  }
  return fmt::format("{:016x}", hash);
}

int LayersToMeasure(const Graph& graph, const SchemeTimes& known) {
  return static_cast<int>(UnknownLayers(graph, known).size());
}

SchemeTimes MeasureSchemes(const Graph& graph, const Measuring& measuring, const Clock& clock,
                           SchemeTimes known) {
  const auto end = clock.Now() + measuring.budget;
  const std::vector<const Operator*> layers = UnknownLayers(graph, known);
  SchemeTimes times = std::move(known);
  int done = 0;
  for (const Operator* op : layers) {
    if (clock.Now() >= end) break;
    LayerUnderTest layer(graph, *op, measuring.threads, clock);
    layer.TimeDirect();  // the first time finds memory and caches cold
    layer.TimeWinograd();
    std::vector<double> direct_ms;
    std::vector<double> winograd_ms;
    const auto enough = clock.Now() + kEnoughTime;
    while (clock.Now() < end && direct_ms.size() < kMostRounds &&
           (direct_ms.size() < kFewestRounds || clock.Now() < enough)) {
      direct_ms.push_back(layer.TimeDirect());
      winograd_ms.push_back(layer.TimeWinograd());
    }
    if (direct_ms.size() < kFewestRounds) break;
    times.push_back({LayerText(graph, *op), Median(direct_ms), Median(winograd_ms)});
    ++done;
    const bool goes_on =
        !measuring.on_progress || measuring.on_progress(done, static_cast<int>(layers.size()));
    if (!goes_on) break;
  }
  return times;
}

SchemePlan FasterSchemes(const Graph& graph, const SchemeTimes& times) {
  std::map<std::string_view, const LayerTimes*> known;
  for (const LayerTimes& layer : times) known.emplace(layer.layer, &layer);
  SchemePlan plan;
  for (const Operator& op : graph.operators) {
    plan.push_back(Scheme::kDirect);
    if (!WinogradApplies(graph, op)) continue;
    const auto found = known.find(LayerText(graph, op));
    if (found == known.end() || found->second->winograd_ms >= found->second->direct_ms) continue;
    plan.back() = Scheme::kWinograd;
  }
  return plan;
}

}  // namespace cacheinf
