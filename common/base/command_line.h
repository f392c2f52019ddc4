#ifndef CACHEINF_COMMON_BASE_COMMAND_LINE_H_
#define CACHEINF_COMMON_BASE_COMMAND_LINE_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace cacheinf {

// Parses a command line whose first word is one of the app's commands. Throws InputError for one
// that cannot be understood; CLI::Success, as CLI11 does, where help or a version is asked for.
inline void ParseCommandLine(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> unknown = app.remaining();
    if (!app.get_subcommands().empty() || unknown.empty()) throw InputError(error.what());
    std::vector<std::string> commands;
    for (const CLI::App* command : app.get_subcommands(nullptr)) {
      commands.push_back(command->get_name());
    }
    const std::string kind = unknown.front().starts_with('-') ? "option" : "command";
    throw InputError("unknown " + kind + " \"" + unknown.front() +
                     "\"; commands: " + CLI::detail::join(commands, ", "));
  }
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_COMMAND_LINE_H_
