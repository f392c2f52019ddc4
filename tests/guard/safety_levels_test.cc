#include "common/guard/safety_levels.h"

#include <gtest/gtest.h>

#include "common/reuse/settings.h"

namespace cacheinf {
namespace {

using Level = SafetyLevel;

// Four samples, a patience of three, an agreement of at least .8.
SafetyLevels FourLevels() { return SafetyLevels(LevelsFor(Resolve({}, {})), 4, 3, 0.8); }

// Adds the same sample this many times. Returns how often the level changed.
int AddTimes(SafetyLevels& levels, int times, double agreement) {
  int changes = 0;
  for (int i = 0; i < times; ++i) changes += levels.Add({agreement, 1}) ? 1 : 0;
  return changes;
}

TEST(SafetyLevelsTest, GoodSamplesKeepTheNormalLevel) {
  SafetyLevels levels = FourLevels();
  EXPECT_FALSE(levels.estimate());
  EXPECT_EQ(AddTimes(levels, 100, 0.8), 0);
  EXPECT_EQ(levels.level(), Level::kNormal);
  EXPECT_FALSE(levels.is_in_doubt());
  EXPECT_NEAR(*levels.estimate(), 0.8, 1e-12);
}

TEST(SafetyLevelsTest, TwoBadSamplesAreOneLevelAndEndAtDense) {
  SafetyLevels levels = FourLevels();
  EXPECT_FALSE(levels.Add({0.7, 1}));
  EXPECT_TRUE(levels.is_in_doubt());
  EXPECT_TRUE(levels.Add({0.7, 1}));
  EXPECT_EQ(levels.level(), Level::kShorterExpiry);
  EXPECT_TRUE(levels.is_in_doubt());  // until a good sample comes
  EXPECT_FALSE(levels.estimate());    // of this level nothing is known
  EXPECT_EQ(AddTimes(levels, 2, 0.7), 1);
  EXPECT_EQ(levels.level(), Level::kSafer);
  EXPECT_EQ(AddTimes(levels, 2, 0.7), 1);
  EXPECT_EQ(levels.level(), Level::kDense);
  EXPECT_EQ(AddTimes(levels, 10, 0.7), 0);
}

TEST(SafetyLevelsTest, ASingleSampleIsNeverEnough) {
  SafetyLevels levels = FourLevels();
  EXPECT_FALSE(levels.Add({0, 1000}));
  EXPECT_TRUE(levels.is_suspicious());
  EXPECT_FALSE(levels.Add({1, 1}));
  EXPECT_TRUE(levels.is_suspicious()) << "it is still among the last";
  EXPECT_TRUE(levels.Add({0, 1}));
}

TEST(SafetyLevelsTest, ABadSampleAmongGoodOnesIsOutweighed) {
  SafetyLevels levels = FourLevels();
  AddTimes(levels, 3, 1.0);
  EXPECT_FALSE(levels.Add({0.5, 1}));
  EXPECT_NEAR(*levels.estimate(), 3.5 / 4, 1e-12);
  EXPECT_FALSE(levels.Add({1, 1}));
  // Unless it says much more than they do.
  EXPECT_TRUE(levels.Add({0.5, 9}));
}

TEST(SafetyLevelsTest, TheEstimateForgetsOldSamples) {
  SafetyLevels levels = FourLevels();
  AddTimes(levels, 50, 1.0);
  AddTimes(levels, 4, 0.9);
  EXPECT_NEAR(*levels.estimate(), 0.9, 1e-12);
}

TEST(SafetyLevelsTest, GoesBackUpOnlyAfterGoodSamplesInARow) {
  SafetyLevels levels = FourLevels();
  AddTimes(levels, 4, 0.7);
  EXPECT_EQ(levels.level(), Level::kSafer);
  AddTimes(levels, 2, 0.95);
  levels.Add({0.75, 1});  // does not take the mean below the limit
  AddTimes(levels, 2, 0.95);
  EXPECT_EQ(levels.level(), Level::kSafer);
  EXPECT_TRUE(levels.Add({0.95, 1}));
  EXPECT_EQ(levels.level(), Level::kShorterExpiry);
  EXPECT_TRUE(levels.is_in_doubt());
  EXPECT_EQ(AddTimes(levels, 2, 0.95), 0);
  EXPECT_TRUE(levels.Add({0.95, 1}));
  EXPECT_EQ(levels.level(), Level::kNormal);
}

TEST(SafetyLevelsTest, WaitsTwiceAsLongEachTimeThatGoingUpFails) {
  SafetyLevels levels = FourLevels();
  AddTimes(levels, 2, 0.7);
  for (const int patience : {3, 6, 12}) {
    ASSERT_EQ(levels.level(), Level::kShorterExpiry);
    EXPECT_EQ(AddTimes(levels, patience - 1, 1.0), 0) << patience;
    EXPECT_TRUE(levels.Add({1, 1}));
    ASSERT_EQ(levels.level(), Level::kNormal);
    EXPECT_EQ(AddTimes(levels, 2, 0.7), 1);
  }
  // The normal level proves itself: a fall after that is a new one.
  AddTimes(levels, 24, 1.0);
  ASSERT_EQ(levels.level(), Level::kNormal);
  AddTimes(levels, 24, 1.0);
  AddTimes(levels, 4, 0.7);
  ASSERT_EQ(levels.level(), Level::kShorterExpiry);
  EXPECT_EQ(AddTimes(levels, 3, 1.0), 1);
}

}  // namespace
}  // namespace cacheinf
