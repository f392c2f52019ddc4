#ifndef CACHEINF_COMMON_BASE_COMMAND_LINE_H_
#define CACHEINF_COMMON_BASE_COMMAND_LINE_H_

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/printable.h"
#include "common/base/words.h"

namespace cacheinf {

// What was typed, without characters that would end the line.
inline std::string OneLine(std::string_view text) {
  return Escaped(text, [](char c) { return static_cast<unsigned char>(c) >= ' '; });
}

// Parses the command line of a program. Gives it the option --version. Returns the exit code if
// there is nothing left to do, because help or the version was asked for and printed. Throws
// InputError for what cannot be understood.
inline std::optional<int> ParseCommandLine(CLI::App& app, const std::string& version, int argc,
                                           const char* const* argv) {
  app.set_version_flag("--version", app.get_name() + " " + version);
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> unknown = app.remaining();
    if (!app.get_subcommands().empty() || unknown.empty()) throw InputError(OneLine(error.what()));
    std::vector<std::string> commands;
    for (const CLI::App* command : app.get_subcommands(nullptr)) {
      commands.push_back(command->get_name());
    }
    const std::string kind = unknown.front().starts_with('-') ? "option"
                             : commands.empty()               ? "argument"
                                                              : "command";
    throw InputError("unknown " + kind + " \"" + OneLine(unknown.front()) +
                     (commands.empty() || kind == "option"
                          ? "\"; see --help"
                          : "\"; commands: " + CLI::detail::join(commands, ", ")));
  }
}

// Checks an option's number, as CLI::Range does, which lets NaN pass.
inline CLI::Validator FiniteRange(double least, double most) {
  const auto check = [least, most](const std::string& text) {
    double number = 0;
    const bool is_inside =
        CLI::detail::lexical_cast(text, number) && number >= least && number <= most;
    return is_inside ? "" : fmt::format("{} is not between {} and {}", text, least, most);
  };
  return {check, fmt::format("FLOAT in [{} - {}]", least, most)};
}

// Adds an option for a number within these bounds; help shows the default.
inline void AddNumber(CLI::App& command, const char* name, double& number, const char* help,
                      double least, double most) {
  command.add_option(name, number, help)->check(FiniteRange(least, most))->capture_default_str();
}

// Adds an option for one of an enum's words.
template <typename Enum>
CLI::Option* AddWord(CLI::App& command, const char* name, Enum& value, const char* help) {
  const auto words = WordsOf(value);
  const auto set = [&value](const std::string& word) { value = *ValueOf<Enum>(word); };
  return command.add_option_function<std::string>(name, set, help)
      ->check(CLI::IsMember(std::set<std::string>(words.begin(), words.end())));
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_COMMAND_LINE_H_
