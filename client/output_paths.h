#ifndef CACHEINF_CLIENT_OUTPUT_PATHS_H_
#define CACHEINF_CLIENT_OUTPUT_PATHS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "common/config/robot_config.h"

namespace cacheinf {

struct NamedPath {
  std::string option;  // for messages
  std::filesystem::path path;
};

// Throws InputError, naming both options, if one of the outputs would be written over a file that
// is read or over another output. Looks at files, not at spellings: links to one file are that
// file. Empty paths are none.
void CheckOverwriting(const std::vector<NamedPath>& inputs, const std::vector<NamedPath>& outputs);

// The same for what a run reads (source, model, names of classes) and its results.
void CheckOutputPaths(const RobotConfig& config);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_OUTPUT_PATHS_H_
