#include "common/exec/compiled_model.h"

#include <utility>

#include "common/model/graph/cost.h"
#include "common/model/graph/geometry.h"

namespace cacheinf {

CompiledModel::CompiledModel(std::shared_ptr<const Graph> graph, std::unique_ptr<Backend> backend)
    : graph_(std::move(graph)), backend_(std::move(backend)) {
  for (const Operator& op : graph_->operators) {
    const Value& output = graph_->value(op.outputs[0]);
    const int64_t multiply_adds = CostOf(*graph_, op).multiply_adds;
    facts_.push_back({backend_->Prepare(*graph_, op),
                      {0, HeightOf(output)},
                      IsLocal(*graph_, op),
                      multiply_adds,
                      multiply_adds / (int64_t{HeightOf(output)} * WidthOf(output))});
  }
}

}  // namespace cacheinf
