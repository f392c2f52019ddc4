#include "common/answer/agreement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace cacheinf {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Detection Box(int index, float score, double left, double top, double right, double bottom) {
  return {{index, score}, left, top, right, bottom};
}

TEST(RelativeErrorTest, IsTheLengthOfTheDifferenceOverThatOfTheDense) {
  RelativeError error;
  EXPECT_FALSE(error.mean());
  error.Add(OutputNumbers{{3, 0}, {1}}, OutputNumbers{{0, 4}, {1}});  // √(9 + 16) ÷ √(16 + 1)
  EXPECT_DOUBLE_EQ(*error.mean(), 5 / std::sqrt(17.0));
  error.Add(OutputNumbers{{1, 2}, {3}}, OutputNumbers{{1, 2}, {3}});
  EXPECT_DOUBLE_EQ(*error.mean(), 2.5 / std::sqrt(17.0));
  EXPECT_DOUBLE_EQ(error.largest(), 5 / std::sqrt(17.0));
  EXPECT_EQ(error.frames(), 2);
  EXPECT_EQ(error.frames_without(), 0);
}

TEST(RelativeErrorTest, LeavesOutWhatIsNotFiniteInBoth) {
  RelativeError error;
  error.Add(OutputNumbers{{kNan, kInfinity, -kInfinity, 1}},
            OutputNumbers{{kNan, kInfinity, -kInfinity, 2}});
  EXPECT_DOUBLE_EQ(*error.mean(), 0.5);
  EXPECT_EQ(error.frames_without(), 0);
}

TEST(RelativeErrorTest, CountsFramesWithoutAFiniteError) {
  RelativeError error;
  error.Add(OutputNumbers{{1, 2}}, OutputNumbers{{1, kNan}});
  error.Add(OutputNumbers{{kInfinity}}, OutputNumbers{{-kInfinity}});
  error.Add(OutputNumbers{{0, 1}}, OutputNumbers{{0, 0}});
  EXPECT_EQ(error.frames_without(), 3);
  error.Add(OutputNumbers{{0, 0}}, OutputNumbers{{0, 0}});
  error.Add(OutputNumbers{{2}}, OutputNumbers{{1}});
  EXPECT_EQ(error.frames(), 5);
  EXPECT_EQ(error.frames_with_evidence(), 4) << "zeros against zeros show nothing";
  EXPECT_EQ(error.frames_without(), 3);
  EXPECT_DOUBLE_EQ(*error.mean(), 1.0);
  EXPECT_DOUBLE_EQ(error.largest(), 1.0);
}

TEST(ClassAgreementTest, LooksForTheDenseBestAmongTheBestOfTheAnswer) {
  const std::vector<float> dense = {0, 9, 1, 2};
  ClassAgreement agreement;
  EXPECT_FALSE(agreement.top_1());
  agreement.Add({0, 5, 1, 2}, dense);  // first
  EXPECT_EQ(agreement.top_1(), 1.0);
  agreement.Add({0, 5, 6, 7}, dense);  // third
  agreement.Add({6, 5, 6, 7}, dense);  // fourth
  agreement.Add({0, 7, 1, 7}, dense);  // first of two equal
  EXPECT_EQ(agreement.top_1(), 0.5);
  EXPECT_EQ(agreement.top_3(), 0.75);
}

TEST(ClassAgreementTest, OfEqualScoresTheLowerIndexIsBetter) {
  ClassAgreement agreement;
  agreement.Add({1, 1, 1, 1}, {0, 0, 0, 1});  // fourth
  EXPECT_EQ(agreement.top_3(), 0.0);
  agreement.Add({1, 1, 1, 1}, {0, 0, 1, 1});  // the dense best is the third, and so it is here
  EXPECT_EQ(agreement.top_1(), 0.0);
  EXPECT_EQ(agreement.top_3(), 0.5);
}

TEST(ClassAgreementTest, WhatIsNotANumberIsLessThanAnyNumber) {
  ClassAgreement agreement;
  agreement.Add({kNan, -5, kNan}, {kNan, -3, kNan});
  EXPECT_EQ(agreement.top_1(), 1.0);
  agreement.Add({kNan, kNan}, {kNan, kNan});
  EXPECT_EQ(agreement.top_1(), 1.0);
  agreement.Add({1, 2, 3, kNan}, {0, 0, 0, 1});
  EXPECT_NEAR(*agreement.top_3(), 2.0 / 3, 1e-12);
}

