#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/tracker/block_tracker.h"
#include "tests/tracker/pictures.h"

namespace cacheinf {
namespace {

using Translation = BlockMatchingConfig::Translation;

constexpr int kSide = 227;

Motion TrackBlocks(const BlockMatchingConfig& config, const TestPicture& reference,
                   const TestPicture& frame) {
  BlockTracker tracker(config);
  tracker.SetReference(reference.view());
  return tracker.Track(frame.view());
}

TEST(BlockMatchingTest, FindsShiftsByWholePixelsExactly) {
  const World world(1);
  const TestPicture reference = Photograph(world, {}, kSide, kSide);
  for (const auto& [x, y] : {std::pair(0, 0), {1, 0}, {0, -2}, {3, 2}, {-4, 4}, {7, -5}}) {
    for (const int skip : {1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << x << ", " << y << ", skip " << skip);
      const TestPicture frame = Photograph(world, Shift(x, y), kSide, kSide);
      BlockMatchingConfig config;
      config.range = 8;
      config.skip = skip;
      const Motion motion = TrackBlocks(config, reference, frame);
      EXPECT_FALSE(motion.is_lost());
      EXPECT_EQ(CornerError(motion.reference_from_frame, Shift(x, y), kSide, kSide), 0);
      // All blocks match but those that lie partly outside the reference.
      EXPECT_GT(motion.match_ratio, 0.9 * (1 - 2 / 23.0));
    }
  }
}

TEST(BlockMatchingTest, AStillCameraStaysStillThoughSomethingMoves) {
  TestPicture reference = Photograph(World(4), {}, kSide, kSide);
  TestPicture frame = reference;
  Paste(World(5), {40, 150}, {30, 120}, &reference);
  Paste(World(5), {40, 150}, {40, 130}, &frame);
  EXPECT_TRUE(TrackBlocks({}, reference, frame).reference_from_frame.IsIdentity());
}

// The definition of a match, block by block.
int CountMatches(const TestPicture& reference, const TestPicture& frame, int shift_x, int shift_y,
                 int block, double psnr) {
  const auto grey = [](const TestPicture& picture, int y, int x) {
    const uint8_t* const p = picture.Pixel(y, x);
    return picture.channels == 1 ? int{p[0]} : (p[0] + 2 * p[1] + p[2] + 2) / 4;
  };
  int matches = 0;
  for (int top = 0; top < frame.height; top += block) {
    for (int left = 0; left < frame.width; left += block) {
      double squares = 0;
      int pixels = 0;
      bool is_inside = true;
      for (int y = top; y < std::min(top + block, frame.height); ++y) {
        for (int x = left; x < std::min(left + block, frame.width); ++x) {
          if (y + shift_y < 0 || y + shift_y >= frame.height || x + shift_x < 0 ||
              x + shift_x >= frame.width) {
            is_inside = false;
            continue;
          }
          const int difference = grey(frame, y, x) - grey(reference, y + shift_y, x + shift_x);
          squares += difference * difference;
          ++pixels;
        }
      }
      if (!is_inside) continue;
      if (squares == 0 || 10 * std::log10(255.0 * 255.0 * pixels / squares) > psnr) ++matches;
    }
  }
  return matches;
}

TEST(BlockMatchingTest, CountsTheBlocksWhoseSignalToNoiseRatioIsLargeEnough) {
  for (const int channels : {1, 3}) {
    for (const int block : {5, 8, 10, 16, 33}) {
      const World world(6);
      const TestPicture reference = Photograph(world, {}, 120, 97, channels);
      TestPicture frame = Photograph(world, Shift(2, 1), 120, 97, channels);
      AddNoise(25, 2, &frame);  // about 20 decibels
      BlockMatchingConfig config;
      config.block = block;
      const Motion motion = TrackBlocks(config, reference, frame);
      ASSERT_FALSE(motion.is_lost());
      const int x = static_cast<int>(motion.reference_from_frame.m[0][2]);
      const int y = static_cast<int>(motion.reference_from_frame.m[1][2]);
      const int blocks = ((120 + block - 1) / block) * ((97 + block - 1) / block);
      EXPECT_DOUBLE_EQ(motion.match_ratio * blocks,
                       CountMatches(reference, frame, x, y, block, config.psnr))
          << block;
    }
  }
}

TEST(BlockMatchingTest, TheMeanIsTheMeanOfTheMatches) {
  // Half of the blocks move by 4, the others not at all.
  TestPicture reference = Photograph(World(7), {}, 160, 80);
  TestPicture frame = reference;
  const TestPicture moved = Photograph(World(7), Shift(4, 0), 160, 80);
  for (int y = 0; y < 80; ++y) {
    for (int x = 0; x < 80; ++x) std::copy_n(moved.Pixel(y, x), 3, frame.Pixel(y, x));
  }
  BlockMatchingConfig config;
  config.translation = Translation::kMean;
  config.skip = 1;
  const Motion mean = TrackBlocks(config, reference, frame);
  EXPECT_EQ(mean.reference_from_frame.m[0][2], 2);
  config.translation = Translation::kBest;
  const Motion best = TrackBlocks(config, reference, frame);
  EXPECT_NE(best.reference_from_frame.m[0][2], 2);
}

TEST(BlockMatchingTest, TheRatioIsThatOfTheMatchingBlocks) {
  const TestPicture reference = Photograph(World(8), {}, 100, 70);
  TestPicture frame = reference;
  Fill({20, 40}, {30, 60}, 255, &frame);
  BlockTracker tracker{BlockMatchingConfig()};
  tracker.SetReference(reference.view());
  EXPECT_DOUBLE_EQ(tracker.Track(frame.view()).match_ratio, 64 / 70.0);
}

TEST(BlockMatchingTest, WhatMatchesNowhereIsLost) {
  const TestPicture black(kSide, kSide, 3);
  const TestPicture white(kSide, kSide, 3, 255);
  EXPECT_EQ(TrackBlocks({}, black, white).loss, Loss::kTooDifferent);
  EXPECT_TRUE(TrackBlocks({}, black, black).reference_from_frame.IsIdentity());
  EXPECT_EQ(TrackBlocks({}, black, TestPicture(kSide, kSide, 1)).loss, Loss::kNoReference);
  EXPECT_EQ(TrackBlocks({}, TestPicture(1, 1, 3), TestPicture(1, 1, 3)).match_ratio, 1);
  BlockTracker tracker{BlockMatchingConfig()};
  tracker.SetReferenceToLastFrame();
  EXPECT_EQ(tracker.Track(black.view()).loss, Loss::kNoReference);
  tracker.SetReferenceToLastFrame();
  EXPECT_EQ(tracker.Track(black.view()).match_ratio, 1);
}

}  // namespace
}  // namespace cacheinf
