// Which head an output is, and the parts of detectors' heads that head_mutations_test does not
// plant.

#include "common/model/heads/heads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "common/answer/answers.h"
#include "common/base/error.h"
#include "common/config/model_setup.h"
#include "common/model/graph/graph.h"
#include "common/model/picture.h"
#include "tests/answer/given_outputs.h"
#include "tests/testing/refusal.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {
namespace {

constexpr std::array<int, 3> kStrides = {8, 16, 32};

int CellsOf(int stride) { return (kSide / stride) * (kSide / stride); }
int AllCells() { return CellsOf(8) + CellsOf(16) + CellsOf(32); }

// The cell, among those of all strides, in which a thing's centre lies on the grid of stride 16.
int CellOf(const Thing& thing) {
  const int row = static_cast<int>(thing.y) / 16;
  const int column = static_cast<int>(thing.x) / 16;
  return CellsOf(8) + row * (kSide / 16) + column;
}

std::vector<float> Transposed(const std::vector<float>& rows, int64_t width) {
  const auto count = static_cast<int64_t>(rows.size()) / width;
  std::vector<float> columns(rows.size());
  for (int64_t r = 0; r < count; ++r) {
    for (int64_t k = 0; k < width; ++k) columns[k * count + r] = rows[r * width + k];
  }
  return columns;
}

// Rows of decoded boxes, `boxes_a_cell` to a cell; the numbers after box and scores come from
// `extras(thing)`.
template <typename Extras>
HeadOutput DecodedRows(bool has_objectness, int boxes_a_cell, bool transposed, int extra_count,
                       const Extras& extras) {
  const int width = 4 + (has_objectness ? 1 : 0) + kHeadClasses + extra_count;
  const int rows = AllCells() * boxes_a_cell;
  std::vector<float> numbers(static_cast<size_t>(rows) * static_cast<size_t>(width), 0.0f);
  for (int row = 0; row < rows; ++row) {  // a faint box in every cell
    float* const at = &numbers[static_cast<size_t>(row * width)];
    at[0] = static_cast<float>(row % kSide);
    at[1] = static_cast<float>(row % (kSide / 2));
    at[2] = at[3] = 8;
    at[4] = 0.01f;
  }
  for (const Thing& thing : kThings) {
    float* at = &numbers[static_cast<size_t>(CellOf(thing) * width)];
    *at++ = static_cast<float>(thing.x);
    *at++ = static_cast<float>(thing.y);
    *at++ = static_cast<float>(thing.width);
    *at++ = static_cast<float>(thing.height);
    if (has_objectness) *at++ = 1.0f;
    for (int label = 0; label < kHeadClasses; ++label)
      *at++ = label == thing.label ? thing.score : 0;
    for (const double extra : extras(thing)) *at++ = static_cast<float>(extra);
  }
  HeadOutput output;
  output.shape = transposed ? Shape{1, width, rows} : Shape{1, rows, width};
  output.numbers = transposed ? Transposed(numbers, width) : numbers;
  return output;
}

HeadOutput DecodedRows(bool has_objectness, int boxes_a_cell, bool transposed) {
  return DecodedRows(has_objectness, boxes_a_cell, transposed, 0,
                     [](const Thing&) { return std::vector<double>(); });
}

// Raw heads of three anchors each; the things are found by the second anchor of stride 16.
std::vector<HeadOutput> RawHeads(std::vector<double> thing_numbers_of(const Thing&)) {
  constexpr int kNumbers = 5 + kHeadClasses;
  std::vector<HeadOutput> heads;
  for (const int stride : kStrides) {
    const int side = kSide / stride;
    HeadOutput head;
    head.name = "head" + std::to_string(stride);
    head.shape = {1, 3 * kNumbers, side, side};
    head.numbers.assign(static_cast<size_t>(3 * kNumbers * side * side), -9.0f);
    if (stride == 16) {
      for (const Thing& thing : kThings) {
        const int row = static_cast<int>(thing.y) / stride;
        const int column = static_cast<int>(thing.x) / stride;
        const std::vector<double> numbers = thing_numbers_of(thing);
        for (int k = 0; k < kNumbers; ++k) {
          head.numbers[static_cast<size_t>(((kNumbers + k) * side + row) * side + column)] =
              static_cast<float>(numbers[static_cast<size_t>(k)]);
        }
      }
    }
    heads.push_back(std::move(head));
  }
  return heads;
}

// The second of stride 16: of YOLOv3 and v5, and of YOLOv4 and v7.
constexpr double kAnchorWidth = 62;
constexpr double kAnchorHeight = 45;
constexpr double kLaterWidth = 76;
constexpr double kLaterHeight = 55;
const std::vector<double> kAnchors = {10, 13, 16,  30,  33, 23,  30,  61,  62,
                                      45, 59, 119, 116, 90, 156, 198, 373, 326};

void AddScores(const Thing& thing, std::vector<double>* numbers) {
  numbers->push_back(30);
  for (int label = 0; label < kHeadClasses; ++label) {
    numbers->push_back(label == thing.label ? LogitOf(thing.score) : -9);
  }
}

double InCell(double position) { return position / 16 - std::floor(position / 16); }

std::vector<double> Yolov5Numbers(const Thing& thing, double width, double height) {
  std::vector<double> numbers = {
      LogitOf((InCell(thing.x) + 0.5) / 2), LogitOf((InCell(thing.y) + 0.5) / 2),
      LogitOf(std::sqrt(thing.width / width) / 2), LogitOf(std::sqrt(thing.height / height) / 2)};
  AddScores(thing, &numbers);
  return numbers;
}

std::vector<double> Yolov3Numbers(const Thing& thing, double width, double height, double reach) {
  std::vector<double> numbers = {LogitOf((InCell(thing.x) + (reach - 1) / 2) / reach),
                                 LogitOf((InCell(thing.y) + (reach - 1) / 2) / reach),
                                 std::log(thing.width / width), std::log(thing.height / height)};
  AddScores(thing, &numbers);
  return numbers;
}

std::vector<double> OfYolov5(const Thing& thing) {
  return Yolov5Numbers(thing, kAnchorWidth, kAnchorHeight);
}
std::vector<double> OfYolov7(const Thing& thing) {
  return Yolov5Numbers(thing, kLaterWidth, kLaterHeight);
}
std::vector<double> OfYolov3(const Thing& thing) {
  return Yolov3Numbers(thing, kAnchorWidth, kAnchorHeight, 1);
}
std::vector<double> OfYolov4(const Thing& thing) {
  return Yolov3Numbers(thing, kLaterWidth, kLaterHeight, 1.1);
}

TEST(HeadsTest, Yolov3RawHeadsInEitherOrder) {
  std::vector<HeadOutput> heads = RawHeads(OfYolov3);
  ExpectThings(BoxesOf(heads, Decoder(HeadKind::kYolov3)));
  std::reverse(heads.begin(), heads.end());
  ExpectThings(BoxesOf(heads, Decoder(HeadKind::kYolov3)));
  DecoderConfig config = Decoder(HeadKind::kYolov3);
  config.strides = {32, 16, 8};
  config.anchors = {116, 90, 156, 198, 373, 326, 30, 61, 62, 45, 59, 119, 10, 13, 16, 30, 33, 23};
  ExpectThings(BoxesOf(heads, config));
}

TEST(HeadsTest, RawHeadsHaveTheUsualAnchorsOfTheirKind) {
  ExpectThings(BoxesOf(RawHeads(OfYolov5), Decoder(HeadKind::kBoxes)));
  ExpectThings(BoxesOf(RawHeads(OfYolov7), Decoder(HeadKind::kYolov7)));
  ExpectThings(BoxesOf(RawHeads(OfYolov4), Decoder(HeadKind::kYolov4)));
}

// Nothing but a name tells YOLOv5's raw heads from YOLOv3's, unless the exporter has left its mark.
TEST(HeadsTest, RawHeadsAreNeverGuessed) {
  Graph graph = NetworkOf(RawHeads(OfYolov5));
  const Recognition found = Recognise(graph, 0);
  EXPECT_EQ(found.kind, HeadKind::kRaw);
  for (const HeadKind kind :
       {HeadKind::kBoxes, HeadKind::kYolov3, HeadKind::kYolov4, HeadKind::kYolov7}) {
    EXPECT_EQ(std::count(found.candidates.begin(), found.candidates.end(), kind), 1)
        << NameOf(kind);
  }
  std::vector<HeadOutput> heads = RawHeads(OfYolov5);
  for (HeadOutput& head : heads) {
    head.shape = {1, 3, head.shape[2], head.shape[3], head.shape[1] / 3};
  }
  Graph exported = NetworkOf(heads);
  exported.notes.stride = 32;
  exported.notes.class_names = std::vector<std::string>(kHeadClasses, "thing");
  EXPECT_EQ(Recognise(exported, kHeadClasses).kind, HeadKind::kBoxes);
  exported.notes = {};
  EXPECT_EQ(Recognise(exported, kHeadClasses).kind, HeadKind::kRaw);
}

TEST(HeadsTest, AnchorsGrowWithStrides) {
  DecoderConfig config = Decoder(HeadKind::kBoxes);
  config.strides = {8, 16, 32};
  config.anchors = std::vector<double>(kAnchors.rbegin(), kAnchors.rend());
  Graph graph = NetworkOf(RawHeads(OfYolov5));
  EXPECT_NE(RefusalOf([&] { AddDecoder(graph, config); }).find("do not grow"), std::string::npos);
}

// Two boxes a frame, of three keypoints; all but the first lie `away` pixels beside it.
TEST(HeadsTest, KeypointsBesideTheirBoxesContradictTheirDecoder) {
  const auto contradiction = [](double away, int visible, int frames) {
    const auto points = [=](const Thing& thing) {
      std::vector<double> numbers;
      for (int k = 0; k < 3; ++k) {
        numbers.insert(numbers.end(),
                       {thing.x + (k > 0 ? away : 0), thing.y, k < visible ? 0.75 : 0.25});
      }
      return numbers;
    };
    const HeadOutput rows = DecodedRows(false, 1, true, 9, points);
    ModelNotes notes;
    notes.keypoint_shape = {3, 3};
    return ReaderOf({rows}, Decoder(HeadKind::kYolov8Pose), frames, notes).contradiction();
  };
  EXPECT_EQ(contradiction(0, 3, 9), "");
  EXPECT_NE(contradiction(90, 3, 2).find("3 of 3 boxes have most of their keypoints outside"),
            std::string::npos)
      << contradiction(90, 3, 2);
  EXPECT_EQ(contradiction(90, 3, 1), "") << "two boxes are few";
  EXPECT_EQ(contradiction(90, 2, 9), "") << "half of those that can be seen";
  EXPECT_EQ(contradiction(90, 0, 9), "") << "none can be seen";
}

TEST(HeadsTest, KeypointsAreSharesOfThePictureAsTheirBoxesAre) {
  const auto points = [](const Thing& thing) {
    return std::vector<double>{thing.x, thing.y, 0.75};
  };
  const HeadOutput in_pixels = DecodedRows(false, 1, true, 3, points);
  HeadOutput as_shares = in_pixels;
  const auto boxes = static_cast<size_t>(in_pixels.shape[2]);
  for (const int number : {0, 1, 2, 3, 4 + kHeadClasses, 5 + kHeadClasses}) {
    const size_t begin = static_cast<size_t>(number) * boxes;
    for (size_t i = 0; i < boxes; ++i) as_shares.numbers[begin + i] /= kSide;
  }
  ModelNotes notes;
  notes.keypoint_shape = {1, 3};
  DecoderConfig config = Decoder(HeadKind::kYolov8Pose);
  const std::vector<Detection> expected = BoxesOf({in_pixels}, config, notes);
  config.coordinates = DecoderConfig::Coordinates::kShares;
  const std::vector<Detection> found = BoxesOf({as_shares}, config, notes);
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_FALSE(found.empty());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i].keypoints.at(0).x, expected[i].keypoints.at(0).x, 1e-3);
    EXPECT_NEAR(found[i].keypoints.at(0).y, expected[i].keypoints.at(0).y, 1e-3);
  }
}

