#include <algorithm>
#include <utility>
#include <vector>

#include "common/backend/host/reference_backend.h"
#include "common/backend/operator_call.h"
#include "common/model/passes/passes.h"
#include "common/model/passes/rewriter.h"
#include "sparse_ops/view_transforms.h"

namespace cacheinf::pass {
namespace {

// A constant that is larger than this, and larger than its inputs, costs more than it saves.
constexpr int64_t kSmall = 1 << 12;  // elements

bool IsCheap(const Operator& op) {
  return op.As<op::Conv>() == nullptr && op.As<op::Linear>() == nullptr &&
         op.As<op::MatMul>() == nullptr && op.As<op::DecodeBoxes>() == nullptr &&
         op.As<op::NonMaxSuppression>() == nullptr && op.As<op::Quantise>() == nullptr &&
         op.As<op::Foreign>() == nullptr;
}

bool CanFold(const Rewriter& rewriter, const Operator& op) {
  if (!IsCheap(op)) return false;
  int64_t read = 0;
  for (ValueId input : op.inputs) {
    const Tensor& tensor = rewriter.constant(input);
    if (tensor.empty() || tensor.count() == 0) return false;
    read += tensor.count();
  }
  const int64_t written = ElementCount(rewriter.shape(op.outputs.front()));
  return written <= std::max(read, kSmall);
}

// Room for a tensor as backends want it: a map channels-last.
TensorView Place(const Shape& shape, std::vector<float>& numbers) {
  numbers.resize(static_cast<size_t>(ElementCount(shape)));
  const auto rank = static_cast<int>(shape.size());
  return PackedView(numbers.data(), shape.data(), rank, rank == 4 ? 1 : rank - 1);
}

// Computes the operator by the definition of its arithmetic, as every backend would.
Tensor Compute(const Rewriter& rewriter, const Operator& op) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (ValueId input : op.inputs) {
    inputs.push_back(graph.AddConstant(rewriter.value(input).name, rewriter.constant(input)));
  }
  graph.outputs = graph.Add(op.name, op.attributes, inputs);
  const Operator& alone = graph.operators.front();
  ReferenceBackend backend;
  const int handle = backend.Prepare(graph, alone);

  std::vector<std::vector<float>> memory(inputs.size() + 1);
  std::vector<ConstTensorView> views;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& constant = graph.value(inputs[i]).constant;
    views.push_back(constant.view());
    if (IsParameter(alone, i)) continue;
    const TensorView place = Place(constant.shape(), memory[i]);
    backend.CopyIn(constant.view(), place);
    views.back() = place;
  }
  const Shape shape = graph.value(graph.outputs.front()).shape;
  const TensorView output = Place(shape, memory.back());
  backend.Run(handle, views, {&output, 1}, {0, RowCount(graph, alone)});

  std::vector<float> values(memory.back().size());
  const auto rank = static_cast<int>(shape.size());
  backend.CopyOut(output, PackedView(values.data(), shape.data(), rank, rank - 1));
  return Tensor(shape, std::move(values));
}

}  // namespace

bool FoldConstants(Graph& graph) {
  return RewriteEach(graph, [](Rewriter& rewriter, OpId id) {
    if (!CanFold(rewriter, rewriter.op(id))) return;
    rewriter.ReplaceByConstant(id, Compute(rewriter, rewriter.op(id)));
  });
}

}  // namespace cacheinf::pass
