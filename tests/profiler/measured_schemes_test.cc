#include "profiler/measured_schemes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "common/backend/forwarding_backend.h"
#include "common/backend/host/cpu_backend.h"
#include "common/backend/host/reference_backend.h"
#include "common/base/error.h"
#include "common/exec/model_state.h"
#include "tests/testing/by_winograd.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

// Which scheme a convolution gets, and the answers of a network with it.

namespace cacheinf {
namespace {

struct Layer {
  int kernel = 3;
  int stride = 1;
  int dilation = 1;
  int groups = 1;
  int pad = 1;
  int in_channels = 8;
  int out_channels = 8;
  Function activation = {};
  bool has_residual = false;
};

class NetworkBuilder {
 public:
  NetworkBuilder(int channels, int height, int width) {
    map_ = graph_.AddInput("in", {1, channels, height, width});
  }

  NetworkBuilder& Add(const Layer& layer) {
    const std::string number = std::to_string(graph_.operators.size());
    const Shape shape = {layer.out_channels, layer.in_channels / layer.groups, layer.kernel,
                         layer.kernel};
    const float spread = std::sqrt(3.0f / static_cast<float>(shape[1] * shape[2] * shape[3]));
    op::Conv conv;
    conv.spec.rows =
        conv.spec.columns = {layer.kernel, layer.stride, layer.pad, layer.pad, layer.dilation};
    conv.spec.groups = layer.groups;
    conv.activation = layer.activation;
    conv.has_residual = layer.has_residual;
    std::vector<ValueId> inputs = {
        map_,
        graph_.AddConstant("weights" + number, RandomTensor(shape, random_, -spread, spread))};
    if (layer.has_residual) inputs.push_back(map_);
    map_ = graph_.AddOne("conv" + number, conv, inputs);
    return *this;
  }

  Graph Finish() {
    graph_.outputs = {map_};
    graph_.Validate();
    return graph_;
  }

