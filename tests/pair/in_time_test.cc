// A robot with a deadline and a server whose link dies: every frame is answered in time, and the
// first answer that the robot computes alone is a cached one.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "client/robot.h"
#include "client/robot_setup.h"
#include "client/run/frame_loop.h"
#include "common/base/clock.h"
#include "common/base/median.h"
#include "common/source/frame_queue.h"
#include "common/source/frame_source.h"
#include "tests/client/demo_config.h"
#include "tests/pair/in_process_server.h"
#include "tests/testing/folder_test.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using Time = std::chrono::nanoseconds;

constexpr milliseconds kPeriod(60);
constexpr milliseconds kDense(320);
constexpr milliseconds kDeadline(80);

// The demo's scene for ever, one frame a period.
class Scenery final : public FrameSource {
 public:
  explicit Scenery(const Clock& clock)
      : scenes_(OpenSource("generated:seed=9000040,frames=100000,width=128,height=96", clock)) {}

  std::optional<Frame> Next() override {
    std::optional<Frame> frame = scenes_->Next();
    frame->stamp = frame->index * kPeriod;
    return frame;
  }
  int64_t skipped() const override { return 0; }
  bool is_live() const override { return false; }
  bool has_tensors() const override { return false; }
  double frame_rate() const override { return 1e9 / static_cast<double>(Time(kPeriod).count()); }

 private:
  const std::unique_ptr<FrameSource> scenes_;
};

class InTimeTest : public FolderTest {
 protected:
  InTimeTest() : queue_(std::make_unique<Scenery>(clock_), 1, &clock_), server_(folder_, clock_) {}

  RobotConfig Config() const {
    RobotConfig config = DemoConfig("1x3x96x128");
    config.mode = RobotConfig::Mode::kRemote;
    config.cache.policy = CacheConfig::Policy::kFixed;
    config.cache.stem = 0;
    config.server.codec = "raw";
    config.deadline_ms = static_cast<double>(kDeadline.count());
    return config;
  }

  // A robot that needs kDense for a whole frame.
  Robot MakeSlowRobot() {
    RobotConfig config = Config();
    const auto model = Compile(LoadGraph(config, /*has_tensors=*/false), config);
    RobotConfig alone = config;
    alone.mode = RobotConfig::Mode::kDense;
    alone.deadline_ms = 0;
    Robot dense(model, alone, clock_);
    const auto source = OpenSource("generated:seed=1,frames=9,width=128,height=96", clock_);
    std::vector<double> took;
    while (const auto frame = source->Next()) {
      took.push_back(static_cast<double>(dense.Process(*frame).latency().count()));
    }
    const double slowdown = static_cast<double>(Time(kDense).count()) / MedianOf(took);
    config.server.emulate = std::to_string(slowdown) + "x";
    return Robot(model, config, clock_, server_.connect());
  }

  struct Answered {
    std::optional<Time> first;  // after its stamp
    bool has_moved = false;
    bool is_served = false;
    std::optional<double> share;  // of a dense run, if the robot computed it
  };

  // Lets the robot answer a frame; what came of all so far is in `answered_`.
  void AnswerOne(Robot& robot) {
    const std::optional<Frame> frame = loop_.Next(robot);
    robot.Begin(*frame, {}, clock_.Now() - frame->stamp);
    const Answer answer = loop_.Finish(robot, *frame);
    Note(*frame, answer);
    Answered& own = answered_[frame->index];
    own.is_served = answer.server.has_value();
    if (answer.work) own.share = answer.work->share;
    last_ = frame->index;
    while (!loop_.HasNext() && robot.StandBy()) {
    }
  }

  void Note(const Frame& frame, const Answer& answer) {
    Answered& own = answered_[frame.index];
    if (!own.first) own.first = clock_.Now() - frame.stamp;
    own.has_moved |= answer.is_moved;
  }

  const Answered& last() { return answered_[last_]; }

  // Kills the link `kills` times while a frame is under way or none is.
  void Kill(int kills) {
    Robot robot = MakeSlowRobot();
    std::mt19937 random(1);
    std::vector<double> shares;  // of the first answer after each kill
    int64_t first_in_time = 0;
    for (int kill = 0; kill < kills; ++kill) {
      for (int served = 0, frames = 0; served < 20; ++frames) {
        ASSERT_LT(frames, 1000) << "no server for kill " << kill;
        AnswerOne(robot);
        served = last().is_served ? served + 1 : 0;
        if (kill == 0 && served == 1) first_in_time = last_;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));
      server_.Kill(/*is_told=*/kill % 2 == 0);
      for (int frames = 0; frames == 0 || last().is_served; ++frames) AnswerOne(robot);
      ASSERT_TRUE(last().share.has_value());
      shares.push_back(*last().share);
    }
    int64_t late = 0;
    int64_t moved = 0;
    int64_t count = 0;
    for (auto own = answered_.lower_bound(first_in_time); own != answered_.end(); ++own) {
      ++count;
      moved += own->second.has_moved;
      late += own->second.first > Time(kDeadline);
    }
    EXPECT_EQ(answered_.rbegin()->first - first_in_time + 1, count) << "frames without an answer";
    EXPECT_EQ(queue_.count().dropped, 0);
    EXPECT_GT(moved, 0);
    // What this machine does besides may cost a frame its time.
    EXPECT_LE(late, count / 50) << "of " << count;
    EXPECT_LE(MedianOf(shares), 0.5);
  }

  SteadyClock clock_;
  FrameQueue queue_;
  InProcessServer server_;
  FrameLoop loop_{queue_, static_cast<double>(kDeadline.count()), clock_,
                  [this](const Frame& frame) { return clock_.Now() - frame.stamp; },
                  [this](const Frame& frame, const Answer& answer, bool /*is_last*/) {
                    Note(frame, answer);
                  }};
  std::map<int64_t, Answered> answered_;
  int64_t last_ = 0;
};

TEST_F(InTimeTest, EveryFrameIsAnsweredWhenTheLinkDies) { Kill(3); }
TEST_F(InTimeTest, SlowEveryFrameIsAnsweredWhenTheLinkDies) { Kill(100); }

}  // namespace
}  // namespace cacheinf