TEST(MapAgreementTest, CountsThePixelsOfAllFramesTogether) {
  MapAgreement agreement;
  EXPECT_FALSE(agreement.MeanIou());
  EXPECT_FALSE(agreement.PixelShare());
  agreement.Add({2, 2, {0, 0, 1, 1}}, {2, 2, {0, 0, 0, 1}});
  EXPECT_DOUBLE_EQ(*agreement.PixelShare(), 0.75);
  EXPECT_DOUBLE_EQ(*agreement.MeanIou(), (2.0 / 3 + 1.0 / 2) / 2);
  agreement.Add({2, 2, {0, 0, 0, 3}}, {2, 2, {0, 0, 0, 0}});
  EXPECT_DOUBLE_EQ(*agreement.PixelShare(), 6.0 / 8);
  // Class 0: 5 of 7 pixels; 1: 1 of 2; 3 was seen in the answer only: none.
  EXPECT_DOUBLE_EQ(*agreement.MeanIou(), (5.0 / 7 + 1.0 / 2 + 0) / 3);
}

TEST(MapAgreementTest, OneClassEverywhereInBothShowsNothing) {
  MapAgreement agreement;
  agreement.Add({2, 2, {3, 3, 3, 3}}, {2, 2, {3, 3, 3, 3}});
  EXPECT_EQ(agreement.frames_with_evidence(), 0);
  EXPECT_FALSE(agreement.MeanIou());
  EXPECT_FALSE(agreement.PixelShare());
  agreement.Add({2, 2, {3, 3, 3, 3}}, {2, 2, {0, 0, 0, 0}});
  EXPECT_EQ(agreement.frames_with_evidence(), 1) << "the maps differ";
  EXPECT_EQ(agreement.PixelShare(), 0.5) << "the pixels of both frames count";
  agreement.Add({2, 2, {3, 3, 0, 3}}, {2, 2, {3, 3, 0, 3}});
  EXPECT_EQ(agreement.frames_with_evidence(), 2) << "there are two classes";
}

TEST(DetectionAgreementTest, NothingAgainstNothingIsNoEvidence) {
  DetectionAgreement agreement;
  EXPECT_FALSE(agreement.F1());
  agreement.Add({}, {});
  agreement.Add({{Box(0, 0.24f, 0, 0, 9, 9)}}, {{Box(1, 0.2f, 0, 0, 9, 9)}});  // too uncertain
  EXPECT_EQ(agreement.answer_boxes(), 0);
  EXPECT_EQ(agreement.dense_boxes(), 0);
  EXPECT_EQ(agreement.frames_with_evidence(), 0);
  EXPECT_FALSE(agreement.F1());
}

TEST(DetectionAgreementTest, OneSideWithoutBoxesAgreesInNothing) {
  const Detections one = {{Box(0, 0.25f, 0, 0, 9, 9)}};
  DetectionAgreement only_dense;
  only_dense.Add({}, one);
  EXPECT_EQ(only_dense.F1(), 0.0);
  DetectionAgreement only_answer;
  only_answer.Add(one, {});
  EXPECT_EQ(only_answer.F1(), 0.0);
}

TEST(DetectionAgreementTest, MatchesByClassAndHalfAnOverlap) {
  const Detections dense = {{Box(2, 0.9f, 0, 0, 10, 10)}};
  const auto matches = [&](const Detection& box) {
    DetectionAgreement agreement;
    agreement.Add({{box}}, dense);
    return agreement.matches();
  };
  EXPECT_EQ(matches(Box(2, 0.3f, 0, 0, 10, 10)), 1);
  EXPECT_EQ(matches(Box(3, 0.3f, 0, 0, 10, 10)), 0);
  EXPECT_EQ(matches(Box(2, 0.3f, 0, 0, 10, 5)), 1);     // exactly half
  EXPECT_EQ(matches(Box(2, 0.3f, 0, 0, 10, 4.9)), 0);   // less
  EXPECT_EQ(matches(Box(2, 0.3f, 5, 5, 15, 15)), 0);    // 25 of 175
  EXPECT_EQ(matches(Box(2, 0.3f, 20, 20, 30, 30)), 0);  // elsewhere
  EXPECT_EQ(matches(Box(2, 0.3f, 10, 10, 0, 0)), 0);    // inside out
  EXPECT_EQ(matches(Box(2, 0.3f, kNan, 0, 10, 10)), 0);
  EXPECT_EQ(matches(Box(2, 0.3f, -kInfinity, 0, 10, 10)), 0);
}

TEST(DetectionAgreementTest, IdenticalBoxesWithoutAreaMatch) {
  const Detections flat = {{Box(0, 0.5f, 4, 8, 4, 12)}};
  DetectionAgreement agreement;
  agreement.Add(flat, flat);
  EXPECT_EQ(agreement.F1(), 1.0);
  agreement.Add({{Box(0, 0.5f, 5, 8, 5, 12)}}, flat);
  EXPECT_EQ(agreement.F1(), 0.5);
}

