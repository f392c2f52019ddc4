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
      "Find the settings of mode \"cache\" that agree with dense answers on a clip for least.");
  config_.AddTo(*command_, RobotConfig().Fields(),
                {"--model", "--shape", "--threads", "--backend", "--scheme", "--log-level"});
  command_->add_option("--source", clip_,
                       "the clip: a video, a folder of pictures, generated[:…]; in place of the "
                       "configuration's source, which stays what it is");
  command_->add_option("--agreement", options_.agreement,
                       "to reach with dense answers: F1 of boxes, mIoU of maps, PCK, top-1, or 1 "
                       "minus the relative error");
  const auto set_by = [this](const std::string& name) {
    options_.by = *ValueOf<CalibrationOptions::By>(name);
  };
  const auto words = WordsOf(options_.by);
  command_
      ->add_option_function<std::string>(
          "--by", set_by, "what shall be least: work, or the time of answer and refresh")
      ->check(CLI::IsMember(std::set<std::string>(words.begin(), words.end())));
  command_->add_option("--skip", options_.skip, "frames of the clip, before the first used");
  command_->add_option("--frames", options_.frames, "at most so many are used");
  CLI::Option* const budget = command_->add_option("--budget", options_.budget_s, "seconds");
  command_
      ->add_option("--trials", options_.trials,
                   "end after so many trials, with the same result every time, instead of by time")
      ->excludes(budget);
  command_->add_option("--out", options_.out,
                       "the configuration found (default: MODEL.calibrated.json beside --config, "
                       "or beside the model)");
  command_->add_option("--frontier", options_.frontier, "cost against agreement as CSV");
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
