// A robot with a deadline and a server whose link dies: every frame is answered in time, and the
// first answer that the robot computes alone is a cached one.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/frame_loop.h"
#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/base/clock.h"
#include "common/base/median.h"
#include "common/source/frame_queue.h"
#include "common/source/frame_source.h"
#include "tests/client/demo_config.h"
#include "tests/pair/in_process_server.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/sanitized.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using Time = std::chrono::nanoseconds;

constexpr char kScenery[] = "generated:seed=9000040,frames=100000,moving=0.3,width=128,height=96";
constexpr milliseconds kPeriod(80);
constexpr milliseconds kDeadline(60);

// The demo's scene for ever, one frame a period.
class Scenery final : public FrameSource {
 public:
  explicit Scenery(const Clock& clock) : scenes_(OpenSource(kScenery, clock)) {}

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
  void SetUp() override {
    if (kIsSanitized) GTEST_SKIP() << "a sanitizer leaves no time to keep deadlines";
  }

  InTimeTest() : queue_(std::make_unique<Scenery>(clock_), 8, &clock_), server_(folder_, clock_) {}

  static RobotConfig Config() {
    RobotConfig config = DemoConfig("1x3x384x512");
    config.mode = RobotConfig::Mode::kRemote;
    config.cache.policy = CacheConfig::Policy::kFixed;
    config.cache.stem = 0;
    config.server.codec = "raw";
    config.deadline_ms = static_cast<double>(kDeadline.count());
    return config;
  }

  struct Answered {
    std::optional<Time> first;  // after its stamp
    bool has_moved = false;
    bool is_served = false;
    std::optional<double> share;  // of a dense run, if the robot computed it
  };

  // Lets the robot answer a frame; what came of all so far is in `answered_`.
  void AnswerOne(Robot& robot) {
    robot_ = &robot;
    const std::optional<Frame> frame = loop_.Next(robot);
    const bool forgets = forgets_served_ && last().is_served;
    robot.Begin(*frame, {.forget = forgets}, clock_.Now() - frame->stamp);
    idle_steps_in_frame_ = 0;
    const Answer answer = loop_.Finish(robot, *frame).value();
    if (answer.server)
      most_idle_steps_in_frame_ = std::max(most_idle_steps_in_frame_, idle_steps_in_frame_);
    Note(*frame, answer);
    Answered& own = answered_[frame->index];
    own.is_served = answer.server.has_value();
    if (answer.work) own.share = answer.work->share;
    last_ = frame->index;
  }

  void Note(const Frame& frame, const Answer& answer) {
    Answered& own = answered_[frame.index];
    if (!own.first) own.first = clock_.Now() - frame.stamp;
    own.has_moved |= answer.is_moved;
  }

  const Answered& last() { return answered_[last_]; }

