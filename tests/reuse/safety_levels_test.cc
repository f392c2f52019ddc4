#include "common/reuse/safety_levels.h"

#include <gtest/gtest.h>

#include <vector>

namespace cacheinf {
namespace {

using Level = SafetyLevel;

// Four samples, patience of three, at least .8.
SafetyLevels FourLevels() { return SafetyLevels(LevelsFor({}), 4, 3, 0.8); }

// Adds the same sample so often; returns how often the level changed.
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
  EXPECT_TRUE(levels.is_in_doubt());  // until there is a good one
  EXPECT_FALSE(levels.estimate());    // of this level nothing is known
  EXPECT_EQ(AddTimes(levels, 2, 0.7), 1);
  EXPECT_EQ(levels.level(), Level::kSafer);
  EXPECT_EQ(AddTimes(levels, 2, 0.7), 1);
  EXPECT_EQ(levels.level(), Level::kDense);
  EXPECT_EQ(AddTimes(levels, 10, 0.7), 0);
}

TEST(SafetyLevelsTest, ASingleSampleIsEnoughIfItIsVeryBad) {
  SafetyLevels levels = FourLevels();
  EXPECT_TRUE(levels.Add({0.39, 1}));
}

TEST(SafetyLevelsTest, ABadSampleAmongGoodOnesIsOutweighed) {
  SafetyLevels levels = FourLevels();
  AddTimes(levels, 3, 1.0);
  EXPECT_FALSE(levels.Add({0.5, 1}));
  EXPECT_NEAR(*levels.estimate(), 3.5 / 4, 1e-12);
  EXPECT_FALSE(levels.Add({1, 1}));
  // Unless it has much more to say than they have.
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
  levels.Add({0.75, 1});  // too little for the mean to fall below the least
  AddTimes(levels, 2, 0.95);
  EXPECT_EQ(levels.level(), Level::kSafer);
  EXPECT_TRUE(levels.Add({0.95, 1}));
  EXPECT_EQ(levels.level(), Level::kShorterExpiry);
  EXPECT_TRUE(levels.is_in_doubt());
  EXPECT_EQ(AddTimes(levels, 3, 0.95), 1);
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

TEST(SafetyLevelsTest, ASafetySettingReusesLessThanTheOneBefore) {
  CacheSettings configured;
  configured.cache.policy = CacheConfig::Policy::kFixed;
  configured.cache.refresh = 12;
  configured.cache.flush = 100;
  configured.cache.change = 0.3;
  const CacheSettings shorter = SettingsAt(Level::kShorterExpiry, configured);
  EXPECT_EQ(shorter.cache.refresh, 6);
  EXPECT_EQ(shorter.cache.flush, 50);
  EXPECT_EQ(shorter.cache.stem, configured.cache.stem);
  const CacheSettings safer = SettingsAt(Level::kSafer, configured);
  EXPECT_EQ(safer.cache.refresh, 6);
  EXPECT_EQ(safer.cache.stem, configured.cache.stem + 1);
  EXPECT_DOUBLE_EQ(safer.cache.change, 0.075);
  configured.cache.budget_mb = 10;
  EXPECT_EQ(SettingsAt(Level::kSafer, configured).cache.stem, configured.cache.stem);
  EXPECT_EQ(safer.cache.growth, configured.cache.growth + 1);
  EXPECT_LT(safer.change.threshold, configured.change.threshold);
  EXPECT_EQ(SettingsAt(Level::kDense, configured).cache.flush, 1);
  EXPECT_EQ(SettingsAt(Level::kNormal, configured).cache.refresh, 12);
}

// Errors of a quarter are 12 decibels; nothing is less strict than what is the default.
TEST(SafetyLevelsTest, BlocksMustBeMoreAlikeWhereItShallBeSafer) {
  CacheSettings configured;
  configured.change.rule = ChangeConfig::Rule::kBlocks;
  const auto safer_than = [&](double psnr) {
    configured.change.psnr = psnr;
    return SettingsAt(Level::kSafer, configured).change.psnr;
  };
  EXPECT_NEAR(safer_than(20), 32, 0.1);
  EXPECT_NEAR(safer_than(25), 37, 0.1);
  EXPECT_EQ(safer_than(5), ChangeConfig().psnr);
  EXPECT_EQ(safer_than(95), 100);
  EXPECT_EQ(SettingsAt(Level::kShorterExpiry, configured).change.psnr, 95);
}

TEST(SafetyLevelsTest, WhereItShallBeSaferTheNetworkSeesTheLightAsItIs) {
  CacheSettings configured;
  configured.cache.relight = true;
  EXPECT_TRUE(SettingsAt(Level::kShorterExpiry, configured).cache.relight);
  EXPECT_FALSE(SettingsAt(Level::kSafer, configured).cache.relight);
}

TEST(SafetyLevelsTest, SettingsThatNeverExpireDoSoWhereItShallBeSafer) {
  CacheSettings configured;
  configured.cache.refresh = 0;
  EXPECT_EQ(SettingsAt(Level::kShorterExpiry, configured).cache.refresh, CacheConfig().refresh);
  EXPECT_EQ(SettingsAt(Level::kShorterExpiry, configured).cache.flush, 0);
  configured.cache.refresh = 1000;
  EXPECT_EQ(SettingsAt(Level::kShorterExpiry, configured).cache.refresh, CacheConfig().refresh);
  for (const int kept : {1, 2}) {
    configured.cache.refresh = kept;
    EXPECT_EQ(SettingsAt(Level::kShorterExpiry, configured).cache.refresh, kept);
  }
}

TEST(SafetyLevelsTest, FromTheExactPolicyThereIsOnlyDense) {
  CacheConfig exact;
  exact.policy = CacheConfig::Policy::kExact;
  EXPECT_EQ(LevelsFor(exact), (std::vector<Level>{Level::kNormal, Level::kDense}));
}

}  // namespace
}  // namespace cacheinf
