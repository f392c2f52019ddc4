#ifndef CACHEINF_CLIENT_CALIBRATE_FRONTIER_REPORT_H_
#define CACHEINF_CLIENT_CALIBRATE_FRONTIER_REPORT_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "client/calibrate/calibration_clip.h"
#include "common/config/robot_config.h"

// What calibration found, for people and for other programs.

namespace cacheinf {

struct FrontierPoint {
  RobotConfig config;
  ClipScore chosen_by;
  std::optional<ClipScore> held_out;  // if there was time
  bool is_chosen = false;
};

// What keeps nothing: dense answers, repeated.
struct FrontierRival {
  std::string name;  // "every-3"
  ClipScore chosen_by;
  ClipScore held_out;
};

struct FrontierReport {
  std::string measure;                  // of the agreement
  double target = 0;                    // of the agreement
  bool by_time = false;                 // what settings were chosen by, instead of the work
  std::vector<FrontierPoint> frontier;  // cheapest first
  std::vector<FrontierRival> rivals;
  std::vector<ClipScore> tried;  // everything that was tried to the end

  double CostOf(const ClipScore& score) const { return by_time ? score.time : score.work; }
};

std::string ToTable(const FrontierReport& report);
std::string ToCsv(const FrontierReport& report);

// A chart of the agreement over the cost. Throws InputError if the file cannot be written.
void DrawFrontier(const FrontierReport& report, const std::filesystem::path& png);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_CALIBRATE_FRONTIER_REPORT_H_
