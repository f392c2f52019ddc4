// A frame's numbers contradict a head of another kind.

#include "common/model/heads/head_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
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

struct Given {
  Shape shape;
  std::vector<float> numbers;
  std::string name = "output0";
};

std::string ContradictionOf(HeadKind kind, const std::vector<Given>& given, HeadSpec spec = {},
                            bool* has_evidence = nullptr) {
  Graph graph;
  graph.AddInput("image", {1, 3, kPictureSide, kPictureSide});
  std::vector<std::vector<float>> outputs;
  for (const Given& output : given) {
    const ValueId input = graph.AddInput(output.name + ".given", output.shape);
    graph.outputs.push_back(
        graph.Add(output.name, op::Activation{}, {input}, {output.name}).front());
    outputs.push_back(output.numbers);
  }
  spec.kind = kind;
  const HeadCheck check(graph, spec);
  if (has_evidence != nullptr) *has_evidence = check.HasEvidence(outputs);
  return check.Contradiction(outputs);
}

std::string ContradictionOf(HeadKind kind, const Shape& shape, const std::vector<float>& numbers,
                            HeadSpec spec = {}) {
  return ContradictionOf(kind, {{shape, numbers}}, std::move(spec));
}

// The centre of a cell, of all grids' one after the other.
std::array<float, 2> CentreOf(int64_t cell) {
  for (const int64_t stride : {8, 16, 32}) {
    const int64_t columns = kPictureSide / stride;
    if (cell < columns * columns) {
      const int64_t row = cell / columns;
      return {(static_cast<float>(cell % columns) + 0.5f) * static_cast<float>(stride),
              (static_cast<float>(row) + 0.5f) * static_cast<float>(stride)};
    }
    cell -= columns * columns;
  }
  return {};
}

