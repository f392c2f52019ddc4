#include "common/answer/seen_picture.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/tracker/pictures.h"

// Answers are carried from what the network saw back to the frame.

namespace cacheinf {
namespace {

TEST(SeenPictureTest, WithoutACanvasABoxGoesThroughTheFitAlone) {
  PictureSpec spec;
  spec.width = 100;
  spec.height = 50;
  const PictureFit fit(spec, 200, 200);
  const SeenPicture seen = {&fit, {}};
  const Detection box = seen.InFrame(Detection{{3, 0.5f}, 10, 10, 20, 30});
  EXPECT_EQ(box.label.index, 3);
  EXPECT_DOUBLE_EQ(box.left, 20);
  EXPECT_DOUBLE_EQ(box.right, 40);
  EXPECT_DOUBLE_EQ(box.top, 40);
  EXPECT_DOUBLE_EQ(box.bottom, 120);
}

TEST(SeenPictureTest, ABoxMovesAsTheCanvasDoes) {
  const SeenPicture seen = {nullptr, Shift(-7, 4)};
  const Detection box = seen.InFrame(Detection{{}, 10, 10, 20, 30});
  EXPECT_DOUBLE_EQ(box.left, 3);
  EXPECT_DOUBLE_EQ(box.right, 13);
  EXPECT_DOUBLE_EQ(box.top, 14);
  EXPECT_DOUBLE_EQ(box.bottom, 34);
}

TEST(SeenPictureTest, ATurnedBoxIsHeldByTheBoxAroundIt) {
  Homography quarter;  // (x, y) to (-y, x), about the centre of the first pixel
  quarter.m[0][0] = quarter.m[1][1] = 0;
  quarter.m[0][1] = -1;
  quarter.m[1][0] = 1;
  const SeenPicture seen = {nullptr, quarter};
  const Detection box = seen.InFrame(Detection{{}, 10.5, 20.5, 12.5, 25.5});
  EXPECT_DOUBLE_EQ(box.left, -24.5);
  EXPECT_DOUBLE_EQ(box.right, -19.5);
  EXPECT_DOUBLE_EQ(box.top, 10.5);
  EXPECT_DOUBLE_EQ(box.bottom, 12.5);
}

TEST(SeenPictureTest, AKeypointWithoutAPlaceStaysWithout) {
  const SeenPicture seen = {nullptr, Shift(1, 1)};
  EXPECT_TRUE(std::isnan(seen.InFrame(Keypoint{NAN, NAN, NAN}).x));
  EXPECT_DOUBLE_EQ(seen.InFrame(Keypoint{2, 3, 1}).x, 3);
}

TEST(SeenPictureTest, AMapIsReadWhereItsPixelsWereSeenAndRepeatsItsEdge) {
  // A map of half the model's resolution; the model shows what was seen two pixels further right.
  ClassMap map;
  map.width = 4;
  map.height = 1;
  map.classes = {0, 1, 2, 3};
  const SeenPicture seen = {nullptr, Shift(-2, 0)};
  EXPECT_EQ(seen.InModel(map, 8, 2).classes, (std::vector<int32_t>{1, 2, 3, 3}));
  const SeenPicture same = {nullptr, {}};
  EXPECT_EQ(same.InModel(map, 8, 2).classes, map.classes);
}

// A frame in the middle of a letterbox, seen a pixel further left. Bars have the classes of bars;
// what was out of view has the class at the frame's edge, not a bar's.
TEST(SeenPictureTest, AMapIsReadWithinTheFramesPlace) {
  PictureSpec spec;
  spec.width = 8;
  spec.height = 2;
  spec.fit = PictureSpec::Fit::kLetterbox;
  const PictureFit fit(spec, 4, 2);
  ClassMap map;
  map.width = 8;
  map.height = 1;
  map.classes = {10, 11, 1, 2, 3, 4, 12, 13};
  const SeenPicture seen = {&fit, Shift(-1, 0)};
  EXPECT_EQ(seen.InModel(map, 8, 2).classes, (std::vector<int32_t>{10, 11, 2, 3, 4, 4, 12, 13}));
}

}  // namespace
}  // namespace cacheinf
