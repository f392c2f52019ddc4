#include "profiler/measured_schemes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "common/backend/host/cpu_backend.h"
#include "common/base/median.h"
#include "common/exec/model_state.h"
#include "common/model/graph/cost.h"
#include "sparse_ops/cuda/conv_options.h"

namespace cacheinf {
namespace {

constexpr int kFewestRounds = 3;
constexpr int kMostRounds = 15;
constexpr std::chrono::milliseconds kEnoughTime{60};  // for a layer, after kFewestRounds

// For tiles.
constexpr std::chrono::milliseconds kEnoughTimeOfTiles{10};  // for a count
constexpr int kSmallestPart = 32;                            // 1/32 of all rows
constexpr int kLaunchesInARow = 16;                          // go to a device as one graph

std::string FunctionText(const Function& function) {
  return KindName(
      {.name = "", .attributes = op::Activation{function}, .inputs = {}, .outputs = {}});
}

using Applies = bool (*)(const Graph& graph, const Operator& op);

bool HasTiles(const Graph& graph, const Operator& op) {
  const auto* conv = op.As<op::Conv>();
  if (conv == nullptr) return false;
  const int groups = conv->spec.groups;
  const auto of_group = [&](ValueId map) {
    return static_cast<int>(graph.value(map).shape[1]) / groups;
  };
  return cuda::HasTiles(groups, of_group(op.inputs[0]), of_group(op.outputs[0]));
}

// One operator of each distinct, unknown layer that `applies` to, the most costly first.
template <typename Layer>
std::vector<const Operator*> UnknownLayers(const Graph& graph, Applies applies,
                                           const std::vector<Layer>& known) {
  std::set<std::string> seen;
  for (const Layer& layer : known) seen.insert(layer.layer);
  std::vector<const Operator*> layers;
  for (const Operator& op : graph.operators) {
    if (applies(graph, op) && seen.insert(LayerText(graph, op)).second) layers.push_back(&op);
  }
  const auto cost = [&](const Operator* op) { return CostOf(graph, *op).multiply_adds; };
  std::ranges::stable_sort(layers,
                           [&](const Operator* a, const Operator* b) { return cost(a) > cost(b); });
  return layers;
}

// Pseudorandom numbers between -1 and 1.
Tensor SyntheticTensor(const Shape& shape) {
  std::vector<float> numbers(static_cast<size_t>(ElementCount(shape)));
  uint32_t state = 1;
  for (float& number : numbers) {
    state = state * 1664525u + 1013904223u;
    number = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  }
  return {shape, std::move(numbers)};
}

// One convolution, computed in two ways on the same input.
class LayerUnderTest {
 public:
  // Times `repeats` runs in a row at once.
  LayerUnderTest(const Graph& graph, const Operator& op, const std::array<op::Conv, 2>& ways,
                 std::unique_ptr<Backend> backend, int repeats, const Clock& clock)
      : repeats_(repeats),
        clock_(clock),
        state_(std::make_shared<const CompiledModel>(
            std::make_shared<const Graph>(BothWays(graph, op, ways)), std::move(backend))) {
    const Graph& both = state_.graph();
    for (size_t i = 0; i < both.inputs.size(); ++i) {
      state_.SetInput(i, SyntheticTensor(both.value(both.inputs[i]).shape).view());
    }
  }

  int rows() const { return RowCount(state_.graph(), state_.graph().operators[0]); }

  // Median milliseconds of a run of these rows, for each way; none if there is no time before
  // `end`.
  std::optional<std::array<double, 2>> Time(Range rows, std::chrono::nanoseconds enough_time,
                                            std::chrono::nanoseconds end) const {
    for (size_t way = 0; way < 2; ++way) Time(way, rows);  // finds memory and caches cold
    std::array<std::vector<double>, 2> times_ms;
    const auto enough = clock_.Now() + enough_time;
    while (clock_.Now() < end && times_ms[0].size() < kMostRounds &&
           (times_ms[0].size() < kFewestRounds || clock_.Now() < enough)) {
      for (size_t way = 0; way < 2; ++way) times_ms[way].push_back(Time(way, rows));
    }
    if (times_ms[0].size() < kFewestRounds) return std::nullopt;
    return std::array<double, 2>{MedianOf(times_ms[0]), MedianOf(times_ms[1])};
  }

