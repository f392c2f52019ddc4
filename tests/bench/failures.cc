#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/answer/agreement.h"
#include "common/base/clock.h"
#include "tests/bench/bench.h"
#include "tests/testing/failure_shots.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

constexpr double kTolerance = 0.02;  // of the agreement before
constexpr std::array kGeometries = {CacheConfig::Geometry::kNone, CacheConfig::Geometry::kCanvas,
                                    CacheConfig::Geometry::kWarp};

// For every frame, the share of pixels with the dense answer's class.
std::vector<double> AgreementOf(const std::shared_ptr<const CompiledModel>& model,
                                const RobotConfig& config, const Shot& shot) {
  const SteadyClock clock;
  RobotConfig dense_config = config;
  dense_config.mode = RobotConfig::Mode::kDense;
  Robot dense(model, dense_config, clock);
  Robot robot(model, config, clock);
  std::vector<double> agreement;
  for (size_t i = 0; i < shot.frames.size(); ++i) {
    Frame frame;
    frame.index = static_cast<int64_t>(i);
    frame.picture = shot.frames[i];
    MapAgreement of_frame;
    const Answer answer = robot.Process(frame);
    of_frame.Add(std::get<ClassMap>(answer.content),
                 std::get<ClassMap>(dense.Process(frame).content));
    agreement.push_back(of_frame.PixelShare().value_or(1));
    robot.Refresh(frame);
  }
  return agreement;
}

void AddRow(const std::shared_ptr<const CompiledModel>& model, const RobotConfig& config,
            const Shot& shot, BenchReport* report) {
  const std::vector<double> agreement = AgreementOf(model, config, shot);
  const int after = shot.end + config.cache.refresh;
  // If nothing comes before, the final agreement counts as usual.
  const double usual = shot.begin > 1 ? Mean(agreement, 1, shot.begin)
                                      : Mean(agreement, after, static_cast<int>(agreement.size()));
  report->AddRow({{"shot", shot.name},
                  {"policy", NameOf(config.cache.policy)},
                  {"geometry", NameOf(config.cache.geometry)},
                  {"before", usual},
                  {"worst_meanwhile",
                   *std::min_element(agreement.begin() + shot.begin, agreement.begin() + shot.end)},
                  {"after", Mean(agreement, after, static_cast<int>(agreement.size()))},
                  {"frames_until_back", FramesUntilBack(shot, agreement, usual - kTolerance)}});
}

}  // namespace

void BenchFailures(const BenchOptions& options, BenchReport* report) {
  RobotConfig config = LoadRobotConfig(SourceFolder() / "configs/demo.json");
  config.model = SourceFolder() / "configs/models/demo_segmentation.onnx";
  config.threads = options.threads.empty() ? 1 : options.threads.front();
  config.mode = RobotConfig::Mode::kCache;
  const auto model = Compile(LoadGraph(config, /*has_tensors=*/false), config);
  const std::vector<Shot> shots =
      FailureShots(model->graph().picture.width, model->graph().picture.height);
  for (const auto policy : {CacheConfig::Policy::kChange, CacheConfig::Policy::kFixed}) {
    for (const auto geometry : kGeometries) {
      config.cache.policy = policy;
      config.cache.geometry = geometry;
      for (const Shot& shot : shots) AddRow(model, config, shot, report);
    }
  }
  report->AddNote("agreement: share of pixels of the dense answer's class; refresh in " +
                  std::to_string(config.cache.refresh) + " frames");
}

}  // namespace cacheinf
