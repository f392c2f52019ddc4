#ifndef CACHEINF_CLIENT_ANSWER_OUTPUT_PATHS_H_
#define CACHEINF_CLIENT_ANSWER_OUTPUT_PATHS_H_

#include "common/config/robot_config.h"

namespace cacheinf {

// All checks of output_files.h, for what a run reads (source, model, names of classes) and its
// results.
void CheckOutputPaths(const RobotConfig& config);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ANSWER_OUTPUT_PATHS_H_
