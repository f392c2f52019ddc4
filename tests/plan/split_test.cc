// Read this first: where a network may be cut, and which rows an operator needs.

#include "common/plan/split.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/plan/cut_text.h"
#include "tests/model/model_builder.h"
#include "tests/testing/networks.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

TEST(Split, WhereANetworkCannotBeCutIsRefused) {
  const auto graph = MakeNetwork(TenNetworks()[1], 64, 32);
  Layout layout = MakeLayout(*graph, {}, Keep::kAll);
  layout.is_kept[graph->operators[2].outputs[0]] = false;
  const auto refusal = [&](const std::vector<Cut>& cuts) {
    return RefusalOf([&] { CheckCuts(cuts, *graph, layout); });
  };
  EXPECT_EQ(refusal({{-1, 0}, {1, 500}, {3, 1000}}), "");
  const int count = static_cast<int>(graph->operators.size());
  for (const int after : {2, count}) {
    EXPECT_EQ(refusal({{after, 0}}), "a cut must be at a value that is kept");
  }
  for (const int share : {-1, 1001}) {
    EXPECT_EQ(refusal({{1, share}}), "a cut's share must be between 0 and 1");
  }
  for (const std::vector<Cut>& cuts :
       std::vector<std::vector<Cut>>{{{3, 0}, {1, 0}}, {{1, 0}, {1, 500}}, {{-2, 0}}}) {
    EXPECT_EQ(refusal(cuts), "cuts must be in the order of execution");
  }
  const RowCompiler compiler(*graph, layout);
  for (const std::vector<int>& rows : std::vector<std::vector<int>>{{}, {-1}, {65}, {1, 2}}) {
    EXPECT_EQ(RefusalOf([&] {
                (void)compiler.Compile({{1, 500}}, rows);
              }),
              "every cut must have a row of the picture");
  }
}

TEST(Split, CutsAreSortedAndTheLastAtAPlaceCounts) {
  const auto graph = MakeNetwork(TenNetworks()[1], 64, 32);
  const auto name = [&](int id) { return graph->value(graph->operators[id].outputs[0]).name; };
  EXPECT_EQ(ParseCuts({name(3), name(1) + ":0.25", "picture:1", name(1) + ":0.5"}, *graph),
            (std::vector<Cut>{{-1, 1000}, {1, 500}, {3, 0}}));
}

TEST(Split, CutsThatShareNoRowsAreExplained) {
  ModelBuilder builder;
  const ValueId first = builder.Conv(builder.Input({1, 3, 64, 32}), 4, 3, 1, 1);
  const ValueId second = builder.Conv(first, 4, 3, 1, 1);
  const ValueId third = builder.Conv(second, 4, 3, 1, 1);
  const Graph graph = builder.Finish({builder.Mean(third, {2, 3})});
  const Layout layout = MakeLayout(graph, {}, Keep::kAll);
  const RowCompiler compiler(graph, layout);
  const auto why_not = [&](const std::vector<Cut>& cuts) {
    return compiler.WhyNoRowsAreShared(cuts);
  };
  const std::vector<Operator>& operators = graph.operators;
  ASSERT_EQ(operators.size(), 4U);
  for (const int share : {300, 500, 700}) {
    EXPECT_EQ(why_not({{0, share}}),
              "the cuts share no rows: one side computes all of them, because " +
                  operators[3].name + " needs every row; add --cut " + operators[2].name + ":1");
    EXPECT_EQ(why_not({{0, share}, {2, 1000}}), "");
    EXPECT_EQ(why_not({{0, share}, {1, 0}}), "");
  }
  EXPECT_EQ(why_not({{0, 0}}), "");
  EXPECT_EQ(why_not({{-1, 1000}, {2, 0}}), "");
}

