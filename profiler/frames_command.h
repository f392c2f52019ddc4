#ifndef CACHEINF_PROFILER_FRAMES_COMMAND_H_
#define CACHEINF_PROFILER_FRAMES_COMMAND_H_

#include <filesystem>
#include <string>

#include "common/config/robot_config.h"

namespace cacheinf {

struct FramesCommand {
  RobotConfig config;  // model, source and preprocessing count
  std::filesystem::path out_folder;
  int count = 64;  // of frames, at most
};

// Takes frames from all over the source, equally far apart, and writes each with the network's
// input for it: OUT/frames/000000.png and OUT/inputs/000000.npy, named by the frame's number.
// Returns what to print. Throws InputError if the model takes no picture, brings its own
// preprocessing, the source gives no frame, or a file cannot be written.
std::string RunFramesCommand(const FramesCommand& command);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_FRAMES_COMMAND_H_
