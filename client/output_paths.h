#ifndef CACHEINF_CLIENT_OUTPUT_PATHS_H_
#define CACHEINF_CLIENT_OUTPUT_PATHS_H_

#include "common/config/robot_config.h"

namespace cacheinf {

// Throws InputError, naming both options, if a result would be written over a file that the run
// reads (source, model, names of classes) or over another result. Looks at files, not at spellings:
// links to one file are that file.
void CheckOutputPaths(const RobotConfig& config);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_OUTPUT_PATHS_H_