  // Kills the link `kills` times while a frame is under way or none is. Returns the median share of
  // a dense run that the first answer after a kill takes.
  double Kill(int kills) {
    std::optional<Robot> robot;
    std::mt19937 random(1);
    std::vector<double> shares;  // of the first answer after each kill
    int64_t first_in_time = 0;
    int64_t dropped_before = 0;
    for (int kill = 0; kill < kills; ++kill) {
      // A robot with a link that comes and goes waits longer and longer before it trusts the link.
      if (kill % 2 == 0) robot.emplace(model_, Config(), clock_, server_.connect());
      for (int served = 0, frames = 0; served < 6; ++frames) {
        if (frames == 1000) throw std::runtime_error("no server comes back");
        AnswerOne(*robot);
        served = last().is_served ? served + 1 : 0;
        if (kill == 0 && served == 1) {
          first_in_time = last_;
          dropped_before = loop_.dropped();
        }
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 40'000));
      server_.Kill(/*is_told=*/kill % 2 == 0);
      for (int frames = 0; frames == 0 || last().is_served; ++frames) AnswerOne(*robot);
      shares.push_back(last().share.value());
    }
    int64_t moved = 0;
    int64_t count = 0;
    std::vector<double> first_ms;
    for (auto own = answered_.lower_bound(first_in_time); own != answered_.end(); ++own) {
      ++count;
      moved += own->second.has_moved;
      first_ms.push_back(Milliseconds(*own->second.first));
    }
    // A robot that begins has no answer to move yet.
    const int64_t too_early = loop_.dropped() - dropped_before;
    // Other work on this machine may cost a frame its answer or its time.
    const int64_t unanswered = answered_.rbegin()->first - first_in_time + 1 - count - too_early;
    EXPECT_LE(unanswered, queue_.count().dropped);
    EXPECT_LE(unanswered, count / 10);
    if (kills >= 10) {
      EXPECT_GT(moved, 0) << "after few kills all may be in time";
    }
    EXPECT_LE(MedianOf(first_ms), static_cast<double>(kDeadline.count()));
    return MedianOf(shares);
  }

  SteadyClock clock_;
  const std::shared_ptr<const CompiledModel> model_ =
      Compile(LoadGraph(Config(), /*has_tensors=*/false), Config());
  FrameQueue queue_;
  InProcessServer server_;
  FrameLoop loop_{queue_,
                  static_cast<double>(kDeadline.count()),
                  clock_,
                  [this](const Frame& frame) { return clock_.Now() - frame.stamp; },
                  [this](const Frame& frame, const Answer& answer) { Note(frame, answer); },
                  /*overtaken=*/{},
                  [this] {
                    ++idle_steps_in_frame_;
                    return robot_ != nullptr && robot_->StandBy();
                  }};
  bool forgets_served_ = false;  // the robot, what it kept before a server answered
  Robot* robot_ = nullptr;
  std::map<int64_t, Answered> answered_;
  int idle_steps_in_frame_ = 0;
  int most_idle_steps_in_frame_ = 0;
  int64_t last_ = 0;
};

constexpr milliseconds kShortPeriod(12);

// A millisecond passes with each look of the loop, and with nothing else. Waits for the camera,
// which is on another thread, to deliver what is due by then.
class TickingClock final : public Clock {
 public:
  Time Now() const override {
    const Time now = milliseconds(++looks_);
    while (delivered_until_.load() <= now) std::this_thread::yield();
    return now;
  }
  Time LastLook() const { return milliseconds(looks_); }
  void SetDeliveredUntil(Time time) { delivered_until_ = time; }

 private:
  mutable std::atomic<int> looks_ = 0;
  std::atomic<Time> delivered_until_ = Time(0);
};

// Tells the same time, but lets none pass.
class OtherClock final : public Clock {
 public:
  explicit OtherClock(const TickingClock& clock) : clock_(clock) {}
  Time Now() const override { return clock_.LastLook(); }

 private:
  const TickingClock& clock_;
};

class TickingCamera final : public FrameSource {
 public:
  TickingCamera(int count, TickingClock& clock)
      : count_(count), clock_(clock), scenes_(OpenSource(kScenery, clock)) {}

  std::optional<Frame> Next() override {
    std::optional<Frame> frame = scenes_->Next();
    const bool is_over = frame->index == count_;
    frame->stamp = frame->index * kShortPeriod;
    clock_.SetDeliveredUntil(is_over ? Time::max() : frame->stamp);
    if (is_over) return std::nullopt;
    while (clock_.LastLook() < frame->stamp) std::this_thread::yield();
    return frame;
  }
  int64_t skipped() const override { return 0; }
  bool is_live() const override { return true; }
  bool has_tensors() const override { return false; }
  double frame_rate() const override { return 0; }

 private:
  const int count_;
  TickingClock& clock_;
  const std::unique_ptr<FrameSource> scenes_;
};

// A robot whose network takes several periods of the camera, on a clock that moves on as it looks.
class FrameLoopTest : public ::testing::Test {
 protected:
  FrameLoopTest() {
    config_ = DemoConfig("1x3x96x128");
    config_.mode = RobotConfig::Mode::kDense;
  }

