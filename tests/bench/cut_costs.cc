#include "tests/bench/cut_costs.h"

#include <algorithm>
#include <set>

#include "common/model/graph/geometry.h"

namespace cacheinf {
namespace {

class Crossing {
 public:
  Crossing(const Graph& graph, OpId last) : graph_(graph), last_(last) {
    for (size_t id = last + 1; id < graph.operators.size(); ++id) {
      for (const ValueId value : graph.operators[id].inputs) Add(value);
    }
  }

  std::vector<ValueId> values() const {
    std::vector<ValueId> values;
    for (const ValueId value : values_) {
      if (!IsSliceOfAnother(value)) values.push_back(value);
    }
    return values;
  }

 private:
  void Add(ValueId value) {
    const Value& what = graph_.value(value);
    if (what.is_constant() || what.producer > last_) return;
    const Operator* const producer = ProducerOf(value);
    if (producer == nullptr || producer->As<op::Concat>() == nullptr) {
      values_.insert(value);
      return;
    }
    for (const ValueId part : producer->inputs) Add(part);
  }

  bool IsSliceOfAnother(ValueId value) const {
    const Operator* const producer = ProducerOf(value);
    return producer != nullptr && producer->As<op::Slice>() != nullptr &&
           values_.count(producer->inputs[0]) > 0;
  }

  const Operator* ProducerOf(ValueId value) const {
    const OpId producer = graph_.value(value).producer;
    return producer == kNone ? nullptr : &graph_.operators[producer];
  }

  const Graph& graph_;
  OpId last_;
  std::set<ValueId> values_;
};

}  // namespace

std::vector<ValueId> CrossingValues(const Graph& graph, OpId last) {
  return Crossing(graph, last).values();
}

int64_t RowsTwice(const Graph& graph, ValueId map) {
  const int height = static_cast<int>(graph.value(map).shape[2]);
  const RowsOfOperators upper = RowsNeeded(graph, map, {0, height / 2});
  const RowsOfOperators lower = RowsNeeded(graph, map, {height / 2, height});
  int64_t rows = 0;
  for (size_t id = 0; id < upper.size(); ++id) {
    if (upper[id].empty() || lower[id].empty()) continue;
    const Range both = {std::max(upper[id].begin, lower[id].begin),
                        std::min(upper[id].end, lower[id].end)};
    rows += both.size();
  }
  return rows;
}

double SharedCost::Ms(const LinkModel& link, double speedup) const {
  if (bytes == 0) return robot_ms + left_ms;
  return robot_ms + link.Ms(bytes) + server_ms / speedup + link.Ms(answer_bytes) + left_ms;
}

}  // namespace cacheinf
