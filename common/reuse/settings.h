#ifndef CACHEINF_COMMON_REUSE_SETTINGS_H_
#define CACHEINF_COMMON_REUSE_SETTINGS_H_

#include <string>
#include <variant>
#include <vector>

#include "common/config/robot_config.h"
#include "common/config/tracker_config.h"
#include "common/exec/change_policy.h"
#include "common/reuse/safety_levels.h"

namespace cacheinf {

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
// each other, resolved into a value in which none does. What a choice leaves without use is not
// there.
struct ReuseSettings {
  // A change begins where the picture's test says, or with what comes out of the stem.
  struct Change {
    std::variant<ChangeConfig, Stem> begin;
    FeatureTest test;
  };
  struct TestedStem {
    Stem stem;
    FeatureTest test;  // of what comes out of it
  };
  struct Fixed {
    std::variant<ChangeConfig, TestedStem> begin;
    int growth = 1;
  };

  struct InPlace {
    bool relight = true;
  };
  struct OnCanvas {};
  struct ByWarp {};

  // Bits decide, every frame stands where it was seen and in its own light, and no part is ever
  // old.
  struct Exact {};
  struct Lossy {
    std::variant<Change, Fixed> policy;
    std::variant<InPlace, OnCanvas, ByWarp> geometry;
    int refresh = 8;  // frames in which every part is stored anew; 0: never
  };

  std::variant<Exact, Lossy> way;
  int flush = 0;            // every so many frames one is computed whole; 0: never
  double most_work = 0.85;  // share of a dense run beyond which reuse does not pay; 0: it does

  bool is_exact() const { return std::holds_alternative<Exact>(way); }
  bool relights() const;
  int refresh() const;  // 0 where no part gets old

  // What counts as changed of a picture: every byte that differs, where the network decides.
  ChangeConfig picture_test() const;

  // For the executor, still without spreads, and what these are scaled by.
  ChangePolicy change_policy() const;
  std::vector<double> change_scales() const;
};

// The only place that knows which settings disable which. REQUIRES: checked configurations.
ReuseSettings Resolve(const CacheSettings& settings);

// A sentence for each setting of mode cache that was set for nothing. None in other modes.
std::vector<std::string> UnusedSettings(const RobotConfig& config);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_SETTINGS_H_
