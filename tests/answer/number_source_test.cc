// What a graph's last operators show about its boxes, without a frame.

#include "common/model/heads/number_source.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/model/graph/graph.h"
#include "common/model/graph/head.h"
#include "common/model/heads/head_check.h"
#include "common/model/heads/head_rows.h"
#include "common/model/heads/heads.h"
#include "tests/model/model_builder.h"

namespace cacheinf {
namespace {

constexpr int64_t kSquare = 64;
constexpr int64_t kBins = 4;
constexpr int64_t kThreeClasses = 3;
const std::vector<int> kThreeStrides = {8, 16, 32};

// A network that ends as exporters end it. Numbers × boxes until the end.
class Exported {
 public:
  Exported() : picture_(build_.Input({1, 3, kSquare, kSquare})) {
    for (const int stride : kThreeStrides)
      features_.push_back(build_.Conv(picture_, 2, stride, stride));
    cells_ = CellCount({kSquare, kSquare}, kThreeStrides);
  }

  // `channels` of every cell, by convolutions of their own.
  ValueId Maps(int64_t channels) {
    std::vector<ValueId> parts;
    for (const ValueId feature : features_) {
      const ValueId map = build_.Conv(feature, channels, 1);
      const Shape& shape = build_.shape(map);
      parts.push_back(build_.Op(op::Reshape{{1, channels, shape[2] * shape[3]}}, {map}));
    }
    return build_.Op(op::Concat{2}, parts);
  }
  ValueId Take(ValueId rows, int64_t begin, int64_t size) {
    return build_.Op(op::Slice{{0, begin, 0}, {1, size, cells_}, {1, 1, 1}}, {rows});
  }
  ValueId With(ValueId a, BinaryKind kind, ValueId b) {
    return build_.Op(op::Binary{kind, {}}, {a, b});
  }
  ValueId Apply(ValueId a, Function::Kind kind) {
    return build_.Op(op::Activation{Function{kind}}, {a});
  }
  ValueId Joined(const std::vector<ValueId>& rows) { return build_.Op(op::Concat{1}, rows); }
  ValueId Number(float number) { return build_.Number(number); }
  ValueId Cells(float offset) {
    return Columns(RowBuilder::CellColumns(Size(), kThreeStrides, offset));
  }
  ValueId Strides() { return Columns(RowBuilder::StrideColumn(Size(), kThreeStrides)); }

  // Left and top, right and bottom of each box in strides, from distributions of distances.
  std::pair<ValueId, ValueId> Corners() {
    const ValueId sides = build_.Op(op::Reshape{{1, 4, kBins, cells_}}, {Maps(4 * kBins)});
    const ValueId turned = build_.Op(op::Permute{{0, 2, 1, 3}}, {sides});
    const ValueId shares = build_.Op(op::Softmax{1, false}, {turned});
    const ValueId mean = build_.Op(op::Reshape{{1, 4, cells_}}, {build_.Conv(shares, 1, 1)});
    const ValueId cells = Cells(0.5f);
    return {With(cells, BinaryKind::kSubtract, Take(mean, 0, 2)),
            With(cells, BinaryKind::kAdd, Take(mean, 2, 2))};
  }
  // YOLOv8's centres and sizes.
  ValueId Boxes() {
    const auto [first, second] = Corners();
    const ValueId centre =
        With(With(first, BinaryKind::kAdd, second), BinaryKind::kDivide, Number(2));
    return With(Joined({centre, With(second, BinaryKind::kSubtract, first)}), BinaryKind::kMultiply,
                Strides());
  }
  ValueId Scores(int64_t count = kThreeClasses) {
    return Apply(Maps(count), Function::Kind::kSigmoid);
  }
  // The numbers of each box in another order.
  ValueId Ordered(ValueId rows, std::vector<int64_t> order) {
    const int64_t count = build_.shape(rows)[1];
    for (auto next = static_cast<int64_t>(order.size()); next < count; ++next) {
      order.push_back(next);
    }
    return build_.Op(op::Gather{1, order, false}, {rows});
  }
  // The rows of those that score most, as YOLOv10 picks them.
  ValueId Picked(ValueId boxes, ValueId scores) {
    constexpr int64_t kPicks = 20;
    const ValueId best = build_.Op(op::Reduce{ReduceKind::kMax, {1}, true}, {scores});
    const ValueId first = build_.Op(op::TopK{2, kPicks}, {best});
    const ValueId rows = Joined({boxes, best, best});
    return build_.Op(op::Permute{{0, 2, 1}}, {build_.Op(op::GatherElements{2}, {rows, first})});
  }

