#include "common/exec/stages.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/model/graph/geometry.h"

namespace cacheinf {
namespace {

class StageFinder {
 public:
  StageFinder(const Graph& graph, const std::vector<bool>& is_kept)
      : graph_(graph), is_kept_(is_kept), stage_of_(graph.operators.size(), kNone) {}

  std::vector<Stage> Find() {
    std::vector<Stage> stages;
    for (OpId op = 0; op < static_cast<OpId>(graph_.operators.size()); ++op) {
      if (!is_kept_[graph_.operators[op].outputs[0]]) continue;
      Stage stage;
      stage.root = op;
      Collect(op, stage.inner);
      std::ranges::sort(stage.inner);
      stages.push_back(std::move(stage));
    }
    return stages;
  }

 private:
  void Collect(OpId root, std::vector<OpId>& inner) {
    std::vector<OpId> readers = {root};
    while (!readers.empty()) {
      const OpId op = readers.back();
      readers.pop_back();
      for (const ValueId input : graph_.operators[op].inputs) {
        const OpId producer = graph_.value(input).producer;
        if (producer == kNone || is_kept_[input] || stage_of_[producer] == root) continue;
        stage_of_[producer] = root;
        inner.push_back(producer);
        readers.push_back(producer);
      }
    }
  }

  const Graph& graph_;
  const std::vector<bool>& is_kept_;
  std::vector<OpId> stage_of_;  // by operator: the root of the last stage that has it
};

}  // namespace

std::vector<Stage> FindStages(const Graph& graph, const std::vector<bool>& is_kept) {
  return StageFinder(graph, is_kept).Find();
}

std::vector<Stage> StagesOfOne(const Graph& graph) {
  return FindStages(graph, std::vector<bool>(graph.values.size(), true));
}

std::vector<OpId> RunningOrder(const Graph& graph, const std::vector<Stage>& stages) {
  std::vector<OpId> order;
  std::vector<bool> has_run(graph.operators.size(), false);
  const auto run = [&](OpId op) {
    if (!has_run[op]) order.push_back(op);
    has_run[op] = true;
  };
  for (const Stage& stage : stages) {
    for (const OpId op : stage.inner) run(op);
    run(stage.root);
  }
  return order;
}

std::vector<bool> AlwaysKept(const Graph& graph) {
  std::vector<bool> is_kept(graph.values.size(), false);
  const std::vector<std::vector<OpId>> consumers = graph.Consumers();
  for (size_t id = 0; id < graph.values.size(); ++id) {
    is_kept[id] = graph.values[id].producer == kNone || consumers[id].empty();
  }
  for (const ValueId output : graph.outputs) is_kept[output] = true;
  for (const Operator& op : graph.operators) {
    if (IsLocal(graph, op)) continue;
    for (const ValueId input : op.inputs) is_kept[input] = true;
    for (const ValueId output : op.outputs) is_kept[output] = true;
  }
  return is_kept;
}

}  // namespace cacheinf
