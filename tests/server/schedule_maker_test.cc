#include "server/schedule_maker.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/backend/host/cpu_backend.h"
#include "common/base/cache_folder.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/plan/profile.h"
#include "common/plan/schedule.h"
#include "profiler/fitted_clip.h"
#include "profiler/obtain_profile.h"
#include "tests/model/model_builder.h"
#include "tests/plan/schedules.h"
#include "tests/server/programs.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

// Three operators are solved for in a moment.
Graph BuildThree(int height, int width) {
  ModelBuilder b;
  ValueId x = b.Input({1, 3, height, width});
  for (const int64_t channels : {8, 16, 8}) x = b.Conv(x, channels, 3, 2, 1);
  return b.Finish({x});
}

class ScheduleMakerTest : public FolderTest {
 protected:
  std::future<std::string> Make(const std::atomic<bool>& stop, const std::string& key = "") {
    return std::async(std::launch::async, [this, &stop, key] {
      return maker_.Make(model_, settings_, ToJsonText(robot_), send_rough_, stop, key);
    });
  }

  // Measures in no time what a robot would have measured. The server finds it in the folder, and
  // takes it for its own measurement.
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
    request.settings = settings_.shared;
    request.codecs = {"raw"};
    request.seconds = 20;
    const std::string sampled = Heading(request).sampled;
    const std::string name = NameOf(request) + ".profile.json";
    request.frames = 2 * kLeastClipFrames;
    request.seconds = 0.1;
    Profile profile =
        ObtainProfile(request, "", false, clock_, [](double, double) { return true; }).profile;
    profile.sampled = sampled;
    WriteCacheFile(folder_ / "made" / name, ToJsonText(profile));
    return profile;
  }

  const SteadyClock clock_{};
  const std::shared_ptr<const CompiledModel> model_ = std::make_shared<const CompiledModel>(
      MakeNetwork({"three", BuildThree}, 64, 96), std::make_unique<CpuBackend>());
  const message::Settings settings_{};
  Profile robot_;
  RobotAccounts accounts_{{.measuring = std::chrono::milliseconds(1)}, clock_};
  ScheduleMaker maker_{folder_ / "made", RobotConfig::Backend::kCpu,
                       /*threads=*/1,    /*slowdown=*/1,
                       clock_,           accounts_};
  std::promise<std::string> rough_;  // the first rough schedule
  std::once_flag is_sent_;
  std::function<void(const std::string&)> send_rough_ = [this](const std::string& text) {
    std::call_once(is_sent_, [&] { rough_.set_value(text); });
  };
  const std::atomic<bool> never_ = false;
};

using SlowScheduleMakerTest = ScheduleMakerTest;

// Whether one of this process's threads leaves the processor to others.
bool HasModestThread() {
  return std::ranges::any_of(fs::directory_iterator("/proc/self/task"), [](const auto& thread) {
    return getpriority(PRIO_PROCESS, std::stoi(thread.path().filename())) > 0;
  });
}

// A thread that solves leaves the processor to frames.
TEST_F(ScheduleMakerTest, RobotsThatAskAtOnceShareWhatIsMade) {
  robot_ = MeasureServer();
  robot_.side = Side::kRobot;
  SetLogLevel(LogLevel::kInfo);
  testing::internal::CaptureStderr();
  std::array<std::future<std::string>, 2> made = {Make(never_, "arm"), Make(never_, "arm")};
  bool is_beside_frames = false;
  while (made[0].wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    is_beside_frames = is_beside_frames || HasModestThread();
  }
  EXPECT_TRUE(is_beside_frames);
  const std::array<std::string, 2> schedules = {made[0].get(), made[1].get()};
  SetLogLevel(LogLevel::kOff);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(schedules[0], schedules[1]);
  EXPECT_EQ(FingerprintOf(ParseSchedule(schedules[0], "made").robot), FingerprintOf(robot_));
  EXPECT_EQ(CountOf("solving a schedule", log), 1) << log;
  EXPECT_EQ(CountOf("measuring model", log), 0) << log;

  robot_.operators.front().dense_ms += 1;  // another schedule, for which this key has no time left
  const std::string refusal = RefusalOf([&] { Make(never_, "arm").get(); });
  EXPECT_NE(refusal.find("start it with a larger --robot-measuring-s"), refusal.npos) << refusal;
}

// Else the server would not know its own measurements, and would measure for 20 s.
TEST_F(ScheduleMakerTest, DoesNotMeasureARobotsPipeline) {
  const Profile server = MeasureServer();
  robot_ = server;
  robot_.side = Side::kRobot;
  ProfiledCodec pipeline = robot_.codecs.front();
  pipeline.codec = "video:gst:x264enc tune=4 ! tee name=t ! queue t. ! filesink location=/tmp/x";
  robot_.codecs.push_back(pipeline);
  // Where the schedule would be kept is a folder; the robot gets it all the same.
  const fs::path file =
      folder_ / "made" /
      fmt::format("{:016x}-{:016x}.schedule.json", FingerprintOf(robot_), FingerprintOf(server));
  fs::create_directory(file);
  const Schedule schedule = ParseSchedule(Make(never_).get(), "made");
  EXPECT_TRUE(fs::is_directory(file));
  EXPECT_EQ(schedule.robot.codecs.size(), 2u);
  EXPECT_EQ(schedule.server.codecs.size(), 1u);
}

