// Channels that threads pump, in real time.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "common/base/clock.h"
#include "common/link/channel.h"
#include "tests/link/channel_pair.h"
#include "tests/link/loopback.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PumpTest : public ::testing::Test {
 protected:
  explicit PumpTest(const LoopbackScript& script = {})
      : links_(MakeLoopback(script, clock_)),
        robot_(std::make_unique<Channel>(std::move(links_.first), clock_)),
        server_(std::make_unique<Channel>(std::move(links_.second), clock_)) {
    robot_->StartPumping();
    server_->StartPumping();
  }

  static double CpuMilliseconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
  }

  SteadyClock clock_;
  std::pair<std::unique_ptr<Link>, std::unique_ptr<Link>> links_;
  std::unique_ptr<Channel> robot_;
  std::unique_ptr<Channel> server_;
};

TEST_F(PumpTest, CarriesMessagesBothWays) {
  std::thread echo([this] {
    for (int i = 0; i < 50; ++i) {
      if (!server_->WaitForMessage(clock_.Now() + seconds(20))) return;
      server_->Send(*server_->Receive());
    }
  });
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i) {
    const Message message = RandomMessage(random, random() % 300'000, i);
    ASSERT_TRUE(robot_->Send(message));
    ASSERT_TRUE(robot_->WaitForMessage(clock_.Now() + seconds(20)));
    EXPECT_TRUE(AreEqual(*robot_->Receive(), message));
  }
  echo.join();
  EXPECT_EQ(robot_->fault(), "");
}

TEST_F(PumpTest, WaitsUntilTheDeadlineAndNotWhenBroken) {
  const auto start = clock_.Now();
  EXPECT_FALSE(robot_->WaitForMessage(start + milliseconds(30)));
  EXPECT_GE(clock_.Now() - start, milliseconds(30));
  server_.reset();
  EXPECT_FALSE(robot_->WaitForMessage(start + seconds(1000)));
  EXPECT_EQ(robot_->fault(), "the peer has left");
}

// Both have exchanged messages, and one waits again and again, as a server does.
TEST_F(PumpTest, WakesRarelyWhileIdle) {
  for (int i = 0; i < 3; ++i) {
    robot_->Send({});
    ASSERT_TRUE(server_->WaitForMessage(clock_.Now() + seconds(20)));
    ASSERT_TRUE(server_->Receive());
    std::this_thread::sleep_for(milliseconds(500));
  }
  std::this_thread::sleep_for(seconds(1));
  constexpr int kWaits = 200;
  const auto wakes = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
  };
  const auto before = wakes();
  const auto begin = clock_.Now();
  for (int i = 0; i < kWaits; ++i) server_->WaitForMessage(clock_.Now() + milliseconds(5));
  const std::chrono::duration<double> passed = clock_.Now() - begin;
  EXPECT_LT(static_cast<double>(wakes() - before), kWaits + 2 * 75 * passed.count());
}

TEST_F(PumpTest, CostsNextToNothingWhileIdle) {
  std::this_thread::sleep_for(milliseconds(300));
  const double before = CpuMilliseconds();
  std::this_thread::sleep_for(seconds(1));
  const double each = (CpuMilliseconds() - before) / 2;
  EXPECT_LT(each, 10) << "ms of a second";
  RecordProperty("idle_ms_per_s", std::to_string(each));
  EXPECT_EQ(robot_->fault(), "");
}

}  // namespace
}  // namespace cacheinf
