// What a robot in mode remote does beside waiting for its server. When it computes a frame itself
// because it has given up on the server, it still takes the server's answer if that comes
// meanwhile. And it keeps its own results warm, about once a second, so that the first frame
// without the server computes only what has changed since. The robot's time passes when the test
// says so; the link takes its own.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "client/frame_executor.h"
#include "common/answer/outputs.h"
#include "common/backend/host/cpu_backend.h"
#include "common/base/clock.h"
#include "common/config/configured_model.h"
#include "common/config/robot_config.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/model/graph/pack.h"
#include "common/plan/plan.h"
#include "common/reuse/verdict.h"
#include "tests/pair/in_process_server.h"
#include "tests/testing/clip.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"
#include "tests/testing/outputs.h"
#include "tests/testing/quantised_networks.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kDueAfter(100);
constexpr milliseconds kFramePeriod(40);

const Execution& Complete(FrameExecutor& executor) {
  while (!executor.Step()) continue;
  return executor.Commit();
}

class ExecutorTest : public FolderTest {
 protected:
  // `scale`: of the picture.
  explicit ExecutorTest(int scale = 1) : scale_(scale) { executor_.SetPlaceOfFrames(all_); }

  static RobotConfig Config() {
    RobotConfig config;
    config.mode = RobotConfig::Mode::kRemote;
    config.cache.policy = CacheConfig::Policy::kExact;
    config.server.codec = "raw";
    config.server.slice_codec = SliceCodec::kRaw;
    config.server.wait_s = 30;
    return config;
  }

  // A frame in which a corner has changed.
  void Begin(FrameExecutor& executor, FrameExecutor::Time due, const Verdict& verdict = {}) {
    const int64_t frame = clip_.Change(4, 4).number;
    while (!executor.MeetServer()) std::this_thread::sleep_for(milliseconds(1));
    executor.Decide({.index = frame, .picture = clip_.picture(), .place = all_, .tensor = {}},
                    verdict, due);
    executor.Begin();
  }

  const Execution& Finish() { return Complete(executor_); }

  const int scale_;
  const Rectangle all_ = {{0, scale_* kHeight}, {0, scale_* kWidth}};
  const std::shared_ptr<const CompiledModel> model_ = std::make_shared<const CompiledModel>(
      MakeNetwork(TenNetworks().front(), all_.rows.end, all_.columns.end),
      std::make_unique<CpuBackend>());
  SteadyClock link_clock_;
  ManualClock clock_;
  InProcessServer server_{folder_, link_clock_};
  FrameExecutor executor_{model_, Config(), clock_, link_clock_, server_.connect()};
  Clip clip_{all_.rows.end, all_.columns.end, /*step=*/0, 7};
};

class LateAnswerTest : public ExecutorTest {
 protected:
  using ExecutorTest::ExecutorTest;

  void Begin() { ExecutorTest::Begin(executor_, clock_.Now() + kDueAfter); }

  // Lets time pass until the robot stops waiting for the server.
  void GiveUp() {
    while (executor_.last().decision == nullptr) {
      ASSERT_FALSE(executor_.Step());
      clock_.Advance(milliseconds(5));
    }
  }

  // Until the answer is there.
  void Hear() {
    const auto received = [this] { return executor_.link_statistics()->received.wire; };
    const auto before = received();
    server_.Hold(false);
    const auto end = link_clock_.Now() + std::chrono::seconds(20);
    const uint64_t bytes = 4 * OutputsOf(executor_.outputs()).front().size();
    while (received() < before + bytes && link_clock_.Now() < end) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    ASSERT_GE(received(), before + bytes);
    std::this_thread::sleep_for(milliseconds(50));  // the message's end
  }

  void ExpectDense() {
    EXPECT_EQ(OutputsOf(executor_.outputs()), DenseOutputs(dense_, clip_.picture()));
  }

  ModelState dense_{model_};
};

