// What a robot keeps warm while a server answers, about once a second: the first frame without the
// server computes what has changed since. A second passes when a test says so; the link takes its
// own time.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "client/frame_executor.h"
#include "common/backend/host/cpu_backend.h"
#include "common/base/clock.h"
#include "common/config/robot_config.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/plan/plan.h"
#include "common/reuse/verdict.h"
#include "tests/pair/in_process_server.h"
#include "tests/testing/clip.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPeriod(40);
constexpr Rectangle kAll = {{0, kHeight}, {0, kWidth}};

class StandbyTest : public FolderTest {
 protected:
  static RobotConfig Config() {
    RobotConfig config;
    config.mode = RobotConfig::Mode::kRemote;
    config.cache.policy = CacheConfig::Policy::kExact;
    config.server.codec = "raw";
    config.server.wait_s = 30;
    return config;
  }

  // Answers a frame in which a corner has changed.
  const Execution& Answer(const Verdict& verdict = {}) {
    clip_.Change(4, 4);
    while (!executor_.MeetServer()) std::this_thread::sleep_for(milliseconds(1));
    const auto frame = clip_.decision().number;
    executor_.Decide({.index = frame, .picture = clip_.picture(), .place = kAll, .tensor = {}},
                     verdict, FrameExecutor::kNever);
    executor_.Begin();
    bool is_done = false;
    for (int i = 0; i < 10 && !is_done; ++i) is_done = executor_.Step();
    clock_.Advance(answer_takes_);
    while (!is_done) is_done = executor_.Step();
    clock_.Advance(kPeriod);
    return executor_.Commit();
  }

  // Lets the server answer for more than two seconds.
  void AnswerByServer() {
    for (int frame = 0; frame < 60; ++frame) {
      ASSERT_EQ(Answer().kind, Plan::Kind::kRemote);
      for (int i = 0; stands_by_ && i < 200 && executor_.StandBy(); ++i) ++steps_;
    }
  }

  // The share of a dense run's work in the first frame without the server, after two scenes.
  double ShareOfFirstAlone(const Verdict& verdict = {}) {
    executor_.SetPlaceOfFrames(kAll);
    AnswerByServer();
    clip_.Whole();
    AnswerByServer();
    server_.Kill(/*is_told=*/true);
    const Execution& first = Answer(verdict);
    EXPECT_EQ(first.kind, Plan::Kind::kLocal);
    return first.work->share;
  }

  const std::shared_ptr<const CompiledModel> model_ = std::make_shared<const CompiledModel>(
      MakeNetwork(TenNetworks().front(), kHeight, kWidth), std::make_unique<CpuBackend>());
  SteadyClock link_clock_;
  ManualClock clock_;
  InProcessServer server_{folder_, link_clock_};
  FrameExecutor executor_{model_, Config(), clock_, link_clock_, server_.connect()};
  Clip clip_{kHeight, kWidth, /*step=*/0, 7};
  bool stands_by_ = true;
  milliseconds answer_takes_{0};
  int steps_ = 0;
};

TEST_F(StandbyTest, TheFirstFrameWithoutTheServerComputesWhatHasChanged) {
  EXPECT_LE(ShareOfFirstAlone(), 0.5);
  const int decisions = 5;  // in five seconds
  EXPECT_LE(steps_, decisions * (executor_.state().stage_count() + 1));
}

TEST_F(StandbyTest, AWaitForTheServerIsUsedToo) {
  LoopbackScript script;
  script.shape.delay = milliseconds(5);
  server_.SetScript(script);
  stands_by_ = false;
  answer_takes_ = milliseconds(10);
  EXPECT_LE(ShareOfFirstAlone(), 0.5);
}

TEST_F(StandbyTest, OtherwiseThatIsAWholeFrame) {
  stands_by_ = false;
  EXPECT_EQ(ShareOfFirstAlone(), 1);
}

TEST_F(StandbyTest, WhatIsForgottenIsComputedAgain) {
  EXPECT_EQ(ShareOfFirstAlone({.forget = true}), 1);
}

}  // namespace
}  // namespace cacheinf
