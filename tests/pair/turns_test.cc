// How robots share the computing thread of a server.

#include "server/turns.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/pair/guest.h"
#include "tests/testing/clip.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"

namespace cacheinf {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Robots whose pictures take as long as the test says, on one clock, which stands still but for
// what operators take and for moments between turns.
class TurnsTest : public FolderTest {
 protected:
  struct Robot {
    Robot(TurnsTest& world, const std::string& name,
          const std::function<nanoseconds(int run)>& time_of)
        : store(world.folder_ / name,
                [this, &world, time_of] {
                  return std::make_unique<HeardBackend>(
                      [this, &world, time_of] { world.Pass(time_of(runs++)); });
                }),
          guest(store, world.slow_work_, *world.graph_) {}

    // Sends a picture, and gives up the one before.
    void Begin(nanoseconds due = nanoseconds::max()) {
      guest.robot.Abandon();
      (void)guest.robot.GiveUp();
      guest.Begin({{0, kHeight}, {0, kWidth}}, due);
      is_open = true;
    }
    void Look() {
      if (!is_open || guest.robot.Step() != Progress::kDone) return;
      is_open = false;
      ++answered;
    }

    int runs = 0;  // of operators
    ModelStore store;
    Guest guest;
    int answered = 0;
    bool is_open = false;
  };

  Robot& Meet(const std::string& name, const std::function<nanoseconds(int run)>& time_of) {
    Robot& robot = *robots_.emplace_back(std::make_unique<Robot>(*this, name, time_of));
    robot.guest.channels.clock.Advance(Now());
    if (!turns_) turns_.emplace(robot.guest.channels.clock);
    turns_->Add(robot.guest.session);
    while (!robot.guest.robot.IsReady()) {
      Turn();
      std::this_thread::sleep_for(milliseconds(1));
    }
    return robot;
  }

  nanoseconds Now() const { return robots_.front()->guest.channels.clock.Now(); }

  // Each robot's channels have a clock of their own.
  void Pass(nanoseconds time) {
    for (const auto& robot : robots_) robot->guest.channels.clock.Advance(time);
  }

  // Lets the server compute a little, and messages pass.
  bool Turn() {
    const bool was_busy = turns_->Take();
    for (const auto& robot : robots_) robot->guest.channels.RunFor(microseconds(100));
    for (const auto& robot : robots_) robot->Look();
    return was_busy;
  }

  int operators() const { return static_cast<int>(graph_->operators.size()); }

  const std::shared_ptr<const Graph> graph_ = MakeNetwork(TenNetworks().front(), kHeight, kWidth);
  std::vector<std::unique_ptr<Robot>> robots_;
  std::optional<Turns> turns_;
  SlowWork slow_work_;
};

// One has an operator of .45 s in each frame; the other takes 8 ms of every 33.
TEST_F(TurnsTest, ARobotOfLongOperatorsStarvesNobody) {
  Robot& slow = Meet("slow", [this](int run) {
    return run % operators() == 3 ? nanoseconds(milliseconds(450)) : microseconds(10);
  });
  Robot& tiny = Meet("tiny", [this](int) { return milliseconds(8) / operators(); });
  slow.Begin();
  constexpr int kFrames = 153;
  const nanoseconds begin = Now();
  nanoseconds next = begin;
  while (Now() < begin + kFrames * milliseconds(33)) {
    if (Now() >= next) {
      while (next <= Now()) next += milliseconds(33);
      tiny.Begin();
    }
    if (!slow.is_open) slow.Begin();
    Turn();
  }
  EXPECT_GT(tiny.answered, 60);
  EXPECT_LE(tiny.answered, kFrames);
  EXPECT_GE(slow.answered, 4) << "half of the time is its own";
}

// However long their operators take.
TEST_F(TurnsTest, RobotsThatAlwaysHaveSomethingToComputeHaveEqualTime) {
  Robot& coarse = Meet("coarse", [](int) { return milliseconds(20); });
  Robot& fine = Meet("fine", [](int) { return milliseconds(1); });
  const int coarse_before = coarse.runs;
  const int fine_before = fine.runs;
  for (const nanoseconds end = Now() + std::chrono::seconds(8); Now() < end;) {
    for (Robot* robot : {&coarse, &fine}) {
      if (!robot->is_open) robot->Begin();
    }
    Turn();
  }
  const double ratio = 20.0 * (coarse.runs - coarse_before) / (fine.runs - fine_before);
  EXPECT_GT(ratio, 0.8);
  EXPECT_LT(ratio, 1.25);
}

TEST_F(TurnsTest, WhoHasHadNothingToComputeSavesUpNoMoreThanAMoment) {
  Robot& busy = Meet("busy", [](int) { return milliseconds(2); });
  Robot& late = Meet("late", [](int) { return milliseconds(2); });
  for (const nanoseconds end = Now() + std::chrono::seconds(5); Now() < end; Turn()) {
    if (!busy.is_open) busy.Begin();
  }
  const int before = busy.runs;
  late.Begin();
  while (late.is_open) {
    if (!busy.is_open) busy.Begin();
    Turn();
  }
  EXPECT_GT(busy.runs - before, operators() - 40) << "a moment is 50 ms";
  EXPECT_LT(busy.runs - before, operators() - 10);
}

TEST_F(TurnsTest, OfTwoThatAreLevelTheOneWhoseAnswerIsDueFirstIsComputedFirst) {
  Robot& one = Meet("one", [](int) { return microseconds(1); });
  Robot& other = Meet("other", [](int) { return microseconds(1); });
  for (const bool is_one_first : {true, false, true}) {
    one.Begin(Now() + milliseconds(is_one_first ? 40 : 80));
    other.Begin(Now() + milliseconds(is_one_first ? 80 : 40));
    for (const auto& robot : robots_) robot->guest.channels.RunFor(milliseconds(1));
    const int one_before = one.runs;
    const int other_before = other.runs;
    turns_->Take();
    EXPECT_EQ(one.runs > one_before, is_one_first);
    EXPECT_EQ(other.runs > other_before, !is_one_first);
    while (one.is_open || other.is_open) Turn();
  }
}

// The rest ends once nobody else has had anything to compute for a while.
TEST_F(TurnsTest, ALongOperatorIsFollowedByARestOnlyWhereThereAreOthers) {
  Robot& slow = Meet("slow", [](int) { return milliseconds(100); });
  const auto answer = [&](Robot& robot) {
    const nanoseconds begin = Now();
    robot.Begin();
    while (robot.is_open) Turn();
    return Milliseconds(Now() - begin);
  };
  const double alone = answer(slow);
  EXPECT_LT(alone, 100.0 * operators() + 50);
  Robot& other = Meet("other", [](int) { return microseconds(1); });
  answer(other);
  const double beside_another = answer(slow);
  EXPECT_GT(beside_another, alone + 400);
  EXPECT_LT(beside_another, alone + 2500);
}

}  // namespace
}  // namespace cacheinf
