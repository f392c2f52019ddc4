#ifndef CACHEINF_CLIENT_ANSWER_OUTPUT_PATHS_H_
#define CACHEINF_CLIENT_ANSWER_OUTPUT_PATHS_H_

#include "common/config/robot_config.h"

namespace cacheinf {

// Runs all checks of output_files.h on the files that a run reads (source, model, class names) and
// writes.
void CheckOutputPaths(const RobotConfig& config);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ANSWER_OUTPUT_PATHS_H_