TEST_F(LateAnswerTest, IsTheFramesAnswerAllTheSameIfItComesFirst) {
  Begin();
  ASSERT_EQ(Finish().kind, Plan::Kind::kRemote);
  for (int i = 0; i < 3; ++i) {
    SCOPED_TRACE(testing::Message() << "time " << i);
    server_.Hold(true);
    Begin();
    GiveUp();
    for (int stage = 0; stage < i; ++stage) ASSERT_FALSE(executor_.Step());
    Hear();
    EXPECT_TRUE(executor_.Step());
    const Execution& late = executor_.Commit();
    EXPECT_EQ(late.kind, Plan::Kind::kRemote);
    EXPECT_TRUE(late.gave_up);
    EXPECT_EQ(late.decision, nullptr);
    EXPECT_TRUE(late.server.has_value());
    ExpectDense();
  }
  // The robot makes up for what was left of its own frame.
  server_.Hold(true);
  Begin();
  EXPECT_EQ(Finish().kind, Plan::Kind::kLocal);
  ExpectDense();
}

// As a check reads them for a frame that is only tracked.
TEST_F(LateAnswerTest, ItsOutputsOutliveItsServer) {
  Begin();
  ASSERT_EQ(Finish().kind, Plan::Kind::kRemote);
  server_.Kill(/*is_told=*/true);
  const auto end = link_clock_.Now() + std::chrono::seconds(20);
  while (executor_.link_statistics() && link_clock_.Now() < end) {
    std::this_thread::sleep_for(milliseconds(1));
    (void)executor_.MeetServer();
  }
  ASSERT_FALSE(executor_.link_statistics());
  ExpectDense();
}

// A frame takes the server several milliseconds, and is due at once.
class LateServerTest : public LateAnswerTest {
 protected:
  LateServerTest() : LateAnswerTest(8) {}
  // The link says when answers came.
  void Begin() {
    clock_.Advance(std::max(link_clock_.Now() - clock_.Now(), FrameExecutor::Time(0)));
    ExecutorTest::Begin(executor_, clock_.Now());
  }
};

TEST_F(LateServerTest, GoesOnAsLongAsItIsEarlierThanTheRobotAlone) {
  while (!executor_.MeetServer()) std::this_thread::sleep_for(milliseconds(1));
  server_.Hold(true);
  Begin();
  GiveUp();
  clock_.Advance(kDueAfter);
  ASSERT_EQ(Finish().kind, Plan::Kind::kLocal) << "takes that long";
  Begin();
  GiveUp();
  Hear();
  EXPECT_EQ(Finish().kind, Plan::Kind::kRemote) << "the answer to a frame that was not waited for";
  ExpectDense();
}

// A robot that computes a quantised network, and a server that may compute what that was made of.
class ServersModelTest : public ExecutorTest {
 protected:
  ServersModelTest() {
    WritePack(*MakeNetwork(ThreeQuantisedNetworks()[0], kHeight, kWidth), folder_ / "eight");
    WritePack(*MakeNetwork(TenNetworks()[0], kHeight, kWidth), folder_ / "floats");
    WritePack(*MakeNetwork(TenNetworks()[3], kHeight, kWidth), folder_ / "other");
    config_.cache = {};
    config_.model = folder_ / "eight";
    config_.model_config.decoder.kind = HeadKind::kRaw;
  }

  std::shared_ptr<const CompiledModel> Load(const char* name) const {
    RobotConfig config = config_;
    config.model = folder_ / name;
    return std::make_shared<const CompiledModel>(
        std::make_shared<const Graph>(LoadGraph(config, /*has_tensors=*/false)),
        std::make_unique<CpuBackend>());
  }

  OutputNumbers Answer() {
    FrameExecutor executor(Load("eight"), config_, clock_, link_clock_, server_.connect());
    executor.SetPlaceOfFrames(all_);
    Begin(executor, FrameExecutor::kNever);
    EXPECT_EQ(Complete(executor).kind, Plan::Kind::kRemote);
    return OutputsOf(executor.outputs());
  }

  OutputNumbers DenseAnswerOf(const char* name) const {
    ModelState state(Load(name));
    return DenseOutputs(state, clip_.picture());
  }

