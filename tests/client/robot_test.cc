#include "client/robot.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "client/recording.h"
#include "client/robot_setup.h"
#include "common/base/clock.h"
#include "common/source/frame_source.h"
#include "tests/client/demo_config.h"

// What a robot keeps from frame to frame where the camera moves.

namespace cacheinf {
namespace {

class MovingRobotTest : public testing::Test {
 protected:
  Robot MakeRobot(const RobotConfig& config) {
    const auto graph = std::make_shared<const Graph>(LoadGraph(config, /*has_tensors=*/false));
    return Robot(graph, MakeBackend(config), config, clock_);
  }

  std::vector<Frame> FramesOf(const RobotConfig& config) const {
    const std::unique_ptr<FrameSource> source = OpenSource(config.source, clock_);
    std::vector<Frame> frames;
    while (std::optional<Frame> frame = source->Next()) frames.push_back(std::move(*frame));
    return frames;
  }

  SteadyClock clock_;
};

// A camera that pans, turns and zooms. Nothing is computed but what is watched and what came in, so
// that parts that are watched in vain, or where the canvas had them before, show.
TEST_F(MovingRobotTest, AfterAnAnchorInIdleTimeItGoesOnAsOneThatBeginsThere) {
  RobotConfig config = DemoConfig("1x3x96x128");
  config.source = "generated:seed=5,frames=30,width=128,height=96,shapes=6,camera=travel";
  config.cache.geometry = CacheConfig::Geometry::kCanvas;
  config.cache.policy = CacheConfig::Policy::kFixed;
  config.cache.stem = 0;
  config.cache.refresh = 0;
  config.cache.watch = true;
  config.tracker.change.threshold = 1.0;
  Robot robot = MakeRobot(config);
  std::optional<Robot> newcomer;
  int anchors = 0;
  for (const Frame& frame : FramesOf(config)) {
    SCOPED_TRACE(testing::Message() << "frame " << frame.index);
    const Answer answer = robot.Process(frame);
    if (newcomer) {
      const Answer expected = newcomer->Process(frame);
      EXPECT_EQ(answer.work->operators.done, expected.work->operators.done);
      EXPECT_EQ(HashOf(*robot.active()), HashOf(*newcomer->active()));
      EXPECT_EQ(HashOfOutputs(robot.executor()), HashOfOutputs(newcomer->executor()));
      EXPECT_GT(answer.work->share(), 0.05) << "hardly anything is watched";
      EXPECT_LT(answer.work->share(), 0.8);
    }
    if (!robot.Refresh(frame)) continue;
    ++anchors;
    newcomer.emplace(std::make_shared<const Graph>(robot.executor().graph()), MakeBackend(config),
                     config, clock_);
    newcomer->Process(frame);
  }
  EXPECT_GE(anchors, 2);
}

}  // namespace
}  // namespace cacheinf
