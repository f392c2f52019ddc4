#include "common/answer/moved_answer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "tests/tracker/pictures.h"

// An old answer moves with what it shows, and boxes keep their ids.

namespace cacheinf {
namespace {

constexpr int kFrameWidth = 400;
constexpr int kFrameHeight = 300;

// A thing of 100×60 pixels.
struct Thing {
  uint32_t world = 2;
  double left = 0;
  double top = 0;
};

Picture PictureOf(const TestPicture& picture) {
  return MakePicture(picture.width, picture.height, picture.channels, picture.pixels);
}

Picture Scene(const std::vector<Thing>& things) {
  TestPicture picture = Photograph(World(1), {}, kFrameWidth, kFrameHeight);
  for (const Thing& thing : things) {
    PasteThing(World(thing.world), 100, 60, thing.left, thing.top, 1, &picture);
  }
  return PictureOf(picture);
}

// The whole scene, moved to the right.
Picture MovedScene(double pixels) {
  return PictureOf(Photograph(World(1), Shift(-pixels, 0), kFrameWidth, kFrameHeight));
}

Detection BoxOf(const Thing& thing, int label = 0, float score = 0.9f) {
  return {{label, score}, thing.left, thing.top, thing.left + 100, thing.top + 60};
}

void ExpectAt(const Detection& box, double left, double top, double right, double bottom) {
  EXPECT_NEAR(box.left, left, 1);
  EXPECT_NEAR(box.top, top, 1);
  EXPECT_NEAR(box.right, right, 1);
  EXPECT_NEAR(box.bottom, bottom, 1);
}

using Ids = std::vector<int64_t>;

class MovedAnswerTest : public ::testing::Test {
 protected:
  // The ids that the boxes get.
  Ids Keep(std::vector<Detection> boxes, const Picture& frame) {
    AnswerContent content = Detections{std::move(boxes)};
    answer_.Keep(content, frame);
    return IdsOf(std::get<Detections>(content).boxes);
  }

  std::vector<Detection> MoveTo(const Picture& frame) {
    return std::get<Detections>(answer_.MoveTo(frame)).boxes;
  }

  static Ids IdsOf(const std::vector<Detection>& boxes) {
    Ids ids;
    for (const Detection& box : boxes) ids.push_back(box.id);
    return ids;
  }