TEST(DetectionAgreementTest, EachDenseBoxIsTakenOnceByTheBestFirst) {
  // The better answer takes the only box that the other could have matched.
  const Detections dense = {{Box(0, 0.9f, 0, 0, 10, 10)}};
  DetectionAgreement agreement;
  agreement.Add({{Box(0, 0.8f, 0, 0, 10, 9), Box(0, 0.7f, 0, 0, 10, 10)}}, dense);
  EXPECT_EQ(agreement.matches(), 1);
  EXPECT_DOUBLE_EQ(*agreement.F1(), 2.0 / 3);

  // The first answer takes the nearer of two dense boxes, and leaves the other to the second.
  const Detections two = {{Box(0, 0.9f, 0, 0, 10, 10), Box(0, 0.8f, 0, 2, 10, 12)}};
  DetectionAgreement both;
  both.Add({{Box(0, 0.8f, 0, 2, 10, 12), Box(0, 0.7f, 0, 0, 10, 9)}}, two);
  EXPECT_EQ(both.matches(), 2);
  EXPECT_EQ(both.F1(), 1.0);
}

TEST(DetectionAgreementTest, CountsTheBoxesOfAllFramesTogether) {
  const Detection a = Box(0, 0.9f, 0, 0, 10, 10);
  const Detection b = Box(0, 0.9f, 20, 0, 30, 10);
  DetectionAgreement agreement;
  agreement.Add({{a, b}}, {{a, b}});
  agreement.Add({{a, Box(0, 0.8f, 50, 50, 60, 60)}}, {{a, b}});
  EXPECT_DOUBLE_EQ(*agreement.F1(), 2.0 * 3 / 8);
  agreement.Add({}, {});
  agreement.Add({{Box(7, 0.5f, 0, 0, 10, 10)}}, {});
  EXPECT_DOUBLE_EQ(*agreement.F1(), 2.0 * 3 / 9);
  EXPECT_EQ(agreement.frames_with_evidence(), 3);
}

TEST(KeypointAgreementTest, PointsWithoutOrderArePairedOnce) {
  Keypoints dense;
  dense.has_order = false;
  dense.extent = 400;
  dense.points = {{10, 10, 1}, {50, 50, 1}, {90, 90, 1}};
  Keypoints answer = dense;
  answer.points = {{51, 50, 1}, {10, 11, 1}, {11, 10, 1}, {200, 200, 1}};
  KeypointAgreement agreement;
  agreement.Add(answer, dense);
  EXPECT_EQ(agreement.frames_with_evidence(), 1);
  EXPECT_DOUBLE_EQ(*agreement.Pck(), 0.5);
}

TEST(KeypointAgreementTest, CountsThoseNearEnough) {
  const Keypoints dense = {{{10, 10, 1}, {50, 50, 1}, {kNan, kNan, kNan}}, 100};
  KeypointAgreement agreement;
  EXPECT_FALSE(agreement.Pck());
  agreement.Add(dense, dense);
  EXPECT_EQ(agreement.Pck(), 1.0);
  agreement.Add({{{13, 14, 0}, {50, 55.1, 1}, {1, 1, 1}}, 100},
                dense);  // 5 away; more; from nowhere
  EXPECT_DOUBLE_EQ(*agreement.Pck(), 3.0 / 5);
  agreement.Add({{{kNan, kNan, kNan}, {45, 50, 1}, {kNan, kNan, kNan}}, 100}, dense);
  EXPECT_DOUBLE_EQ(*agreement.Pck(), 4.0 / 7);
  KeypointAgreement nowhere;
  nowhere.Add({{{kNan, kNan, kNan}}, 9}, {{{kNan, kNan, kNan}}, 9});
  EXPECT_FALSE(nowhere.Pck());
}

