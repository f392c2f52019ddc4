#include "server/schedule_maker.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/exec/cpu_backend.h"
#include "common/plan/schedule.h"
#include "profiler/fitted_clip.h"
#include "profiler/obtain_profile.h"
#include "tests/plan/schedules.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

class ScheduleMakerTest : public FolderTest {
 protected:
  std::future<std::string> Make(const std::atomic<bool>& stop) {
    return std::async(std::launch::async, [this, &stop] {
      return maker_.Make(model_, settings_, ToJsonText(robot_), stop);
    });
  }

  // Measures in one second what a robot would have measured. The server's measurements are in the
  // folder.
  Profile MeasureServer() {
    ProfileRequest request;
    request.side = Side::kServer;
    request.graph = {model_, &model_->graph()};
    request.make_backend = [] {
      CpuBackendOptions options;
      options.threads = 1;
      return std::make_unique<CpuBackend>(options);
    };
    request.backend = "cpu";
    request.threads = 1;
    request.cache = settings_.cache;
    request.tracker.kind = settings_.tracker;
    request.tracker.change.threshold = settings_.change_threshold;
    request.slice_codec = settings_.slice_codec;
    request.most_scores = settings_.most_scores;
    request.codecs = {"raw"};
    request.frames = 2 * kLeastClipFrames;
    request.seconds = 0.1;
    const fs::path file = folder_ / "made" / (NameOf(request) + ".profile.json");
    return ObtainProfile(request, file, false, clock_, [](double, double) { return true; }).profile;
  }

  const SteadyClock clock_{};
  const std::shared_ptr<const CompiledModel> model_ = std::make_shared<const CompiledModel>(
      MakeNetwork(TenNetworks().front(), 64, 96), std::make_unique<CpuBackend>());
  const message::Settings settings_{};
  Profile robot_;
  ScheduleMaker maker_{folder_ / "made", RobotConfig::Backend::kCpu, /*threads=*/1, /*slowdown=*/1,
                       clock_};
  const std::atomic<bool> never_ = false;
};

int CountIn(const std::string& text, const std::string& word) {
  int count = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST_F(ScheduleMakerTest, RobotsThatAskAtOnceShareWhatIsMade) {
  robot_ = MeasureServer();
  robot_.side = Side::kRobot;
  SetLogLevel(LogLevel::kInfo);
  testing::internal::CaptureStderr();
  std::array<std::future<std::string>, 2> made = {Make(never_), Make(never_)};
  const std::array<std::string, 2> schedules = {made[0].get(), made[1].get()};
  SetLogLevel(LogLevel::kOff);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(schedules[0], schedules[1]);
  EXPECT_EQ(FingerprintOf(ParseSchedule(schedules[0], "made").robot), FingerprintOf(robot_));
  EXPECT_EQ(CountIn(log, "solving a schedule"), 1) << log;
  EXPECT_EQ(CountIn(log, "measuring model"), 0) << log;
}

// Measuring for the first one takes 20 s unless it is stopped.
TEST_F(ScheduleMakerTest, ARobotCanLeaveWhileAnotherIsServed) {
  robot_ = TwoOperators().robot;
  std::atomic<bool> first_leaves = false;
  std::atomic<bool> second_leaves = false;
  std::future<std::string> first = Make(first_leaves);
  ASSERT_EQ(first.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  std::future<std::string> second = Make(second_leaves);
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  second_leaves = true;
  EXPECT_EQ(second.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(first.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_EQ(RefusalOf([&] { second.get(); }), "the robot has left");
  first_leaves = true;
  EXPECT_THROW(first.get(), InputError);
}

}  // namespace
}  // namespace cacheinf
