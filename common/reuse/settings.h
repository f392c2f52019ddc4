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

// So many of the first convolutions follow every byte that differs.
struct Stem {
  int depth = 1;
};

// Of a map: by how much of its channels' spreads a pixel must change.
struct FeatureTest {
  double change = 0.1;
  std::vector<double> scales;  // of it, by resolution; empty: 1
};

// What is computed of a frame where results are kept: a configuration whose settings can disable
// each other, resolved into a value in which none does.
struct ReuseSettings {
  struct InPlace {
    bool relight;
  };
  struct OnCanvas {};
  struct ByWarp {};

  struct Lossy {
    // A change begins where the picture's test says, or with what comes out of the stem.
    std::variant<ChangeConfig, Stem> begin;
    FeatureTest test;  // of every map; with a growth of what comes out of a stem
    // Without one every map is tested; with it the same pixels, so much grown, are computed in all
    // maps of a resolution.
    std::optional<int> growth;
    std::variant<InPlace, OnCanvas, ByWarp> geometry;
    int refresh = 8;  // frames in which every part is stored again; 0: never
  };

  // None: bits decide, every frame stands where it was seen and in its own light, and no part is
  // ever old.
  std::optional<Lossy> lossy;
  int flush = 0;            // every so many frames one is computed whole; 0: never
  double most_work = 0.85;  // share of a dense run beyond which reuse does not pay; 0: it does
  double budget_mb = 0;     // that activations may take; 0: all maps are kept

  bool relights() const;
  bool is_on_canvas() const;
  bool is_by_warp() const;
  bool follows_camera() const { return is_on_canvas() || is_by_warp(); }
  int refresh() const { return lossy ? lossy->refresh : 0; }

  // What counts as changed of a picture: every byte that differs, where the network decides.
  ChangeConfig picture_test() const;

  // For a state, still without spreads, and what these are scaled by.
  ChangePolicy change_policy() const;
  std::vector<double> change_scales() const;
};

// The only place that knows which settings disable which. REQUIRES: checked configurations.
ReuseSettings Resolve(const CacheConfig& cache, const ChangeConfig& change);

// The levels that differ: where bits decide, nothing stands between normal and dense.
std::vector<SafetyLevel> LevelsFor(const ReuseSettings& configured);

// What a level makes of the configured settings. The geometry stays what it is.
ReuseSettings SettingsAt(SafetyLevel level, const ReuseSettings& configured);

// A sentence for each setting of mode cache that was set for nothing. None in other modes.
std::vector<std::string> UnusedSettings(const RobotConfig& config);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_SETTINGS_H_