  Graph Finish(ValueId output) { return build_.Finish({output}); }
  GraphFinding Judge(HeadKind kind, ValueId output) {
    const Graph graph = Finish(output);
    HeadSpec spec;
    spec.kind = kind;
    EXPECT_EQ(WhyNot(graph, spec), "");
    return JudgeGraph(graph, spec);
  }

 private:
  static PictureSize Size() { return {kSquare, kSquare}; }
  ValueId Columns(const Tensor& column) {
    const int64_t width = column.shape()[1];
    std::vector<float> turned;
    for (int64_t k = 0; k < width; ++k) {
      for (int64_t cell = 0; cell < cells_; ++cell)
        turned.push_back(column.data()[cell * width + k]);
    }
    return build_.Constant({1, width, cells_}, std::move(turned));
  }

  ModelBuilder build_;
  ValueId picture_;
  std::vector<ValueId> features_;
  int64_t cells_ = 0;
};

bool Says(const GraphFinding& finding, const char* text) {
  return finding.contradiction.find(text) != std::string::npos;
}

GraphFinding Yolov8(HeadKind kind, const std::vector<int64_t>& order = {}, float scale = 1) {
  Exported network;
  const ValueId boxes = network.With(network.Boxes(), BinaryKind::kMultiply, network.Number(scale));
  return network.Judge(kind, network.Ordered(network.Joined({boxes, network.Scores()}), order));
}

TEST(NumberSourceTest, ADistributionHasNoObjectness) {
  EXPECT_EQ(Yolov8(HeadKind::kYolov8).contradiction, "");
  EXPECT_TRUE(Yolov8(HeadKind::kYolov8).confirms);
  EXPECT_TRUE(Says(Yolov8(HeadKind::kYolox), "no objectness"));
}

TEST(NumberSourceTest, WhatFollowsTheClassesComesFromAnotherMap) {
  EXPECT_TRUE(Says(Yolov8(HeadKind::kYolov8Obb), "they are classes"));
  const auto turned = [](HeadKind kind) {
    Exported network;
    return network.Judge(kind,
                         network.Joined({network.Boxes(), network.Scores(), network.Scores(1)}));
  };
  EXPECT_EQ(turned(HeadKind::kYolov8Obb).contradiction, "");
  EXPECT_TRUE(turned(HeadKind::kYolov8Obb).confirms);
  EXPECT_TRUE(Says(turned(HeadKind::kYolov8), "it is an angle"));
}

TEST(NumberSourceTest, NumbersInAnotherOrderShow) {
  EXPECT_TRUE(Says(Yolov8(HeadKind::kYolov8, {0, 1, 3, 2}), "height before width"));
  EXPECT_TRUE(Says(Yolov8(HeadKind::kYolov8, {1, 0, 2, 3}), "y stands before x"));
  EXPECT_TRUE(Says(Yolov8(HeadKind::kYolov8, {1, 0, 3, 2}), "makes y before x"));
}

TEST(NumberSourceTest, PixelsOfAnotherPictureShow) {
  EXPECT_TRUE(Says(Yolov8(HeadKind::kYolov8, {}, 2), "in a picture of 136x136, but"));
  EXPECT_TRUE(Says(Yolov8(HeadKind::kYolov8, {}, 0.5f), "in a picture of 34x34, but"));
  EXPECT_TRUE(Says(Yolov8(HeadKind::kYolov8, {}, 1.0f / kSquare), "but the picture is 64x64"));
}

GraphFinding Yolox(HeadKind kind, const std::vector<int64_t>& order = {}) {
  Exported network;
  const ValueId raw = network.Maps(4);
  const ValueId centre = network.With(network.Take(raw, 0, 2), BinaryKind::kAdd, network.Cells(0));
  const ValueId size = network.Apply(network.Take(raw, 2, 2), Function::Kind::kExp);
  const ValueId boxes =
      network.With(network.Joined({centre, size}), BinaryKind::kMultiply, network.Strides());
  return network.Judge(
      kind, network.Ordered(network.Joined({boxes, network.Scores(1), network.Scores()}), order));
}

TEST(NumberSourceTest, SizesByPowersGoWithAnObjectness) {
  EXPECT_EQ(Yolox(HeadKind::kYolox).contradiction, "");
  EXPECT_TRUE(Yolox(HeadKind::kYolox).confirms);
  EXPECT_TRUE(Says(Yolox(HeadKind::kYolov8), "is an objectness"));
  EXPECT_TRUE(Says(Yolox(HeadKind::kYolox, {0, 1, 3, 2}), "height before width"));
}

GraphFinding Yolov10(HeadKind kind, const std::vector<int64_t>& order = {}, float scale = 1) {
  Exported network;
  const auto [first, second] = network.Corners();
  const ValueId boxes = network.With(
      network.With(network.Joined({first, second}), BinaryKind::kMultiply, network.Strides()),
      BinaryKind::kMultiply, network.Number(scale));
  return network.Judge(kind, network.Picked(network.Ordered(boxes, order), network.Scores()));
}

TEST(NumberSourceTest, BoxesThatTheGraphPicksAreTracedToTheirCells) {
  EXPECT_EQ(Yolov10(HeadKind::kEndToEnd).contradiction, "");
  EXPECT_TRUE(Yolov10(HeadKind::kEndToEnd).confirms);
  EXPECT_TRUE(Says(Yolov10(HeadKind::kEndToEnd, {1, 0, 3, 2}), "makes y before x"));
  EXPECT_TRUE(Says(Yolov10(HeadKind::kEndToEnd, {0, 1, 3, 2}), "y stands before x"));
  EXPECT_TRUE(Says(Yolov10(HeadKind::kEndToEnd, {}, 2), "in a picture of 136x136"));
}

// Without a box in the frame.
TEST(NumberSourceTest, AHeadIsCheckedByItsGraphToo) {
  Exported network;
  const auto [first, second] = network.Corners();
  const ValueId boxes = network.Joined({second, first});
  const Graph graph = network.Finish(network.Picked(boxes, network.Scores()));
  HeadSpec spec;
  spec.kind = HeadKind::kEndToEnd;
  const std::vector<std::vector<float>> nothing = {std::vector<float>(20 * 6)};
  EXPECT_NE(HeadCheck(graph, spec).Contradiction(nothing).find("its graph places boxes in a"),
            std::string::npos)
      << "in cells";
}

// A suppression in a foreign operator hides how boxes are made.
TEST(NumberSourceTest, WhatIsNotSeenConfirmsNothing) {
  ModelBuilder build;
  build.Input({1, 3, kSquare, kSquare});
  const ValueId given = build.Input({1, 20, 6}, "given");
  const Graph graph = build.Finish({build.Op(op::Activation{}, {given})});
  HeadSpec spec;
  spec.kind = HeadKind::kEndToEnd;
  EXPECT_EQ(JudgeGraph(graph, spec).contradiction, "");
  EXPECT_FALSE(HeadCheck(graph, spec).IsConfirmed());
  Graph noted = graph;
  noted.notes.task = "detect";
  EXPECT_TRUE(HeadCheck(noted, spec).IsConfirmed());
}

}  // namespace
}  // namespace cacheinf