// The first prototype is positive left of a line, the second everywhere.
TEST(HeadsTest, MasksAreSumsOfPrototypesWithinTheBox) {
  constexpr int kCoarse = 32;
  HeadOutput prototypes;
  prototypes.name = "protos";
  prototypes.shape = {1, 2, kCoarse, kCoarse};
  for (int prototype = 0; prototype < 2; ++prototype) {
    for (int i = 0; i < kCoarse * kCoarse; ++i) {
      const bool is_left = i % kCoarse < 9;  // of pixel 36
      prototypes.numbers.push_back(prototype == 1 || is_left ? 1.0f : -1.0f);
    }
  }
  const auto coefficients = [](const Thing& thing) {
    return thing.label == 3 ? std::vector<double>{1, 0} : std::vector<double>{0, 1};
  };
  const auto boxes = BoxesOf({DecodedRows(false, 1, true, 2, coefficients), prototypes},
                             Decoder(HeadKind::kYolov8Segment));
  ExpectThings(boxes);
  const auto inside = [](const PixelRuns& mask) {
    int64_t pixels = 0;
    int64_t all = 0;
    for (size_t i = 0; i < mask.lengths.size(); ++i) {
      all += mask.lengths[i];
      if (i % 2 == 1) pixels += mask.lengths[i];
    }
    EXPECT_EQ(all, int64_t{kSide} * kSide);
    return pixels;
  };
  // Columns 23 (22.5 rounded) to 35, rows 40 to 59; and all of the second box.
  EXPECT_EQ(inside(boxes[0].mask), 13 * 20);
  EXPECT_EQ(boxes[0].mask.lengths[0], 23 * kSide + 40);
  EXPECT_EQ(inside(boxes[1].mask), 41 * 60);
}

