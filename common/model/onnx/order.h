#ifndef CACHEINF_COMMON_MODEL_ONNX_ORDER_H_
#define CACHEINF_COMMON_MODEL_ONNX_ORDER_H_

#include <onnx/onnx_pb.h>

#include <functional>
#include <string>
#include <vector>

namespace cacheinf {

// The nodes that the graph's outputs depend on, each after those whose outputs it reads, otherwise
// in the file's order. `is_known` tells whether a name is defined outside the graph's nodes. Throws
// InputError if a name is defined twice or not at all, or if nodes depend on themselves.
std::vector<int> NodesInOrder(const onnx::GraphProto& graph,
                              const std::function<bool(const std::string&)>& is_known);

// Every name that the node reads, including what its subgraphs read from outside.
std::vector<std::string> NamesRead(const onnx::NodeProto& node);

// "node 'conv1' (Conv)"
std::string DescribeNode(const onnx::NodeProto& node);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_ONNX_ORDER_H_
