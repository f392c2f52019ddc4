#include "common/reuse/settings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/config/robot_config.h"

namespace cacheinf {
namespace {

using Level = SafetyLevel;
using Policy = CacheConfig::Policy;
using Geometry = CacheConfig::Geometry;

// Every combination of what can disable each other comes to what its policy uses.
TEST(ReuseSettingsTest, NoDisabledSettingIsLeft) {
  for (const Policy policy : {Policy::kExact, Policy::kChange, Policy::kFixed}) {
    for (const Geometry geometry : {Geometry::kCanvas, Geometry::kNone, Geometry::kWarp}) {
      for (const int stem : {0, 2}) {
        for (const bool relight : {false, true}) {
          SCOPED_TRACE(testing::Message() << NameOf(policy) << " " << NameOf(geometry) << " stem "
                                          << stem << " relight " << relight);
          CacheConfig given;
          given.policy = policy;
          given.geometry = geometry;
          given.stem = stem;
          given.relight = relight;
          given.change = 0.3;
          given.change_scales = {2.0};
          given.growth = 3;
          given.refresh = 5;
          given.flush = 7;
          const ReuseSettings resolved = Resolve(given, {.threshold = 0.2});
          const ChangePolicy executed = resolved.change_policy();
          const bool is_exact = policy == Policy::kExact;
          const bool tests_maps =
              policy == Policy::kChange || (policy == Policy::kFixed && stem > 0);
          EXPECT_EQ(resolved.is_on_canvas(), !is_exact && geometry == Geometry::kCanvas);
          EXPECT_EQ(resolved.is_by_warp(), !is_exact && geometry == Geometry::kWarp);
          EXPECT_EQ(executed.kind, static_cast<ChangePolicy::Kind>(policy));
          EXPECT_EQ(executed.stem_depth, is_exact ? 0 : stem);
          EXPECT_EQ(executed.threshold, tests_maps ? 0.3f : 0.0f);
          EXPECT_EQ(resolved.change_scales().size(), tests_maps ? 1u : 0u);
          EXPECT_EQ(executed.growth, policy == Policy::kFixed ? 3 : ChangePolicy().growth);
          EXPECT_EQ(resolved.picture_test().threshold, is_exact || stem > 0 ? 0.0 : 0.2);
          EXPECT_EQ(resolved.refresh(), is_exact ? 0 : 5);
          EXPECT_EQ(resolved.flush, 7);
          EXPECT_EQ(resolved.relights(), relight && !is_exact && geometry == Geometry::kNone);
        }
      }
    }
  }
}

TEST(ReuseSettingsTest, ASaferLevelReusesLessThanTheOneBefore) {
  CacheConfig given;
  given.policy = Policy::kFixed;
  given.refresh = 12;
  given.flush = 100;
  given.change = 0.3;
  given.growth = 1;
  for (const int stem : {0, 1}) {
    SCOPED_TRACE(stem);
    given.stem = stem;
    given.budget_mb = 0;
    const ReuseSettings configured = Resolve(given, {});
    EXPECT_EQ(SettingsAt(Level::kNormal, configured).refresh(), 12);
    const ReuseSettings shorter = SettingsAt(Level::kShorterExpiry, configured);
    EXPECT_EQ(shorter.refresh(), 6);
    EXPECT_EQ(shorter.flush, 50);
    EXPECT_EQ(shorter.change_policy().stem_depth, stem);
    EXPECT_EQ(shorter.change_policy().growth, 1);
    const ReuseSettings safer = SettingsAt(Level::kSafer, configured);
    EXPECT_EQ(safer.refresh(), 6);
    EXPECT_EQ(safer.flush, 50);
    EXPECT_EQ(safer.change_policy().stem_depth, stem + 1);
    EXPECT_FLOAT_EQ(safer.change_policy().threshold, 0.075f);
    EXPECT_EQ(safer.change_policy().growth, 2);
    EXPECT_EQ(SettingsAt(Level::kDense, configured).flush, 1);
    given.budget_mb = 10;
    const ReuseSettings in_budget = SettingsAt(Level::kSafer, Resolve(given, {}));
    EXPECT_EQ(in_budget.change_policy().stem_depth, stem) << "it is settled which maps are kept";
    EXPECT_DOUBLE_EQ(in_budget.picture_test().threshold, stem == 0 ? 0.025 : 0.0);
  }
  given.change = 1;
  EXPECT_FLOAT_EQ(SettingsAt(Level::kSafer, Resolve(given, {})).change_policy().threshold, 0.1f);
}

// Errors of a quarter are 12 decibels; nothing is less strict than the default.
TEST(ReuseSettingsTest, SaferLevelsWantMoreSimilarBlocks) {
  const auto psnr_at = [](Level level, double psnr) {
    const ChangeConfig blocks = {.rule = ChangeConfig::Rule::kBlocks, .psnr = psnr};
    return SettingsAt(level, Resolve({.stem = 0, .budget_mb = 10}, blocks)).picture_test().psnr;
  };
  EXPECT_NEAR(psnr_at(Level::kSafer, 20), 32, 0.1);
  EXPECT_NEAR(psnr_at(Level::kSafer, 25), 37, 0.1);
  EXPECT_EQ(psnr_at(Level::kSafer, 5), ChangeConfig().psnr);
  EXPECT_EQ(psnr_at(Level::kSafer, 95), 100);
  EXPECT_EQ(psnr_at(Level::kShorterExpiry, 95), 95);
  // If nothing is reused, nothing needs to be safer, and rows can be shared as before.
  const ReuseSettings fixed = Resolve({.policy = CacheConfig::Policy::kFixed, .stem = 0}, {});
  EXPECT_TRUE(SettingsAt(Level::kDense, fixed).change_policy().can_split());
}

TEST(ReuseSettingsTest, SaferLevelsShowTheNetworkTheLightAsItIs) {
  const ReuseSettings configured = Resolve({.relight = true}, {});
  EXPECT_TRUE(SettingsAt(Level::kShorterExpiry, configured).relights());
  EXPECT_FALSE(SettingsAt(Level::kSafer, configured).relights());
}

TEST(ReuseSettingsTest, SaferLevelsExpireEvenWhatNeverExpires) {
  const auto shorter = [](int refresh) {
    return SettingsAt(Level::kShorterExpiry, Resolve({.refresh = refresh}, {}));
  };
  EXPECT_EQ(shorter(0).refresh(), CacheConfig().refresh);
  EXPECT_EQ(shorter(0).flush, 0);
  EXPECT_EQ(shorter(1000).refresh(), CacheConfig().refresh);
  for (const int kept : {1, 2}) EXPECT_EQ(shorter(kept).refresh(), kept);
}

TEST(ReuseSettingsTest, TheExactPolicyStepsOnlyToDense) {
  const ReuseSettings exact = Resolve({.policy = Policy::kExact, .flush = 100}, {});
  EXPECT_EQ(LevelsFor(exact), (std::vector<Level>{Level::kNormal, Level::kDense}));
  EXPECT_EQ(LevelsFor(Resolve({}, {})).size(), 4u);
  EXPECT_EQ(SettingsAt(Level::kDense, exact).flush, 1);
  EXPECT_EQ(SettingsAt(Level::kDense, exact).change_policy().kind, ChangePolicy::Kind::kExact);
}

TEST(ReuseSettingsTest, NamesSettingsWithoutEffect) {
  RobotConfig config;
  config.cache = {.policy = Policy::kExact,
                  .geometry = Geometry::kCanvas,
                  .change = 0.2,
                  .change_scales = {1, 2},
                  .growth = 2,
                  .stem = 2,
                  .refresh = 16};
  config.tracker.kind = TrackerConfig::Kind::kBlock;
  config.tracker.change.threshold = 0.2;
  using Keys = std::vector<std::string>;
  const auto unused = [&config] {
    Keys keys;
    for (const std::string& sentence : UnusedSettings(config)) {
      keys.push_back(sentence.substr(0, sentence.find(" is not used: ")));
    }
    return keys;
  };
  EXPECT_TRUE(unused().empty()) << "mode dense uses none of them";
  config.mode = RobotConfig::Mode::kCache;
  EXPECT_EQ(unused(),
            (Keys{"cache.geometry", "cache.refresh", "cache.stem", "cache.growth", "cache.change",
                  "cache.change_scales", "cache.tracker", "cache.threshold"}));
  config.cache.policy = Policy::kChange;
  EXPECT_EQ(unused(), (Keys{"cache.growth", "cache.threshold"}));
  config.cache.policy = Policy::kFixed;
  EXPECT_EQ(unused(), (Keys{"cache.threshold"}));
  config.cache.stem = 0;
  EXPECT_EQ(unused(), (Keys{"cache.change", "cache.change_scales"}));
  config.cache.geometry = Geometry::kNone;
  EXPECT_EQ(unused(), (Keys{"cache.change", "cache.change_scales", "cache.tracker"}));

  const RobotConfig usual;
  const RobotConfig without = WithoutUnusedSettings(config);
  EXPECT_TRUE(UnusedSettings(without).empty());
  EXPECT_EQ(without.cache.change, usual.cache.change);
  EXPECT_TRUE(without.cache.change_scales.empty());
  EXPECT_EQ(without.tracker.kind, usual.tracker.kind);
  EXPECT_EQ(without.cache.growth, 2) << "is used";
  EXPECT_EQ(without.tracker.change.threshold, 0.2) << "is used";
  config.cache.policy = Policy::kExact;
  EXPECT_TRUE(UnusedSettings(WithoutUnusedSettings(config)).empty());
}

TEST(ReuseSettingsTest, OnlyAModeThatChoosesPlansUsesWhatTheyAreChosenBy) {
  RobotConfig config;
  config.objective = Objective::kLatency;
  config.agreement = 0.8;
  const std::vector<std::string> neither = {
      "objective is not used: only mode cacheinf chooses among plans",
      "agreement is not used: only mode cacheinf chooses among plans"};
  for (const auto mode : {RobotConfig::Mode::kDense, RobotConfig::Mode::kCache,
                          RobotConfig::Mode::kRemote, RobotConfig::Mode::kSplit}) {
    config.mode = mode;
    EXPECT_EQ(UnusedSettings(config), neither);
  }
  EXPECT_TRUE(UnusedSettings(WithoutUnusedSettings(config)).empty());
  config.mode = RobotConfig::Mode::kCacheinf;
  EXPECT_TRUE(UnusedSettings(config).empty());
  config.objective.reset();
  EXPECT_TRUE(UnusedSettings(config).empty());
  config.deadline_ms = 100;
  EXPECT_EQ(UnusedSettings(config),
            std::vector<std::string>{
                "agreement is not used: objective on-time weighs it against lateness"});
}

}  // namespace
}  // namespace cacheinf
