// What a robot does between two frames.

#include "client/live_robot.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>

#include "client/robot_setup.h"
#include "common/base/clock.h"
#include "common/source/frame_queue.h"
#include "tests/client/demo_config.h"
#include "tests/testing/folder_test.h"

namespace cacheinf {
namespace {

class Listener final : public FrameObserver {
 public:
  bool IsOver() override { return is_over; }
  void Skip(const Frame& /*frame*/, const std::string& reason) override { FAIL() << reason; }
  void PublishMoved(const Frame& /*frame*/, const Answer& /*answer*/) override {}
  void Publish(const Frame& /*frame*/, const Answer& /*answer*/) override {}

  bool is_over = false;
};

class LiveRobotTest : public FolderTest {
 protected:
  LiveRobotTest() { setenv("CACHEINF_CACHE", folder_.c_str(), 1); }
  ~LiveRobotTest() override { unsetenv("CACHEINF_CACHE"); }

  static RobotConfig Config() {
    RobotConfig config = DemoConfig("1x3x48x64");
    config.mode = RobotConfig::Mode::kCacheinf;
    config.server.address = "tcp://127.0.0.1:1";  // nobody, so it tries its codecs on frames
    config.guard.is_on = false;
    return config;
  }

  size_t IdleSteps() {
    size_t steps = 0;
    while (robot_.TakeIdleStep()) ++steps;
    return steps;
  }

  const RobotConfig config_ = Config();
  const SteadyClock clock_{};
  const std::atomic<bool> never_ = false;
  FrameQueue source_{OpenSource("generated:seed=5,frames=16,width=80,height=60", clock_), 2};
  RobotModels models_{LoadNetwork(config_, false), config_, false, {}, clock_, never_};
  Listener listener_;
  LiveRobot robot_{config_, models_, source_, clock_, listener_};
};

// A slow robot would look dead for a minute, and not hear a signal.
TEST_F(LiveRobotTest, ARecordsFramesDoNotWaitForAWholeTrial) {
  const size_t at_most = robot_.robot().state().stage_count();
  int times = 0;
  while (const std::optional<Frame> frame = robot_.Next()) {
    robot_.Handle(*frame);
    listener_.is_over = true;
    EXPECT_EQ(IdleSteps(), 0u);
    listener_.is_over = false;
    const size_t steps = IdleSteps();
    EXPECT_LE(steps, at_most);
    times += steps > 0 ? 1 : 0;
  }
  EXPECT_GT(times, 2) << "a trial goes on after the next frame";
}

}  // namespace
}  // namespace cacheinf
