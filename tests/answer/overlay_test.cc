// Read this first: an answer is drawn into its frame.

#include "common/answer/overlay.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <opencv2/imgcodecs.hpp>
#include <vector>

#include "client/run/comparison.h"
#include "common/base/error.h"
#include "tests/testing/folder_test.h"

namespace cacheinf {
namespace {

using Colour = std::array<uint8_t, 3>;

constexpr uint8_t kGrey = 100;
constexpr int kWidth = 60;
constexpr int kHeight = 40;

Picture GreyFrame(int channels) {
  return MakePicture(kWidth, kHeight, channels,
                     std::vector<uint8_t>(size_t{kWidth} * kHeight * channels, kGrey));
}

Colour At(const Picture& picture, int x, int y) {
  const uint8_t* pixel = picture.Row(y) + 3 * x;
  return {pixel[0], pixel[1], pixel[2]};
}

// Half the frame's grey and half the class's colour, rounded up.
Colour Blend(int index) {
  Colour blend;
  for (size_t c = 0; c < 3; ++c) {
    blend[c] = static_cast<uint8_t>((kGrey + ClassColour(index)[c] + 1) / 2);
  }
  return blend;
}

constexpr Colour kUntouched = {kGrey, kGrey, kGrey};

AnswerReader AnyReader() {
  Graph graph;
  graph.outputs = {graph.AddOne("out", op::Activation{}, {graph.AddInput("x", {1, 1, 1, 1})})};
  return AnswerReader(graph, {});
}

PictureFit FitOf(PictureSpec::Fit fit, int width, int height) {
  PictureSpec spec;
  spec.fit = fit;
  spec.width = width;
  spec.height = height;
  return PictureFit(spec, kWidth, kHeight);
}

Picture Draw(const AnswerContent& content, int channels = 3) {
  const PictureFit fit = FitOf(PictureSpec::Fit::kStretch, kWidth, kHeight);
  return DrawAnswer(GreyFrame(channels), fit, content, AnyReader());
}

TEST(OverlayTest, ColoursOfNeighbouringClassesDiffer) {
  for (int a = 0; a < 20; ++a) {
    for (int b = 0; b < a; ++b) EXPECT_NE(ClassColour(a), ClassColour(b)) << a << " " << b;
  }
}

TEST(OverlayTest, BlendsTheClassOfEveryPixelIn) {
  const ClassMap map{3, 2, {0, 1, 2, 3, 4, 5}};
  const Picture drawn = Draw(map);
  ASSERT_EQ(drawn.width, kWidth);
  ASSERT_EQ(drawn.height, kHeight);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      EXPECT_EQ(At(drawn, x, y), Blend(y * 2 / kHeight * 3 + x * 3 / kWidth)) << x << " " << y;
    }
  }
}

// The upper half of a frame that is cropped to the middle is class 0, the lower class 1, and what
// the model does not see stays as it is.
TEST(OverlayTest, LeavesWhatTheModelDoesNotSee) {
  const PictureFit fit = FitOf(PictureSpec::Fit::kCrop, 20, 20);
  const Picture drawn = DrawAnswer(GreyFrame(3), fit, ClassMap{1, 2, {0, 1}},
                                   AnyReader());  // columns 10 to 50 are seen
  EXPECT_EQ(At(drawn, 9, 5), kUntouched);
  EXPECT_EQ(At(drawn, 10, 19), Blend(0));
  EXPECT_EQ(At(drawn, 49, 20), Blend(1));
  EXPECT_EQ(At(drawn, 50, 20), kUntouched);
}

TEST(OverlayTest, FramesBoxesInTheColourOfTheirClass) {
  Detections detections;
  detections.boxes = {{{4, 0.5f}, 10, 20, 50, 30}};
  const Picture drawn = Draw(detections);
  for (const auto& [x, y] : {std::pair(50, 20), std::pair(10, 30), std::pair(50, 30)}) {
    EXPECT_EQ(At(drawn, x, y), ClassColour(4)) << x << " " << y;
  }
  EXPECT_EQ(At(drawn, 40, 25), kUntouched);
  EXPECT_EQ(At(drawn, 55, 25), kUntouched);
  EXPECT_EQ(At(drawn, 40, 35), kUntouched);
}

TEST(OverlayTest, ListsTheBestClassesAsLinesOfText) {
  const Picture drawn = Draw(Classification{{{3, 0.9f}, {5, 0.1f}}});
  EXPECT_EQ(At(drawn, 2, 4), ClassColour(3));
  EXPECT_EQ(At(drawn, 2, 28), ClassColour(5));
  EXPECT_EQ(At(drawn, 2, 38), kUntouched);
}

TEST(OverlayTest, PutsADotOnEveryKeypointThatHasAPlace) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Picture drawn =
      Draw(Keypoints{{{10.5, 20.5, 1}, {nan, nan, nan}, {kWidth, kHeight, 1}}, kWidth});
  EXPECT_EQ(At(drawn, 10, 20), ClassColour(0));
  EXPECT_EQ(At(drawn, 12, 20), ClassColour(0));
  EXPECT_EQ(At(drawn, 15, 20), kUntouched);
  EXPECT_EQ(At(drawn, 0, 0), kUntouched);
  EXPECT_EQ(At(drawn, kWidth - 1, kHeight - 1), ClassColour(2));
}