TEST(HeadsTest, TurnedBoxesHaveCornersAndAreSuppressedAsTheyLie) {
  constexpr double kAngle = std::numbers::pi / 6;
  HeadOutput rows =
      DecodedRows(false, 1, true, 1, [](const Thing&) { return std::vector<double>{kAngle}; });
  auto boxes = BoxesOf({rows}, Decoder(HeadKind::kYolov8Obb));
  ASSERT_EQ(boxes.size(), 2u);
  ASSERT_EQ(boxes[0].corners.size(), 4u);
  const Thing& thing = kThings[0];
  const double half_width = (thing.width * std::cos(kAngle) + thing.height * std::sin(kAngle)) / 2;
  EXPECT_NEAR(boxes[0].left, thing.x - half_width, 1e-3);
  EXPECT_NEAR(boxes[0].right, thing.x + half_width, 1e-3);
  double far = 0;
  for (const Keypoint& corner : boxes[0].corners) {
    far = std::max(far, std::hypot(corner.x - thing.x, corner.y - thing.y));
  }
  EXPECT_NEAR(far, std::hypot(thing.width, thing.height) / 2, 1e-3);

  // Two long boxes of a class across each other overlap little; along each other, nearly wholly.
  const int64_t width = rows.shape[1];
  const int64_t count = rows.shape[2];
  const auto place = [&](int64_t row, std::vector<float> numbers) {
    for (int64_t k = 0; k < width; ++k) {
      rows.numbers[static_cast<size_t>(k * count + row)] = numbers[static_cast<size_t>(k)];
    }
  };
  std::fill(rows.numbers.begin(), rows.numbers.end(), 0.0f);
  place(3, {60, 60, 80, 8, 0.9f, 0, 0, 0, 0, 0.0f});
  place(4, {60, 60, 80, 8, 0.8f, 0, 0, 0, 0, 1.5f});
  place(5, {61, 60, 80, 8, 0.7f, 0, 0, 0, 0, 0.02f});
  boxes = BoxesOf({rows}, Decoder(HeadKind::kYolov8Obb));
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_NEAR(boxes[1].label.score, 0.8, 1e-6);
}

