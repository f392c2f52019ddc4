#include "common/tracker/homography_tracker.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <opencv2/core.hpp>
#include <random>
#include <string>
#include <vector>

#include "common/reuse/change_finder.h"
#include "common/reuse/picture_warp.h"
#include "common/source/scenes.h"
#include "common/tracker/consensus.h"
#include "common/tracker/motion_fit.h"
#include "sparse_ops/mask/mask.h"
#include "tests/tracker/pictures.h"

namespace cacheinf {
namespace {

constexpr int kWidth = 640;
constexpr int kHeight = 480;
constexpr double kCornerError = 0.5;  // pixels that the corners may be off

// Camera motions between two frames, given as where a pixel of the frame lies in the reference.
struct NamedMotion {
  const char* name;
  Homography reference_from_frame;
};
const std::array kMotions = {
    NamedMotion{"shift", Shift(7.3, -4.6)},
    NamedMotion{"turn", Turn(0.03, 1.0, 320, 240, 3, 5)},
    NamedMotion{"zoom", Turn(0.0, 1.05, 320, 240, 0, 0)},
    NamedMotion{"tilt", {{{1.01, 0.004, 2.5}, {-0.006, 0.99, 6}, {1.5e-5, -2e-5, 1}}}},
    NamedMotion{"far", Shift(38, 21)},
};

Motion Track(const TestPicture& reference, const TestPicture& frame) {
  HomographyTracker tracker;
  tracker.SetReference(reference.view());
  return tracker.Track(frame.view());
}

TEST(HomographyTrackerTest, FindsKnownMotions) {
  const World world(1);
  const TestPicture reference = Photograph(world, {}, kWidth, kHeight);
  for (const NamedMotion& motion : kMotions) {
    SCOPED_TRACE(motion.name);
    TestPicture frame = Photograph(world, motion.reference_from_frame, kWidth, kHeight);
    AddNoise(3, 5, &frame);
    const Motion found = Track(reference, frame);
    EXPECT_STREQ(NameOf(found.loss), "none");
    EXPECT_LT(CornerError(found.reference_from_frame, motion.reference_from_frame, kWidth, kHeight),
              kCornerError);
    EXPECT_FALSE(found.reference_from_frame.IsIdentity());
    EXPECT_EQ(found.light.gain, 1);
    EXPECT_EQ(found.light.offset, 0);
    EXPECT_GT(found.match_ratio, 0.5);
  }
}

TEST(HomographyTrackerTest, GreyPicturesOfOddSizesAreTrackedToo) {
  const World world(2);
  const Homography motion = Shift(-3, 4);
  const TestPicture reference = Photograph(world, {}, 227, 229, 1);
  const TestPicture frame = Photograph(world, motion, 227, 229, 1);
  const Motion found = Track(reference, frame);
  EXPECT_STREQ(NameOf(found.loss), "none");
  EXPECT_LT(CornerError(found.reference_from_frame, motion, 227, 229), kCornerError);
}

TEST(HomographyTrackerTest, AStillCameraIsExactlyStillWhateverMovesBeforeIt) {
  const World world(3);
  TestPicture reference = Photograph(world, {}, kWidth, kHeight);
  TestPicture frame = reference;
  Paste(World(4), {100, 300}, {80, 300}, &reference);
  Paste(World(4), {100, 300}, {110, 330}, &frame);
  for (const double noise : {0.0, 2.0, 6.0}) {
    SCOPED_TRACE(noise);
    TestPicture noisy_reference = reference;
    TestPicture noisy_frame = frame;
    AddNoise(noise, 6, &noisy_reference);
    AddNoise(noise, 7, &noisy_frame);
    const Motion found = Track(noisy_reference, noisy_frame);
    EXPECT_STREQ(NameOf(found.loss), "none");
    EXPECT_TRUE(found.reference_from_frame.IsIdentity());
    EXPECT_EQ(found.light.gain, 1);
    EXPECT_EQ(found.light.offset, 0);
  }
}

TEST(HomographyTrackerTest, FindsTheLightAndThenAlmostNothingIsActive) {
  const World world(8);
  const TestPicture reference = Photograph(world, {}, kWidth, kHeight);
  for (const auto& [gain, offset] : {std::pair(1.2, -10.0), {0.75, 20.0}, {1.0, 30.0}}) {
    for (const NamedMotion& motion : {NamedMotion{"still", {}}, kMotions[0], kMotions[1]}) {
      SCOPED_TRACE(std::string(motion.name) + ", gain " + std::to_string(gain));
      TestPicture frame = Photograph(world, motion.reference_from_frame, kWidth, kHeight);
      ChangeLight(gain, offset, &frame);
      // A bright object must not be taken for light.
      Fill({0, 120}, {0, 160}, 250, &frame);
      const Motion found = Track(reference, frame);
      ASSERT_STREQ(NameOf(found.loss), "none");
      EXPECT_NEAR(found.light.gain, gain, 0.03);
      // Compare at medium brightness.
      EXPECT_NEAR(found.light.gain * 128 + found.light.offset, gain * 128 + offset, 2);

      TestPicture aligned(kWidth, kHeight, 3);
      Mask out_of_view(kHeight, kWidth);
      WarpPicture(reference.view(), found.reference_from_frame, aligned.pixels.data(), out_of_view);
      ChangeLight(found.light.gain, found.light.offset, &aligned);
      ChangeFinder finder({}, kWidth, kHeight, 3);
      Mask active(kHeight, kWidth);
      finder.Find(frame.view(), aligned.view(), out_of_view, active);
      Mask expected(kHeight, kWidth);  // what was filled, and what came into view
      SetRectangle({0, 128}, {0, 168}, expected);
      SetRectangle({0, 24}, {0, kWidth}, expected);
      SetRectangle({kHeight - 24, kHeight}, {0, kWidth}, expected);
      SetRectangle({0, kHeight}, {0, 24}, expected);
      SetRectangle({0, kHeight}, {kWidth - 24, kWidth}, expected);
      Mask surplus(kHeight, kWidth);
      Subtract(active, expected, surplus);
      EXPECT_LT(CountActive(surplus), kWidth * kHeight / 100);
    }
  }
}

// A wall has nothing on it to follow.
TEST(HomographyTrackerTest, WithNothingToFollowAChangeOfLightIsNoMotion) {
  TestPicture wall(kWidth, kHeight, 3, 120);
  for (int x = 0; x < kWidth; x += 4) {
    Fill({0, kHeight}, {x, x + 4}, static_cast<uint8_t>(100 + x / 16), &wall);
  }
  TestPicture dark = wall;
  ChangeLight(0.8, 0, &dark);
  const Motion found = Track(wall, dark);
  EXPECT_STREQ(NameOf(found.loss), "none");
  EXPECT_TRUE(found.reference_from_frame.IsIdentity());
  EXPECT_NEAR(found.light.gain * 120 + found.light.offset, 96, 1.5);
}

TEST(HomographyTrackerTest, WhatCannotBeTrackedIsLostForAReason) {
  const TestPicture scene = Photograph(World(10), {}, kWidth, kHeight);
  const TestPicture other_scene = Photograph(World(11), {}, kWidth, kHeight);
  const TestPicture black(kWidth, kHeight, 3);
  const TestPicture white(kWidth, kHeight, 3, 255);
  TestPicture noise(kWidth, kHeight, 3, 128);
  AddNoise(80, 1, &noise);
  TestPicture other_noise(kWidth, kHeight, 3, 128);
  AddNoise(80, 2, &other_noise);

  const std::vector<std::pair<const TestPicture*, const TestPicture*>> pairs = {
      {&scene, &black},       {&black, &scene}, {&scene, &white},       {&white, &scene},
      {&scene, &other_scene}, {&scene, &noise}, {&noise, &other_noise}, {&black, &white},
  };
  for (size_t i = 0; i < pairs.size(); ++i) {
    SCOPED_TRACE(i);
    const Motion found = Track(*pairs[i].first, *pairs[i].second);
    EXPECT_TRUE(found.is_lost());
    EXPECT_TRUE(found.reference_from_frame.IsIdentity());
  }
  EXPECT_EQ(Track(black, white).loss, Loss::kFewFeatures);
  EXPECT_EQ(Track(black, scene).loss, Loss::kFewFeatures);
  EXPECT_EQ(Track(noise, other_noise).loss, Loss::kFewInliers);
}

TEST(HomographyTrackerTest, OddShapesAreAnsweredToo) {
  HomographyTracker tracker;
  const TestPicture picture = Photograph(World(12), {}, 64, 48);
  EXPECT_EQ(tracker.Track(picture.view()).loss, Loss::kNoReference);
  tracker.SetReference(picture.view());
  const TestPicture grey(64, 48, 1);
  EXPECT_EQ(tracker.Track(grey.view()).loss, Loss::kNoReference);
  for (const auto& [width, height] : {std::pair(1, 1), {1, 500}, {500, 1}, {3, 3}, {33, 33}}) {
    SCOPED_TRACE(width);
    const TestPicture reference = Photograph(World(13), {}, width, height);
    TestPicture frame = reference;
    ChangeLight(-1, 255, &frame);
    tracker.SetReference(reference.view());
    EXPECT_TRUE(tracker.Track(reference.view()).reference_from_frame.IsIdentity());
    EXPECT_TRUE(tracker.Track(frame.view()).reference_from_frame.IsIdentity());
    tracker.SetReferenceToLastFrame();
    EXPECT_FALSE(tracker.Track(frame.view()).is_lost());
  }
}

TEST(HomographyTrackerTest, ARepeatedFrameIsStillEvenIfItIsBlack) {
  const TestPicture black(kWidth, kHeight, 3);
  const Motion found = Track(black, black);
  EXPECT_FALSE(found.is_lost());
  EXPECT_TRUE(found.reference_from_frame.IsIdentity());

  // A blank wall, with the sensor's noise.
  TestPicture wall(kWidth, kHeight, 3, 140);
  TestPicture wall_again = wall;
  AddNoise(2, 3, &wall);
  AddNoise(2, 4, &wall_again);
  EXPECT_TRUE(Track(wall, wall_again).reference_from_frame.IsIdentity());
}

TEST(HomographyTrackerTest, ALostFrameLeavesTheReference) {
  const World world(14);
  const TestPicture reference = Photograph(world, {}, kWidth, kHeight);
  const TestPicture black(kWidth, kHeight, 3);
  const Homography motion = Shift(6, 2);
  const TestPicture frame = Photograph(world, motion, kWidth, kHeight);
  HomographyTracker tracker;
  tracker.SetReference(reference.view());
  EXPECT_TRUE(tracker.Track(black.view()).is_lost());
  const Motion found = tracker.Track(frame.view());
  EXPECT_STREQ(NameOf(found.loss), "none");
  EXPECT_LT(CornerError(found.reference_from_frame, motion, kWidth, kHeight), kCornerError);
}

TEST(HomographyTrackerTest, TheLastFrameAsReferenceIsAsGoodAsItsPixels) {
  const World world(15);
  const TestPicture first = Photograph(world, {}, kWidth, kHeight);
  const TestPicture second = Photograph(world, Shift(4, 3), kWidth, kHeight);
  const TestPicture third = Photograph(world, Shift(9, 5), kWidth, kHeight);
  HomographyTracker by_frame;
  by_frame.SetReferenceToLastFrame();  // there is none
  by_frame.SetReference(first.view());
  by_frame.Track(second.view());
  by_frame.SetReferenceToLastFrame();
  HomographyTracker by_pixels;
  by_pixels.SetReference(second.view());
  const Homography a = by_frame.Track(third.view()).reference_from_frame;
  const Homography b = by_pixels.Track(third.view()).reference_from_frame;
  EXPECT_EQ(CornerError(a, b, kWidth, kHeight), 0);
  EXPECT_LT(CornerError(a, Shift(5, 2), kWidth, kHeight), kCornerError);

  // A frame that needed no features can become the reference, too.
  by_frame.SetReference(second.view());
  by_frame.Track(second.view());
  by_frame.SetReferenceToLastFrame();
  const Homography c = by_frame.Track(third.view()).reference_from_frame;
  EXPECT_EQ(CornerError(c, b, kWidth, kHeight), 0);
}

TEST(HomographyTrackerTest, GivesTheSameBitsAgainAndWithAnyNumberOfOpenCvThreads) {
  SceneOptions options;
  options.width = kWidth;
  options.height = kHeight;
  options.camera = CameraMotion::kTravel;
  options.noise = 3;
  const Scene scene(options);
  const auto homographies = [&](int threads) {
    HomographyTracker tracker;
    cv::setNumThreads(threads);
    std::vector<double> numbers;
    TestPicture picture(kWidth, kHeight, 3);
    for (int frame = 0; frame < 4; ++frame) {
      scene.Render(frame, picture.pixels.data(), nullptr);
      if (frame == 0) {
        tracker.SetReference(picture.view());
        continue;
      }
      const Motion motion = tracker.Track(picture.view());
      EXPECT_FALSE(motion.is_lost());
      for (const auto& row : motion.reference_from_frame.m) {
        numbers.insert(numbers.end(), row, row + 3);
      }
      numbers.insert(numbers.end(), {motion.light.gain, motion.light.offset, motion.match_ratio});
    }
    cv::setNumThreads(1);
    return numbers;
  };
  const std::vector<double> once = homographies(1);
  EXPECT_EQ(once, homographies(1));
  EXPECT_EQ(once, homographies(4));
}

TEST(HomographyTrackerTest, StartsNoThreads) {
  const auto threads = [] {
    int count = 0;
    for ([[maybe_unused]] const auto& task :
         std::filesystem::directory_iterator("/proc/self/task")) {
      ++count;
    }
    return count;
  };
  const World world(16);
  const TestPicture reference = Photograph(world, {}, kWidth, kHeight);
  const TestPicture frame = Photograph(world, Shift(5, 5), kWidth, kHeight);
  // In a process of its own, because other tests may have started threads in this one.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const HomographyTracker first;  // limits OpenCV's threads from then on
        const int before = threads();
        Track(reference, frame);
        std::_Exit(threads() == before ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(HomographyJudgeTest, RefusesWhatNoCameraSees) {
  const auto judge = [](const Homography& homography) {
    return Judge(homography, kWidth, kHeight);
  };
  EXPECT_EQ(judge({}), Loss::kNone);
  EXPECT_EQ(judge(Shift(200, -100)), Loss::kNone);
  EXPECT_EQ(judge(Shift(600, 0)), Loss::kLittleOverlap);
  EXPECT_EQ(judge(Turn(0, 2.5, 320, 240, 0, 0)), Loss::kDegenerate);
  EXPECT_EQ(judge(Turn(0, 0.3, 320, 240, 0, 0)), Loss::kDegenerate);
  EXPECT_EQ(judge({{{-1, 0, 640}, {0, 1, 0}, {0, 0, 1}}}), Loss::kDegenerate);        // mirrored
  EXPECT_EQ(judge({{{1, 0, 0}, {0, 1, 0}, {-1.0 / 300, 0, 1}}}), Loss::kDegenerate);  // folded
  EXPECT_EQ(judge({{{1, 1, 0}, {1, 1, 0}, {0, 0, 1}}}), Loss::kDegenerate);           // flat
  EXPECT_EQ(judge({{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}}), Loss::kDegenerate);
  EXPECT_EQ(judge(Shift(std::nan(""), 0)), Loss::kDegenerate);
}

TEST(ConsensusTest, FindsTheHomographyAmongStrangers) {
  const Homography truth = {{{1.01, 0.004, 2.5}, {-0.006, 0.99, 6}, {1.5e-5, -2e-5, 1}}};
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    for (const int strangers : {0, 50, 90}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", strangers " << strangers);
      std::mt19937 random(seed);
      std::uniform_real_distribution<float> x(0, kWidth / 2.0f);
      std::uniform_real_distribution<float> y(0, kHeight / 2.0f);
      std::normal_distribution<float> noise(0, 0.2f);
      PointPairs pairs;
      for (int i = 0; i < 160; ++i) {
        const cv::Point2f point(x(random), y(random));
        pairs.frame.push_back(point);
        if (i < strangers) {
          pairs.reference.emplace_back(x(random), y(random));
          continue;
        }
        const auto& m = truth.m;
        const double w = m[2][0] * point.x + m[2][1] * point.y + 1;
        pairs.reference.emplace_back(
            static_cast<float>((m[0][0] * point.x + m[0][1] * point.y + m[0][2]) / w) +
                noise(random),
            static_cast<float>((m[1][0] * point.x + m[1][1] * point.y + m[1][2]) / w) +
                noise(random));
      }
      const Consensus consensus = FindConsensus(pairs, 1);
      EXPECT_GE(consensus.count, static_cast<size_t>(160 - strangers - 2));
      EXPECT_LT(CornerError(consensus.reference_from_frame, truth, kWidth / 2, kHeight / 2), 0.8);
    }
  }
}

TEST(HomographyJudgeTest, PointsWithoutAMotionInCommonAreLost) {
  std::mt19937 random(17);
  std::uniform_real_distribution<float> place(0, 300);
  PointPairs pairs;
  for (int i = 0; i < 100; ++i) {
    pairs.reference.emplace_back(place(random), place(random));
    pairs.frame.emplace_back(place(random), place(random));
  }
  const auto loss = [](const PointPairs& points) {
    return FitHomography(points, 320, 240, /*factor=*/2).loss;
  };
  EXPECT_EQ(loss(pairs), Loss::kFewInliers);
  // Points on one line, or at one place, determine no homography.
  for (const float step : {3.0f, 0.0f}) {
    pairs.Clear();
    for (int i = 0; i < 50; ++i) {
      const float t = 10 + step * static_cast<float>(i);
      pairs.reference.emplace_back(t + 20, t);
      pairs.frame.emplace_back(t, t);
    }
    EXPECT_NE(loss(pairs), Loss::kNone);
  }
  EXPECT_EQ(loss({}), Loss::kFewInliers);
}

}  // namespace
}  // namespace cacheinf
