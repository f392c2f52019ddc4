#ifndef CACHEINF_PROFILER_PACK_COMMAND_H_
#define CACHEINF_PROFILER_PACK_COMMAND_H_

#include <filesystem>
#include <string>

#include "common/model/load.h"

namespace cacheinf {

struct PackCommand {
  std::filesystem::path model;
  std::filesystem::path out;
  LoadOptions load;
  // A robot's configuration. Its preprocessing and decoding go into the file, and its shapes apply
  // where `load` gives none. Empty: the graph's ends stay unchanged.
  std::filesystem::path config;
};

// Writes a model's native file and returns a line that describes it. Throws InputError if model and
// configuration do not fit each other or the file cannot be written.
std::string RunPackCommand(const PackCommand& command);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_PACK_COMMAND_H_
