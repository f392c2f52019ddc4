#include "client/tracker/tracker.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "client/tracker/scripted_tracker.h"
#include "tests/client/tracker_pictures.h"

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
  EXPECT_TRUE(by_homography.matched.empty());
  const Motion by_blocks = track(TrackerConfig::Kind::kBlock);
  EXPECT_EQ(by_blocks.reference_from_frame.m[0][2], 3);
  EXPECT_GT(by_blocks.match_ratio, 0.5);
  const Motion by_none = track(TrackerConfig::Kind::kNone);
  EXPECT_TRUE(by_none.reference_from_frame.IsIdentity());
  EXPECT_FALSE(by_none.is_lost());
}

TEST(TrackerTest, AScriptIsFollowedToItsLastMotion) {
  Motion shifted;
  shifted.reference_from_frame = Shift(2, 0);
  Motion lost;
  lost.loss = Loss::kDegenerate;
  ScriptedTracker tracker({shifted, {}, lost});
  const TestPicture picture(8, 8, 3);
  tracker.SetReference(picture.view());
  EXPECT_EQ(tracker.Track(picture.view()).reference_from_frame.m[0][2], 2);
  EXPECT_TRUE(tracker.Track(picture.view()).reference_from_frame.IsIdentity());
  EXPECT_TRUE(tracker.Track(picture.view()).is_lost());
  tracker.SetReferenceToLastFrame();
  EXPECT_TRUE(tracker.Track(picture.view()).is_lost());
  EXPECT_EQ(tracker.references(), 2);
}

TEST(TrackerTest, EveryLossHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int loss = 0; loss < kLossCount; ++loss) names.insert(NameOf(static_cast<Loss>(loss)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kLossCount));
  EXPECT_FALSE(names.contains(""));
}

}  // namespace
}  // namespace cacheinf