TEST(HeadsTest, TurnedBoxesKeepTheirShapeBeyondTheFrame) {
  HeadOutput rows =
      DecodedRows(false, 1, true, 1, [](const Thing&) { return std::vector<double>{0.0}; });
  std::fill(rows.numbers.begin(), rows.numbers.end(), 0.0f);
  const std::vector<float> box = {10, 64, 80, 40, 0.9f, 0, 0, 0, 0, 0.5f};
  const int64_t count = rows.shape[2];
  for (size_t k = 0; k < box.size(); ++k) {
    rows.numbers[k * static_cast<size_t>(count)] = box[k];
  }
  PictureSpec spec;
  spec.width = spec.height = kSide;
  const PictureFit fit(spec, 2 * kSide, 2 * kSide);
  const auto boxes =
      std::get<Detections>(Read({rows}, Decoder(HeadKind::kYolov8Obb), {}, {&fit, {}})).boxes;
  ASSERT_EQ(boxes.size(), 1u);
  EXPECT_EQ(boxes[0].left, 0);
  const std::vector<Keypoint>& corners = boxes[0].corners;
  ASSERT_EQ(corners.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const Keypoint& next = corners[(i + 1) % 4];
    const double side = std::hypot(corners[i].x - next.x, corners[i].y - next.y);
    EXPECT_NEAR(side, i % 2 == 0 ? 80 : 160, 1e-3);
  }
}

std::vector<float> Corners(const Thing& thing) {
  return {static_cast<float>(thing.x - thing.width / 2),
          static_cast<float>(thing.y - thing.height / 2),
          static_cast<float>(thing.x + thing.width / 2),
          static_cast<float>(thing.y + thing.height / 2)};
}

