#include "tests/testing/run_graph.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "common/backend/host/reference_backend.h"
#include "common/backend/operator_call.h"

namespace cacheinf {
namespace {

// Calls `visit(float*)` for every number in logical order.
template <typename T, typename Visit>
void VisitNumbers(const BasicTensorView<T>& view, Visit visit) {
  std::array<int64_t, TensorView::kMaxRank> index = {};
  for (int64_t count = view.Count(); count > 0; --count) {
    T* number = view.data;
    for (int d = 0; d < view.rank; ++d) number += index[d] * view.strides[d];
    visit(number);
    for (int d = view.rank - 1; d >= 0 && ++index[d] == view.dims[d]; --d) index[d] = 0;
  }
}

// A separate buffer for the value: channels-last for maps, in dimension order for others.
TensorView PlainView(const Shape& shape, std::vector<float>& storage) {
  storage.resize(static_cast<size_t>(ElementCount(shape)));
  TensorView view;
  view.data = storage.data();
  view.rank = static_cast<int>(shape.size());
  int64_t stride = 1;
  const auto next = [&](int d) {
    view.dims[d] = shape[d];
    view.strides[d] = stride;
    stride *= shape[d];
  };
  if (view.rank == 4) {
    for (int d : {1, 3, 2, 0}) next(d);
  } else {
    for (int d = view.rank - 1; d >= 0; --d) next(d);
  }
  return view;
}

void FillFrom(const Tensor& tensor, const TensorView& view) {
  const float* from = tensor.data();
  VisitNumbers(view, [&](float* number) { *number = *from++; });
}

// The same dims, in logical order.
TensorView InLogicalOrder(const TensorView& like, float* numbers) {
  TensorView view = like;
  view.data = numbers;
  int64_t stride = 1;
  for (int i = view.rank - 1; i >= 0; --i) {
    view.strides[static_cast<size_t>(i)] = stride;
    stride *= view.dims[static_cast<size_t>(i)];
  }
  return view;
}

}  // namespace

std::vector<float> Numbers(const ConstTensorView& view) {
  std::vector<float> numbers;
  VisitNumbers(view, [&](const float* number) { numbers.push_back(*number); });
  return numbers;
}

std::vector<float> Numbers(const ModelState& state, ValueId value) {
  const TensorView view = state.view(value);
  std::vector<float> numbers(static_cast<size_t>(view.Count()));
  state.backend().CopyOut(view, InLogicalOrder(view, numbers.data()));
  return numbers;
}

void Fill(const TensorView& view, float number) {
  VisitNumbers(view, [&](float* own) { *own = number; });
}

void Fill(const ModelState& state, ValueId value, float number) {
  const TensorView view = state.view(value);
  std::vector<float> numbers(static_cast<size_t>(view.Count()), number);
  state.backend().CopyIn(InLogicalOrder(view, numbers.data()), view);
}

bool SameBits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

std::string FirstDifference(const std::vector<float>& expected, const std::vector<float>& actual) {
  if (expected.size() != actual.size()) {
    return std::to_string(actual.size()) + " numbers instead of " + std::to_string(expected.size());
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!SameBits(expected[i], actual[i])) {
      return "number " + std::to_string(i) + " of " + std::to_string(expected.size()) + " is " +
             std::to_string(actual[i]) + " instead of " + std::to_string(expected[i]);
    }
  }
  return "";
}

std::string FirstDifference(const std::vector<std::vector<float>>& expected,
                            const std::vector<std::vector<float>>& actual) {
  if (expected.size() != actual.size()) {
    return std::to_string(actual.size()) + " lists instead of " + std::to_string(expected.size());
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string difference = FirstDifference(expected[i], actual[i]);
    if (!difference.empty()) return "of list " + std::to_string(i) + " " + difference;
  }
  return "";
}

std::unique_ptr<ModelState> MakeState(const Graph& graph, std::unique_ptr<Backend> backend,
                                      const StateOptions& options) {
  return std::make_unique<ModelState>(std::make_shared<const CompiledModel>(
                                          std::make_shared<const Graph>(graph), std::move(backend)),
                                      options);
}

std::unique_ptr<ModelState> MakeReferenceState(const Graph& graph, const StateOptions& options) {
  return MakeState(graph, std::make_unique<ReferenceBackend>(), options);
}

RowsOfOperators AllRows(const Graph& graph) {
  RowsOfOperators plan;
  for (const Operator& op : graph.operators) plan.push_back({0, RowCount(graph, op)});
  return plan;
}

void RunRows(ModelState& state, OpId op, Range rows) {
  RowsOfOperators plan(state.graph().operators.size());
  plan[op] = rows;
  state.Run(plan);
}

void SetInputs(ModelState& state, const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) state.SetInput(i, inputs[i].view());
}

std::vector<std::vector<float>> Outputs(const ModelState& state) {
  std::vector<std::vector<float>> outputs;
  for (size_t i = 0; i < state.graph().outputs.size(); ++i) {
    std::vector<float> storage;
    const Value& value = state.graph().value(state.graph().outputs[i]);
    const TensorView view = PlainView(value.shape, storage);
    state.GetOutput(i, view);
    outputs.push_back(Numbers(view));
  }
  return outputs;
}

double RelativeErrorOf(const std::vector<std::vector<float>>& actual,
                       const std::vector<std::vector<float>>& expected) {
  double error = 0.0;
  double length = 0.0;
  for (size_t i = 0; i < expected.size(); ++i) {
    for (size_t n = 0; n < expected[i].size(); ++n) {
      error += std::pow(double{actual[i][n]} - expected[i][n], 2);
      length += std::pow(double{expected[i][n]}, 2);
    }
  }
  return std::sqrt(error / length);
}

std::vector<std::vector<float>> EvaluateDirectly(const Graph& graph,
                                                 const std::vector<Tensor>& inputs) {
  ReferenceBackend backend;
  return EvaluateDirectly(graph, inputs, backend);
}

std::vector<std::vector<float>> EvaluateDirectly(const Graph& graph,
                                                 const std::vector<Tensor>& inputs,
                                                 Backend& backend) {
  std::vector<std::vector<float>> storage(graph.values.size());
  std::vector<TensorView> views(graph.values.size());
  for (size_t id = 0; id < graph.values.size(); ++id) {
    views[id] = PlainView(graph.values[id].shape, storage[id]);
    if (graph.values[id].is_constant()) FillFrom(graph.values[id].constant, views[id]);
  }
  for (size_t i = 0; i < inputs.size(); ++i) FillFrom(inputs[i], views[graph.inputs[i]]);

  for (const Operator& op : graph.operators) {
    std::vector<ConstTensorView> op_inputs;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      op_inputs.push_back(IsParameter(op, i) ? graph.value(op.inputs[i]).constant.view()
                                             : ConstTensorView(views[op.inputs[i]]));
    }
    std::vector<TensorView> op_outputs;
    for (ValueId output : op.outputs) op_outputs.push_back(views[output]);
    const int handle = backend.Prepare(graph, op);
    backend.Run(handle, op_inputs, op_outputs, Range{0, RowCount(graph, op)});
  }

  std::vector<std::vector<float>> values(graph.values.size());
  for (size_t id = 0; id < graph.values.size(); ++id) {
    if (!graph.values[id].is_constant()) values[id] = Numbers(views[id]);
  }
  return values;
}

}  // namespace cacheinf
