#ifndef CACHEINF_COMMON_EXEC_COMPILED_MODEL_H_
#define CACHEINF_COMMON_EXEC_COMPILED_MODEL_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "common/backend/backend.h"
#include "common/model/graph/graph.h"

namespace cacheinf {

// A model that is ready to run: a graph whose operators are prepared and whose weights are packed
// for a backend, once for all its states (model_state.h). Only one state may run at a time.
class CompiledModel {
 public:
  // Throws InputError if the backend cannot run one of the operators. REQUIRES: a validated graph.
  CompiledModel(std::shared_ptr<const Graph> graph, std::unique_ptr<Backend> backend);

  const Graph& graph() const { return *graph_; }
  Backend& backend() const { return *backend_; }

  struct OperatorFacts {
    int handle = kNone;  // from Backend::Prepare
    Range all_rows;
    bool is_local = false;
    int64_t multiply_adds = 0;
    int64_t weight = 0;  // multiply-adds per output pixel
  };
  const OperatorFacts& facts(OpId op) const { return facts_[static_cast<size_t>(op)]; }

 private:
  // The graph must outlive the backend.
  std::shared_ptr<const Graph> graph_;
  std::unique_ptr<Backend> backend_;
  std::vector<OperatorFacts> facts_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_COMPILED_MODEL_H_
