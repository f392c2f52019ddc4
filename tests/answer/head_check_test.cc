// A frame's numbers contradict a head that is another one.

#include "common/model/heads/head_check.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/model/graph/graph.h"
#include "common/model/graph/head.h"
#include "common/model/heads/heads.h"

namespace cacheinf {
namespace {

constexpr int64_t kPictureSide = 64;
constexpr int64_t kCells = 64 + 16 + 4;  // of strides 8, 16 and 32

std::string ContradictionOf(HeadKind kind, const Shape& shape, const std::vector<float>& numbers,
                            HeadSpec spec = {}) {
  Graph graph;
  graph.AddInput("image", {1, 3, kPictureSide, kPictureSide});
  const ValueId given = graph.AddInput("given", shape);
  graph.outputs = {graph.AddOne("output0", op::Activation{}, {given})};
  spec.kind = kind;
  const std::vector<std::vector<float>> outputs = {numbers};
  return HeadCheck(graph, spec).Contradiction(outputs);
}

// Rows of boxes across the picture, with two classes.
std::vector<float> Rows(bool has_objectness, float score, float unit = 1.0f) {
  std::vector<float> rows;
  for (int64_t cell = 0; cell < kCells; ++cell) {
    const auto place = static_cast<float>(cell % kPictureSide);
    rows.insert(rows.end(), {place * unit, place * unit, 8 * unit, 8 * unit});
    if (has_objectness) rows.push_back(0.5f);
    rows.insert(rows.end(), {score, 0.0f});
  }
  return rows;
}

TEST(HeadCheckTest, SharesAndPixelsAreWhatRowsNeed) {
  const Shape shape = {1, kCells, 6};
  EXPECT_EQ(ContradictionOf(HeadKind::kYolov8, shape, Rows(false, 0.75f)), "");
  EXPECT_NE(ContradictionOf(HeadKind::kYolov8, shape, Rows(false, 4.0f)).find("class scores"),
            std::string::npos)
      << "logits";
  EXPECT_NE(ContradictionOf(HeadKind::kYolov8, shape, Rows(false, 0.75f, 1.0f / kPictureSide))
                .find("decoder.coordinates shares"),
            std::string::npos);
  HeadSpec shares;
  shares.is_normalised = true;
  EXPECT_EQ(
      ContradictionOf(HeadKind::kYolov8, shape, Rows(false, 0.75f, 1.0f / kPictureSide), shares),
      "");
  EXPECT_NE(ContradictionOf(HeadKind::kYolov8, shape, Rows(false, 0.75f), shares), "");
}

TEST(HeadCheckTest, BoxesThatAreStillToBePlacedAreNotPixels) {
  EXPECT_EQ(ContradictionOf(HeadKind::kYolox, {1, kCells, 7}, Rows(true, 0.75f, 0.02f)), "");
  EXPECT_NE(ContradictionOf(HeadKind::kYolox, {1, kCells, 7}, Rows(true, 0.75f)), "");
}

TEST(HeadCheckTest, PickedBoxesHaveCornersInOrderAndClassesWithNames) {
  HeadSpec named;
  named.class_count = 3;
  const auto of = [&](std::vector<float> row) {
    row.resize(12);
    return ContradictionOf(HeadKind::kEndToEnd, {1, 2, 6}, row, named);
  };
  EXPECT_EQ(of({10, 10, 40, 50, 0.75f, 2}), "");
  EXPECT_NE(of({40, 50, 10, 10, 0.75f, 2}).find("before they begin"), std::string::npos);
  EXPECT_NE(of({10, 10, 40, 50, 0.75f, 3}).find("3 have names"), std::string::npos);
  EXPECT_NE(of({10, 10, 40, 50, 2, 0.75f}).find("its scores"), std::string::npos);
  EXPECT_NE(of({0.1f, 0.1f, 0.5f, 0.5f, 0.75f, 2}).find("in pixels"), std::string::npos);
  EXPECT_NE(of({10, 10, 500, 50, 0.75f, 2}).find("within a picture"), std::string::npos);
}

TEST(HeadCheckTest, AClassificationIsNotSquashedTwice) {
  const std::vector<float> shares = {0.25f, 0.25f, 0.5f};
  HeadSpec spec;
  EXPECT_NE(ContradictionOf(HeadKind::kClassification, {1, 3}, shares, spec), "");
  EXPECT_EQ(ContradictionOf(HeadKind::kClassification, {1, 3}, {-2, 5, 1}, spec), "");
  spec.softmax = false;
  EXPECT_EQ(ContradictionOf(HeadKind::kClassification, {1, 3}, shares, spec), "");
  EXPECT_NE(ContradictionOf(HeadKind::kClassification, {1, 3}, {-2, 5, 1}, spec), "");
}

}  // namespace
}  // namespace cacheinf