TEST(OverlayTest, DrawsNoKeypointOfABoxThatHasNoPlace) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Detections detections;
  detections.boxes = {{{4, 0.5f}, 10, 20, 50, 30}};
  const Picture without = Draw(detections);
  detections.boxes[0].keypoints = {{nan, 9, 1}, {9, nan, 1}, {1e300, 9, 1}, {9, -1e300, 1}};
  const Picture drawn = Draw(detections);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) EXPECT_EQ(At(drawn, x, y), At(without, x, y));
  }
}

TEST(OverlayTest, DrawsInColourOverGreyFrames) {
  EXPECT_EQ(At(Draw(ClassMap{1, 1, {2}}, 1), 7, 7), Blend(2));
  EXPECT_EQ(At(Draw(RawOutputs{}, 1), 7, 7), kUntouched);
}

// The left half was recomputed.
ClassMap LeftRecomputed() { return {2, 1, {255, 0}}; }

TEST(OverlayTest, OutlinesWhatWasRecomputed) {
  const PictureFit fit = FitOf(PictureSpec::Fit::kStretch, kWidth, kHeight);
  const Picture drawn = OutlineRecomputed(GreyFrame(1), fit, LeftRecomputed());
  constexpr Colour kWhite = {255, 255, 255};
  for (const int y : {0, kHeight / 2, kHeight - 1}) {
    EXPECT_EQ(At(drawn, 0, y), kWhite);
    EXPECT_EQ(At(drawn, kWidth / 2 - 1, y), kWhite);
    EXPECT_EQ(At(drawn, kWidth / 2, y), kUntouched);
    EXPECT_EQ(At(drawn, kWidth / 4, y), y == kHeight / 2 ? kUntouched : kWhite);
  }
}

TEST(OverlayTest, DarkensWhatWasKept) {
  const PictureFit fit = FitOf(PictureSpec::Fit::kLetterbox, 2 * kWidth, kHeight);
  // The model sees the frame in its middle half.
  const ClassMap levels = {4, 1, {255, 255, 127, 255}};
  const Picture drawn = DrawRecomputed(GreyFrame(3), fit, levels);
  EXPECT_EQ(At(drawn, kWidth / 4, 5), kUntouched);
  constexpr uint8_t kHalf = kGrey * (64 + 192 * 127 / 255) / 256;
  EXPECT_EQ(At(drawn, 3 * kWidth / 4, 5), (Colour{kHalf, kHalf, kHalf}));
}

using ComparisonTest = FolderTest;

TEST_F(ComparisonTest, ShowsFrameAnswerAndTruthSideBySide) {
  Frame frame;
  frame.picture = GreyFrame(3);
  const PictureFit fit = FitOf(PictureSpec::Fit::kStretch, kWidth, kHeight);
  WriteComparison(Path("two.png"), frame, fit, ClassMap{1, 1, {1}}, AnyReader());
  frame.truth = MakePicture(kWidth, kHeight, 1, std::vector<uint8_t>(size_t{kWidth} * kHeight, 4));
  WriteComparison(Path("three.png"), frame, fit, ClassMap{1, 1, {1}}, AnyReader());
  const ClassMap kept = {1, 1, {0}};
  WriteComparison(Path("four.png"), frame, fit, ClassMap{1, 1, {1}}, AnyReader(), &kept);

  constexpr int kGap = 4;
  EXPECT_EQ(cv::imread(Path("two.png")).cols, 2 * kWidth + kGap);
  const cv::Mat sheet = cv::imread(Path("three.png"));
  ASSERT_EQ(sheet.cols, 3 * kWidth + 2 * kGap);
  ASSERT_EQ(sheet.rows, kHeight);
  const auto middle = [&](int picture) {
    const auto& pixel = sheet.at<cv::Vec3b>(kHeight / 2, picture * (kWidth + kGap) + kWidth / 2);
    return Colour{pixel[0], pixel[1], pixel[2]};
  };
  EXPECT_EQ(middle(0), kUntouched);
  EXPECT_EQ(middle(1), Blend(1));
  EXPECT_EQ(middle(2), Blend(4));
  const cv::Mat longer = cv::imread(Path("four.png"));
  ASSERT_EQ(longer.cols, 4 * kWidth + 3 * kGap);
  EXPECT_EQ(longer.at<cv::Vec3b>(kHeight / 2, longer.cols - kWidth / 2)[0], kGrey / 4);
}

TEST_F(ComparisonTest, RefusesAPictureThatCannotBeWritten) {
  Frame frame;
  frame.picture = GreyFrame(3);
  const PictureFit fit = FitOf(PictureSpec::Fit::kStretch, kWidth, kHeight);
  EXPECT_THROW(WriteComparison("/nonexistent/x.png", frame, fit, RawOutputs{}, AnyReader()),
               InputError);
}

}  // namespace
}  // namespace cacheinf
