#ifndef CACHEINF_CLIENT_CALIBRATE_FRONTIER_REPORT_H_
#define CACHEINF_CLIENT_CALIBRATE_FRONTIER_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "client/calibrate/calibration_clip.h"
#include "common/config/robot_config.h"

// What calibration found, for people and for programs.

namespace cacheinf {

struct FrontierPoint {
  RobotConfig config;
  ClipScore chosen_by;
  std::optional<ClipScore> held_out;  // if there was time
  bool is_chosen = false;
};

// An alternative that keeps no results: dense answers, repeated.
struct FrontierRival {
  std::string name;  // "every-3"
  ClipScore chosen_by;
  ClipScore held_out;
};

struct FrontierReport {
  std::vector<FrontierPoint> frontier;  // cheapest first
  std::vector<FrontierRival> rivals;
};

std::string ToTable(const FrontierReport& report);
std::string ToCsv(const FrontierReport& report);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_CALIBRATE_FRONTIER_REPORT_H_