TEST(HeadsTest, BoxesThatTheNetworkPicked) {
  HeadOutput six{{1, 300, 6}, std::vector<float>(1800)};
  HeadOutput seven{{100, 7}, std::vector<float>(700)};
  HeadOutput boxes{{1, 50, 4}, std::vector<float>(200), "det_boxes"};
  HeadOutput scores{{1, 50}, std::vector<float>(50), "det_scores"};
  HeadOutput labels{{1, 50}, std::vector<float>(50), "det_classes"};
  HeadOutput shares{{1, 50, 4}, std::vector<float>(200), "detection_boxes"};
  for (size_t i = 0; i < kThings.size(); ++i) {
    const Thing& thing = kThings[i];
    const std::vector<float> corners = Corners(thing);
    const size_t at = kThings.size() - 1 - i;  // the best comes last
    std::copy(corners.begin(), corners.end(), &six.numbers[6 * at]);
    six.numbers[6 * at + 4] = thing.score;
    six.numbers[6 * at + 5] = static_cast<float>(thing.label);
    std::copy(corners.begin(), corners.end(), &seven.numbers[7 * at + 1]);
    seven.numbers[7 * at + 5] = static_cast<float>(thing.label);
    seven.numbers[7 * at + 6] = thing.score;
    std::copy(corners.begin(), corners.end(), &boxes.numbers[4 * at]);
    for (size_t k = 0; k < 4; ++k) shares.numbers[4 * at + k] = corners[k ^ 1] / kSide;
    scores.numbers[at] = thing.score;
    labels.numbers[at] = static_cast<float>(thing.label);
  }
  ExpectThings(BoxesOf({six}, Decoder(HeadKind::kEndToEnd)));
  ExpectThings(BoxesOf({seven}, Decoder(HeadKind::kEndToEndBatch)));
  const HeadOutput number{{1, 1}, {2}, "num_dets"};
  ExpectThings(BoxesOf({number, boxes, scores, labels}, Decoder(HeadKind::kNmsOutputs)));
  HeadOutput tf_scores = scores;
  tf_scores.name = "detection_scores";
  HeadOutput tf_labels = labels;
  tf_labels.name = "detection_classes";
  ExpectThings(BoxesOf({shares, tf_labels, tf_scores, number}, Decoder(HeadKind::kTfDetection)));
}

TEST(HeadsTest, AQueryMayNameSeveralClasses) {
  HeadOutput logits{{1, 3, kHeadClasses}, std::vector<float>(3 * kHeadClasses, -12.0f), "logits"};
  HeadOutput boxes{{1, 3, 4}, std::vector<float>(12, 0.5f), "pred_boxes"};
  logits.numbers[kHeadClasses + 4] = 2.0f;
  logits.numbers[kHeadClasses + 1] = 1.0f;
  boxes.numbers[4] = 0.25f;
  const auto found = BoxesOf({logits, boxes}, Decoder(HeadKind::kRtDetr));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].label.index, 4);
  EXPECT_EQ(found[1].label.index, 1);
  for (const Detection& box : found) {
    EXPECT_NEAR(box.left, 0, 1e-4);
    EXPECT_NEAR(box.right, 0.5 * kSide, 1e-4);
  }
}

// The logits of a distribution whose mean is `distance`.
std::vector<float> LogitsOf(double distance, int steps) {
  std::vector<float> logits(static_cast<size_t>(steps), -60.0f);
  const auto below = static_cast<size_t>(distance);
  const double above = distance - std::floor(distance);
  logits[below] = static_cast<float>(std::log(1 - above));
  if (above > 0) logits[below + 1] = static_cast<float>(std::log(above));
  return logits;
}

struct DistanceLevel {
  int stride;
  std::vector<float> scores;     // cells × classes
  std::vector<float> distances;  // cells × 4 steps
};

// Things at stride 16; `offset` is where in a cell distances begin. Scores are shares, or logits.
std::vector<DistanceLevel> DistanceLevels(const std::vector<int>& strides, double offset, int steps,
                                          bool has_logits) {
  std::vector<DistanceLevel> levels;
  for (const int stride : strides) {
    const auto cells = static_cast<size_t>(CellsOf(stride));
    DistanceLevel level{
        stride, std::vector<float>(cells * kHeadClasses, has_logits ? -9.0f : 0.0f), {}};
    for (size_t i = 0; i < 4 * cells; ++i) {
      const std::vector<float> nowhere = LogitsOf(1, steps);
      level.distances.insert(level.distances.end(), nowhere.begin(), nowhere.end());
    }
    for (const Thing& thing : kThings) {
      if (stride != 16) continue;
      const int row = static_cast<int>(thing.y) / stride;
      const int column = static_cast<int>(thing.x) / stride;
      const double x = (column + offset) * stride;
      const double y = (row + offset) * stride;
      const auto cell = static_cast<size_t>(row * (kSide / stride) + column);
      const std::array<double, 4> sides = {
          x - (thing.x - thing.width / 2), y - (thing.y - thing.height / 2),
          thing.x + thing.width / 2 - x, thing.y + thing.height / 2 - y};
      for (size_t side = 0; side < 4; ++side) {
        const std::vector<float> logits = LogitsOf(sides[side] / stride, steps);
        std::copy(logits.begin(), logits.end(),
                  &level.distances[(4 * cell + side) * static_cast<size_t>(steps)]);
      }
      level.scores[cell * kHeadClasses + static_cast<size_t>(thing.label)] =
          has_logits ? static_cast<float>(LogitOf(thing.score)) : thing.score;
    }
    levels.push_back(std::move(level));
  }
  return levels;
}

