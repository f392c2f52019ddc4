#include "common/exec/compiled_model.h"

#include <utility>

#include "common/exec/value_masks.h"
#include "common/model/graph/cost.h"
#include "common/model/graph/geometry.h"

namespace cacheinf {

CompiledModel::CompiledModel(std::shared_ptr<const Graph> graph, std::unique_ptr<Backend> backend)
    : graph_(std::move(graph)), backend_(std::move(backend)) {
  for (const Operator& op : graph_->operators) {
    facts_.push_back({backend_->Prepare(*graph_, op),
                      {0, RowCount(*graph_, op)},
                      IsLocal(*graph_, op),
                      CostOf(*graph_, op).multiply_adds,
                      WeightOf(*graph_, op)});
  }
}

}  // namespace cacheinf
