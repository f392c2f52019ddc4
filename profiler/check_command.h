#ifndef CACHEINF_PROFILER_CHECK_COMMAND_H_
#define CACHEINF_PROFILER_CHECK_COMMAND_H_

#include <string>

#include "common/config/robot_config.h"

namespace cacheinf {

// Reads a model and its first frame as a robot would, and says what comes in, what goes out, and
// what the decoder makes of it. Returns what to print; `contradicts` says whether a robot would
// refuse the model. Throws InputError if the model cannot be read at all, or the source gives no
// frame.
std::string RunCheckCommand(const RobotConfig& config, bool* contradicts);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_CHECK_COMMAND_H_
