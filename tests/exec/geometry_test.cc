#include "common/model/graph/geometry.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>
#include <vector>

#include "sparse_ops/view_transforms.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

// Compares geometry with what the reference backend reads, found by changing its inputs.

namespace cacheinf {
namespace {

constexpr int kOperators = 1500;

// An axis of a map: rows or columns.
struct Axis {
  int dimension;
  AxisWindow Window::*window;
  const char* name;
};
constexpr Axis kAxes[] = {{2, &Window::rows, "row"}, {3, &Window::columns, "column"}};

Tensor WithEntriesReplaced(const Tensor& tensor, int dimension, Range entries, float number) {
  std::vector<float> numbers(tensor.data(), tensor.data() + tensor.count());
  TensorView view;
  const ConstTensorView whole = tensor.view();
  view.data = numbers.data();
  view.rank = whole.rank;
  view.dims = whole.dims;
  view.strides = whole.strides;
  Fill(SliceAxis(view, dimension, entries.begin, entries.size()), number);
  return Tensor(tensor.shape(), std::move(numbers));
}

// Runs a graph of one operator repeatedly.
class Probe {
 public:
  explicit Probe(const Graph& graph, uint32_t seed)
      : state_(MakeReferenceState(graph)), inputs_(RandomInputs(graph, seed)) {
    expected_ = Run(inputs_);
  }

  const std::vector<Tensor>& inputs() const { return inputs_; }

  // The output's indices along `dimension` whose bits change if an input has these numbers instead.
  std::set<int> Changed(size_t input, Tensor tensor, int dimension) {
    std::vector<Tensor> inputs = inputs_;
    inputs[input] = std::move(tensor);
    const std::vector<float> actual = Run(inputs);
    const Shape& shape = state_->graph().value(state_->graph().outputs[0]).shape;
    int64_t inner = 1;
    for (size_t d = dimension + 1; d < shape.size(); ++d) inner *= shape[d];
    std::set<int> changed;
    for (size_t i = 0; i < actual.size(); ++i) {
      if (SameBits(expected_[i], actual[i])) continue;
      changed.insert(static_cast<int>(static_cast<int64_t>(i) / inner % shape[dimension]));
    }
    return changed;
  }

 private:
  std::vector<float> Run(const std::vector<Tensor>& inputs) {
    SetInputs(*state_, inputs);
    state_->Run();
    return Outputs(*state_)[0];
  }

