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
  bool has_times = false;  // beside dense runs; else only work and agreement are worth showing
};

// An alternative that keeps no results: dense runs, or their answers moved.
struct FrontierRival {
  std::string name;     // "track-3"
  std::string options;  // of `run`
  ClipScore chosen_by;
  ClipScore held_out;
};

struct FrontierReport {
  double target = 1;        // the agreement to reach
  bool is_reached = false;  // by the chosen settings, for less than a dense run
  bool is_by_time = false;  // everything is ranked by time; else by work
  std::string measure;      // of agreement
  double dense_ms = 0;
  std::vector<FrontierPoint> frontier;  // cheapest first; one is chosen
  std::vector<FrontierRival> rivals;
};

// All in one ranking, and what the columns mean.
std::string ToTable(const FrontierReport& report);

// Says whether reuse, tracking or dense runs are the better choice.
std::string Advice(const FrontierReport& report);

std::string ToCsv(const FrontierReport& report);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_CALIBRATE_FRONTIER_REPORT_H_
