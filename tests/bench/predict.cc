#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <opencv2/core.hpp>
#include <string>
#include <utility>
#include <vector>

#include "client/robot_setup.h"
#include "common/plan/cost_model.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_server.h"
#include "tests/bench/clips.h"
#include "tests/bench/contender.h"
#include "tests/bench/planning.h"
#include "tests/bench/worker.h"

namespace cacheinf {
namespace {

constexpr double kSecondsToProfile = 15;
constexpr int kFramesOfAClip = 60;
constexpr double kMostInTheMedian = 0.1;
constexpr double kMostAtTheEnd = 0.2;

// A robot alone, whose frames take what the profile says.
class Predictor {
 public:
  explicit Predictor(const Profile& robot) : model_(robot, AsServer(robot), Situation()) {}

  double Ms(bool keeps, double work) const {
    Situation situation;
    situation.robot_work = situation.server_work = work;
    return model_.At(situation).Ms({.keeps = keeps});
  }

 private:
  static Profile AsServer(Profile profile) {
    profile.side = Side::kServer;
    return profile;
  }

  CostModel model_;
};

// |predicted / taken - 1| of every frame, or predicted / taken.
void AddRow(const nlohmann::ordered_json& head, const std::string& mode,
            const std::vector<FrameCost>& costs, const Predictor& predictor, Samples* errors,
            BenchReport* report) {
  Samples taken_ms;
  Samples predicted_ms;
  Samples ratios;
  Samples of_row;
  Samples work;
  int whole = 0;
  for (const FrameCost& cost : costs) {
    // A frame computed whole keeps nothing, whatever the mode.
    const bool keeps = cost.share.has_value();
    whole += keeps ? 0 : 1;
    const double ms = predictor.Ms(keeps, cost.share.value_or(1.0));
    taken_ms.ms.push_back(cost.robot_ms);
    predicted_ms.ms.push_back(ms);
    work.ms.push_back(cost.share.value_or(1.0));
    ratios.ms.push_back(ms / cost.robot_ms);
    of_row.ms.push_back(std::abs(ms / cost.robot_ms - 1));
  }
  errors->ms.insert(errors->ms.end(), of_row.ms.begin(), of_row.ms.end());
  nlohmann::ordered_json row = head;
  row.update(
      {{"mode", mode},
       {"frames", costs.size()},
       {"whole", whole},
       {"work", work.Median()},
       {"taken_ms", taken_ms.Median()},
       {"predicted_ms", predicted_ms.Median()},
       {"predicted/taken", ratios.Median()},
       {"median_error", of_row.Median()},
       {"p95_error", of_row.Quantile(0.95)},
       {"holds", of_row.Median() <= kMostInTheMedian && of_row.Quantile(0.95) <= kMostAtTheEnd}});
  report->AddRow(std::move(row));
}

void AddErrors(const std::string& what, const Samples& errors, BenchReport* report) {
  if (errors.ms.empty()) return;
  report->AddNote(fmt::format(
      "|predicted ÷ taken - 1|, {}: {:.3f} in the median, {:.3f} at the 95th percentile "
      "of {} frames",
      what, errors.Median(), errors.Quantile(0.95), errors.ms.size()));
}

}  // namespace

void BenchPredict(const BenchOptions& options, BenchReport* report) {
  const Cores cores = TwoCores();
  PinToCore(cores.robot);
  cv::setNumThreads(1);
  std::filesystem::create_directories(options.cache);
  const std::vector<std::string> clips = Clips(options);
  std::map<std::string, Samples> errors;  // by mode
  for (const std::filesystem::path& file : ClipModels(options)) {
    RobotConfig config = ConfigFor(file, options);
    config.threads = 1;
    config.guard.is_on = false;
    const auto compiled = Compile(LoadGraph(config, /*has_tensors=*/false), config);
    for (const std::string& clip : clips) {
      std::vector<std::string> others;
      for (const std::string& other : clips) {
        if (other != clip) others.push_back(other);
      }
      const std::vector<Frame> frames =
          ReadFrames(clip, options.frames > 0 ? options.frames : kFramesOfAClip);
      if (others.empty() || frames.size() < 2) {
        report->AddNote(ClipName(clip) + " is left out: it is too short, or there is no other");
        continue;
      }
      const Predictor predictor(ObtainSide(compiled, config,
                                           {.clips = others,
                                            .seconds = kSecondsToProfile,
                                            .folder = options.cache / "profiles",
                                            .robot_core = cores.robot},
                                           Side::kRobot)
                                    .profile);
      for (const RobotConfig::Mode mode : {RobotConfig::Mode::kDense, RobotConfig::Mode::kCache}) {
        RobotConfig of_mode = config;
        of_mode.mode = mode;
        const auto robot = MakeRobotContender(compiled, of_mode);
        const std::string name = mode == RobotConfig::Mode::kDense ? "local" : "cache";
        AddRow({{"model", file.stem().string()}, {"clip", ClipName(clip)}}, name,
               MeasureFrames(*robot, frames, /*needs_server=*/false), predictor, &errors[name],
               report);
      }
    }
  }
  for (const auto& [mode, of_mode] : errors) AddErrors(mode, of_mode, report);
}

}  // namespace cacheinf