TEST(AgreementTest, MeasuresWhatTheKindOfAnswerHas) {
  const OutputNumbers ones = {{1, 1}};
  const OutputNumbers twos = {{2, 2}};
  Agreement raw;
  raw.Add(RawOutputs{}, twos, RawOutputs{}, ones);
  EXPECT_EQ(raw.frames(), 1);
  ASSERT_NE(raw.relative_error(), nullptr);
  EXPECT_EQ(raw.relative_error()->mean(), 1.0);
  EXPECT_EQ(raw.classes(), nullptr);
  EXPECT_EQ(raw.detections(), nullptr);

  Agreement classes;
  classes.Add(Classification{}, {{0, 1}}, Classification{}, {{1, 0}});
  classes.Add(Classification{}, {{0, 1}}, Classification{}, {{0, 1}});
  ASSERT_NE(classes.classes(), nullptr);
  EXPECT_EQ(classes.classes()->top_1(), 0.5);
  EXPECT_EQ(classes.relative_error()->frames(), 2);

  Agreement map;
  const ClassMap both{2, 1, {0, 1}};
  map.Add(both, {{0, 1}}, both, {{0, 1}});
  ASSERT_NE(map.map(), nullptr);
  EXPECT_EQ(map.map()->MeanIou(), 1.0);
  EXPECT_EQ(map.relative_error(), nullptr);  // numbers of classes differ by nothing that counts

  Agreement boxes;  // with a second output, which is compared
  boxes.Add(Detections{}, {{5, 5}, {3}}, Detections{}, {{1, 1}, {2}});
  ASSERT_NE(boxes.detections(), nullptr);
  EXPECT_EQ(boxes.relative_error()->mean(), 0.5);
  EXPECT_EQ(boxes.frames(), 1);
  EXPECT_EQ(boxes.frames_with_evidence(), 0) << "there is no box";

  Agreement keypoints;
  keypoints.Add(Keypoints{{{1, 1, 1}}, 10}, ones, Keypoints{{{9, 9, 1}}, 10}, ones);
  ASSERT_NE(keypoints.keypoints(), nullptr);
  EXPECT_EQ(keypoints.keypoints()->Pck(), 0.0);
  EXPECT_EQ(keypoints.relative_error()->mean(), 0.0);
}

TEST(AgreementTest, BoxesNeedNoNumbers) {
  const Detections box = {{{{0, 0.5f}, 0, 0, 9, 9}}};
  Agreement agreement;
  agreement.Add(box, {}, box, {});
  EXPECT_EQ(agreement.detections()->F1(), 1.0);
  EXPECT_EQ(agreement.relative_error(), nullptr);
}

TEST(AgreementTest, OneNumberSaysAFrameWithFewBoxesLittle) {
  const Detections one = {{Box(0, 0.9f, 0, 0, 9, 9)}};
  const Detections two = {{Box(0, 0.9f, 0, 0, 9, 9), Box(1, 0.9f, 0, 0, 9, 9)}};
  const auto add = [](const Detections& answer, const Detections& dense, Agreement* agreement) {
    agreement->Add(answer, {{}}, dense, {{}});
  };
  Agreement boxes;
  add({}, {}, &boxes);
  EXPECT_FALSE(boxes.measure().value);
  EXPECT_EQ(boxes.measure().weight, 0.0);
  add(two, two, &boxes);
  EXPECT_EQ(boxes.measure().name, "F1");
  EXPECT_EQ(boxes.measure().value, 1.0);
  EXPECT_DOUBLE_EQ(boxes.measure().weight, 4.0 / (4 + 4));
  Agreement missed;
  add({}, one, &missed);
  EXPECT_EQ(missed.measure().value, 0.0);
  EXPECT_DOUBLE_EQ(missed.measure().weight, 1.0 / (1 + 4));
  add(two, one, &missed);
  EXPECT_DOUBLE_EQ(*missed.measure().value, 2.0 / 4);
  EXPECT_DOUBLE_EQ(missed.measure().weight, 2 * 2.0 / (2 + 4));  // two boxes a frame

  Agreement map;
  map.Add(ClassMap{2, 1, {0, 1}}, {{0, 1}}, ClassMap{2, 1, {0, 1}}, {{0, 1}});
  EXPECT_EQ(map.measure().name, "mIoU");
  EXPECT_EQ(map.measure().weight, 1.0);
  Agreement raw;
  raw.Add(RawOutputs{}, {{2, 2}}, RawOutputs{}, {{4, 4}});
  EXPECT_EQ(raw.measure().value, 0.5);
  EXPECT_EQ(Agreement().measure().name, "none");
}

TEST(AgreementMeasureTest, AnswersAreComparedByWhatTheySayWithoutTheirNumbers) {
  const auto best = [](int index) { return Classification{{{index, 0.5F}}}; };
  EXPECT_EQ(MeasureOfContent(best(3), best(3)).value, 1.0);
  EXPECT_EQ(MeasureOfContent(best(3), best(4)).value, 0.0);
  EXPECT_FALSE(MeasureOfContent(Classification(), best(4)).value);
  EXPECT_NEAR(*MeasureOfContent(ClassMap{2, 1, {1, 1}}, ClassMap{2, 1, {1, 2}}).value, 0.25, 0.01);
  EXPECT_FALSE(MeasureOfContent(ClassMap{2, 1, {1, 1}}, ClassMap{2, 1, {1, 1}}).value);
  EXPECT_FALSE(MeasureOfContent(RawOutputs(), RawOutputs()).value);
  EXPECT_FALSE(MeasureOfContent(Embedding{{1}}, Embedding{{1}}).value);
}

