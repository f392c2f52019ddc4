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
      "It answers the clip's frames densely, tries settings on the first two thirds of them for as "
      "long as --budget says, checks the best on the last third, and writes them as a "
      "configuration "
      "for \"run --config\". It prints what it found in one ranking, with dense runs and repeated "
      "answers, says which is the better choice on this clip, and whether the clip shows enough to "
      "tell. Of a network too slow for ten trials it takes fewer frames. Where no settings reach "
      "--agreement for less than dense runs, it writes mode \"dense\", and its exit code is 1. "
      "Progress goes to standard error; Ctrl-C ends the search with the best so far.");
  config_.AddTo(*command_, RobotConfig().Fields(),
                {"--model", "--shape", "--input", "--class-names", "--threads", "--backend",
                 "--scheme", "--log-level"});
  command_->add_option("--source", clip_,
                       "the clip: a video, a folder of pictures, generated[:…]; what is written "
                       "keeps the configuration's own source");
  command_
      ->add_option("--agreement", options_.agreement,
                   "agreement with dense answers to reach: F1 of boxes, mIoU of maps, PCK, top-1, "
                   "or 1 minus the relative error")
      ->capture_default_str();
  AddWord(*command_, "--by", options_.by,
          "what to minimise: work, which is the same everywhere (the default), or the time of "
          "answer and refresh on this machine");
  command_->add_option("--skip", options_.skip, "frames to skip at the start of the clip")
      ->capture_default_str();
  command_->add_option("--frames", options_.frames, "the most frames to use")
      ->capture_default_str();
  CLI::Option* const budget =
      command_
          ->add_option("--budget", options_.budget_s,
                       "seconds for dense answers and trials together; the model is loaded before, "
                       "and its convolutions are measured first with --scheme auto")
          ->capture_default_str();
  command_
      ->add_option("--trials", options_.trials,
                   "end after this many trials instead of by time, with the same result every time")
      ->excludes(budget);
  command_->add_option("--out", options_.out,
                       "file for the configuration found, whose relative paths start at its folder "
                       "(default: MODEL.calibrated.json beside --config, or beside the model)");
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
