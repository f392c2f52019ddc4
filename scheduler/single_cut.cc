#include "scheduler/single_cut.h"

#include <algorithm>
#include <cstddef>
#include <queue>
#include <utility>
#include <vector>

namespace cacheinf {
namespace {

constexpr double kUnbounded = 1e15;

// Finds the largest flow from the first to the second node (Dinic), and so a minimum cut.
class FlowNetwork {
 public:
  static constexpr int kSource = 0;
  static constexpr int kSink = 1;

  explicit FlowNetwork(int nodes) : edges_of_(static_cast<size_t>(nodes)) {}

  // Adds the cost of `from` staying with the source and `to` with the sink.
  void Add(int from, int to, double capacity) {
    edges_of_[from].push_back(edges_.size());
    edges_.push_back({to, std::min(capacity, kUnbounded)});
    edges_of_[to].push_back(edges_.size());
    edges_.push_back({from, 0});
  }

  // Returns, by node, whether it stays with the source.
  std::vector<bool> Cut() {
    while (FindLevels()) {
      next_.assign(edges_of_.size(), 0);
      while (Push(kSource, kUnbounded) > kLeast) {
      }
    }
    std::vector<bool> is_source;
    for (const int level : level_) is_source.push_back(level >= 0);
    return is_source;
  }

 private:
  static constexpr double kLeast = 1e-9;
  struct Edge {
    int to;
    double left;
  };

  bool FindLevels() {
    level_.assign(edges_of_.size(), -1);
    level_[kSource] = 0;
    std::queue<int> open({kSource});
    for (; !open.empty(); open.pop()) {
      const auto node = static_cast<size_t>(open.front());
      for (const size_t id : edges_of_[node]) {
        int& level = level_[edges_[id].to];
        if (edges_[id].left <= kLeast || level >= 0) continue;
        level = level_[node] + 1;
        open.push(edges_[id].to);
      }
    }
    return level_[kSink] >= 0;
  }

  double Push(int node, double most) {  // NOLINT(misc-no-recursion): as deep as the graph
    if (node == kSink) return most;
    const std::vector<size_t>& edges = edges_of_[node];
    for (size_t& next = next_[node]; next < edges.size(); ++next) {
      Edge& edge = edges_[edges[next]];
      if (edge.left <= kLeast || level_[edge.to] != level_[node] + 1) {
        continue;
      }
      const double pushed = Push(edge.to, std::min(most, edge.left));
      if (pushed <= kLeast) continue;
      edge.left -= pushed;
      edges_[edges[next] ^ 1].left += pushed;
      return pushed;
    }
    return 0;
  }

  std::vector<Edge> edges_;  // each followed by its reverse
  std::vector<std::vector<size_t>> edges_of_;
  std::vector<int> level_;
  std::vector<size_t> next_;
};

Plan MinimumCut(const CostModel& model, bool keeps) {
  const std::vector<ProfiledOperator>& operators = model.robot().operators;
  const int count = static_cast<int>(operators.size());
  // Nodes of operator i (-1: the picture), and of its output on the server.
  const auto node = [](int id) { return 2 + 2 * (id + 1); };
  const auto sent = [](int id) { return 3 + 2 * (id + 1); };
  const auto shown = [&](int id) {
    while (id >= 0 && operators[id].is_view) {
      id = operators[id].inputs[0].from;
    }
    return id;
  };
  FlowNetwork flow(node(count));
  flow.Add(FlowNetwork::kSource, node(-1), kUnbounded);
  for (int id = -1; id < count; ++id) {
    flow.Add(node(id), sent(id), model.CrossingMs(Side::kServer, id, keeps));
    if (id < 0) continue;
    const ProfiledOperator& op = operators[id];
    flow.Add(node(id), FlowNetwork::kSink, model.OperatorMs(Side::kRobot, id, keeps));
    flow.Add(FlowNetwork::kSource, node(id),
             model.OperatorMs(Side::kServer, id, keeps) +
                 (op.is_output ? model.CrossingMs(Side::kRobot, shown(id), keeps) : 0.0));
    for (const ProfiledOperator::Input& input : op.inputs) {
      flow.Add(sent(shown(input.from)), node(id), kUnbounded);
      // Only the answer comes back.
      flow.Add(node(id), node(input.from), kUnbounded);
    }
  }
  const std::vector<bool> is_robot = flow.Cut();
  Plan plan = {.kind = Plan::Kind::kSplit, .keeps = keeps};
  int before = Cut::kAll;
  for (int id = 0; id < count; ++id) {
    const int share = is_robot[node(id)] ? Cut::kAll : 0;
    if (share == before) continue;
    before = share;
    // Cuts stand behind kept values, which may be missing where the server's part does not end the
    // order. Ownership of values that are not kept affects no row.
    int after = id - 1;
    while (after >= 0 && !operators[after].is_kept) --after;
    if (!plan.cuts.empty() && plan.cuts.back().after == after) plan.cuts.pop_back();
    plan.cuts.push_back({after, share});
  }
  return plan;
}

// Returns the cheapest cuts in the order of execution, if the sides work one after the other.
std::vector<Plan> CutsInOrder(const CostModel& model, bool keeps, size_t most) {
  const std::vector<ProfiledOperator>& operators = model.robot().operators;
  std::vector<int> last_reader(operators.size() + 1, -2);  // the picture's comes first
  for (size_t id = 0; id < operators.size(); ++id) {
    for (const ProfiledOperator::Input& input : operators[id].inputs) {
      last_reader[input.from + 1] = static_cast<int>(id);
    }
  }
  const int count = static_cast<int>(operators.size());
  // An output crosses any cut from its operator's place to its last reader's.
  std::vector<double> crossing_ms(operators.size() + 1, 0.0);
  for (int id = -1; id < count; ++id) {
    if (id >= 0 && operators[id].is_view) continue;
    const double ms = model.CrossingMs(Side::kServer, id, keeps);
    for (int place = id; place < last_reader[id + 1]; ++place) {
      crossing_ms[place + 1] += ms;
    }
  }
  double rest_ms = 0;
  for (int id = 0; id < count; ++id) rest_ms += model.OperatorMs(Side::kServer, id, keeps);
  double begun_ms = 0;
  std::vector<std::pair<double, int>> cuts;
  auto place = model.cut_places().begin();
  for (int id = -1; id < count && place != model.cut_places().end(); ++id) {
    if (id >= 0) {
      begun_ms += model.OperatorMs(Side::kRobot, id, keeps);
      rest_ms -= model.OperatorMs(Side::kServer, id, keeps);
    }
    if (*place != id) continue;
    cuts.emplace_back(begun_ms + crossing_ms[id + 1] + rest_ms, id);
    ++place;
  }
  std::ranges::sort(cuts);
  if (cuts.size() > most) cuts.resize(most);
  std::vector<Plan> plans;
  for (const auto& [ms, after] : cuts) {
    plans.push_back({.kind = Plan::Kind::kSplit, .keeps = keeps, .cuts = {{after, 0}}});
  }
  return plans;
}

}  // namespace

Plan BestSingleCut(const CostModel& model, bool keeps) {
  Plan best;
  best.keeps = keeps;
  if (!model.is_linked()) return best;
  double best_ms = model.Ms(best);
  std::vector<Plan> plans = CutsInOrder(model, keeps, 16);
  plans.push_back(MinimumCut(model, keeps));
  for (Plan& plan : plans) {
    const double ms = model.Ms(plan);
    if (plan.cuts.empty() || ms >= best_ms) continue;
    best_ms = ms;
    best = std::move(plan);
  }
  return best;
}

}  // namespace cacheinf
