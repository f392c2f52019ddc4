#ifndef CACHEINF_PROFILER_MEASURE_COMMAND_H_
#define CACHEINF_PROFILER_MEASURE_COMMAND_H_

#include <atomic>
#include <filesystem>
#include <string>

#include "common/base/clock.h"
#include "common/config/robot_config.h"
#include "common/plan/profile.h"
#include "profiler/obtain_profile.h"

namespace cacheinf {

struct MeasureCommand {
  RobotConfig config;       // the robot's, also on the server
  std::string config_file;  // where it came from, if from a file
  ProfileRequest request;   // what is configured is filled in
  std::filesystem::path out;
  bool measure_again = false;
};

// Measures what the configuration's model costs on this machine and writes the profile, unless the
// file holds one of the same model, settings, clips, frames, codecs, machine and build that took as
// many seconds at least. Returns what to print. If `stop` ends it, writes nothing and throws
// Stopped. Throws InputError.
std::string RunMeasureCommand(const MeasureCommand& command, const Clock& clock,
                              const std::atomic<bool>& stop);

// Describes a profile in a few lines.
std::string SummaryOf(const Profile& profile);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_MEASURE_COMMAND_H_
