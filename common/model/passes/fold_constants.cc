#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "common/exec/model_state.h"
#include "common/exec/reference_backend.h"
#include "common/model/passes/passes.h"
#include "common/model/passes/rewriter.h"
#include "sparse_ops/view_transforms.h"

namespace cacheinf::pass {
namespace {

// A constant that is larger than this, and than what it is made of, costs more than it saves.
constexpr int64_t kSmall = 1 << 12;  // elements

bool IsCheap(const Operator& op) {
  return op.As<op::Conv>() == nullptr && op.As<op::Linear>() == nullptr &&
         op.As<op::MatMul>() == nullptr && op.As<op::DecodeBoxes>() == nullptr &&
         op.As<op::NonMaxSuppression>() == nullptr && op.As<op::Foreign>() == nullptr;
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

// Computes the operator by the definition of its arithmetic, as every backend would.
Tensor Compute(const Rewriter& rewriter, const Operator& op) {
  auto graph = std::make_shared<Graph>();
  std::vector<ValueId> inputs;
  for (ValueId input : op.inputs) {
    inputs.push_back(graph->AddConstant(rewriter.value(input).name, rewriter.constant(input)));
  }
  graph->outputs = graph->Add(op.name, op.attributes, std::move(inputs));
  const Shape shape = graph->value(graph->outputs.front()).shape;
  ModelState state(
      std::make_shared<const CompiledModel>(graph, std::make_unique<ReferenceBackend>()));
  state.Run();

  std::vector<float> values(static_cast<size_t>(ElementCount(shape)));
  const auto rank = static_cast<int>(shape.size());
  state.GetOutput(0, PackedView(values.data(), shape.data(), rank, rank - 1));
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