TEST(HeadsTest, NanodetInOneOutputOfThreeOrFourStrides) {
  constexpr int kSteps = 8;
  constexpr int kWidth = kHeadClasses + 4 * kSteps;
  for (const bool is_plus : {true, false}) {
    const std::vector<int> strides =
        is_plus ? std::vector<int>{8, 16, 32, 64} : std::vector<int>{8, 16, 32};
    HeadOutput output{{1, 0, kWidth}, {}};
    for (const DistanceLevel& level :
         DistanceLevels(strides, is_plus ? 0 : 0.5, kSteps, /*has_logits=*/false)) {
      for (int64_t cell = 0; cell < CellsOf(level.stride); ++cell, ++output.shape[1]) {
        const auto scores = level.scores.begin() + cell * kHeadClasses;
        const auto distances = level.distances.begin() + cell * 4 * kSteps;
        output.numbers.insert(output.numbers.end(), scores, scores + kHeadClasses);
        output.numbers.insert(output.numbers.end(), distances, distances + 4 * kSteps);
      }
    }
    ExpectThings(BoxesOf({output}, Decoder(HeadKind::kNanodet)));
    EXPECT_EQ(Recognise(NetworkOf({output}), kHeadClasses).kind, HeadKind::kNanodet);
  }
}

TEST(HeadsTest, PicodetHasScoresAndDistancesApart) {
  constexpr int kSteps = 8;
  std::vector<HeadOutput> scores;
  std::vector<HeadOutput> all;
  for (const DistanceLevel& level : DistanceLevels({8, 16, 32, 64}, 0.5, kSteps, false)) {
    const int64_t cells = CellsOf(level.stride);
    const std::string at = std::to_string(level.stride);
    scores.push_back({{1, cells, kHeadClasses}, level.scores, "a" + at});
    all.push_back({{1, cells, 4 * kSteps}, level.distances, "b" + at});
  }
  all.insert(all.end(), scores.begin(), scores.end());
  ExpectThings(BoxesOf(all, Decoder(HeadKind::kNanodet)));
  EXPECT_EQ(Recognise(NetworkOf(all), kHeadClasses).kind, HeadKind::kNanodet);
}

TEST(HeadsTest, Yolov8BeforeItsDecoderInThreeAndSixOutputs) {
  constexpr int kSteps = 16;
  std::vector<HeadOutput> joint;
  std::vector<HeadOutput> apart;
  for (const DistanceLevel& level : DistanceLevels({8, 16, 32}, 0.5, kSteps, true)) {
    const int64_t side = kSide / level.stride;
    const std::string at = std::to_string(level.stride);
    const HeadOutput distances{
        {1, 4 * kSteps, side, side}, Transposed(level.distances, 4 * kSteps), "box" + at};
    const HeadOutput scores{
        {1, kHeadClasses, side, side}, Transposed(level.scores, kHeadClasses), "cls" + at};
    apart.push_back(distances);
    apart.push_back(scores);
    HeadOutput both{{1, 4 * kSteps + kHeadClasses, side, side}, distances.numbers, "head" + at};
    both.numbers.insert(both.numbers.end(), scores.numbers.begin(), scores.numbers.end());
    joint.push_back(both);
  }
  for (const auto& outputs : {joint, apart}) {
    ExpectThings(BoxesOf(outputs, Decoder(HeadKind::kYolov8Raw)));
    EXPECT_EQ(Recognise(NetworkOf(outputs), kHeadClasses).kind, HeadKind::kYolov8Raw);
  }
  for (size_t i = 1; i < apart.size(); i += 2) apart[i].function = Function::Kind::kSigmoid;
  ExpectThings(BoxesOf(apart, Decoder(HeadKind::kYolov8Raw)));
}

