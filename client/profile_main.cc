#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <string>

#include "client/calibrate/calibrate.h"
#include "client/run/config_options.h"
#include "common/base/clock.h"
#include "common/base/command_line.h"
#include "common/base/log.h"
#include "common/base/program.h"
#include "profiler/commands.h"

// The offline tool: looks into models, packs them, describes the machine, and finds settings for a
// robot.

namespace {

struct CalibrateOptions {
  cacheinf::ConfigOptions config;
  std::string clip;
  cacheinf::CalibrationOptions calibration;
  int exit_code = 0;

  void AddTo(CLI::App& app) {
    CLI::App* command = app.add_subcommand(
        "calibrate",
        "Find the settings of mode \"cache\" that agree with dense answers on a clip for least.");
    config.AddTo(*command,
                 {"--model", "--shape", "--threads", "--backend", "--scheme", "--log-level"});
    command->add_option("--source", clip,
                        "the clip: a video, a folder of pictures, generated[:…]; in place of the "
                        "configuration's source, which stays what it is");
    command->add_option("--agreement", calibration.agreement,
                        "to reach with dense answers: F1 of boxes, mIoU of maps, PCK, top-1, or 1 "
                        "minus the relative error");
    const std::map<std::string, cacheinf::CalibrationOptions::By> by = {
        {"work", cacheinf::CalibrationOptions::By::kWork},
        {"time", cacheinf::CalibrationOptions::By::kTime}};
    const auto set_by = [this, by](const std::string& name) { calibration.by = by.at(name); };
    command
        ->add_option_function<std::string>(
            "--by", set_by, "what shall be least: work, or the time of answer and refresh")
        ->check(CLI::IsMember(by));
    command->add_option("--skip", calibration.skip, "frames of the clip, before the first used");
    command->add_option("--frames", calibration.frames, "at most so many are used");
    CLI::Option* budget = command->add_option("--budget", calibration.budget_s, "seconds");
    command
        ->add_option(
            "--trials", calibration.trials,
            "end after so many trials, with the same result every time, instead of by time")
        ->excludes(budget);
    command->add_option("--out", calibration.out,
                        "the configuration found (default: MODEL.calibrated.json beside --config, "
                        "or beside the model)");
    command->add_option("--frontier", calibration.frontier, "cost against agreement as CSV");
    command->add_option("--picture", calibration.picture, "the same as a PNG picture");
    command->callback([this] { Run(); });
  }

  void Run() {
    const cacheinf::RobotConfig effective = config.Effective();
    calibration.config_file = config.file();
    cacheinf::SetLogLevel(effective.log_level);
    const cacheinf::SteadyClock clock;
    const std::string source = clip.empty() ? effective.source : clip;
    const cacheinf::CalibrationResult result =
        cacheinf::Calibrate(effective, source, calibration, clock, cacheinf::StopOnSignals());
    std::cout << result.text;
    exit_code = result.is_reached ? 0 : 1;
  }
};

int Main(int argc, char** argv) {
  CLI::App app("Looks into models, packs them, describes the machine, and finds settings.",
               "cacheinf-profile");
  app.set_version_flag("--version", "cacheinf-profile " CACHEINF_VERSION);
  app.require_subcommand(1);
  cacheinf::ProfilerCommands commands;
  CalibrateOptions calibrate;
  commands.AddTo(app);
  calibrate.AddTo(app);
  try {
    cacheinf::ParseCommandLine(app, argc, argv);
    return calibrate.exit_code;
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return cacheinf::RunProgram("cacheinf-profile", [&] { return Main(argc, argv); });
}