 private:
  std::mt19937 random_{7};
  Graph graph_;
  ValueId map_;
};

Graph OneLayer(const Layer& layer, int height, int width) {
  return NetworkBuilder(layer.in_channels, height, width).Add(layer).Finish();
}

Layer Channels(int in_channels, int out_channels) {
  Layer layer;
  layer.in_channels = in_channels;
  layer.out_channels = out_channels;
  return layer;
}

// Three distinct layers where Winograd applies, one of them twice, and two where it does not.
Graph SixLayers() {
  Layer first = Channels(3, 16);
  first.activation.kind = Function::Kind::kSilu;
  Layer same = Channels(16, 16);
  same.activation.kind = Function::Kind::kSilu;
  Layer with_residual = same;
  with_residual.has_residual = true;
  Layer strided = Channels(16, 32);
  strided.stride = 2;
  Layer pointwise = Channels(32, 8);
  pointwise.kernel = 1;
  pointwise.pad = 0;
  return NetworkBuilder(3, 30, 41)
      .Add(first)
      .Add(same)
      .Add(same)
      .Add(with_residual)
      .Add(strided)
      .Add(pointwise)
      .Finish();
}

TEST(FasterSchemesTest, WhereWinogradDoesNotApplyEverythingIsDirect) {
  Layer strided = Channels(64, 64);
  strided.stride = 2;
  Layer dilated = Channels(64, 64);
  dilated.dilation = 2;
  Layer depthwise = Channels(64, 64);
  depthwise.groups = 64;
  Layer pointwise = Channels(64, 64);
  pointwise.kernel = 1;
  Layer large = Channels(64, 64);
  large.kernel = 5;
  for (const Layer& layer : {strided, dilated, depthwise, pointwise, large}) {
    Graph graph = OneLayer(layer, 56, 56);
    const SchemeTimes times = {{LayerText(graph, graph.operators[0]), 2.0, 1.0}};
    EXPECT_EQ(FasterSchemes(graph, times), Schemes{Scheme::kDirect});
    EXPECT_THROW(SetSchemes(graph, {Scheme::kWinograd}), InputError);
  }
}

TEST(SetSchemesTest, TakesAPlanOfThisGraphOnly) {
  Graph graph = SixLayers();
  EXPECT_THROW(SetSchemes(graph, {Scheme::kDirect}), InputError);
  const Schemes schemes = WinogradWhereItApplies(graph);
  SetSchemes(graph, schemes);
  for (size_t i = 0; i < schemes.size(); ++i) {
    EXPECT_EQ(graph.operators[i].As<op::Conv>()->scheme, schemes[i]) << i;
  }
  EXPECT_EQ(std::count(schemes.begin(), schemes.end(), Scheme::kWinograd), 4);
}

TEST(ModelDigestTest, DiffersWhereTimesDo) {
  const Graph graph = SixLayers();
  EXPECT_EQ(ModelDigest(graph), ModelDigest(SixLayers()));
  Graph by_winograd = graph;
  SetSchemes(by_winograd, WinogradWhereItApplies(graph));
  EXPECT_EQ(ModelDigest(graph), ModelDigest(by_winograd));
  Layer layer = Channels(8, 8);
  const std::string digest = ModelDigest(OneLayer(layer, 20, 20));
  EXPECT_NE(digest, ModelDigest(OneLayer(layer, 20, 21)));
  layer.has_residual = true;
  EXPECT_NE(digest, ModelDigest(OneLayer(layer, 20, 20)));
  layer.has_residual = false;
  layer.activation.kind = Function::Kind::kRelu;
  EXPECT_NE(digest, ModelDigest(OneLayer(layer, 20, 20)));
}

TEST(MeasureSchemesTest, TimesEveryDistinctLayerOnce) {
  const Graph graph = SixLayers();
  ASSERT_EQ(LayersToMeasure(graph), 3);
  std::vector<int> progress;
  Measuring measuring;
  measuring.threads = 2;
  measuring.on_progress = [&](int done, int of) {
    EXPECT_EQ(of, 3);
    progress.push_back(done);
    return true;
  };
  const SchemeTimes times = MeasureSchemes(graph, measuring, SteadyClock());
  EXPECT_EQ(progress, (std::vector<int>{1, 2, 3}));
  ASSERT_EQ(times.size(), 3u);
  for (const LayerTimes& layer : times) {
    EXPECT_GT(layer.direct_ms, 0.0) << layer.layer;
    EXPECT_GT(layer.winograd_ms, 0.0) << layer.layer;
  }
  EXPECT_EQ(times.back().layer, "3x3 3->16 1x30x41 pad 1,1 silu");
}

TEST(MeasureSchemesTest, GoesOnWhereItEnded) {
  const Graph graph = SixLayers();
  const SchemeTimes known = {{LayerText(graph, graph.operators[1]), 2.0, 7.0},
                             {"a layer of another model", 1.0, 1.0}};
  ASSERT_EQ(LayersToMeasure(graph, known), 2);
  const SchemeTimes times = MeasureSchemes(graph, {}, SteadyClock(), known);
  ASSERT_EQ(times.size(), 4u);
  EXPECT_EQ(times[0].winograd_ms, 7.0);
  EXPECT_EQ(LayersToMeasure(graph, times), 0);
}

TEST(MeasureSchemesTest, EndsWithItsBudgetOrWhenAsked) {
  const Graph graph = SixLayers();
  Measuring measuring;
  measuring.on_progress = [](int, int) { return false; };
  EXPECT_EQ(MeasureSchemes(graph, measuring, SteadyClock()).size(), 1u);

  // A clock that jumps, so that the budget runs out within the second layer.
  class JumpingClock : public Clock {
   public:
    std::chrono::nanoseconds Now() const override { return std::chrono::milliseconds(++calls_); }

   private:
    mutable int calls_ = 0;
  };
  measuring.on_progress = nullptr;
  measuring.budget = std::chrono::milliseconds(80);
  EXPECT_EQ(MeasureSchemes(graph, measuring, JumpingClock()).size(), 1u);
  measuring.budget = std::chrono::nanoseconds(0);
  EXPECT_TRUE(MeasureSchemes(graph, measuring, SteadyClock()).empty());
}

TEST(FasterSchemesTest, MeasuredLayersTakeTheFasterSchemeOthersTheDirectOne) {
  const Graph graph = SixLayers();
  const Schemes direct(graph.operators.size(), Scheme::kDirect);
  EXPECT_EQ(FasterSchemes(graph, {}), direct);
  for (const bool winograd_is_faster : {true, false}) {
    const SchemeTimes times = {
        {LayerText(graph, graph.operators[1]), 2.0, winograd_is_faster ? 1.0 : 3.0},
        {"a layer of another model", 1.0, 1.0}};
    const Scheme faster = winograd_is_faster ? Scheme::kWinograd : Scheme::kDirect;
    Schemes expected = direct;
    expected[1] = expected[2] = faster;
    EXPECT_EQ(FasterSchemes(graph, times), expected);
  }
}

// A device on which rows of a convolution take as long as the test says.
class TimedBackend final : public ForwardingBackend {
 public:
  using TimeOfRows = std::function<std::chrono::nanoseconds(const op::Conv& conv, int rows)>;

