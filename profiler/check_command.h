#ifndef CACHEINF_PROFILER_CHECK_COMMAND_H_
#define CACHEINF_PROFILER_CHECK_COMMAND_H_

#include <filesystem>
#include <string>

#include "common/config/robot_config.h"

namespace cacheinf {

// Reads a model and its first frame as a robot would, and says what comes in, what goes out, and
// what the decoder makes of it. Returns what to print; `contradicts` says whether a robot would
// refuse the model. Otherwise draws the answer into the frame and writes that to `picture`; if
// `picture` is empty, to MODEL.check.png in the working directory. Throws InputError if
// the model cannot be read at all, the source gives no frame, or the picture cannot be written.
std::string RunCheckCommand(const RobotConfig& config, const std::filesystem::path& picture,
                            bool* contradicts);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_CHECK_COMMAND_H_