// What a model's file says about its task, or the shapes alone, are enough to know the head.
TEST(HeadsTest, RecognisesHeads) {
  const auto recognised = [](const std::vector<HeadOutput>& outputs, const ModelNotes& notes,
                             int names) {
    Graph graph = NetworkOf(outputs);
    graph.notes = notes;
    return Recognise(graph, names).kind;
  };
  ModelNotes detect;
  detect.task = "detect";
  const int64_t cells = AllCells();
  const auto output = [](Shape shape, std::string name = "output0") {
    return HeadOutput{std::move(shape), {}, std::move(name)};
  };
  EXPECT_EQ(recognised({output({1, 9, cells})}, detect, 5), HeadKind::kYolov8);
  EXPECT_EQ(recognised({output({1, 9, cells})}, {}, 5), HeadKind::kYolov8);
  EXPECT_EQ(recognised({output({1, 84, cells})}, {}, 0), HeadKind::kYolov8);
  EXPECT_EQ(recognised({output({1, cells, 85})}, {}, 0), HeadKind::kYolox);
  EXPECT_EQ(recognised({output({1, 3 * cells, 85})}, {}, 0), HeadKind::kBoxes);
  EXPECT_EQ(recognised({output({1, 3 * cells, 85})}, detect, 80), HeadKind::kBoxes);
  EXPECT_EQ(recognised({output({1, 56, cells})}, {}, 0), HeadKind::kYolov8Pose);
  EXPECT_EQ(recognised({output({1, 116, cells}), output({1, 32, 32, 32}, "output1")}, {}, 0),
            HeadKind::kYolov8Segment);
  EXPECT_EQ(recognised({output({1, 300, 6})}, detect, 80), HeadKind::kEndToEnd);
  Graph square;
  square.AddInput("image", {1, 3, 320, 320});
  square.outputs = {square.AddInput("output0", {1, 300, 6})};
  EXPECT_EQ(Recognise(square, 80).kind, HeadKind::kEndToEnd) << "no three boxes of each cell";
  // As many numbers a box, or boxes, as a coarse grid of the picture has cells.
  const auto recognised_in = [&](int64_t height, int64_t width, const Shape& shape) {
    Graph graph;
    graph.AddInput("image", {1, 3, height, width});
    graph.outputs = {graph.AddInput("output0", shape)};
    graph.notes = detect;
    return Recognise(graph, 80).kind;
  };
  EXPECT_EQ(recognised_in(224, 384, {1, 84, 1764}), HeadKind::kYolov8);
  EXPECT_EQ(recognised_in(224, 384, {1, 300, 84}), HeadKind::kRtDetr);
  for (const auto& [height, width] : {std::pair(480, 640), std::pair(192, 320)}) {
    EXPECT_EQ(recognised_in(height, width, {1, 300, 6}), HeadKind::kEndToEnd);
    EXPECT_EQ(recognised_in(height, width, {1, 300, 84}), HeadKind::kRtDetr);
  }
  EXPECT_EQ(recognised({output({1, 1000}, "logits")}, {}, 0), HeadKind::kClassification);
  EXPECT_EQ(recognised({output({1, 1000, 1, 1}, "prob")}, {}, 0), HeadKind::kClassification);
  EXPECT_EQ(recognised({output({1, 512}, "feature")}, {}, 0), HeadKind::kRaw);
  EXPECT_EQ(recognised({output({1, 12, cells})}, {}, 0), HeadKind::kRaw);  // pose or boxes
  ModelNotes obb;
  obb.task = "obb";
  EXPECT_EQ(recognised({output({1, 20, cells})}, obb, 15), HeadKind::kYolov8Obb);
  // Names that contradict the outputs leave nothing certain.
  EXPECT_EQ(recognised({output({1, 84, cells})}, {}, 79), HeadKind::kRaw);
}

TEST(HeadsTest, RefusesAHeadThatIsAnotherAndSaysWhatItCouldBe) {
  const auto refusal = [](const HeadOutput& output, HeadKind kind,
                          std::vector<std::string> names = {}) {
    DecoderConfig config = Decoder(kind);
    config.class_names = std::move(names);
    Graph graph = NetworkOf({output});
    return RefusalOf([&] { AddDecoder(graph, config); });
  };
  const std::string of_v8 = refusal(DecodedRows(false, 1, true), HeadKind::kEndToEnd);
  EXPECT_NE(of_v8.find("output 'output0' is 1x9x336, not 6 numbers a box"), std::string::npos)
      << of_v8;
  EXPECT_NE(of_v8.find("yolov8"), std::string::npos) << of_v8;
  const std::string names =
      refusal(DecodedRows(false, 1, true), HeadKind::kYolov8, {"a", "b", "c", "d"});
  EXPECT_NE(names.find("that makes 5 classes, but 4 have names"), std::string::npos) << names;
  EXPECT_NE(names.find("give decoder.class_names one name"), std::string::npos) << names;
  EXPECT_NE(refusal(DecodedRows(true, 3, false), HeadKind::kYolov8).find("three boxes a cell"),
            std::string::npos);
  const std::string many =
      refusal({{1, 3549, 6}, std::vector<float>(3549 * 6)}, HeadKind::kEndToEnd);
  EXPECT_NE(many.find("more than a network picks"), std::string::npos) << many;
}

TEST(HeadsTest, ClassesOfPixelsHaveThePicturesForm) {
  const auto why_not = [](int64_t height, int64_t width) {
    Graph graph =
        NetworkOf({{{1, height, width}, std::vector<float>(static_cast<size_t>(height * width))}});
    graph.values[graph.outputs[0]].type = DataType::kInt64;
    HeadSpec spec;
    spec.kind = HeadKind::kSegmentation;
    return WhyNot(graph, spec);
  };
  EXPECT_EQ(why_not(kSide, kSide), "");
  EXPECT_EQ(why_not(kSide / 4, kSide / 4 - 1), "");
  EXPECT_NE(why_not(kSide, kSide / 2).find("not of the picture's form"), std::string::npos);
}