  FrameLoop Loop(int frames, double deadline_ms, FrameLoop::HandOut hand_out,
                 FrameLoop::HandOut overtaken = {}) {
    config_.deadline_ms = deadline_ms;
    robot_.emplace(Compile(LoadGraph(config_, /*has_tensors=*/false), config_), config_,
                   robots_clock_);
    queue_.emplace(std::make_unique<TickingCamera>(frames, clock_), 8);
    return {*queue_,
            deadline_ms,
            clock_,
            [this](const Frame& frame) { return Since(frame); },
            std::move(hand_out),
            std::move(overtaken)};
  }

  void Begin(const Frame& frame) { robot_->Begin(frame, {}, Since(frame)); }

  Time Since(const Frame& frame) const { return clock_.LastLook() - frame.stamp; }

  RobotConfig config_;
  TickingClock clock_;
  const OtherClock robots_clock_{clock_};
  std::optional<Robot> robot_;
  std::optional<FrameQueue> queue_;
};

TEST_F(FrameLoopTest, ANetworkOfFourDeadlinesLeavesNoFrameWithoutAnAnswerInTime) {
  constexpr milliseconds kShort(15);
  constexpr int kFrames = 100;
  std::map<int64_t, Time> first;  // answer's latency
  int64_t computed = 0;
  int64_t overtaken = 0;
  FrameLoop loop = Loop(
      kFrames, static_cast<double>(kShort.count()),
      [&](const Frame& frame, const Answer& answer) {
        EXPECT_TRUE(answer.is_moved);
        EXPECT_LT(answer.computed_from, frame.index);
        EXPECT_TRUE(first.emplace(frame.index, Since(frame)).second)
            << "frame " << frame.index << " has two moved answers";
      },
      [&](const Frame& frame, const Answer& answer) {
        EXPECT_TRUE(answer.is_moved);
        EXPECT_TRUE(first.contains(frame.index));
        ++overtaken;
      });
  std::optional<int64_t> first_computed;
  while (const std::optional<Frame> frame = loop.Next(*robot_)) {
    Begin(*frame);
    const Answer answer = loop.Finish(*robot_, *frame).value();
    EXPECT_GT(answer.latency(), 4 * Time(kShort));
    first.emplace(frame->index, Since(*frame));
    if (!first_computed) first_computed = frame->index;
    ++computed;
  }
  EXPECT_GE(computed, 5);
  EXPECT_EQ(queue_->count().dropped, 0);
  EXPECT_GT(overtaken, 0);
  EXPECT_EQ(computed + overtaken + loop.dropped(), kFrames);
  // For frames that came while the first was computed, there is no answer to move.
  for (int64_t i = *first_computed + 10; i < kFrames; ++i) {
    ASSERT_TRUE(first.contains(i)) << "frame " << i;
    EXPECT_LE(first.at(i), Time(kShort)) << "frame " << i;
  }
}

TEST_F(FrameLoopTest, FramesThatComeBeforeTheFirstAnswerAreAnsweredOnceThereIsOne) {
  std::set<int64_t> answered;
  FrameLoop loop = Loop(
      5, 15, [&](const Frame& frame, const Answer& /*answer*/) { answered.insert(frame.index); });
  for (int computed = 0; const std::optional<Frame> frame = loop.Next(*robot_); ++computed) {
    Begin(*frame);
    loop.Finish(*robot_, *frame);
    EXPECT_EQ(frame->index, computed == 0 ? 0 : 4);
    answered.insert(frame->index);
  }
  EXPECT_EQ(answered.size(), 5);
  EXPECT_EQ(loop.dropped(), 0);
}

// There is time for the answer that is being computed when they come, and for the newest frame to
// begin.
TEST_F(FrameLoopTest, FramesThatAreOvertakenWaitForTheNewestAnswerAndFrame) {
  int64_t current = -1;   // frame
  int64_t computed = -1;  // the frame before it
  int64_t moved = 0;
  int64_t newest = 0;  // of the moved ones, by that frame's answer
  FrameLoop loop = Loop(
      100, 1000, [](const Frame& /*frame*/, const Answer& /*answer*/) {},
      [&](const Frame& frame, const Answer& answer) {
        ++moved;
        const bool has_waited = frame.index > computed && frame.index < current;
        newest += has_waited && answer.computed_from == computed ? 1 : 0;
      });
  while (const std::optional<Frame> frame = loop.Next(*robot_)) {
    computed = std::exchange(current, frame->index);
    Begin(*frame);
    loop.Finish(*robot_, *frame);
  }
  EXPECT_GE(moved, 50);
  EXPECT_GE(newest, moved * 3 / 4) << "the rest found no room to wait";
}

TEST_F(FrameLoopTest, AFrameThatIsTrackedHasOneMovedAnswer) {
  std::map<int64_t, int> moved;
  int64_t overtaken = 0;
  config_.track = 2;
  FrameLoop loop = Loop(
      100, 15, [&](const Frame& frame, const Answer& /*answer*/) { ++moved[frame.index]; },
      [&](const Frame& /*frame*/, const Answer& /*answer*/) { ++overtaken; });
  int64_t tracked = 0;
  int64_t already_moved = 0;
  int64_t computed = 0;
  const auto wait_for_camera = [&] {
    for (int i = 0; i < 20 && !loop.HasNext(); ++i) (void)clock_.Now();
  };
  for (; const std::optional<Frame> frame = loop.Next(*robot_); wait_for_camera()) {
    Begin(*frame);
    tracked += robot_->is_tracking();
    const int64_t overtaken_before = overtaken;
    const std::optional<Answer> answer = loop.Finish(*robot_, *frame);
    if (answer) {
      EXPECT_EQ(answer->is_moved, robot_->is_tracking());
      moved[frame->index] += answer->is_moved;
      computed += !answer->is_moved;
    } else {
      EXPECT_EQ(overtaken, overtaken_before + 1);
      ++already_moved;
    }
  }
  EXPECT_GT(computed, 5);
  EXPECT_GT(tracked, 5);
  EXPECT_GT(already_moved, 0);
  for (const auto& [frame, times] : moved) EXPECT_LE(times, 1) << "frame " << frame;
}

TEST_F(FrameLoopTest, NoMoreFramesAreAnsweredThanWanted) {
  constexpr int64_t kWanted = 50;
  std::set<int64_t> answered;
  FrameLoop loop = Loop(
      70, 15, [&](const Frame& frame, const Answer& /*answer*/) { answered.insert(frame.index); });
  loop.LimitTo(kWanted);
  (void)loop.Next(*robot_);
  loop.NoteUnfit();
  while (!loop.HasNext()) (void)clock_.Now();
  while (const std::optional<Frame> frame = loop.Next(*robot_)) {
    Begin(*frame);
    loop.Finish(*robot_, *frame);
    answered.insert(frame->index);
  }
  EXPECT_EQ(static_cast<int64_t>(answered.size()), kWanted);
  EXPECT_GT(*answered.rbegin(), kWanted - 1);
  while (clock_.LastLook() < 71 * kShortPeriod) (void)clock_.Now();  // the camera waits for it
}

TEST_F(InTimeTest, EveryFrameIsAnsweredWhenTheLinkDies) { EXPECT_LE(Kill(2), 0.5); }

TEST_F(InTimeTest, WithTheCacheForgottenTheFirstAnswerAloneTakesAWholeRun) {
  forgets_served_ = true;
  EXPECT_GT(Kill(2), 0.5);
}

TEST_F(InTimeTest, IdleWorkIsDoneWhileAServerIsAwaited) {
  Robot robot(model_, Config(), clock_, server_.connect());
  for (int i = 0; i < 500 && most_idle_steps_in_frame_ == 0; ++i) AnswerOne(robot);
  EXPECT_GT(most_idle_steps_in_frame_, 0);
}

// Takes minutes.
class SlowInTimeTest : public InTimeTest {};

TEST_F(SlowInTimeTest, EveryFrameIsAnsweredWhenTheLinkDies) { EXPECT_LE(Kill(100), 0.5); }

TEST_F(SlowInTimeTest, WithTheCacheForgottenTheFirstAnswerAloneTakesAWholeRun) {
  forgets_served_ = true;
  EXPECT_GT(Kill(100), 0.5);
}

}  // namespace
}  // namespace cacheinf