// The server runs an operator with several outputs; the robot reads some rows of one, and all of
// another.
TEST(Split, OfSeveralOutputsASideGetsWhatItReads) {
  ModelBuilder builder;
  op::Foreign foreign;
  foreign.archive = std::make_shared<const std::string>("an archive");
  foreign.output_shapes = {{1, 3, 64, 32}, {1, 3, 64, 32}};
  foreign.output_types = {DataType::kFloat32, DataType::kFloat32};
  const ValueId picture = builder.Input({1, 3, 64, 32});
  const ValueId read = builder.Op(foreign, {picture});
  const ValueId last = builder.Conv(read, 4, 3, 1, 1);
  Graph graph = builder.Finish({last});
  const ValueId given = graph.operators[0].outputs[1];
  graph.outputs.push_back(given);
  const Layout layout = MakeLayout(graph, {}, Keep::kAll);
  const SplitRows rows = RowCompiler(graph, layout).Compile({{-1, 0}, {0, 500}}, {0, 32});
  EXPECT_EQ(rows.transfers, (std::vector<Transfer>{{0, picture, {0, 64}, Side::kRobot},
                                                   {1, read, {0, 33}, Side::kServer},
                                                   {1, given, {0, 64}, Side::kServer},
                                                   {2, last, {32, 64}, Side::kServer}}));
}

// The rows that a window needs, of every range of its output.
void ExpectNeeded(const AxisWindow& window) {
  const NeededRows needed(window);
  for (int begin = 0; begin < window.out_size; ++begin) {
    for (int end = begin + 1; end <= window.out_size; ++end) {
      EXPECT_EQ(needed.Of({begin, end}), window.Needed({begin, end})) << begin << " to " << end;
    }
  }
}

TEST(NeededRows, AreTheWindows) {
  for (const auto kind :
       {AxisWindow::Kind::kSliding, AxisWindow::Kind::kTransposed, AxisWindow::Kind::kReflect,
        AxisWindow::Kind::kEdge, AxisWindow::Kind::kBroadcast, AxisWindow::Kind::kWhole}) {
    for (const int kernel : {1, 3, 4}) {
      for (const int stride : {1, 2, 3, 5}) {
        for (const int pad : {-2, 0, 1, 4}) {
          for (const int dilation : {1, 2}) {
            for (const int tile : {1, 4}) {
              SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << ", kernel "
                                              << kernel << ", stride " << stride << ", pad " << pad
                                              << ", dilation " << dilation << ", tile " << tile);
              AxisWindow window = AxisWindow::Sliding(9, 12, {kernel, stride, pad, pad, dilation});
              window.kind = kind;
              window.tile = tile;
              ASSERT_NO_FATAL_FAILURE(ExpectNeeded(window));
            }
          }
        }
      }
    }
  }
}

// The rows of the first of two operators that the robot computes for its share of the second, which
// reads the first through these windows.
Range RowsRead(const std::vector<AxisWindow>& windows, int robot_thousandths) {
  std::vector<ProfiledOperator> operators(2);
  operators[0].rows = windows[0].in_size;
  operators[0].inputs = {{-1, AxisWindow::Identity(windows[0].in_size)}};
  operators[1].rows = windows[0].out_size;
  operators[1].is_output = true;
  for (const AxisWindow& window : windows) operators[1].inputs.push_back({0, window});
  const SplitTable table(operators);
  SharedFrame frame;
  table.FindOwners({{-1, robot_thousandths}},
                   {PictureRowsOf(robot_thousandths, table.picture_rows)}, table.count(), &frame);
  table.FindRows(table.count(), &frame);
  return frame.operators[0].computed.robot;
}

TEST(SplitTable, OfAReflectionTheFirstRowNeedsTheSecond) {
  AxisWindow reflected = AxisWindow::Sliding(8, 10, {1, 1, 1, 1, 1});
  reflected.kind = AxisWindow::Kind::kReflect;
  EXPECT_EQ(RowsRead({reflected}, 100), (Range{1, 2}));
}

TEST(SplitTable, ResizesOfOneSizeNeedRowsOfTheirOwn) {
  AxisWindow nearest = AxisWindow::Sliding(8, 16, {});
  nearest.kind = AxisWindow::Kind::kResize;
  nearest.resize.kind = ResizeSpec::Kind::kNearest;
  nearest.resize.scale_rows = 2;
  nearest.resize.out_height = 16;
  AxisWindow linear = nearest;
  linear.resize.kind = ResizeSpec::Kind::kLinear;
  EXPECT_EQ(RowsRead({nearest}, 500), (Range{0, 4}));
  EXPECT_EQ(RowsRead({nearest, linear}, 500), (Range{0, 5}));
}

}  // namespace
}  // namespace cacheinf
