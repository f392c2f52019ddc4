#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <iostream>
#include <string>
#include <variant>
#include <vector>

#include "client/replay.h"
#include "client/run.h"
#include "common/base/clock.h"
#include "common/base/command_line.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/program.h"
#include "common/config/robot_config.h"

namespace cacheinf {
namespace {

std::atomic<bool> stop = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

// A first signal ends the run after the frame in hand; a second one ends the program.
void EndOnSignals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { stop = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// The options that the command line sets in the configuration, as typed.
struct Setting {
  std::string name;  // for messages: the option
  std::string path;
  std::string text;
};

// What stands behind an option in the help.
std::string TypeName(const Field& field) {
  if (const auto* choice = std::get_if<Choice>(&field.target)) {
    return CLI::detail::join(choice->words, "|");
  }
  const bool is_number =
      std::holds_alternative<int*>(field.target) || std::holds_alternative<int64_t*>(field.target);
  return is_number ? "N" : "TEXT";
}

void AddOption(CLI::App& command, const std::string& path, const Field& field,
               std::vector<Setting>& settings) {
  const std::string flag = field.flag;
  const auto set = [&settings, flag, path](const std::vector<std::string>& texts) {
    settings.push_back({flag, path, CLI::detail::join(texts, ",")});
  };
  const bool is_list = std::holds_alternative<std::vector<std::string>*>(field.target);
  command.add_option_function<std::vector<std::string>>(flag, set, field.doc)
      ->type_name(TypeName(field))
      ->type_size(1)
      ->expected(1, is_list ? CLI::detail::expected_max_vector_size : 1);
}

// A --set that is read like an option of its own.
Setting ParseSetting(const std::string& pair) {
  const size_t equals = pair.find('=');
  if (equals == std::string::npos) {
    throw InputError("--set: \"" + pair + "\" is not of the form key=value");
  }
  return {"--set", pair.substr(0, equals), pair.substr(equals + 1)};
}

void AddConfigurationOptions(CLI::App& command, std::vector<Setting>& settings) {
  RobotConfig defaults;
  ForEachField(defaults.Fields(), [&](const std::string& path, const Field& field) {
    if (!field.flag.empty()) AddOption(command, path, field, settings);
  });
  const auto set = [&settings](const std::vector<std::string>& pairs) {
    for (const std::string& pair : pairs) settings.push_back(ParseSetting(pair));
  };
  command
      .add_option_function<std::vector<std::string>>(
          "--set", set, "Sets any key of the configuration, like preprocess.fit=crop.")
      ->type_name("KEY=VALUE");
}

RobotConfig EffectiveConfiguration(const std::string& file, const std::vector<Setting>& settings) {
  RobotConfig config = file.empty() ? RobotConfig() : LoadRobotConfig(file);
  const FieldTable fields = config.Fields();
  for (const Setting& setting : settings)
    SetField(setting.path, setting.text, setting.name, fields);
  config.Check();
  return config;
}

int RunReplay(const std::string& folder) {
  SetLogLevel(LogLevel::kWarning);
  const SteadyClock clock;
  const ReplayReport report = Replay(folder, clock);
  std::cout << ToText(report);
  return report.agrees() ? 0 : 1;
}

int Run(int argc, char** argv) {
  CLI::App app("CacheInf's robot: answers every frame of a video by a convolutional network.",
               "cacheinf-robot");
  app.set_version_flag("--version", "cacheinf-robot " CACHEINF_VERSION);
  app.require_subcommand(1);
  CLI::App& run = *app.add_subcommand("run", "Runs a model on a source of frames.");
  CLI::App& replay = *app.add_subcommand(
      "replay",
      "Runs a recording of --record again, and says whether all answers are the same bit for bit; "
      "exit code 1 if not.");
  std::string recording;
  replay.add_option("folder", recording, "The recording's folder, such as DIR/guard-000123.")
      ->required();
  std::string file;
  bool print_config = false;
  bool print_schema = false;
  std::vector<Setting> settings;
  run.add_option("--config", file,
                 "Configuration (JSON); options of the command line win over it.");
  AddConfigurationOptions(run, settings);
  run.add_flag("--print-config", print_config,
               "Prints the configuration in effect, as JSON that --config takes, and ends.");
  run.add_flag("--print-config-schema", print_schema,
               "Prints the JSON Schema of configurations and ends.");
  try {
    ParseCommandLine(app, argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  }
  if (replay.parsed()) return RunReplay(recording);
  if (print_schema) {
    std::cout << RobotConfigSchema();
    return 0;
  }
  RobotConfig config = EffectiveConfiguration(file, settings);
  if (print_config) {
    std::cout << WriteJson(config.Fields());
    return 0;
  }
  SetLogLevel(config.log_level);
  EndOnSignals();
  const SteadyClock clock;
  std::cout << ToText(RunRobot(config, clock, stop));
  return 0;
}

}  // namespace
}  // namespace cacheinf

int main(int argc, char** argv) {
  return cacheinf::RunProgram("cacheinf-robot", [&] { return cacheinf::Run(argc, argv); });
}