  std::unique_ptr<ModelState> state_;
  std::vector<Tensor> inputs_;
  std::vector<float> expected_;
};

// Calls `check(probe, input, window)` for each input of each local operator.
template <typename Check>
void ForEachLocalInput(Check check) {
  constexpr uint32_t kSeed = 100;
  int local = 0;
  for (const Graph& graph : OneOperatorGraphs(kSeed, kOperators)) {
    const Operator& op = graph.operators[0];
    if (!IsLocal(graph, op)) continue;
    ++local;
    SCOPED_TRACE(testing::Message() << graph.name << ", seed " << kSeed);
    Probe probe(graph, kSeed);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (graph.value(op.inputs[i]).is_constant()) continue;
      size_t input = 0;
      while (graph.inputs[input] != op.inputs[i]) ++input;
      check(probe, input, InputWindow(graph, op, static_cast<int>(i)));
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(local, kOperators / 3);
}

TEST(GeometryTest, AChangeShowsOnlyWhereTheWindowReadsIt) {
  ForEachLocalInput([](Probe& probe, size_t input, const Window& window) {
    for (const Axis& axis : kAxes) {
      const AxisWindow& own = window.*axis.window;
      for (int in = 0; in < own.in_size; ++in) {
        const Range touched = own.Touched({in, in + 1});
        const Tensor changed =
            WithEntriesReplaced(probe.inputs()[input], axis.dimension, {in, in + 1}, 7.7f);
        for (int out : probe.Changed(input, changed, axis.dimension)) {
          ASSERT_TRUE(own.Reads(out, in)) << axis.name << " " << out << " reads " << in;
          ASSERT_TRUE(touched.begin <= out && out < touched.end)
              << axis.name << " " << out << " is touched by " << in;
        }
      }
    }
  });
}

// Windows are not just large enough: in operators that let every number through, each index that
// Reads names shows in the output.
TEST(GeometryTest, WindowsAreTight) {
  int checked = 0;
  ForEachLocalInput([&](Probe& probe, size_t input, const Window& window) {
    for (const Axis& axis : kAxes) {
      const AxisWindow& own = window.*axis.window;
      const AxisWindow& other = axis.dimension == 2 ? window.columns : window.rows;
      // Some output must read something along the other axis.
      if (other.Needed({0, other.out_size}).empty()) continue;
      if (own.kind == AxisWindow::Kind::kResize) continue;  // some taps have no weight
      for (int in = 0; in < own.in_size; ++in) {
        const Tensor changed =
            WithEntriesReplaced(probe.inputs()[input], axis.dimension, {in, in + 1},
                                std::numeric_limits<float>::quiet_NaN());
        const std::set<int> seen = probe.Changed(input, changed, axis.dimension);
        if (seen.empty()) continue;  // clipped, compared or left out over channels
        ++checked;
        for (int out = 0; out < own.out_size; ++out) {
          EXPECT_EQ(own.Reads(out, in), seen.count(out) == 1)
              << axis.name << " " << out << " reads " << in;
        }
      }
    }
  });
  EXPECT_GT(checked, 1000);
}

// Whether an operator on a map of 4 channels is local.
bool IsLocalOnMap(Attributes attributes, const Shape& shape = {1, 4, 8, 6}) {
  Graph graph;
  const ValueId input = graph.AddInput("input", shape);
  graph.outputs = graph.Add("op", std::move(attributes), {input});
  return IsLocal(graph, graph.operators[0]);
}

TEST(GeometryTest, ReductionsOverChannelsOrBatchAreLocalAndOverSpaceOrBothAreNot) {
  EXPECT_TRUE(IsLocalOnMap(op::Softmax{0, false}));
  EXPECT_TRUE(IsLocalOnMap(op::Softmax{1, false}));
  EXPECT_FALSE(IsLocalOnMap(op::Softmax{2, false}));
  EXPECT_FALSE(IsLocalOnMap(op::Softmax{3, true}));
  EXPECT_TRUE(IsLocalOnMap(op::ArgMax{1, true}));
  EXPECT_FALSE(IsLocalOnMap(op::ArgMax{1, false}));  // not a map any more
  EXPECT_TRUE(IsLocalOnMap(op::Reduce{ReduceKind::kMax, {1}, true}));
  EXPECT_FALSE(IsLocalOnMap(op::Reduce{ReduceKind::kMean, {2, 3}, true}));
  EXPECT_FALSE(IsLocalOnMap(op::Reduce{ReduceKind::kMean, {0, 1}, true}));
  EXPECT_TRUE(IsLocalOnMap(op::LayerNorm{1, 1, 1e-5f, false}));
  EXPECT_FALSE(IsLocalOnMap(op::LayerNorm{1, 3, 1e-5f, false}));
  EXPECT_FALSE(IsLocalOnMap(op::LayerNorm{0, 2, 1e-5f, false}));
  EXPECT_FALSE(IsLocalOnMap(op::GroupNorm{2, 1e-5f, false}));
}

TEST(GeometryTest, AdaptivePoolsAreLocalIfTheirSizesDivide) {
  using Kind = PoolSpec::Kind;
  EXPECT_TRUE(IsLocalOnMap(op::AdaptivePool{Kind::kAverage, 4, 3}));
  EXPECT_FALSE(IsLocalOnMap(op::AdaptivePool{Kind::kAverage, 3, 3}));
  EXPECT_FALSE(IsLocalOnMap(op::AdaptivePool{Kind::kMax, 1, 1}));
  EXPECT_TRUE(IsLocalOnMap(op::AdaptivePool{Kind::kMax, 1, 1}, {1, 4, 1, 1}));
}

TEST(GeometryTest, MovesOfNumbersAreLocalIfPixelsStayWhereTheyAre) {
  EXPECT_TRUE(IsLocalOnMap(op::Reshape{{1, 4, 8, 6}}));
  EXPECT_FALSE(IsLocalOnMap(op::Reshape{{1, 8, 4, 6}}));
  EXPECT_FALSE(IsLocalOnMap(op::Reshape{{4, 8, 6}}));
  EXPECT_TRUE(IsLocalOnMap(op::Permute{{0, 1, 2, 3}}));
  EXPECT_FALSE(IsLocalOnMap(op::Permute{{0, 2, 3, 1}}));
  EXPECT_TRUE(IsLocalOnMap(op::Gather{1, {3, 0}, false}));
  EXPECT_FALSE(IsLocalOnMap(op::Gather{2, {3, 0}, false}));
  EXPECT_FALSE(IsLocalOnMap(op::Gather{0, {0}, true}));
  EXPECT_TRUE(IsLocalOnMap(op::Slice{{0, 1, 2, 0}, {1, 2, 3, 3}, {1, 2, 2, 2}}));
}

TEST(GeometryTest, GatesAndConstantsDoNotMakeAnOperatorNonLocal) {
  Graph graph;
  const ValueId map = graph.AddInput("map", {1, 4, 8, 6});
  const ValueId gate = graph.AddInput("gate", {1, 4, 1, 1});
  const ValueId column = graph.AddInput("column", {1, 4, 8, 1});
  const ValueId vector = graph.AddInput("vector", {6});
  std::mt19937 random(1);
  const ValueId constant = graph.AddConstant("constant", RandomTensor({6}, random));
  const auto add = [&](ValueId a, ValueId b) {
    graph.AddOne("op", op::Binary{}, {a, b});
    return graph.operators.back();
  };
  const Operator gated = add(map, gate);
  EXPECT_TRUE(IsLocal(graph, gated));
  EXPECT_EQ(InputWindow(graph, gated, 1).rows.kind, AxisWindow::Kind::kBroadcast);
  EXPECT_EQ(InputWindow(graph, gated, 1).columns.kind, AxisWindow::Kind::kBroadcast);
  const Operator by_column = add(column, map);
  EXPECT_TRUE(IsLocal(graph, by_column));
  EXPECT_EQ(InputWindow(graph, by_column, 0).rows.kind, AxisWindow::Kind::kSliding);
  EXPECT_EQ(InputWindow(graph, by_column, 0).columns.kind, AxisWindow::Kind::kBroadcast);
  EXPECT_TRUE(IsLocal(graph, add(map, constant)));
  EXPECT_FALSE(IsLocal(graph, add(map, vector)));
}

TEST(GeometryTest, NeededRowsGrowByTheWindowsOnTheWay) {
  Graph graph;
  const ValueId input = graph.AddInput("input", {1, 2, 32, 8});
  std::mt19937 random(1);
  const ValueId weights = graph.AddConstant("weights", RandomTensor({2, 2, 3, 3}, random));
  op::Conv conv;
  conv.spec.rows = conv.spec.columns = {3, 1, 1, 1, 1};
  const ValueId first = graph.AddOne("first", conv, {input, weights});
  conv.spec.rows.stride = 2;
  const ValueId second = graph.AddOne("second", conv, {first, weights});
  const ValueId pooled = graph.AddOne("pooled", op::AdaptivePool{}, {first});
  const ValueId sum = graph.AddOne("sum", op::Binary{}, {second, pooled});
  graph.outputs = {second, sum};
  EXPECT_EQ(RowsNeeded(graph, second, {4, 6}), (RowsOfOperators{{7, 12}, {4, 6}, {}, {}}));
  EXPECT_EQ(RowsNeeded(graph, sum, {4, 6}), (RowsOfOperators{{0, 32}, {4, 6}, {0, 1}, {4, 6}}));
  EXPECT_EQ(RowsNeeded(graph, second, {3, 3}), RowsOfOperators(4));
}

}  // namespace
}  // namespace cacheinf
