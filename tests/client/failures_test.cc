#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/answer/agreement.h"
#include "common/base/clock.h"
#include "tests/client/demo_config.h"
#include "tests/testing/failure_shots.h"

// The demo's network on video in which something goes wrong. Every frame gets an answer, and once
// the video recovers, so do the answers.

namespace cacheinf {
namespace {

constexpr int kWidth = 160;
constexpr int kHeight = 128;

RobotConfig Config() { return DemoConfig("1x3x128x160"); }

std::vector<Frame> FramesOf(const Shot& shot) {
  std::vector<Frame> frames;
  for (const Picture& picture : shot.frames) {
    Frame frame;
    frame.index = static_cast<int64_t>(frames.size());
    frame.picture = picture;
    frames.push_back(std::move(frame));
  }
  return frames;
}

std::vector<ClassMap> DenseAnswers(const std::shared_ptr<const CompiledModel>& model,
                                   const Shot& shot) {
  const SteadyClock clock;
  RobotConfig config = Config();
  config.mode = RobotConfig::Mode::kDense;
  Robot robot(model, config, clock);
  std::vector<ClassMap> answers;
  for (const Frame& frame : FramesOf(shot)) {
    answers.push_back(std::get<ClassMap>(robot.Process(frame).content));
  }
  return answers;
}

struct Answered {
  std::vector<double> agreement;  // per frame: the share of pixels with the dense class
  std::vector<double> share;      // of a dense run's work
};

// Answers every frame.
Answered Show(const std::shared_ptr<const CompiledModel>& model, const RobotConfig& config,
              const Shot& shot, const std::vector<ClassMap>& dense) {
  const SteadyClock clock;
  Robot robot(model, config, clock);
  Answered answered;
  for (const Frame& frame : FramesOf(shot)) {
    const Answer answer = robot.Process(frame);
    EXPECT_EQ(answer.computed_from, frame.index);
    MapAgreement agreement;
    agreement.Add(std::get<ClassMap>(answer.content), dense[answered.agreement.size()]);
    answered.agreement.push_back(agreement.PixelShare().value_or(1));
    answered.share.push_back(answer.work->share);
    robot.Refresh(frame);
  }
  return answered;
}

// The agreement of these scenes' frames if all is well. It is lower on a canvas, which is redrawn
// wherever the camera has moved since its anchor.
double LeastAgreement(CacheConfig::Geometry geometry) {
  return geometry == CacheConfig::Geometry::kCanvas ? 0.95 : 0.975;
}

TEST(FailuresTest, AgreementIsBackWithinARefresh) {
  RobotConfig config = Config();
  const auto model = Compile(LoadGraph(config, /*has_tensors=*/false), config);
  for (const Shot& shot : FailureShots(kWidth, kHeight)) {
    const std::vector<ClassMap> dense = DenseAnswers(model, shot);
    using enum CacheConfig::Geometry;
    for (const auto geometry : {kNone, kCanvas, kWarp}) {
      for (const auto policy : {CacheConfig::Policy::kChange, CacheConfig::Policy::kFixed}) {
        SCOPED_TRACE(testing::Message() << shot.name << ", geometry " << static_cast<int>(geometry)
                                        << ", policy " << static_cast<int>(policy));
        config.cache.geometry = geometry;
        config.cache.policy = policy;
        const Answered answered = Show(model, config, shot, dense);
        const int count = static_cast<int>(shot.frames.size());
        const int back = FramesUntilBack(shot, answered.agreement, LeastAgreement(geometry));
        EXPECT_GE(back, 0);
        EXPECT_LE(back, config.cache.refresh);
        EXPECT_LT(Mean(answered.share, shot.end + config.cache.refresh, count), 0.95);
      }
    }
  }
}

}  // namespace
}  // namespace cacheinf
