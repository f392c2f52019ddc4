#ifndef CACHEINF_PROFILER_COMMANDS_H_
#define CACHEINF_PROFILER_COMMANDS_H_

#include <CLI/CLI.hpp>

namespace cacheinf {

// Adds the commands of cacheinf-profile: inspect, check, pack, frames, scenes, machine, measure,
// link. Parsing runs the one that is given.
void AddProfilerCommands(CLI::App& app);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_COMMANDS_H_