// Measuring takes 20 s.
TEST_F(ScheduleMakerTest, ThereIsARoughScheduleAtOnceAndTheRobotMayLeave) {
  robot_ = MeasureServer();
  robot_.side = Side::kRobot;
  for (const auto& file : fs::directory_iterator(folder_ / "made")) fs::remove(file);
  std::atomic<bool> leaves = false;
  std::future<std::string> made = Make(leaves);
  std::future<std::string> rough = rough_.get_future();
  ASSERT_EQ(rough.wait_for(std::chrono::seconds(1)), std::future_status::ready);
  const Schedule schedule = ParseSchedule(rough.get(), "rough");
  EXPECT_EQ(FingerprintOf(schedule.robot), FingerprintOf(robot_));
  const auto dense_ms = [](const Profile& profile) {
    double sum = 0;
    for (const ProfiledOperator& op : profile.operators) sum += op.dense_ms;
    return sum;
  };
  // It is the same machine.
  EXPECT_GT(dense_ms(schedule.server), 0.2 * dense_ms(robot_));
  EXPECT_LT(dense_ms(schedule.server), 5 * dense_ms(robot_));
  EXPECT_EQ(made.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  leaves = true;
  EXPECT_EQ(RefusalOf([&] { made.get(); }), "the robot has left");

  Schedule second;
  send_rough_ = [&](const std::string& text) { second = ParseSchedule(text, "rough"); };
  EXPECT_EQ(RefusalOf([&] { Make(leaves).get(); }), "the robot has left");
  EXPECT_EQ(FingerprintOf(second.server), FingerprintOf(schedule.server)) << "it is timed once";
}

TEST_F(ScheduleMakerTest, OfWhatRobotsAskForAndLeaveTheLastIsStillMade) {
  robot_ = MeasureServer();
  robot_.side = Side::kRobot;
  for (const auto& file : fs::directory_iterator(folder_ / "made")) fs::remove(file);
  std::atomic<bool> is_over = false;
  std::thread others([&] {  // are served, so that nothing is measured yet
    for (; !is_over; std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
      maker_.NoteServing();
    }
  });
  const auto pending_after = [&](int profile, const std::string& key) {
    Profile robot = robot_;
    robot.operators.front().dense_ms += profile;
    std::atomic<bool> leaves = false;
    std::atomic<bool> has_rough = false;
    auto made = std::async(std::launch::async, [&] {
      return maker_.Make(
          model_, settings_, ToJsonText(robot), [&](const std::string&) { has_rough = true; },
          leaves, key);
    });
    while (!has_rough) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // it asks, and waits
    leaves = true;
    EXPECT_EQ(RefusalOf([&] { made.get(); }), "the robot has left");
    return maker_.pending();
  };
  EXPECT_EQ(pending_after(0, "arm"), 1U);
  EXPECT_EQ(pending_after(1, "arm"), 2U);
  EXPECT_EQ(pending_after(2, "arm"), 3U);
  EXPECT_EQ(pending_after(2, "arm"), 3U) << "it has asked for that before";
  EXPECT_EQ(pending_after(3, "arm"), 3U);
  EXPECT_EQ(pending_after(3, "arm"), 3U) << "it is the older one that went";
  EXPECT_EQ(pending_after(4, "leg"), 4U) << "of another robot";
  is_over = true;
  others.join();
}

// What one robot leaves behind, the next one gets.
TEST_F(SlowScheduleMakerTest, TheServerFinishesForARobotThatHasLeft) {
  robot_ = MeasureServer();
  robot_.side = Side::kRobot;
  for (const auto& file : fs::directory_iterator(folder_ / "made")) fs::remove(file);
  std::atomic<bool> leaves = false;
  std::future<std::string> first = Make(leaves);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  leaves = true;
  EXPECT_THROW(first.get(), InputError);
  const auto has_schedule = [&] {
    return std::ranges::any_of(fs::directory_iterator(folder_ / "made"), [](const auto& file) {
      return file.path().string().ends_with(".schedule.json");
    });
  };
  for (int i = 0; i < 1000 && !has_schedule(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ASSERT_TRUE(has_schedule());
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it is being written
  std::future<std::string> second = Make(never_);
  EXPECT_EQ(second.wait_for(std::chrono::seconds(5)), std::future_status::ready);
}

}  // namespace
}  // namespace cacheinf