 private:
  static Graph BothWays(const Graph& graph, const Operator& op,
                        const std::array<op::Conv, 2>& ways) {
    Graph both;
    std::vector<ValueId> inputs;
    for (const ValueId input : op.inputs) {
      const Value& value = graph.value(input);
      inputs.push_back(value.is_constant() ? both.AddConstant(value.name, value.constant)
                                           : both.AddInput(value.name, value.shape));
    }
    for (const op::Conv& conv : ways) both.outputs.push_back(both.AddOne(op.name, conv, inputs));
    return both;
  }

  double Time(size_t way, Range rows) const {
    RowsOfOperators of_both(2);
    of_both[way] = rows;
    const auto start = clock_.Now();
    for (int i = 0; i < repeats_; ++i) state_.Run(of_both);
    WaitFor(state_.view(state_.graph().outputs[way]));
    return Milliseconds(clock_.Now() - start) / repeats_;
  }

  // A device's work is done once a number of its output has arrived.
  void WaitFor(ConstTensorView output) const {
    output.dims.fill(1);
    float number = 0.0f;
    TensorView copy;
    copy.data = &number;
    copy.rank = output.rank;
    copy.dims = output.dims;
    copy.strides.fill(1);
    state_.backend().CopyOut(output, copy);
  }

  int repeats_;
  const Clock& clock_;
  mutable ModelState state_;
};

// Returns how many counts, from the first on, go to the first of two ways; the rest go to the
// second. This minimises the sum of each count's time over that of its faster way.
int FirstOnesFor(const std::vector<std::array<double, 2>>& times_ms) {
  double least = std::numeric_limits<double>::infinity();
  int best = 0;
  for (size_t first_ones = 0; first_ones <= times_ms.size(); ++first_ones) {
    double loss = 0.0;
    for (size_t i = 0; i < times_ms.size(); ++i) {
      const double taken = times_ms[i][i < first_ones ? 0 : 1];
      loss += taken / std::min(times_ms[i][0], times_ms[i][1]);
    }
    if (loss < least) {
      least = loss;
      best = static_cast<int>(first_ones);
    }
  }
  return best;
}

// None if there is no time before `end`.
std::optional<int> MeasureTilesOf(const LayerUnderTest& layer, int width, const Clock& clock,
                                  std::chrono::nanoseconds end) {
  std::vector<int> counts;
  std::vector<std::array<double, 2>> times_ms;
  for (int part = kSmallestPart; part >= 1; part /= 2) {
    const int rows = layer.rows() / part;
    if (rows == 0) continue;
    if (clock.Now() >= end) return std::nullopt;
    const auto both_ms = layer.Time({0, rows}, kEnoughTimeOfTiles, end);
    if (!both_ms) return std::nullopt;
    counts.push_back(rows * width);
    times_ms.push_back(*both_ms);
  }
  const int first_ones = FirstOnesFor(times_ms);
  return first_ones == 0 ? 0 : counts[static_cast<size_t>(first_ones - 1)];
}

// Calls measure(op) for every layer until time is up, or measure or on_progress returns false.
void MeasureEach(const std::vector<const Operator*>& layers, const Measuring& measuring,
                 const Clock& clock, std::chrono::nanoseconds end, const auto& measure) {
  int done = 0;
  for (const Operator* op : layers) {
    if (clock.Now() >= end || !measure(*op)) return;
    ++done;
    if (measuring.on_progress && !measuring.on_progress(done, static_cast<int>(layers.size()))) {
      return;
    }
  }
}

}  // namespace

std::string LayerText(const Graph& graph, const Operator& op) {
  const op::Conv& conv = *op.As<op::Conv>();
  const ConvSpec& spec = conv.spec;
  const Shape& input = graph.value(op.inputs[0]).shape;
  const Shape& output = graph.value(op.outputs[0]).shape;
  std::string text = fmt::format("{}x{} {}->{} {}x{}x{} pad {},{}", spec.rows.kernel,
                                 spec.columns.kernel, input[1], output[1], output[0], output[2],
                                 output[3], spec.rows.pad_begin, spec.columns.pad_begin);
  if (spec.transposed) text += " transposed";
  const auto add_pair = [&](const char* name, int of_rows, int of_columns) {
    if (of_rows != 1 || of_columns != 1)
      text += fmt::format(" {} {},{}", name, of_rows, of_columns);
  };
  add_pair("stride", spec.rows.stride, spec.columns.stride);
  add_pair("dilation", spec.rows.dilation, spec.columns.dilation);
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
  return static_cast<int>(UnknownLayers(graph, WinogradApplies, known).size());
}

SchemeTimes MeasureSchemes(const Graph& graph, const Measuring& measuring, const Clock& clock,
                           SchemeTimes known) {
  const auto end = clock.Now() + measuring.budget;
  const auto layers = UnknownLayers(graph, WinogradApplies, known);
  MeasureEach(layers, measuring, clock, end, [&](const Operator& op) {
    std::array<op::Conv, 2> ways = {*op.As<op::Conv>(), *op.As<op::Conv>()};
    ways[0].scheme = Scheme::kDirect;
    ways[1].scheme = Scheme::kWinograd;
    const LayerUnderTest layer(
        graph, op, ways,
        std::make_unique<CpuBackend>(CpuBackendOptions{.threads = measuring.threads}), 1, clock);
    const auto both_ms = layer.Time({0, layer.rows()}, kEnoughTime, end);
    if (both_ms) known.push_back({LayerText(graph, op), (*both_ms)[0], (*both_ms)[1]});
    return both_ms.has_value();
  });
  return known;
}

Schemes FasterSchemes(const Graph& graph, const SchemeTimes& times) {
  std::map<std::string_view, const LayerTimes*> known;
  for (const LayerTimes& layer : times) known.emplace(layer.layer, &layer);
  Schemes schemes;
  for (const Operator& op : graph.operators) {
    schemes.push_back(Scheme::kDirect);
    if (!WinogradApplies(graph, op)) continue;
    const auto found = known.find(LayerText(graph, op));
    if (found == known.end() || found->second->winograd_ms >= found->second->direct_ms) continue;
    schemes.back() = Scheme::kWinograd;
  }
  return schemes;
}

int TilesToMeasure(const Graph& graph, const TileChoice& known) {
  return static_cast<int>(UnknownLayers(graph, HasTiles, known).size());
}

TileChoice MeasureTiles(const Graph& graph, const Measuring& measuring,
                        const std::function<std::unique_ptr<Backend>()>& make_backend,
                        const Clock& clock, TileChoice known) {
  const auto end = clock.Now() + measuring.budget;
  const auto layers = UnknownLayers(graph, HasTiles, known);
  MeasureEach(layers, measuring, clock, end, [&](const Operator& op) {
    std::array<op::Conv, 2> ways = {*op.As<op::Conv>(), *op.As<op::Conv>()};
    for (op::Conv& way : ways) way.scheme = Scheme::kDirect;
    ways[0].small_tiles_up_to = std::numeric_limits<int>::max();
    ways[1].small_tiles_up_to = 0;
    const LayerUnderTest layer(graph, op, ways, make_backend(), kLaunchesInARow, clock);
    const auto width = static_cast<int>(graph.value(op.outputs[0]).shape[3]);
    const auto measured = MeasureTilesOf(layer, width, clock, end);
    if (measured) known.push_back({LayerText(graph, op), *measured});
    return measured.has_value();
  });
  return known;
}

void SetTiles(Graph& graph, const TileChoice& tiles) {
  for (Operator& op : graph.operators) {
    if (!HasTiles(graph, op)) continue;
    const std::string text = LayerText(graph, op);
    const auto found =
        std::ranges::find_if(tiles, [&](const LayerTiles& layer) { return layer.layer == text; });
    if (found != tiles.end()) op.As<op::Conv>()->small_tiles_up_to = found->small_tiles_up_to;
  }
}

}  // namespace cacheinf
