#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/agreement.h"
#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/base/clock.h"
#include "tests/client/demo_config.h"
#include "tests/testing/failure_shots.h"

// The demo's network on video in which something goes wrong: every frame is answered, and once all
// is well again, so are the answers.

namespace cacheinf {
namespace {

constexpr int kWidth = 160;
constexpr int kHeight = 128;

const std::vector<Shot>& Shots() {
  static const std::vector<Shot> kShots = FailureShots(kWidth, kHeight);
  return kShots;
}

struct Answered {
  std::vector<double> agreement;  // of each frame: the share of pixels of the dense class
  std::vector<double> share;      // of a dense run's work
};

class FailuresTest : public testing::Test {
 protected:
  // Answers every frame, and compares each with dense.
  static Answered Show(const Shot& shot, const RobotConfig& config) {
    const SteadyClock clock;
    const auto graph = std::make_shared<const Graph>(LoadGraph(config, /*has_tensors=*/false));
    RobotConfig dense_config = config;
    dense_config.mode = RobotConfig::Mode::kDense;
    Robot dense(graph, MakeBackend(config), dense_config, clock);
    Robot robot(graph, MakeBackend(config), config, clock);
    Answered answered;
    for (size_t i = 0; i < shot.frames.size(); ++i) {
      Frame frame;
      frame.index = static_cast<int64_t>(i);
      frame.picture = shot.frames[i];
      const Answer answer = robot.Process(frame);
      EXPECT_EQ(answer.computed_from, frame.index);
      MapAgreement agreement;
      agreement.Add(std::get<ClassMap>(answer.content),
                    std::get<ClassMap>(dense.Process(frame).content));
      answered.agreement.push_back(agreement.PixelShare());
      answered.share.push_back(answer.work->share());
      robot.Refresh(frame);
    }
    return answered;
  }
};

// The mean over frames [begin, end).
double Mean(const std::vector<double>& numbers, int begin, int end) {
  return std::accumulate(numbers.begin() + begin, numbers.begin() + end, 0.0) / (end - begin);
}

TEST_F(FailuresTest, AgreementIsBackWithinARefresh) {
  for (const auto policy : {CacheConfig::Policy::kChange, CacheConfig::Policy::kFixed}) {
    RobotConfig config = DemoConfig("1x3x128x160");
    config.cache.policy = policy;
    for (const Shot& shot : Shots()) {
      SCOPED_TRACE(testing::Message() << shot.name << ", policy " << static_cast<int>(policy));
      const Answered answered = Show(shot, config);
      const int count = static_cast<int>(shot.frames.size());
      const double usual = shot.begin > 1 ? Mean(answered.agreement, 1, shot.begin) : 0.99;
      const int back = FramesUntilBack(shot, answered.agreement, usual - 0.02);
      EXPECT_GE(back, 0);
      EXPECT_LE(back, config.cache.refresh);
      EXPECT_LT(Mean(answered.share, shot.end + config.cache.refresh, count), 0.95);
    }
  }
}

}  // namespace
}  // namespace cacheinf