  RobotConfig config_ = Config();
};

TEST_F(ServersModelTest, IsTheRobotsUnlessAnotherIsNamed) {
  const OutputNumbers of_eight = Answer();
  EXPECT_EQ(of_eight, DenseAnswerOf("eight"));
  config_.server.model = folder_ / "floats";
  const OutputNumbers of_floats = Answer();
  EXPECT_EQ(of_floats, DenseAnswerOf("floats"));
  EXPECT_NE(DenseAnswerOf("floats"), DenseAnswerOf("eight"));
}

TEST_F(ServersModelTest, MustGiveTheSameOutputs) {
  config_.server.model = folder_ / "other";
  EXPECT_NE(RefusalOf([&] { Answer(); }).find("its outputs are of other shapes"),
            std::string::npos);
}

// For a network that is split with nothing kept, as with `--mode split --server-mode dense`.
TEST_F(ExecutorTest, RowsOfDenseFramesAreSharedUnderEveryPolicy) {
  for (const auto& [policy, stem] :
       {std::pair(CacheConfig::Policy::kExact, 1), std::pair(CacheConfig::Policy::kChange, 1),
        std::pair(CacheConfig::Policy::kChange, 0), std::pair(CacheConfig::Policy::kFixed, 0)}) {
    SCOPED_TRACE(testing::Message() << NameOf(policy) << ", stem " << stem);
    RobotConfig config = Config();
    config.mode = RobotConfig::Mode::kSplit;
    config.cache.policy = policy;
    config.cache.stem = stem;
    config.server.server_mode = ServerLinkConfig::ServerMode::kDense;
    config.server.cuts = {"picture:0.5"};
    FrameExecutor executor(model_, config, clock_, link_clock_, server_.connect());
    executor.SetPlaceOfFrames(all_);
    int shared = 0;  // in a row
    for (int frame = 0; frame < 500 && shared < 5; ++frame) {
      Begin(executor, FrameExecutor::kNever);
      const bool is_shared = Complete(executor).kind == Plan::Kind::kSplit;
      shared = is_shared ? shared + 1 : 0;
      if (executor.BeginRefresh(clip_.picture(), {})) {
        while (!executor.Step()) continue;
        executor.CommitRefresh();
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_EQ(shared, 5);
  }
}

class StandbyTest : public ExecutorTest {
 protected:
  const Execution& Answer(const Verdict& verdict = {}) {
    Begin(executor_, FrameExecutor::kNever, verdict);
    bool is_done = false;
    for (int i = 0; i < 10 && !is_done; ++i) is_done = executor_.Step();
    clock_.Advance(answer_takes_);
    while (!is_done) is_done = executor_.Step();
    clock_.Advance(kFramePeriod);
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
    AnswerByServer();
    clip_.Whole();
    AnswerByServer();
    server_.Kill(/*is_told=*/true);
    const Execution& first = Answer(verdict);
    EXPECT_EQ(first.kind, Plan::Kind::kLocal);
    return first.work->share;
  }

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
  server_.SetDelay(milliseconds(5));
  stands_by_ = false;
  answer_takes_ = milliseconds(10);
  EXPECT_LE(ShareOfFirstAlone(), 0.5);
}

TEST_F(StandbyTest, OtherwiseThatIsAWholeFrame) {
  stands_by_ = false;
  EXPECT_EQ(ShareOfFirstAlone(), 1);
}

// The server's frame cannot forget what the robot keeps.
TEST_F(StandbyTest, WhatAServersFrameIsToldToForgetIsForgottenBeforeItIsReused) {
  AnswerByServer();
  EXPECT_EQ(Answer({.forget = true}).kind, Plan::Kind::kRemote);
  server_.Kill(/*is_told=*/true);
  EXPECT_EQ(Answer().work->share, 1);
  EXPECT_LT(Answer().work->share, 1);
}

TEST_F(StandbyTest, WhatIsForgottenIsComputedAgain) {
  EXPECT_EQ(ShareOfFirstAlone({.forget = true}), 1);
}

}  // namespace
}  // namespace cacheinf
