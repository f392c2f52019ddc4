#include "client/answer/watched.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "sparse_ops/mask/mask.h"

// Which parts of a picture an answer to it hangs on.

namespace cacheinf {
namespace {

Mask Watched(const AnswerContent& answer, double margin, int width, int height) {
  Mask mask(height, width);
  for (const Rectangle& part : PartsToWatch(answer, margin, width, height)) {
    EXPECT_GE(part.rows.begin, 0);
    EXPECT_LE(part.rows.end, height);
    EXPECT_GE(part.columns.begin, 0);
    EXPECT_LE(part.columns.end, width);
    SetRectangle(part.rows, part.columns, mask);
  }
  return mask;
}

TEST(WatchedTest, BoxesAreEnlargedAndClipped) {
  Detections found;
  found.boxes.push_back({{}, 10, 20, 30, 30});
  found.boxes.push_back({{}, 90, 50, 98, 58});
  const auto parts = PartsToWatch(found, 0.5, 100, 60);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].rows, (Range{15, 35}));
  EXPECT_EQ(parts[0].columns, (Range{0, 40}));
  EXPECT_EQ(parts[1].rows, (Range{46, 60}));
  EXPECT_EQ(parts[1].columns, (Range{86, 100}));
}

// A map of a quarter of the picture's sides, with one object in it: the pixels beside its border,
// theirs beside those, and nothing in its middle or far from it.
TEST(WatchedTest, OfAMapThePixelsAtBordersBetweenClasses) {
  ClassMap map;
  map.width = 20;
  map.height = 15;
  map.classes.assign(300, 0);
  const auto is_object = [](int y, int x) { return y >= 4 && y < 12 && x >= 6 && x < 15; };
  for (int y = 0; y < 15; ++y) {
    for (int x = 0; x < 20; ++x) map.classes[static_cast<size_t>(y * 20 + x)] = is_object(y, x);
  }
  const auto is_beside_border = [&](int y, int x) {
    return is_object(y, x) != is_object(y - 1, x) || is_object(y, x) != is_object(y + 1, x) ||
           is_object(y, x) != is_object(y, x - 1) || is_object(y, x) != is_object(y, x + 1);
  };
  const Mask mask = Watched(map, 0.1, 80, 60);
  const ConstMaskView watched = mask;
  int count = 0;
  for (int y = 0; y < 15; ++y) {
    for (int x = 0; x < 20; ++x) {
      bool is_expected = false;
      for (int i = 0; i < 9; ++i) {
        is_expected = is_expected || is_beside_border(y + i / 3 - 1, x + i % 3 - 1);
      }
      count += is_expected ? 1 : 0;
      for (int i = 0; i < 16; ++i) {
        ASSERT_EQ(watched.Test(4 * y + i / 4, 4 * x + i % 4), is_expected) << y << ", " << x;
      }
    }
  }
  EXPECT_GT(count, 50);
  EXPECT_LT(count, 150);
}

TEST(WatchedTest, AMapOfOneClassHasNothingToWatch) {
  ClassMap map;
  map.width = 4;
  map.height = 4;
  map.classes.assign(16, 3);
  EXPECT_TRUE(PartsToWatch(map, 0.1, 8, 8).empty());
}

TEST(WatchedTest, MapsOfOddSizesCoverAllThatLiesOverTheirPixels) {
  ClassMap map;
  map.width = 3;
  map.height = 1;
  map.classes = {0, 0, 1};
  const Mask mask = Watched(map, 0, 10, 7);
  EXPECT_EQ(CountActive(std::as_const(mask)), 70);  // all three: two at the border, one beside them
  map.width = 5;
  map.classes = {0, 0, 0, 0, 1};
  const Mask half = Watched(map, 0, 7, 1);
  EXPECT_FALSE(std::as_const(half).view().Test(0, 1));
  EXPECT_TRUE(std::as_const(half).view().Test(0, 2));  // the map's pixel 2 begins in it
}

TEST(WatchedTest, SquaresAroundKeypointsThatHaveAPlace) {
  Keypoints keypoints;
  keypoints.points.push_back({50, 30, 1});
  keypoints.points.push_back({NAN, NAN, NAN});
  keypoints.points.push_back({2, 58, 1});
  const auto parts = PartsToWatch(keypoints, 0.1, 100, 60);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].rows, (Range{20, 40}));
  EXPECT_EQ(parts[0].columns, (Range{40, 60}));
  EXPECT_EQ(parts[1].rows, (Range{48, 60}));
  EXPECT_EQ(parts[1].columns, (Range{0, 12}));
}

TEST(WatchedTest, AnswersToTheWholePictureHaveNoParts) {
  EXPECT_FALSE(CanBeWatched(AnswerReader::Kind::kClassification));
  EXPECT_FALSE(CanBeWatched(AnswerReader::Kind::kRaw));
  EXPECT_TRUE(CanBeWatched(AnswerReader::Kind::kSegmentation));
  EXPECT_TRUE(PartsToWatch(Classification(), 0.1, 8, 8).empty());
}

}  // namespace
}  // namespace cacheinf
