// A server's answer that comes while the robot, which has given it up, computes the frame itself.
// The robot's time passes when the test says so; the link takes its own.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "client/frame_executor.h"
#include "common/answer/outputs.h"
#include "common/backend/host/cpu_backend.h"
#include "common/base/clock.h"
#include "common/config/robot_config.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/plan/plan.h"
#include "tests/pair/in_process_server.h"
#include "tests/testing/clip.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kDueAfter(100);
constexpr Rectangle kWholePicture = {{0, kHeight}, {0, kWidth}};

class LateAnswerTest : public FolderTest {
 protected:
  static RobotConfig Config() {
    RobotConfig config;
    config.mode = RobotConfig::Mode::kRemote;
    config.cache.policy = CacheConfig::Policy::kExact;
    config.server.codec = "raw";
    config.server.slice_codec = SliceCodec::kRaw;
    config.server.wait_s = 30;
    return config;
  }

  void Begin() {
    clip_.Change(4, 4);
    while (!executor_.MeetServer()) std::this_thread::sleep_for(milliseconds(1));
    executor_.Decide({.index = clip_.decision().number,
                      .picture = clip_.picture(),
                      .place = kWholePicture,
                      .tensor = {}},
                     {}, clock_.Now() + kDueAfter);
    executor_.Begin();
  }

  const Execution& Finish() {
    while (!executor_.Step()) {
    }
    return executor_.Commit();
  }

  // Lets time pass until the robot waits for the server no longer.
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
    const uint64_t bytes = 4 * AnswerOf(executor_.outputs()).front().size();
    while (received() < before + bytes && link_clock_.Now() < end) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    ASSERT_GE(received(), before + bytes);
    std::this_thread::sleep_for(milliseconds(50));  // the message's end
  }

  static OutputNumbers AnswerOf(const FrameOutputs& outputs) {
    OutputNumbers numbers;
    ReadOutputs(outputs, numbers);
    return numbers;
  }

  void ExpectDense() {
    dense_.SetPicture(clip_.picture());
    dense_.Run();
    EXPECT_EQ(AnswerOf(executor_.outputs()), AnswerOf(dense_));
  }

  const std::shared_ptr<const CompiledModel> model_ = std::make_shared<const CompiledModel>(
      MakeNetwork(TenNetworks().front(), kHeight, kWidth), std::make_unique<CpuBackend>());
  SteadyClock link_clock_;
  ManualClock clock_;
  InProcessServer server_{folder_, link_clock_};
  FrameExecutor executor_{model_, Config(), clock_, link_clock_, server_.connect()};
  ModelState dense_{model_};
  Clip clip_{kHeight, kWidth, /*step=*/0, 7};
};

TEST_F(LateAnswerTest, IsTheFramesAnswerAllTheSameIfItComesFirst) {
  executor_.SetPlaceOfFrames(kWholePicture);
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
  // What was left of the robot's own frame is made up for.
  server_.Hold(true);
  Begin();
  EXPECT_EQ(Finish().kind, Plan::Kind::kLocal);
  ExpectDense();
}

}  // namespace
}  // namespace cacheinf
