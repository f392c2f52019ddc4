#include "tests/gpu/networks.h"

#include <unistd.h>

#include <filesystem>
#include <random>
#include <vector>

#include "common/exec/model_state.h"
#include "common/model/graph/pack.h"
#include "tests/exec/changing_frames.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {
namespace {

using Values = std::vector<std::vector<float>>;

Values DenseValues(const Graph& graph, const Place& place, const std::vector<Tensor>& inputs) {
  if (place.precision == cuda::Precision::kExact) return EvaluateDirectly(graph, inputs);
  const auto state = MakeState(graph, place.MakeBackend(/*small_tiles_up_to=*/0), {{}, Keep::kAll});
  SetInputs(*state, inputs);
  state->Run();
  Values values(graph.values.size());
  for (const Operator& op : graph.operators) {
    for (const ValueId output : op.outputs) {
      values[static_cast<size_t>(output)] = Numbers(*state, output);
    }
  }
  return values;
}

std::string FirstWrongValue(const ModelState& state, const Values& expected) {
  for (const Operator& op : state.graph().operators) {
    for (const ValueId output : op.outputs) {
      const std::string difference =
          FirstDifference(expected[static_cast<size_t>(output)], Numbers(state, output));
      if (!difference.empty()) return KindName(op) + " '" + op.name + "': " + difference;
    }
  }
  return "";
}

}  // namespace

Graph PackedNetwork(uint32_t seed) {
  RandomGraphOptions options;
  options.operator_count = 4 + static_cast<int>(seed % 12);
  options.only_local = seed % 2 == 0;
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("cacheinf_network_" + std::to_string(getpid()));
  WritePack(RandomGraph(seed, options), file);
  Graph graph = ReadPack(file);
  std::filesystem::remove(file);
  return graph;
}

std::string CheckNetwork(const Graph& graph, const Place& place, int changed_frames,
                         uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> inputs = RandomInputs(graph, seed);
  const auto state = MakeState(graph, place.MakeBackend(), {{}, Keep::kAll});
  SetInputs(*state, inputs);
  state->Run();
  std::string wrong = FirstWrongValue(*state, DenseValues(graph, place, inputs));
  if (!wrong.empty()) return "a whole frame, " + wrong;
  for (int frame = 1; frame <= changed_frames; ++frame) {
    const std::vector<Tensor> next = NextFrame(inputs, random);
    const ChangedMasks changed(inputs, next);
    inputs = next;
    SetInputs(*state, inputs);
    InsideState::RunChanged(*state, changed.views(), {});
    wrong = FirstWrongValue(*state, DenseValues(graph, place, inputs));
    if (!wrong.empty()) return "changed frame " + std::to_string(frame) + ", " + wrong;
  }
  return "";
}

}  // namespace cacheinf
