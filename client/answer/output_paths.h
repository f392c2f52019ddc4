#ifndef CACHEINF_CLIENT_ANSWER_OUTPUT_PATHS_H_
#define CACHEINF_CLIENT_ANSWER_OUTPUT_PATHS_H_

#include <filesystem>
#include <string>
#include <string_view>
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

// Throws InputError, naming the option, if one of the files cannot be written, as far as can be
// told without opening it: what is there stays as it is. Empty paths are none.
void CheckWritable(const std::vector<NamedPath>& files);

// Throws InputError, naming the option, if the file is called something else than its format. An
// empty path is none.
void CheckExtension(const NamedPath& file, std::string_view extension);

// All three for what a run reads (source, model, names of classes) and its results.
void CheckOutputPaths(const RobotConfig& config);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ANSWER_OUTPUT_PATHS_H_