// Rows of boxes across the picture, with two classes. Where there is nothing, only a network
// without an objectness says so for each class.
std::vector<float> Rows(bool has_objectness, float score, float unit = 1.0f) {
  std::vector<float> rows;
  for (int64_t cell = 0; cell < kCells; ++cell) {
    const auto [x, y] = CentreOf(cell);
    rows.insert(rows.end(), {x * unit, y * unit, 8 * unit, 8 * unit});
    const bool is_sure = cell % 8 == 0;
    if (has_objectness) rows.push_back(is_sure ? 0.5f : 0.01f);
    rows.insert(rows.end(), {is_sure ? score : (has_objectness ? 0.2f : 0.01f), 0.0f});
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

TEST(HeadCheckTest, ClassAndScoreThatAreSwappedAreNoticedWithoutABox) {
  bool has_evidence = true;
  std::vector<float> rows(12);
  EXPECT_EQ(ContradictionOf(HeadKind::kEndToEnd, {{{1, 2, 6}, rows}}, {}, &has_evidence), "");
  EXPECT_FALSE(has_evidence) << "nothing was found";
  rows = {10, 10, 40, 50, 0, 0.75f, 0, 0, 0, 0, 0, 0};
  EXPECT_NE(ContradictionOf(HeadKind::kEndToEnd, {1, 2, 6}, rows).find("whole numbers"),
            std::string::npos);
  rows = {10, 10, 40, 50, 0.75f, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(ContradictionOf(HeadKind::kEndToEnd, {{{1, 2, 6}, rows}}, {}, &has_evidence), "");
  EXPECT_TRUE(has_evidence);
}

TEST(HeadCheckTest, BoxesOfAPictureOfAnotherSizeAreSaidToBeThat) {
  EXPECT_NE(ContradictionOf(HeadKind::kYolov8, {1, kCells, 6}, Rows(false, 0.75f, 2))
                .find("as in a picture of 128x128 pixels, but the picture is 64x64"),
            std::string::npos);
  const auto of = [](float left, float right) {
    return ContradictionOf(HeadKind::kEndToEnd, {1, 1, 6}, {left, 10, right, 50, 0.75f, 2});
  };
  EXPECT_EQ(of(40, 80), "") << "a box may reach beyond the picture";
  EXPECT_NE(of(60, 80).find("along x, run from 70 to 70"), std::string::npos);
}

// Several boxes of a thing, as a network gives them before a suppression.
TEST(HeadCheckTest, PickedBoxesAreSuppressed) {
  const auto of = [](int copies, float apart, float label) {
    std::vector<float> rows = {42, 42, 62, 62, 0.9f, 2};
    for (int i = 0; i < copies; ++i) {
      const float shift = apart * static_cast<float>(i);
      rows.insert(rows.end(),
                  {10 + shift, 10, 40 + shift, 50, 0.75f, label * static_cast<float>(i)});
    }
    return ContradictionOf(HeadKind::kEndToEnd, {1, copies + 1, 6}, rows);
  };
  EXPECT_NE(of(4, 1, 0).find("3 of 5 boxes"), std::string::npos) << of(4, 1, 0);
  EXPECT_NE(of(4, 1, 0).find("export the network with its suppression"), std::string::npos);
  EXPECT_EQ(of(3, 1, 0), "") << "a network that does without leaves a few";
  EXPECT_EQ(of(4, 6, 0), "") << "a suppression may leave what overlaps less";
  EXPECT_EQ(of(4, 1, 1), "") << "boxes of other classes";
  bool has_evidence = true;
  const std::vector<float> two = {10, 10, 40, 50, 0.75f, 0, 11, 10, 41, 50, 0.75f, 0};
  EXPECT_EQ(ContradictionOf(HeadKind::kEndToEnd, {{{1, 2, 6}, two}}, {}, &has_evidence), "");
  EXPECT_FALSE(has_evidence) << "more frames will tell";
}

// Three scores a row: eight rows are sure, and where there is nothing, the later ones are `faint`.
TEST(HeadCheckTest, AnObjectnessIsNoClass) {
  const auto of = [](HeadKind kind, float first, float other, float faint) {
    std::vector<float> rows;
    for (int64_t cell = 0; cell < kCells; ++cell) {
      const auto [x, y] = CentreOf(cell);
      const bool is_sure = cell < 8;
      const float rest = is_sure ? 0.01f : faint;
      rows.insert(rows.end(), {x, y, 8, 8, is_sure ? first : 0.0f, rest, rest});
      if (is_sure) rows[rows.size() - 1 - static_cast<size_t>(cell % 2)] = other;
    }
    const int64_t anchors = kind == HeadKind::kBoxes ? 3 : 1;  // YOLOv5's are alike here
    std::vector<float> all;
    for (int64_t i = 0; i < anchors; ++i) all.insert(all.end(), rows.begin(), rows.end());
    return ContradictionOf(kind, {1, anchors * kCells, 7}, all);
  };
  EXPECT_EQ(of(HeadKind::kYolov8, 0, 0.9f, 0.01f), "");
  EXPECT_NE(of(HeadKind::kYolov8, 0.9f, 0.8f, 0.01f).find("is an objectness"), std::string::npos);
  EXPECT_NE(of(HeadKind::kYolov8, 0.9f, 0.8f, 0.2f).find("in most cells"), std::string::npos);
  EXPECT_EQ(of(HeadKind::kBoxes, 0.9f, 0.8f, 0.2f), "");
  EXPECT_NE(of(HeadKind::kBoxes, 0.9f, 0, 0.2f).find("no objectness"), std::string::npos);
  // Where there is nothing, no class is taught; so if scores are faint everywhere, they were taught
  // that.
  EXPECT_NE(of(HeadKind::kBoxes, 0, 0.9f, 0.01f).find("the first is a class"), std::string::npos);
  EXPECT_NE(ContradictionOf(HeadKind::kBoxes, {1, kCells, 7}, Rows(true, 0.75f)).find("YOLOv6"),
            std::string::npos);
}

// Three cells a thing along a row and a column, with the centre in the middle one, as YOLOv5
// teaches them, or two that point at the border between them, as YOLOv3 would.
std::vector<Given> RawHeads(bool is_v5, float size) {
  constexpr int64_t kNumbers = 6;
  std::vector<Given> heads;
  for (const int64_t stride : {8, 16, 32}) {
    const int64_t side = kPictureSide / stride;
    Given head{{1, 3 * kNumbers, side, side},
               std::vector<float>(static_cast<size_t>(3 * kNumbers * side * side), -9.0f),
               "head" + std::to_string(stride)};
    const auto set = [&](int64_t x, int64_t y, float t_x, float t_y) {
      const std::vector<float> numbers = {t_x, t_y, size, size, 5, 5};
      for (int64_t k = 0; k < kNumbers; ++k) {
        head.numbers[static_cast<size_t>((k * side + y) * side + x)] =
            numbers[static_cast<size_t>(k)];
      }
    };
    if (stride == 8) {
      const float logit = 1.0986f;  // of .75: at the border by YOLOv5's formula
      for (const int64_t at : {1, 5}) {
        if (is_v5) {
          set(at, at, logit, logit);
          set(at + 1, at, -logit, logit);
          set(at, at + 1, logit, -logit);
        } else {
          set(at, at, 5, 5);
          set(at + 1, at, -5, 5);
          set(at, at + 1, 5, -5);
        }
      }
    }
    heads.push_back(std::move(head));
  }
  return heads;
}

TEST(HeadCheckTest, NeighboursTellTheFormulasOfRawHeadsApart) {
  EXPECT_EQ(ContradictionOf(HeadKind::kBoxes, RawHeads(true, 0)), "");
  EXPECT_EQ(ContradictionOf(HeadKind::kYolov3, RawHeads(false, 0)), "");
  EXPECT_NE(ContradictionOf(HeadKind::kYolov3, RawHeads(true, 0)).find("YOLOv5's"),
            std::string::npos);
  EXPECT_NE(ContradictionOf(HeadKind::kBoxes, RawHeads(false, 0)).find("YOLOv3's"),
            std::string::npos);
  // e^3 of an anchor of 10 x 13 is larger than the picture, (2 sigmoid(3))^2 is not.
  EXPECT_EQ(ContradictionOf(HeadKind::kBoxes, RawHeads(true, 3)), "");
  EXPECT_NE(ContradictionOf(HeadKind::kYolov3, RawHeads(false, 3)).find("boxes of 261 pixels"),
            std::string::npos);
}

// Boxes in pixels and scores that are no logits: the network has decoded its maps.
TEST(HeadCheckTest, DecodedMapsAreNoRawHeads) {
  std::vector<Given> heads = RawHeads(true, 0);
  for (Given& head : heads) {
    const size_t cells = head.numbers.size() / 18;
    for (size_t i = 0; i < head.numbers.size(); ++i) {
      head.numbers[i] = i / cells % 6 < 4 ? 40.0f : 0.25f;
    }
  }
  EXPECT_NE(ContradictionOf(HeadKind::kBoxes, heads).find("a sigmoid gives"), std::string::npos);
}

TEST(HeadCheckTest, KeypointsOfBoxesArePixelsAndTheirScoresShares) {
  const auto of = [](float place, float score) {
    std::vector<float> rows;
    for (int64_t cell = 0; cell < kCells; ++cell) {
      const auto [x, y] = CentreOf(cell);
      const float sure = cell % 8 == 0 ? 0.5f : 0.01f;
      rows.insert(rows.end(), {x, y, 8, 8, sure, place * x, place * y, score});
    }
    return ContradictionOf(HeadKind::kYolov8Pose, {1, kCells, 8}, rows);
  };
  EXPECT_EQ(of(1, 0.5f), "");
  EXPECT_NE(of(1.0f / kPictureSide, 0.5f).find("places of its keypoints"), std::string::npos);
  EXPECT_NE(of(1, 5).find("scores of its keypoints"), std::string::npos);
}

TEST(HeadCheckTest, QueriesHaveCentresAndMostAreNothing) {
  constexpr int64_t kQueries = 40;
  std::vector<float> logits;
  std::vector<float> centres;
  std::vector<float> corners;
  for (int64_t query = 0; query < kQueries; ++query) {
    logits.insert(logits.end(), {-4, -3, 2});
    const auto place = static_cast<float>(query) / kQueries;
    centres.insert(centres.end(), {place, place, 0.1f, 0.1f});
    corners.insert(corners.end(), {place, place, place + 0.1f, place + 0.1f});
  }
  const auto of = [&](HeadKind kind, const std::vector<float>& boxes) {
    return ContradictionOf(
        kind, {{{1, kQueries, 3}, logits, "logits"}, {{1, kQueries, 4}, boxes, "boxes"}});
  };
  EXPECT_EQ(of(HeadKind::kDetr, centres), "");
  EXPECT_NE(of(HeadKind::kDetr, corners).find("corners"), std::string::npos);
  EXPECT_NE(of(HeadKind::kRtDetr, centres).find("detr"), std::string::npos);
  std::vector<float> lefts = centres;
  for (size_t at = 0; at < lefts.size(); at += 4) {
    lefts[at] = std::max(0.0f, lefts[at] - 0.1f);
    lefts[at + 1] = std::max(0.0f, lefts[at + 1] - 0.1f);
  }
  EXPECT_NE(of(HeadKind::kDetr, lefts).find("left and top"), std::string::npos);
  for (size_t at = 0; at < logits.size(); at += 3) std::swap(logits[at], logits[at + 2]);
  EXPECT_NE(of(HeadKind::kDetr, centres).find("last class"), std::string::npos);
}

// x, y, width, height, and three scores; then without its x.
TEST(HeadCheckTest, ANumberThatIsMissingMakesAHeightOfAScore) {
  constexpr int64_t kQueries = 40;
  std::vector<float> whole;
  std::vector<float> cut;
  for (int64_t query = 0; query < kQueries; ++query) {
    const float score = query == 7 ? 0.9f : 0.004f;
    const std::vector<float> row = {0.5f, 0.4f, 0.2f, 0.3f, 0.005f, score, 0.006f};
    whole.insert(whole.end(), row.begin(), row.end());
    cut.insert(cut.end(), row.begin() + 1, row.end());
  }
  EXPECT_EQ(ContradictionOf(HeadKind::kRtDetr, {1, kQueries, 7}, whole), "");
  EXPECT_NE(ContradictionOf(HeadKind::kRtDetr, {1, kQueries, 6}, cut).find("is missing"),
            std::string::npos);
}

TEST(HeadCheckTest, MapsOfCentresHoldLogitsOffsetsAndSizes) {
  constexpr int64_t kPixels = 16 * 16;
  const auto of = [&](float score, float size, float offset) {
    return ContradictionOf(HeadKind::kCenternet,
                           {{{1, 3, 16, 16}, std::vector<float>(3 * kPixels, score), "hm"},
                            {{1, 2, 16, 16}, std::vector<float>(2 * kPixels, size), "wh"},
                            {{1, 2, 16, 16}, std::vector<float>(2 * kPixels, offset), "reg"}});
  };
  EXPECT_EQ(of(2, 5, 0.5f), "");
  EXPECT_NE(of(0.5f, 5, 0.5f).find("like logits"), std::string::npos);
  EXPECT_NE(of(2, 0.5f, 5).find("its offsets"), std::string::npos);
  EXPECT_NE(of(2, 100, 0.5f).find("sizes"), std::string::npos);
}

TEST(HeadCheckTest, NothingConfirmsTheOrderOfSizesButTheTask) {
  for (const HeadKind kind : {HeadKind::kCenternet, HeadKind::kCenterface, HeadKind::kNanodet}) {
    Graph graph;
    graph.AddInput("image", {1, 3, kPictureSide, kPictureSide});
    graph.outputs = {graph.AddInput("hm", {1, 1, 16, 16}), graph.AddInput("wh", {1, 2, 16, 16})};
    HeadSpec spec;
    spec.kind = kind;
    EXPECT_FALSE(HeadCheck(graph, spec).IsConfirmed());
    graph.notes.task = "detect";
    EXPECT_TRUE(HeadCheck(graph, spec).IsConfirmed());
  }
}

TEST(HeadCheckTest, DistributionsAreLogitsAndScoresAreShares) {
  std::vector<float> numbers(static_cast<size_t>(kCells) * 34, -2.0f);
  EXPECT_NE(ContradictionOf(HeadKind::kNanodet, {1, kCells, 34}, numbers).find("class scores"),
            std::string::npos);
  for (size_t at = 0; at < numbers.size(); at += 34) numbers[at] = numbers[at + 1] = 0.25f;
  EXPECT_EQ(ContradictionOf(HeadKind::kNanodet, {1, kCells, 34}, numbers), "");
  std::vector<float> sure = numbers;
  for (size_t at = 0; at < sure.size(); at += 34) sure[at] = 0.75f;
  EXPECT_NE(ContradictionOf(HeadKind::kNanodet, {1, kCells, 34}, sure).find("most of its cells"),
            std::string::npos);
  std::fill(numbers.begin(), numbers.end(), 0.25f);
  EXPECT_NE(ContradictionOf(HeadKind::kNanodet, {1, kCells, 34}, numbers).find("distances"),
            std::string::npos);
}

TEST(HeadCheckTest, PlacesOfPointsAreLogitsWithNowhereLast) {
  std::vector<float> places(65 * 64);
  for (size_t i = 0; i < places.size(); ++i) places[i] = i >= 64 * 64 ? 5 : -1;
  const auto of = [&] {
    return ContradictionOf(
        HeadKind::kSuperpoint,
        {{{1, 65, 8, 8}, places, "semi"}, {{1, 256, 8, 8}, std::vector<float>(256 * 64), "desc"}});
  };
  EXPECT_EQ(of(), "");
  std::rotate(places.begin(), places.end() - 64, places.end());
  EXPECT_NE(of().find("last channel"), std::string::npos);
}

TEST(HeadCheckTest, PickedPointsLieInThePicture) {
  const auto of = [](float x, float y, float score) {
    return ContradictionOf(HeadKind::kPoints, {{{1, 2, 2}, {10, 20, x, y}, "keypoints"},
                                               {{1, 2}, {0.5f, score}, "scores"}});
  };
  EXPECT_EQ(of(64, 0, 0.5f), "");
  EXPECT_NE(of(30, 80, 0.5f).find("its points, along y, run from 20 to 80"), std::string::npos);
  EXPECT_EQ(of(30, 80, 0), "") << "it is none";
}

TEST(HeadCheckTest, OneChannelIsALogitAndNoClass) {
  const auto of = [&](float a, float b) {
    std::vector<float> numbers(64, a);
    numbers[3] = b;
    return ContradictionOf(HeadKind::kSegmentation, {1, 1, 8, 8}, numbers);
  };
  EXPECT_EQ(of(-2.5f, 3.25f), "");
  EXPECT_NE(of(0.25f, 0.75f), "");
  EXPECT_NE(of(0, 7).find("like classes"), std::string::npos);
  EXPECT_NE(of(0.5f, 254.5f).find("nor below zero"), std::string::npos);
}

TEST(HeadCheckTest, NothingIsReadFromWhatIsNoNumber) {
  std::vector<float> rows = Rows(false, 0.75f);
  rows[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(ContradictionOf(HeadKind::kYolov8, {1, kCells, 6}, rows).find("not a number"),
            std::string::npos);
}

TEST(HeadCheckTest, AClassificationIsNotSquashedTwice) {
  const std::vector<float> shares = {0.25f, 0.25f, 0.5f};
  HeadSpec spec;
  EXPECT_NE(ContradictionOf(HeadKind::kClassification, {1, 3}, shares, spec), "");
  EXPECT_EQ(ContradictionOf(HeadKind::kClassification, {1, 3}, {-2, 5, 1}, spec), "");
  EXPECT_NE(ContradictionOf(HeadKind::kClassification, {1, 2}, {0.25f, 0.75f}, spec), "");
  EXPECT_NE(ContradictionOf(HeadKind::kClassification, {1, 2}, {25, 75}, spec).find("up to 100"),
            std::string::npos);
  spec.softmax = false;
  EXPECT_NE(ContradictionOf(HeadKind::kClassification, {1, 2}, {25, 75}, spec).find("up to 100"),
            std::string::npos);
  EXPECT_EQ(ContradictionOf(HeadKind::kClassification, {1, 3}, shares, spec), "");
  EXPECT_NE(ContradictionOf(HeadKind::kClassification, {1, 3}, {-2, 5, 1}, spec), "");
}

}  // namespace
}  // namespace cacheinf