// Maps of four rows of class 0, one of which has some pixels of other classes.
class CompareRowsTest : public ::testing::Test {
 protected:
  static constexpr int kWidth = 1000;
  static constexpr Range kAll = {0, 4};

  struct Part {
    int begin;
    int end;
    int32_t label;
  };
  static ClassMap Map(int row, const std::vector<Part>& parts) {
    ClassMap map{kWidth, 4, std::vector<int32_t>(4 * kWidth, 0)};
    for (const Part& part : parts) {
      for (int x = part.begin; x < part.end; ++x) {
        map.classes[static_cast<size_t>(row * kWidth + x)] = part.label;
      }
    }
    return map;
  }
};

// .97 of the pixels agree, .87 of those that are not background, and one class is missed
// altogether.
TEST_F(CompareRowsTest, AClassThatIsMissedCountsAsMuchAsTheOthers) {
  const ClassMap exact = Map(1, {{0, 120, 1}, {200, 1000, 2}});
  const ClassMap answer = Map(1, {{200, 1000, 2}});
  const double given = 0.002 * 4000;
  const double background = (3080 + given) / (3200 + given);
  const double missed = given / (120 + given);
  EXPECT_NEAR(CompareRows(answer, exact, kAll).agreement, (background + missed + 1) / 3, 1e-12);
  EXPECT_LT(CompareRows(answer, exact, kAll).agreement, 0.8);
  EXPECT_EQ(CompareRows(answer, exact, kAll).agreement, CompareRows(exact, answer, kAll).agreement);
  EXPECT_EQ(CompareRows(exact, exact, kAll).agreement, 1.0);
}

TEST_F(CompareRowsTest, AClassOfLessThanAHundredthSaysNothing) {
  const ClassMap exact = Map(1, {{200, 600, 2}});
  EXPECT_GT(CompareRows(Map(1, {{0, 39, 1}, {200, 600, 2}}), exact, kAll).agreement, 0.99);
  EXPECT_LT(CompareRows(Map(1, {{0, 40, 1}, {200, 600, 2}}), exact, kAll).agreement, 0.8);
}

TEST_F(CompareRowsTest, OnlyTheRowsThatWereComputedCount) {
  const ClassMap exact = Map(1, {{0, 500, 1}});
  const ClassMap answer = Map(1, {});
  EXPECT_EQ(CompareRows(answer, exact, {2, 4}).agreement, 1.0);
  EXPECT_LT(CompareRows(answer, exact, {1, 2}).agreement, 0.3);
}

TEST_F(CompareRowsTest, ASampleOfAlmostOnlyTheUsualClassSaysLittle) {
  const ClassMap full = Map(1, {{0, 1000, 1}});
  EXPECT_EQ(CompareRows(full, full, kAll).weight, 1000 + 0.002 * 4000);
  const ClassMap sliver = Map(1, {{0, 40, 1}});
  EXPECT_EQ(CompareRows(Map(1, {}), sliver, kAll).weight, 40 + 0.002 * 4000);
}

// There are so many classes that none of them is large.
TEST_F(CompareRowsTest, TheMostFrequentClassCountsHoweverSmallItIs) {
  ClassMap many{kWidth, 1, {}};
  ClassMap other{kWidth, 1, {}};
  for (int32_t x = 0; x < kWidth; ++x) {
    many.classes.push_back(x / 8);
    other.classes.push_back(x / 8 + 500);
  }
  EXPECT_EQ(CompareRows(many, many, {0, 1}).agreement, 1.0);
  EXPECT_LT(CompareRows(other, many, {0, 1}).agreement, 0.5);
}

// What a robot and its trials see is as its guard sees it.
TEST_F(CompareRowsTest, AFrameIsMeasuredWithoutItsSmallClasses) {
  const ClassMap exact = Map(1, {{200, 600, 2}});
  const ClassMap answer = Map(1, {{0, 39, 1}, {200, 600, 2}});
  const AgreementMeasure measure = MeasureOfFrame(answer, {}, exact, {});
  EXPECT_EQ(measure.value, CompareRows(answer, exact, kAll).agreement);
  EXPECT_EQ(measure.weight, 1.0);
  Agreement all_classes;
  all_classes.Add(answer, {}, exact, {});
  EXPECT_LT(*all_classes.measure().value, 0.7);
}

}  // namespace
}  // namespace cacheinf
