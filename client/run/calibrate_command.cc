#include "client/run/calibrate_command.h"

#include <iostream>
#include <set>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/program.h"

namespace cacheinf {

void CalibrateCommand::AddTo(CLI::App& app) {
  command_ = app.add_subcommand(
      "calibrate",
      "Finds the cheapest settings of mode \"cache\" that agree with dense answers on a clip.");
  config_.AddTo(*command_, RobotConfig().Fields(),
                {"--model", "--shape", "--threads", "--backend", "--scheme", "--log-level"});
  command_->add_option("--source", clip_,
                       "the clip: a video, a folder of pictures, generated[:…]; the configuration "
                       "keeps its own source");
  command_->add_option("--agreement", options_.agreement,
                       "agreement with dense answers to reach: F1 of boxes, mIoU of maps, PCK, "
                       "top-1, or 1 minus the relative error");
  const auto set_by = [this](const std::string& name) {
    options_.by = *ValueOf<CalibrationOptions::By>(name);
  };
  const auto words = WordsOf(options_.by);
  command_
      ->add_option_function<std::string>(
          "--by", set_by, "what to minimise: work, or the time of answer and refresh")
      ->check(CLI::IsMember(std::set<std::string>(words.begin(), words.end())));
  command_->add_option("--skip", options_.skip, "frames to skip at the start of the clip");
  command_->add_option("--frames", options_.frames, "the most frames to use");
  CLI::Option* const budget = command_->add_option("--budget", options_.budget_s, "seconds");
  command_
      ->add_option("--trials", options_.trials,
                   "end after this many trials instead of by time, with the same result every time")
      ->excludes(budget);
  command_->add_option("--out", options_.out,
                       "file for the configuration found (default: MODEL.calibrated.json beside "
                       "--config, or beside the model)");
  command_->add_option("--frontier", options_.frontier, "file for cost against agreement, as CSV");
}

int CalibrateCommand::Run() {
  const RobotConfig config = EffectiveConfig(config_);
  options_.config_file = config_.file();
  SetLogLevel(config.log_level);
  const SteadyClock clock;
  const std::string source = clip_.empty() ? config.source : clip_;
  const CalibrationResult result = Calibrate(config, source, options_, clock, StopOnSignals());
  std::cout << result.text;
  return result.is_reached ? 0 : 1;
}

}  // namespace cacheinf
