#include "common/model/onnx/order.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "common/base/error.h"

namespace cacheinf {
namespace {

using NodeIndex = std::unordered_map<std::string, int>;  // which node defines a name

// Protobuf's own limit on nested messages bounds the recursion.
void AppendNamesRead(const onnx::GraphProto& graph, std::vector<std::string>& names);

void AppendNamesRead(const onnx::NodeProto& node, std::vector<std::string>& names) {
  for (const std::string& input : node.input()) {
    if (!input.empty()) names.push_back(input);
  }
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) AppendNamesRead(attribute.g(), names);
    for (const onnx::GraphProto& graph : attribute.graphs()) AppendNamesRead(graph, names);
  }
}

void AppendNamesRead(const onnx::GraphProto& graph, std::vector<std::string>& names) {
  for (const onnx::NodeProto& node : graph.node()) AppendNamesRead(node, names);
  for (const onnx::ValueInfoProto& output : graph.output()) names.push_back(output.name());
}

NodeIndex Producers(const onnx::GraphProto& graph,
                    const std::function<bool(const std::string&)>& is_known) {
  NodeIndex producers;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) {
      if (output.empty()) continue;
      if (is_known(output) || !producers.emplace(output, i).second) {
        throw InputError(DescribeNode(graph.node(i)), ": its output '", output,
                         "' is defined twice");
      }
    }
  }
  return producers;
}

// Per node, the nodes that it reads from.
std::vector<std::vector<int>> Dependencies(
    const onnx::GraphProto& graph, const NodeIndex& producers,
    const std::function<bool(const std::string&)>& is_known) {
  std::vector<std::vector<int>> dependencies(static_cast<size_t>(graph.node_size()));
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    for (const std::string& input : node.input()) {
      if (!input.empty() && !producers.count(input) && !is_known(input)) {
        throw InputError(DescribeNode(node), ": its input '", input, "' is not defined anywhere");
      }
    }
    // Names that only subgraphs read may be defined inside them.
    for (const std::string& name : NamesRead(node)) {
      const auto found = producers.find(name);
      if (found != producers.end()) dependencies[static_cast<size_t>(i)].push_back(found->second);
    }
  }
  return dependencies;
}

// Depth first, without recursion: a chain of nodes may be as long as the file allows.
std::vector<int> SortedNodes(const onnx::GraphProto& graph,
                             const std::vector<std::vector<int>>& dependencies) {
  enum class State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> states(dependencies.size(), State::kNew);
  std::vector<int> order;
  std::vector<std::pair<int, size_t>> stack;  // node, number of its dependencies already seen
  for (int root = 0; root < graph.node_size(); ++root) {
    if (states[static_cast<size_t>(root)] == State::kNew) stack.emplace_back(root, 0);
    while (!stack.empty()) {
      const int node = stack.back().first;
      const auto at = static_cast<size_t>(node);
      states[at] = State::kOpen;
      if (stack.back().second == dependencies[at].size()) {
        states[at] = State::kDone;
        order.push_back(node);
        stack.pop_back();
        continue;
      }
      const int next = dependencies[at][stack.back().second++];
      const State state = states[static_cast<size_t>(next)];
      if (state == State::kOpen) {
        throw InputError(DescribeNode(graph.node(next)), " depends on its own output");
      }
      if (state == State::kNew) stack.emplace_back(next, 0);
    }
  }
  return order;
}

}  // namespace

std::vector<int> NodesInOrder(const onnx::GraphProto& graph,
                              const std::function<bool(const std::string&)>& is_known) {
  const NodeIndex producers = Producers(graph, is_known);
  const std::vector<std::vector<int>> dependencies = Dependencies(graph, producers, is_known);
  std::vector<int> order = SortedNodes(graph, dependencies);

  std::vector<bool> needed(dependencies.size(), false);
  for (const onnx::ValueInfoProto& output : graph.output()) {
    const auto found = producers.find(output.name());
    if (found != producers.end()) {
      needed[static_cast<size_t>(found->second)] = true;
    } else if (!is_known(output.name())) {
      throw InputError("output '", output.name(), "' is not defined anywhere");
    }
  }
  for (size_t i = order.size(); i-- > 0;) {
    const auto node = static_cast<size_t>(order[i]);
    if (!needed[node]) continue;
    for (int dependency : dependencies[node]) needed[static_cast<size_t>(dependency)] = true;
  }
  const auto is_idle = [&needed](int node) { return !needed[static_cast<size_t>(node)]; };
  order.erase(std::remove_if(order.begin(), order.end(), is_idle), order.end());
  return order;
}

std::vector<std::string> NamesRead(const onnx::NodeProto& node) {
  std::vector<std::string> names;
  AppendNamesRead(node, names);
  return names;
}

std::string DescribeNode(const onnx::NodeProto& node) {
  std::string name = node.name();
  if (name.empty() && node.output_size() > 0) name = node.output(0);
  return "node '" + name + "' (" + node.op_type() + ")";
}

}  // namespace cacheinf
