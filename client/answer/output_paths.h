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

// Throws InputError, naming both options, if one of the outputs would overwrite an input or another
// output. Compares files, not spellings: links to one file are that file. Ignores empty
// paths.
void CheckOverwriting(const std::vector<NamedPath>& inputs, const std::vector<NamedPath>& outputs);

// Throws InputError, naming the option, if one of the files cannot be written, as far as that shows
// without opening it. Ignores empty paths.
void CheckWritable(const std::vector<NamedPath>& files);

// Throws InputError, naming the option, if the file's extension is not that of its format. Ignores
// an empty path.
void CheckExtension(const NamedPath& file, std::string_view extension);

// All three for what a run reads (source, model, names of classes) and its results.
void CheckOutputPaths(const RobotConfig& config);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ANSWER_OUTPUT_PATHS_H_