  const Picture blank_ = PictureOf({kFrameWidth, kFrameHeight, 3, 90});
  MovedAnswer answer_;
};

TEST_F(MovedAnswerTest, BoxesFollowTheirThingsAndKeepTheirIds) {
  const Thing one = {2, 40, 50};
  const Thing other = {3, 220, 180};
  EXPECT_FALSE(answer_.has_answer());
  EXPECT_EQ(Keep({BoxOf(one), BoxOf(other, 4, 0.5f)}, Scene({one, other})), (Ids{1, 2}));
  ASSERT_TRUE(answer_.has_answer());
  const auto moved = MoveTo(Scene({{2, 58, 44}, {3, 204, 200}}));
  ASSERT_EQ(IdsOf(moved), (Ids{1, 2}));
  ExpectAt(moved[0], 58, 44, 158, 104);
  ExpectAt(moved[1], 204, 200, 304, 260);
  EXPECT_EQ(moved[1].label.index, 4);
  EXPECT_EQ(moved[1].label.score, 0.5f);
}

TEST_F(MovedAnswerTest, KeypointsCornersAndMaskGoWithTheBox) {
  const Thing thing = {2, 40, 50};
  Detection box = BoxOf(thing);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  box.keypoints = {{50, 60, 0.5f}, {nan, nan, 0}, {2, 60, 0.25f}};
  box.corners = {{40, 80, 1}, {-20, 50, 1}, {140, 80, 1}, {90, 110, 1}};
  // The pixels of columns 60 to 62, rows 70 to 79.
  box.mask = {kFrameWidth, kFrameHeight, {60 * kFrameHeight + 70}};
  for (int i = 0; i < 3; ++i) {
    box.mask.lengths.push_back(10);
    box.mask.lengths.push_back(i < 2 ? kFrameHeight - 10 : 337 * kFrameHeight + 220);
  }
  Keep({box}, Scene({thing}));
  const Detection moved = MoveTo(Scene({{2, 24, 62}})).at(0);
  EXPECT_NEAR(moved.keypoints[0].x, 34, 1);
  EXPECT_NEAR(moved.keypoints[0].y, 72, 1);
  EXPECT_EQ(moved.keypoints[0].score, 0.5f);
  EXPECT_TRUE(std::isnan(moved.keypoints[1].x));
  EXPECT_EQ(moved.keypoints[2].x, 0) << "clipped";
  EXPECT_NEAR(moved.corners[1].x, -36, 1) << "corners may lie beyond";
  EXPECT_NEAR(moved.corners[3].y, 122, 1);
  int64_t sum = 0;
  int64_t inside = 0;
  for (size_t i = 0; i < moved.mask.lengths.size(); ++i) {
    sum += moved.mask.lengths[i];
    if (i % 2 == 1) inside += moved.mask.lengths[i];
  }
  EXPECT_EQ(sum, kFrameWidth * kFrameHeight);
  EXPECT_NEAR(inside, 30, 3);
  EXPECT_NEAR(moved.mask.lengths[0], 44 * kFrameHeight + 82, kFrameHeight + 1);
}

TEST_F(MovedAnswerTest, AMaskKeepsItsRunsWhileNothingMoves) {
  const Thing thing = {2, 40, 50};
  Detection box = BoxOf(thing);
  box.mask = {kFrameWidth, kFrameHeight, {0, 700, 300, 7, 1}};
  box.mask.lengths.push_back(kFrameWidth * kFrameHeight - 1008);
  Keep({box}, Scene({thing}));
  EXPECT_EQ(MoveTo(Scene({thing})).at(0).mask.lengths, box.mask.lengths);
}

TEST_F(MovedAnswerTest, ManySmallStepsMoveAMaskAsFarAsItsBox) {
  const auto after = [](int frames) { return MovedScene(0.4 * frames); };
  Detection box = BoxOf({2, 100, 100});
  box.mask = {kFrameWidth, kFrameHeight, {100 * kFrameHeight, 3000}};
  box.mask.lengths.push_back(290 * kFrameHeight);
  Keep({box}, after(0));
  for (int i = 1; i < 25; ++i) MoveTo(after(i));
  const Detection moved = MoveTo(after(25)).at(0);
  EXPECT_NEAR(moved.left, 110, 1);
  EXPECT_NEAR(moved.mask.lengths[0], 110 * kFrameHeight, kFrameHeight);
}

TEST_F(MovedAnswerTest, WhatLeavesTheFrameIsClippedThenDropped) {
  const auto after = [](int frames) { return MovedScene(12.0 * frames); };
  Keep({BoxOf({2, 280, 100})}, after(0));
  ExpectAt(MoveTo(after(1)).at(0), 292, 100, 392, 160);
  for (int i = 2; i <= 8; ++i) ExpectAt(MoveTo(after(i)).at(0), 280 + 12 * i, 100, 400, 160);
  EXPECT_TRUE(MoveTo(after(9)).empty());
  ExpectAt(MoveTo(after(8)).at(0), 376, 100, 400, 160);  // it comes back
}

TEST_F(MovedAnswerTest, MoreOfAThingAtTheEdgeComesIntoView) {
  const Thing thing = {2, -40, 100};
  Detection box = BoxOf(thing);
  box.left = 0;
  Keep({box}, Scene({thing}));
  ExpectAt(MoveTo(Scene({{2, -20, 104}})).at(0), 0, 104, 80, 164);
}

TEST_F(MovedAnswerTest, AThingThatCameIntoViewLeavesTheEdge) {
  const auto after = [](int frames) { return Scene({{2, -40 + 12.0 * frames, 100}}); };
  Detection box = BoxOf({2, -40, 100});
  box.left = 0;
  Keep({box}, after(0));
  for (int i = 1; i < 8; ++i) MoveTo(after(i));
  ExpectAt(MoveTo(after(8)).at(0), 66, 100, 156, 160);  // half of the 60 pixels seen were hidden
}

TEST_F(MovedAnswerTest, NewAnswersTakeOverIdsByPlaceAndClass) {
  const Thing one = {2, 40, 50};
  const Thing other = {3, 100, 70};
  EXPECT_EQ(Keep({BoxOf(one), BoxOf(other)}, blank_), (Ids{1, 2}));
  EXPECT_EQ(Keep({BoxOf(other), BoxOf(one)}, blank_), (Ids{2, 1})) << "in another order";
  // Both overlap the first; the nearer one is the same thing.
  EXPECT_EQ(Keep({BoxOf({2, 60, 60}), BoxOf({2, 44, 50})}, blank_), (Ids{2, 1}));
  EXPECT_EQ(Keep({BoxOf(one, 7)}, blank_), (Ids{3})) << "of another class";
}

TEST_F(MovedAnswerTest, AThingUnseenForSomeAnswersIsTheSameAgain) {
  const Thing thing = {2, 40, 50};
  EXPECT_EQ(Keep({BoxOf(thing)}, blank_), (Ids{1}));
  for (int i = 0; i < 5; ++i) Keep({}, blank_);
  EXPECT_EQ(Keep({BoxOf(thing)}, blank_), (Ids{1}));
  for (int i = 0; i < 6; ++i) Keep({}, blank_);
  EXPECT_EQ(Keep({BoxOf(thing)}, blank_), (Ids{2}));
}

TEST_F(MovedAnswerTest, AFastThingKeepsItsIdWhereItWasMoved) {
  const Thing thing = {2, 40, 50};
  const Thing later = {2, 112, 50};
  Keep({BoxOf(thing)}, Scene({thing}));
  for (const double left : {64, 88, 112}) MoveTo(Scene({{2, left, 50}}));
  EXPECT_EQ(Keep({BoxOf(later)}, Scene({later})), (Ids{1}));
  EXPECT_EQ(Keep({BoxOf({2, 200, 50})}, blank_), (Ids{2})) << "nothing said where it went";
}

TEST_F(MovedAnswerTest, WhatIsForgottenIsNotKnownAgain) {
  Keep({BoxOf({2, 40, 50})}, blank_);
  answer_.Forget();
  EXPECT_FALSE(answer_.has_answer());
  EXPECT_EQ(Keep({BoxOf({2, 40, 50})}, blank_), (Ids{2}));
}

TEST_F(MovedAnswerTest, KeypointsMoveAsWhatIsAroundThem) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Thing thing = {2, 40, 50};
  AnswerContent content = Keypoints{{{90, 80, 0.5f}, {300, 200, 0.25f}, {nan, nan, 0}}, 400};
  answer_.Keep(content, Scene({thing}));
  const auto moved = std::get<Keypoints>(answer_.MoveTo(Scene({{2, 52, 40}})));
  ASSERT_EQ(moved.points.size(), 3u);
  EXPECT_EQ(moved.extent, 400);
  EXPECT_NEAR(moved.points[0].x, 102, 1);
  EXPECT_NEAR(moved.points[0].y, 70, 1);
  EXPECT_EQ(moved.points[0].score, 0.5f);
  EXPECT_NEAR(moved.points[1].x, 300, 0.5);
  EXPECT_NEAR(moved.points[1].y, 200, 0.5);
  EXPECT_TRUE(std::isnan(moved.points[2].x));
}

TEST_F(MovedAnswerTest, PointsWithoutOrderAreDroppedBeyondTheFrame) {
  AnswerContent content = Keypoints{{{20, 80, 0.5f}, {300, 200, 0.25f}}, 400, /*has_order=*/false};
  const Picture before = MovedScene(0);
  const Picture after = MovedScene(-32);
  answer_.Keep(content, before);
  const auto moved = std::get<Keypoints>(answer_.MoveTo(after));
  ASSERT_EQ(moved.points.size(), 1u);
  EXPECT_NEAR(moved.points[0].x, 268, 1);
}

TEST_F(MovedAnswerTest, AllElseIsRepeated) {
  const Picture before = MovedScene(0);
  const Picture after = MovedScene(-32);
  AnswerContent content = ClassMap{2, 1, {0, 5}};
  answer_.Keep(content, before);
  EXPECT_EQ(std::get<ClassMap>(answer_.MoveTo(after)).classes, (std::vector<int32_t>{0, 5}));
  content = Classification{{{3, 0.5f}}};
  answer_.Keep(content, before);
  EXPECT_EQ(std::get<Classification>(answer_.MoveTo(after)).best[0].index, 3);
  content = Embedding{{0.5f, 2}};
  answer_.Keep(content, before);
  EXPECT_EQ(std::get<Embedding>(answer_.MoveTo(after)).numbers, (std::vector<float>{0.5f, 2}));
}

TEST_F(MovedAnswerTest, TensorsHaveNoPictureAndAreRepeated) {
  AnswerContent content = Detections{{BoxOf({2, 40, 50})}};
  answer_.Keep(content, {});
  const auto moved = std::get<Detections>(answer_.MoveTo({})).boxes;
  ASSERT_EQ(IdsOf(moved), (Ids{1}));
  EXPECT_EQ(moved[0].left, 40);
}

TEST_F(MovedAnswerTest, OddBoxesAndPicturesStayAsTheyAre) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Detection> boxes = {{{0, 0.9f}, nan, 50, 140, 110},
                                  {{0, 0.9f}, 40, -infinity, 140, infinity},
                                  {{0, 0.9f}, 1e300, 0, 2e300, 10},
                                  {{0, 0.9f}, 40, 50, 140, 110}};
  for (int i = 0; i < 200; ++i) boxes.push_back({{1, 0.5f}, i * 1.0, 10, i + 100.0, 90});
  const Picture scene = MovedScene(0);
  const Picture other_size = PictureOf({kFrameWidth / 2, kFrameHeight, 3});
  for (const Picture& before : {blank_, scene}) {
    for (const Picture& after : {blank_, scene, other_size}) {
      Keep(boxes, before);
      const auto moved = MoveTo(after);
      const bool moves = after.width == kFrameWidth;
      ASSERT_EQ(moved.size(), boxes.size() - (moves ? 1 : 0)) << "but one that lies far beyond";
      EXPECT_TRUE(std::isnan(moved[0].left));
      EXPECT_EQ(moved[1].bottom, infinity);
      EXPECT_NEAR(moved[moves ? 2 : 3].left, 40, 0.5);
      EXPECT_NEAR(moved.back().left, 199, 0.5);
    }
  }
}

TEST_F(MovedAnswerTest, TheSamePicturesGiveTheSameBits) {
  const Thing thing = {2, 40, 50};
  const auto left_of_moved = [&] {
    MovedAnswer answer;
    AnswerContent content = Detections{{BoxOf(thing)}};
    answer.Keep(content, Scene({thing}));
    answer.MoveTo(Scene({{2, 50, 52}}));
    return std::get<Detections>(answer.MoveTo(Scene({{2, 61, 55}}))).boxes[0].left;
  };
  EXPECT_EQ(left_of_moved(), left_of_moved());
}

}  // namespace
}  // namespace cacheinf
