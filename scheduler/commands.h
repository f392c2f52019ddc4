#ifndef CACHEINF_SCHEDULER_COMMANDS_H_
#define CACHEINF_SCHEDULER_COMMANDS_H_

#include <CLI/CLI.hpp>

namespace cacheinf {

// Adds the commands of cacheinf-schedule: solve, show, explain, compare, follow, validate. Parsing
// runs the one that is given.
void AddSchedulerCommands(CLI::App& app);

}  // namespace cacheinf

#endif  // CACHEINF_SCHEDULER_COMMANDS_H_
