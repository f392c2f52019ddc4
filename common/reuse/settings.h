#ifndef CACHEINF_COMMON_REUSE_SETTINGS_H_
#define CACHEINF_COMMON_REUSE_SETTINGS_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/config/cache_config.h"
#include "common/config/tracker_config.h"
#include "common/exec/change_policy.h"
#include "common/reuse/verdict.h"

namespace cacheinf {

struct RobotConfig;

// This many of the first convolutions follow every byte that differs.
struct Stem {
  int depth = 1;
};

// By how much a pixel of a map must change, in its channels' spreads.
struct FeatureTest {
  double change = 0.1;
  std::vector<double> scales;  // of `change`, by resolution; empty: 1
};

// What to compute of a frame if results are kept. In a configuration settings can disable each
// other; here that is resolved, and none does.
struct ReuseSettings {
  struct InPlace {
    bool relight;
  };
  struct OnCanvas {};
  struct ByWarp {};

  struct Lossy {
    // A change begins where the picture test says, or with what comes out of the stem.
    std::variant<ChangeConfig, Stem> begin;
    FeatureTest test;  // of every map; with `growth`, of what comes out of a stem
    // Without it every map is tested. With it all maps of a resolution compute the same pixels,
    // grown by this much.
    std::optional<int> growth;
    std::variant<InPlace, OnCanvas, ByWarp> geometry;
    int refresh = 8;  // every part is stored again within this many frames; 0: never
  };

  // Nothing: bits decide, every frame stays where it was seen and in its own light, and no part is
  // ever old.
  std::optional<Lossy> lossy;
  int flush = 0;            // one of this many frames is computed whole; 0: never
  double most_work = 0.85;  // share of a dense run above which reuse does not pay; 0: none
  double budget_mb = 0;     // for activations; 0: all maps are kept

  bool relights() const;
  bool is_on_canvas() const;
  bool is_by_warp() const;
  bool follows_camera() const { return is_on_canvas() || is_by_warp(); }
  int refresh() const { return lossy ? lossy->refresh : 0; }

  // What counts as a change of the picture: every byte that differs, if the network decides.
  ChangeConfig picture_test() const;

  // The policy for a state, still without spreads, and what these are scaled by.
  ChangePolicy change_policy() const;
  std::vector<double> change_scales() const;
};

// The only place that knows which settings disable which. REQUIRES: checked configurations.
ReuseSettings Resolve(const CacheConfig& cache, const ChangeConfig& change);

// The levels that differ: if bits decide, there is nothing between normal and dense.
std::vector<SafetyLevel> LevelsFor(const ReuseSettings& configured);

// The configured settings as a level changes them. The geometry stays.
ReuseSettings SettingsAt(SafetyLevel level, const ReuseSettings& configured);

// One sentence for each setting that has no effect: in mode cache, settings of the cache; in every
// mode, settings for the choice of plans.
std::vector<std::string> UnusedSettings(RobotConfig config);

// Gives the usual values to what UnusedSettings would name.
RobotConfig WithoutUnusedSettings(RobotConfig config);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_SETTINGS_H_
