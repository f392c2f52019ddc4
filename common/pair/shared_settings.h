#ifndef CACHEINF_COMMON_PAIR_SHARED_SETTINGS_H_
#define CACHEINF_COMMON_PAIR_SHARED_SETTINGS_H_

#include <cstdint>
#include <vector>

#include "common/codec/slice_codec.h"
#include "common/config/cache_config.h"
#include "common/config/fields.h"
#include "common/config/tracker_config.h"
#include "common/model/graph/graph.h"
#include "common/reuse/settings.h"

namespace cacheinf {

struct RobotConfig;

// What a robot, its server, and whoever measures for one of them go by, each resolving it alike.
struct SharedSettings {
  CacheConfig cache;
  TrackerConfig tracker;  // by a message only what a robot's configuration names
  SliceCodec slice_codec = SliceCodec::kZstd;
  int most_scores = 0;  // send only so many best scores of the first output; 0: all

  // All that is sent, and that figures depend on. The table points into this object.
  FieldTable Fields();
};
SharedSettings SharedSettingsOf(const RobotConfig& config, const Graph& graph);

inline ReuseSettings Resolve(const SharedSettings& settings) {
  return Resolve(settings.cache, settings.tracker.change);
}

// Throws InputError if the codec would spoil rows of the network's maps.
void CheckCarriesRows(SliceCodec codec, const Graph& graph);

// Keeps the best scores of a slice with one score per class. The others become one and the same
// NaN, so that BestClasses finds what it found before and zstd has little to keep. REQUIRES: the
// slice is what AppendSlice wrote of all pixels of an output.
void KeepBestScores(int most, std::vector<uint8_t>* slice);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_SHARED_SETTINGS_H_
