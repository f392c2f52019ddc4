#include "client/run/calibrate_command.h"

#include <iostream>

#include "common/base/clock.h"
#include "common/base/command_line.h"
#include "common/base/log.h"
#include "common/base/program.h"

namespace cacheinf {

void CalibrateCommand::AddTo(CLI::App& app) {
  command_ = app.add_subcommand(
      "calibrate",
      "Finds the cheapest settings of mode \"cache\" that agree with dense answers on a clip of "
      "yours.\n\n"
      "It tries settings on the clip's first two thirds and checks the best on the last third.\n"
      "It prints a ranking, with dense runs and repeated answers, and says which is best.\n"
      "It writes the best settings as a configuration for \"run --config\". If none reach\n"
      "--agreement for less than dense runs, that is mode \"dense\", and the exit code is 1.\n"
      "Progress goes to standard error. Ctrl-C ends the search with the best so far.");
  config_.AddTo(*command_, RobotConfig().Fields(),
                {"--model", "--shape", "--input", "--class-names", "--threads", "--backend",
                 "--scheme", "--log-level"});
  command_->add_option("--source", clip_,
                       "the clip: a video, a folder of pictures, generated[:…]; it is not written");
  command_
      ->add_option("--agreement", options_.agreement,
                   "agreement with dense answers to reach, such as F1 of boxes or mIoU of maps")
      ->capture_default_str();
  AddWord(*command_, "--by", options_.by,
          "what to minimise: work (the default), or time on this machine");
  command_->add_option("--skip", options_.skip, "frames to skip at the start of the clip")
      ->capture_default_str();
  command_->add_option("--frames", options_.frames, "the most frames to use")
      ->capture_default_str();
  CLI::Option* const budget =
      command_
          ->add_option("--budget", options_.budget_s,
                       "seconds for dense answers and trials, once the model is loaded")
          ->capture_default_str();
  command_
      ->add_option("--trials", options_.trials,
                   "trials, instead of a time; the result is the same every time")
      ->excludes(budget);
  command_->add_option("--out", options_.out,
                       "file for the settings (default: MODEL.calibrated.json beside --config or "
                       "the model)");
  command_->add_option("--frontier", options_.frontier,
                       "file for the table, as CSV; none by default");
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