  TimedBackend(ManualClock& clock, const TimeOfRows& time_of)
      : ForwardingBackend(std::make_unique<ReferenceBackend>()), clock_(clock), time_of_(time_of) {}

  int Prepare(const Graph& graph, const Operator& op) override {
    convs_.push_back(*op.As<op::Conv>());
    return ForwardingBackend::Prepare(graph, op);
  }
  void Run(int handle, std::span<const ConstTensorView>, std::span<const TensorView>,
           Range rows) override {
    if (!rows.empty()) clock_.Advance(time_of_(convs_[static_cast<size_t>(handle)], rows.size()));
  }

 private:
  ManualClock& clock_;
  const TimeOfRows& time_of_;
  std::vector<op::Conv> convs_;
};

TEST(MeasureTilesTest, SmallTilesAreTakenUpToWhereLargeOnesBeginToWin) {
  const Graph graph = OneLayer(Channels(8, 8), 32, 10);
  const auto measured = [&](const TimedBackend::TimeOfRows& time_of) {
    ManualClock clock;
    const TileChoice tiles = MeasureTiles(
        graph, {}, [&] { return std::make_unique<TimedBackend>(clock, time_of); }, clock);
    EXPECT_EQ(tiles.size(), 1u);
    EXPECT_EQ(tiles.at(0).layer, LayerText(graph, graph.operators[0]));
    return tiles.at(0).small_tiles_up_to;
  };
  using std::chrono::microseconds;
  const auto is_small = [](const op::Conv& conv) { return conv.small_tiles_up_to > 0; };
  // 1, 2, 4, … 32 rows are timed.
  EXPECT_EQ(measured([&](const op::Conv& conv, int rows) {
              return microseconds(is_small(conv) ? 10 * rows : 55 + rows);
            }),
            4 * 10);
  EXPECT_EQ(
      measured([&](const op::Conv& conv, int) { return microseconds(is_small(conv) ? 5 : 4); }), 0);
  EXPECT_EQ(
      measured([&](const op::Conv& conv, int) { return microseconds(is_small(conv) ? 4 : 5); }),
      32 * 10);
  EXPECT_EQ(measured([&](const op::Conv& conv, int rows) {
              return microseconds(!is_small(conv) ? 100 : rows == 2 ? 101 : rows < 16 ? 50 : 200);
            }),
            8 * 10)
      << "one that is hardly worse does not count";
}

TEST(MeasureTilesTest, TimesEveryDistinctConvolutionOnceAndSetsAllOfThem) {
  Graph graph = SixLayers();
  ASSERT_EQ(TilesToMeasure(graph), 5);
  ManualClock clock;
  const TimedBackend::TimeOfRows time_of = [](const op::Conv& conv, int) {
    return std::chrono::microseconds(conv.small_tiles_up_to > 0 ? 4 : 5);
  };
  const auto make_backend = [&] { return std::make_unique<TimedBackend>(clock, time_of); };
  Measuring measuring;
  measuring.on_progress = [](int done, int) { return done < 2; };
  const TileChoice some = MeasureTiles(graph, measuring, make_backend, clock);
  EXPECT_EQ(some.size(), 2u);
  EXPECT_EQ(TilesToMeasure(graph, some), 3);
  const TileChoice all = MeasureTiles(graph, {}, make_backend, clock, some);
  ASSERT_EQ(all.size(), 5u);
  measuring.budget = std::chrono::nanoseconds(0);
  EXPECT_TRUE(MeasureTiles(graph, measuring, make_backend, clock).empty());

  SetTiles(graph, {{"a layer of another model", 3}});
  for (const Operator& op : graph.operators) {
    EXPECT_EQ(op.As<op::Conv>()->small_tiles_up_to, -1);
  }
  SetTiles(graph, all);
  for (const Operator& op : graph.operators) {
    const Shape& shape = graph.value(op.outputs[0]).shape;
    EXPECT_EQ(op.As<op::Conv>()->small_tiles_up_to, shape[2] * shape[3]) << op.name;
  }
}

TEST(MeasureTilesTest, OfConvolutionsInGroupsThoseOfLargeGroupsHaveTiles) {
  struct Form {
    int in_channels;
    int out_channels;
    int groups;
    int layers;
  };
  for (const Form form : {Form{16, 32, 2, 1}, Form{14, 32, 2, 0}, Form{16, 30, 2, 0},
                          Form{16, 16, 16, 0}, Form{3, 3, 1, 1}}) {
    Layer layer = Channels(form.in_channels, form.out_channels);
    layer.groups = form.groups;
    EXPECT_EQ(TilesToMeasure(OneLayer(layer, 8, 8)), form.layers)
        << form.in_channels << " to " << form.out_channels << " in " << form.groups << " groups";
  }
}

// Each layer's weights keep the spread of its input, so that errors of all layers count alike.
TEST(WinogradNetworkTest, AgreesWithTheReferenceWithinFiveMillionthsOfTheRange) {
  Graph graph = SixLayers();
  const std::vector<Tensor> inputs = RandomInputs(graph, 3);
  const auto expected = EvaluateDirectly(graph, inputs)[graph.outputs[0]];
  SetSchemes(graph, WinogradWhereItApplies(graph));
  const auto state = MakeState(graph, std::make_unique<CpuBackend>());
  SetInputs(*state, inputs);
  state->Run();
  const auto actual = Outputs(*state)[0];
  ASSERT_EQ(actual.size(), expected.size());
  float range = 0.0f;
  float error = 0.0f;
  for (size_t i = 0; i < expected.size(); ++i) {
    range = std::max(range, std::abs(expected[i]));
    error = std::max(error, std::abs(actual[i] - expected[i]));
  }
  EXPECT_LT(error, 5e-6f * range);
  EXPECT_GT(error, 0.0f) << "Winograd was not run";
}

TEST(WinogradNetworkTest, ABackendRefusesWinogradWhereItCannotBe) {
  Layer strided = Channels(8, 8);
  strided.stride = 2;
  Graph graph = OneLayer(strided, 20, 20);
  graph.operators[0].As<op::Conv>()->scheme = Scheme::kWinograd;
  EXPECT_THROW(MakeState(graph, std::make_unique<CpuBackend>()), InputError);
}

}  // namespace
}  // namespace cacheinf
