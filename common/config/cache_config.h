#ifndef CACHEINF_COMMON_CONFIG_CACHE_CONFIG_H_
#define CACHEINF_COMMON_CONFIG_CACHE_CONFIG_H_

#include <cstdint>
#include <vector>

#include "common/base/words.h"
#include "common/config/fields.h"
#include "common/config/tracker_config.h"

namespace cacheinf {

// How a frame is computed when the last frame's results are kept. The defaults are safe;
// `cacheinf-robot calibrate` tries a clip to find what fits a network and a camera.
struct CacheConfig {
  enum class Policy : uint8_t { kExact, kChange, kFixed };  // common/exec/change_policy.h
  // common/canvas/canvas.h, warp_geometry.h
  enum class Geometry : uint8_t { kCanvas, kNone, kWarp };

  Policy policy = Policy::kChange;
  Geometry geometry = Geometry::kNone;
  double change = 0.1;  // kChange; kFixed with a stem: in units of each channel's spread
  std::vector<double> change_scales = {};  // of `change`, by resolution
  int growth = 1;                          // kFixed: pixels of every map
  int stem = 1;                            // convolutions that follow every change
  int refresh = 8;  // frames in which every part of the picture is stored again; 0: never
  int flush = 0;    // every flush-th frame is computed whole; 0: none. Has no key
  // Share of a dense run beyond which reuse does not pay; 0: it always does. Has no key.
  double most_work = 0.85;
  bool relight = true;     // frames are shown in the light of what is stored
  double budget_mb = 0.0;  // for activations, kept or not; 0: all maps are kept

  // The table points into this object, which must outlive it.
  FieldTable Fields();
};

// The fields of a tracker that have keys. The table points into the tracker's configuration.
FieldTable FieldsOf(TrackerConfig& tracker);

constexpr Words<3> WordsOf(CacheConfig::Policy) { return {"exact", "change", "fixed"}; }
constexpr Words<3> WordsOf(CacheConfig::Geometry) { return {"canvas", "none", "warp"}; }

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_CACHE_CONFIG_H_
