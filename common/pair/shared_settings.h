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

// The settings that a robot, its server, and programs that measure for them share and resolve
// alike.
struct SharedSettings {
  CacheConfig cache;
  TrackerConfig tracker;  // a message carries only what a robot's configuration names
  SliceCodec slice_codec = SliceCodec::kZstd;
  int most_scores = 0;  // sends only that many best scores of the first output; 0: all

  // All that is sent, and on which figures depend. The table points into this object.
  FieldTable Fields();
};
SharedSettings SharedSettingsOf(const RobotConfig& config, const Graph& graph);

inline ReuseSettings Resolve(const SharedSettings& settings) {
  return Resolve(settings.cache, settings.tracker.change);
}

// Throws InputError if the codec would spoil rows of the network's maps.
void CheckCarriesRows(SliceCodec codec, const Graph& graph);

// Keeps the best scores of a slice with one score per class. The others become one NaN, so that
// BestClasses finds what it found before and zstd has little to store. REQUIRES: the slice is what
// AppendSlice wrote of all pixels of an output.
void KeepBestScores(int most, std::vector<uint8_t>* slice);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_SHARED_SETTINGS_H_
