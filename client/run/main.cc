#include <CLI/CLI.hpp>
#include <atomic>
#include <iostream>
#include <string>

#include "client/answer/answer.h"
#include "client/record/replay.h"
#include "client/run/calibrate_command.h"
#include "client/run/run.h"
#include "client/run/summary.h"
#include "common/base/clock.h"
#include "common/base/command_line.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/program.h"
#include "common/config/config_options.h"
#include "common/config/robot_config.h"

namespace cacheinf {
namespace {

int RunReplay(const std::string& folder) {
  SetLogLevel(LogLevel::kWarning);
  const SteadyClock clock;
  const ReplayReport report = Replay(folder, clock);
  std::cout << ToText(report);
  return report.agrees() ? 0 : 1;
}

int Run(int argc, char** argv) {
  CLI::App app("CacheInf's robot: answers every frame of a video with a convolutional network.",
               "cacheinf-robot");
  app.require_subcommand(1);
  CLI::App& run = *app.add_subcommand("run", "Runs a model on a source of frames.");
  CLI::App& replay = *app.add_subcommand("replay",
                                         "Runs a recording of --record again and says whether all "
                                         "answers are the same, bit for bit; exit code 1 if not.");
  std::string recording;
  replay.add_option("folder", recording, "The recording's folder, such as DIR/guard-000123.")
      ->required();
  CalibrateCommand calibrate;
  calibrate.AddTo(app);
  ConfigOptions options;
  options.AddTo(run, RobotConfig().Fields());
  bool prints_answers_schema = false;
  run.add_flag("--print-answers-schema", prints_answers_schema,
               "Prints the JSON Schema of what --answers writes, and exits.");
  if (const auto exit_code = ParseCommandLine(app, CACHEINF_VERSION, argc, argv)) return *exit_code;
  if (replay.parsed()) return RunReplay(recording);
  if (calibrate.is_asked_for()) return calibrate.Run();
  if (prints_answers_schema) {
    std::cout << AnswersSchema();
    return 0;
  }
  RobotConfig config = EffectiveConfig(options);
  if (options.Print(app.get_name(), RobotConfig().Fields(), config.Fields())) return 0;
  SetLogLevel(config.log_level);
  const std::atomic<bool>& stop = StopOnSignals();
  if (!config.output.answers.empty()) IgnoreClosedPipes();
  static const SteadyClock clock;
  const Summary summary = RunRobot(config, clock, stop);
  (config.output.answers_on_stdout() ? std::cerr : std::cout) << ToText(summary);
  if (!summary.unwritten.empty()) throw InputError(summary.unwritten);
  return 0;
}

}  // namespace
}  // namespace cacheinf

int main(int argc, char** argv) {
  return cacheinf::RunProgram("cacheinf-robot", [&] { return cacheinf::Run(argc, argv); });
}
