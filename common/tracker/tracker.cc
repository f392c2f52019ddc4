#include "common/tracker/tracker.h"

#include "common/tracker/block_tracker.h"
#include "common/tracker/homography_tracker.h"

namespace cacheinf {

std::unique_ptr<Tracker> MakeTracker(const TrackerConfig& config) {
  switch (config.kind) {
    case TrackerConfig::Kind::kHomography:
      return std::make_unique<HomographyTracker>();
    case TrackerConfig::Kind::kBlock:
      break;
  }
  return std::make_unique<BlockTracker>(config.blocks);
}

}  // namespace cacheinf
