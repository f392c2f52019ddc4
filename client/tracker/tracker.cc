#include "client/tracker/tracker.h"

#include "client/tracker/block_tracker.h"
#include "client/tracker/homography_tracker.h"
#include "client/tracker/scripted_tracker.h"

namespace cacheinf {

std::unique_ptr<Tracker> MakeTracker(const TrackerConfig& config) {
  switch (config.kind) {
    case TrackerConfig::Kind::kHomography:
      return std::make_unique<HomographyTracker>(config.homography);
    case TrackerConfig::Kind::kBlock:
      return std::make_unique<BlockTracker>(config.blocks);
    case TrackerConfig::Kind::kNone:
      break;
  }
  return std::make_unique<ScriptedTracker>();
}

}  // namespace cacheinf
