// Read this first: trackers say how the camera moved and where the picture changed.

#include "common/tracker/tracker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "common/tracker/grey_picture.h"
#include "tests/tracker/pictures.h"

namespace cacheinf {
namespace {

TEST(TrackerTest, TheConfigurationChoosesTheTracker) {
  const World world(1);
  const TestPicture reference = Photograph(world, {}, 160, 120);
  const TestPicture frame = Photograph(world, Shift(3, 0), 160, 120);
  const auto track = [&](TrackerConfig::Kind kind) {
    TrackerConfig config;
    config.kind = kind;
    const auto tracker = MakeTracker(config);
    tracker->SetReference(reference.view());
    return tracker->Track(frame.view());
  };
  const Motion by_homography = track(TrackerConfig::Kind::kHomography);
  EXPECT_NEAR(by_homography.reference_from_frame.m[0][2], 3, 0.5);
  const Motion by_blocks = track(TrackerConfig::Kind::kBlock);
  EXPECT_EQ(by_blocks.reference_from_frame.m[0][2], 3);
  EXPECT_GT(by_blocks.match_ratio, 0.5);
}

TEST(TrackerTest, EveryLossHasANameOfItsOwn) {
  const auto words = WordsOf(Loss());
  const std::set<std::string> names(words.begin(), words.end());
  EXPECT_EQ(names.size(), static_cast<size_t>(Loss::kTooDifferent) + 1);
  EXPECT_FALSE(names.contains(""));
}

TEST(SquareMeansTest, ASquareBetweenPixelsIsTheMeanOfItsParts) {
  const TestPicture picture = Photograph(World(2), {}, 23, 17, 1);
  GreyPicture grey;
  grey.Assign(picture.view(), 1);
  SquareMeans means;
  means.Assign(grey);
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const int side = std::uniform_int_distribution<int>(1, 17)(random);
    const double left = std::uniform_int_distribution<int>(0, 4 * (23 - side))(random) / 4.0;
    const double top = std::uniform_int_distribution<int>(0, 4 * (17 - side))(random) / 4.0;
    double sum = 0;
    for (int y = 0; y < 17; ++y) {
      for (int x = 0; x < 23; ++x) {
        const double columns = std::min(x + 1.0, left + side) - std::max<double>(x, left);
        const double rows = std::min(y + 1.0, top + side) - std::max<double>(y, top);
        sum += std::max(0.0, columns) * std::max(0.0, rows) * *picture.Pixel(y, x);
      }
    }
    EXPECT_NEAR(means.Mean(left, top, side), sum / (side * side), 1e-9)
        << left << " " << top << " " << side;
  }
}

}  // namespace
}  // namespace cacheinf
