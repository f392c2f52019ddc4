#include "common/reuse/settings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cacheinf {
namespace {

using Policy = CacheConfig::Policy;
using Geometry = CacheConfig::Geometry;

// Every combination of what can disable each other comes to what its policy uses.
TEST(ReuseSettingsTest, NothingThatIsDisabledIsLeft) {
  for (const Policy policy : {Policy::kExact, Policy::kChange, Policy::kFixed}) {
    for (const Geometry geometry : {Geometry::kCanvas, Geometry::kNone, Geometry::kWarp}) {
      for (const int stem : {0, 2}) {
        for (const bool relight : {false, true}) {
          SCOPED_TRACE(testing::Message() << NameOf(policy) << " " << NameOf(geometry) << " stem "
                                          << stem << " relight " << relight);
          CacheSettings given;
          given.cache.policy = policy;
          given.cache.geometry = geometry;
          given.cache.stem = stem;
          given.cache.relight = relight;
          given.cache.change = 0.3;
          given.cache.change_scales = {2.0};
          given.cache.growth = 3;
          given.cache.refresh = 5;
          given.cache.flush = 7;
          given.change.threshold = 0.2;
          const ReuseSettings resolved = Resolve(given);
          const ChangePolicy executed = resolved.change_policy();
          const bool is_exact = policy == Policy::kExact;
          const bool tests_maps =
              policy == Policy::kChange || (policy == Policy::kFixed && stem > 0);
          EXPECT_EQ(resolved.is_exact(), is_exact);
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

TEST(ReuseSettingsTest, NamesWhatWasSetForNothing) {
  RobotConfig config;
  config.cache.policy = Policy::kExact;
  config.cache.geometry = Geometry::kCanvas;
  config.tracker.kind = TrackerConfig::Kind::kBlock;
  config.tracker.change.threshold = 0.2;
  EXPECT_TRUE(UnusedSettings(config).empty()) << "mode dense uses none of them";
  config.mode = RobotConfig::Mode::kCache;
  EXPECT_EQ(UnusedSettings(config).size(), 3u);
  config.cache.policy = Policy::kChange;
  const std::vector<std::string> with_stem = UnusedSettings(config);
  ASSERT_EQ(with_stem.size(), 1u);
  EXPECT_TRUE(with_stem[0].starts_with("cache.threshold is not used")) << with_stem[0];
  config.cache.stem = 0;
  EXPECT_TRUE(UnusedSettings(config).empty());
}

}  // namespace
}  // namespace cacheinf
