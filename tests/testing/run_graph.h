#ifndef CACHEINF_TESTS_TESTING_RUN_GRAPH_H_
#define CACHEINF_TESTS_TESTING_RUN_GRAPH_H_

#include <memory>
#include <string>
#include <vector>

#include "common/exec/model_state.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/views.h"

// Helpers that run graphs in tests and compare bits.

namespace cacheinf {

// The numbers of a view in logical order.
std::vector<float> Numbers(const ConstTensorView& view);

// The numbers of a value, wherever it lies.
std::vector<float> Numbers(const ModelState& state, ValueId value);

// Sets every number of a view.
void Fill(const TensorView& view, float number);
void Fill(const ModelState& state, ValueId value, float number);

// Same bits, except for the payload and sign of NaN, which depend on the order of a sum's operands.
bool SameBits(float a, float b);

// "" if they are equal, else where the first difference lies.
std::string FirstDifference(const std::vector<float>& expected, const std::vector<float>& actual);
std::string FirstDifference(const std::vector<std::vector<float>>& expected,
                            const std::vector<std::vector<float>>& actual);

std::unique_ptr<ModelState> MakeState(const Graph& graph, std::unique_ptr<Backend> backend,
                                      const StateOptions& options = {});
std::unique_ptr<ModelState> MakeReferenceState(const Graph& graph,
                                               const StateOptions& options = {});

RowsOfOperators AllRows(const Graph& graph);

// Runs some rows of one operator. REQUIRES: as ModelState::Run.
void RunRows(ModelState& state, OpId op, Range rows);

void SetInputs(ModelState& state, const std::vector<Tensor>& inputs);

// One list per graph output, in logical order.
std::vector<std::vector<float>> Outputs(const ModelState& state);

// |actual - expected| ÷ |expected|, as Euclidean lengths over all numbers of all outputs.
double RelativeErrorOf(const std::vector<std::vector<float>>& actual,
                       const std::vector<std::vector<float>>& expected);

// Runs the graph operator by operator on the given backend, with a separate buffer for every value.
// Returns all values (empty for constants).
std::vector<std::vector<float>> EvaluateDirectly(const Graph& graph,
                                                 const std::vector<Tensor>& inputs,
                                                 Backend& backend);

// The same on the reference backend.
std::vector<std::vector<float>> EvaluateDirectly(const Graph& graph,
                                                 const std::vector<Tensor>& inputs);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_RUN_GRAPH_H_
