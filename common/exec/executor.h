#ifndef CACHEINF_COMMON_EXEC_EXECUTOR_H_
#define CACHEINF_COMMON_EXEC_EXECUTOR_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "common/exec/backend.h"
#include "common/model/geometry.h"
#include "common/model/graph.h"

namespace cacheinf {

struct ExecutorOptions {
  // Values whose buffers are shared with no other value and keep their numbers from frame to frame.
  // Graph inputs and outputs always are.
  std::vector<ValueId> persistent;
  bool all_persistent = false;
};

struct MemoryReport {
  size_t arena_bytes = 0;       // what the executor allocated for activations
  size_t activation_bytes = 0;  // the sum of all activations, each in a buffer of its own
  size_t persistent_bytes = 0;  // the part of the arena that is never shared
  size_t scratch_bytes = 0;
};

// Runs a graph on a backend. Everything is laid out and prepared in the constructor; Run allocates
// nothing.
class Executor {
 public:
  // `graph` has been validated. Throws InputError when the backend cannot run one of its operators.
  Executor(std::shared_ptr<const Graph> graph, std::unique_ptr<Backend> backend,
           const ExecutorOptions& options = {});
  ~Executor();
  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;

  // Copies a graph input in. REQUIRES: the dims of that input.
  void SetInput(size_t index, const ConstTensorView& host);

  void Run();

  // Only these rows of each operator; what they need must be there (see RowsNeeded).
  void Run(const RowPlan& rows);

  // Copies a graph output out. REQUIRES: the dims of that output.
  void GetOutput(size_t index, const TensorView& host) const;

  // Where a value lies, in the backend's memory. REQUIRES: the value is not a constant.
  TensorView view(ValueId value) const;

  const Graph& graph() const;
  Backend& backend();
  const MemoryReport& memory() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_EXECUTOR_H_