// 1x336x9 are YOLOv8's rows for five classes, and YOLOX's for four.
TEST(HeadsTest, AWrongNumberOfNamesMakesNoOtherKindOfWhatTheFileSays) {
  Graph graph = NetworkOf({DecodedRows(false, 1, false)});
  graph.notes.task = "detect";
  graph.notes.class_names = {"a", "b", "c", "d"};
  EXPECT_EQ(Recognise(graph, 4).kind, HeadKind::kYolov8);
  const std::string refusal = RefusalOf([&] { AddDecoder(graph, Decoder(HeadKind::kAuto)); });
  EXPECT_NE(refusal.find("that makes 5 classes, but 4 have names"), std::string::npos) << refusal;
  EXPECT_EQ(refusal.find("could be"), std::string::npos) << refusal;
}

// A segmentation whose prototypes are lost, say, is no detector.
TEST(HeadsTest, AnotherTaskInTheFileIsNotReadOver) {
  Graph graph = NetworkOf({DecodedRows(false, 1, true)});
  graph.notes.class_names = {"a", "b", "c", "d", "e"};
  for (const char* task : {"segment", "pose", "obb", "classify"}) {
    graph.notes.task = task;
    Graph decoded = graph;
    const std::string refusal = RefusalOf([&] { AddDecoder(decoded, Decoder(HeadKind::kAuto)); });
    EXPECT_NE(refusal.find(std::string("its file names the task \"") + task), std::string::npos)
        << refusal;
    const bool could_have_names = task == std::string("pose") || task == std::string("obb");
    EXPECT_NE(refusal.find(could_have_names ? "give decoder.class_names"
                                            : "set decoder.kind: by their shapes these outputs "
                                              "could be yolov8"),
              std::string::npos)
        << refusal;
    AddDecoder(decoded, Decoder(HeadKind::kYolov8));
    EXPECT_EQ(decoded.head.classes, 5) << "the configuration decides";
  }
}

TEST(HeadsTest, KindsWhoseUsualOutputsAreMostAlikeComeFirst) {
  const auto first = [](bool has_objectness, int anchors, bool is_transposed) {
    const Recognition found =
        Recognise(NetworkOf({DecodedRows(has_objectness, anchors, is_transposed)}), 0);
    EXPECT_EQ(found.kind, HeadKind::kRaw);
    return found.candidates.empty() ? HeadKind::kRaw : found.candidates.front();
  };
  EXPECT_EQ(first(false, 1, true), HeadKind::kYolov8);
  EXPECT_EQ(first(true, 1, false), HeadKind::kYolox);
}

TEST(HeadsTest, ClassificationReadsOneListOfScores) {
  const auto refusal = [](const HeadOutput& second) {
    Graph graph = NetworkOf({{{1, 10}, std::vector<float>(10)}, second});
    return RefusalOf([&] { AddDecoder(graph, Decoder(HeadKind::kClassification)); });
  };
  EXPECT_EQ(refusal({{1, 10}, std::vector<float>(10), "aux"}), "");
  EXPECT_NE(refusal({{1, 4}, std::vector<float>(4), "box"}).find("one list of scores"),
            std::string::npos);
}

TEST(HeadsTest, ScoresThatASigmoidGaveStayAsTheyAre) {
  HeadOutput scores{{1, 3}, {0, -2, 1}};
  scores.function = Function::Kind::kSigmoid;
  const auto best =
      std::get<Classification>(Read({scores}, Decoder(HeadKind::kClassification))).best;
  EXPECT_EQ(best[0].index, 2);
  EXPECT_NEAR(best[0].score, 0.7311f, 1e-3);
}

TEST(HeadsTest, OneNumberIsNoListOfScoresAndNoMap) {
  const auto refusal = [](Graph graph) {
    return RefusalOf([&] { AddDecoder(graph, Decoder(HeadKind::kClassification)); });
  };
  EXPECT_NE(refusal(NetworkOf({{{1, 1}, {3}}})).find("a softmax always makes 1"),
            std::string::npos);
  Graph picked = NetworkOf({{{1, 4}, {0, 1, 2, 3}}});
  picked.outputs = {picked.AddOne("best", op::ArgMax{1, true}, {picked.outputs[0]})};
  EXPECT_NE(refusal(picked).find("the best class, not its score"), std::string::npos);
  EXPECT_EQ(Recognise(picked, 0).kind, HeadKind::kRaw);
}

}  // namespace
}  // namespace cacheinf
