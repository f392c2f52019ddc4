// Robot and server as programs in two network namespaces: a link that is cut, slow, or gone.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/file.h"
#include "tests/server/programs.h"
#include "tests/server/tcp_world.h"
#include "tests/testing/command.h"
#include "tests/testing/places.h"
#include "tests/testing/process.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class Bed : public TcpTest {
 protected:
  void SetUp() override {
    const CommandResult can = RunCommand({script_, "can"});
    if (can.exit_code == 77) GTEST_SKIP() << can.out;
    Do({"up", bed_, "20mbit"});
    where_ = "tcp://10.123.0.1:";
    before_server_ = {script_, "exec", bed_, "server"};
    before_robot_ = {script_, "exec", bed_, "robot"};
  }
  void TearDown() override {
    if (!before_robot_.empty()) Do({"down", bed_});
  }

  void Do(const Arguments& words) const {
    const CommandResult result = RunCommand(Arguments{script_} + words);
    ASSERT_EQ(result.exit_code, 0) << result.error;
  }

  // A camera's frames, each due after 100 ms, computed by the server.
  std::unique_ptr<Process> StartRobot(const Arguments& to_server) const {
    return std::make_unique<Process>(Robot(
        kFrames, "outputs",
        to_server + Arguments{"--mode", "remote", "--codec", "png", "--realtime", "--deadline-ms",
                              "100", "--check", "7", "--summary", Path("summary")}));
  }

  // Every frame has an answer, its own or a moved one, and 99 % of them come in time: others also
  // use the machine's cores.
  void ExpectAllInTime() const {
    std::map<int64_t, double> first_ms;
    for (const std::string& line : Lines()) {
      first_ms.try_emplace(static_cast<int64_t>(NumberIn(line, "frame")),
                           NumberIn(line, "latency_ms"));
    }
    EXPECT_EQ(first_ms.rbegin()->first + 1, static_cast<int64_t>(first_ms.size()));
    const int64_t late = std::ranges::count_if(
        first_ms, [](const auto& frame) { return frame.second > kDeadlineMs + 3; });
    EXPECT_LE(late * 100, first_ms.size());
  }

  std::vector<std::string> Lines() const { return LinesOf(folder_ / "outputs.jsonl"); }

  static constexpr int kFrames = 100'000'000;
  static constexpr int kDeadlineMs = 100;
  const std::string script_ = SourceFolder() / "scripts/internal/bed";
  const std::string bed_ = "test" + std::to_string(getpid());
};

TEST_F(Bed, ARobotThatIsCutOffAnswersInTimeAndComesBack) {
  const auto server = StartServer();
  const auto robot = StartRobot(ToServer());
  const fs::path answers = folder_ / "outputs.jsonl";
  ASSERT_TRUE(AnswersCome(answers, true)) << robot->output();
  Do({"cut", bed_});
  ASSERT_TRUE(AnswersCome(answers, false)) << robot->output();
  Do({"mend", bed_});
  ASSERT_TRUE(AnswersCome(answers, true)) << robot->output();
  robot->Signal(SIGTERM);
  EXPECT_EQ(robot->Wait(kLong), 0) << robot->output();
  ExpectAllInTime();
}

// What goes wrong for a while, at a random moment.
class SlowBed : public Bed {
 protected:
  static constexpr int kRounds = 5;
  static constexpr int64_t kFramesPerSecond = 30;
  static constexpr int64_t kSecondsBetween = 16;  // else the link counts as one that comes and goes

  int64_t NewestFrame() const {
    const std::vector<std::string> lines = Lines();
    return lines.empty() ? -1 : static_cast<int64_t>(NumberIn(lines.back(), "frame"));
  }

  void WaitForFrames(int64_t count) const {
    const int64_t end = NewestFrame() + count;
    ASSERT_TRUE(ComesTrue([&] { return NewestFrame() >= end; }));
  }

  // Lets a robot run through faults: each begins, lasts and ends. Among frames at least 2 s away
  // from a fault, nearly as many are answered with a server as before the first fault.
  void RunThrough(const std::function<void()>& begin, milliseconds lasts,
                  const std::function<void()>& end, const Arguments& to_server) {
    const auto robot = StartRobot(to_server);
    ASSERT_TRUE(AnswersCome(folder_ / "outputs.jsonl", true)) << robot->output();
    const int64_t first = NewestFrame();
    WaitForFrames(2 * kFramesPerSecond);
    const int64_t before = NewestFrame();
    std::vector<bool> is_calm(before + 1, true);
    for (int round = 0; round < kRounds; ++round) {
      std::this_thread::sleep_for(milliseconds(random_() % 300));
      is_calm.resize(NewestFrame() + 1, true);
      begin();
      std::this_thread::sleep_for(lasts);
      end();
      is_calm.resize(NewestFrame() + 1 + 2 * kFramesPerSecond, false);
      WaitForFrames(kSecondsBetween * kFramesPerSecond);
    }
    robot->Signal(SIGTERM);
    EXPECT_EQ(robot->Wait(kLong), 0) << robot->output();
    ExpectAllInTime();
    const std::string summary = ReadFile(Path("summary"));
    EXPECT_NE(summary.find("\"largest_relative_l2\": 0.0"), summary.npos) << summary;

    std::string alone;  // seconds in which the robot answered, where it should not
    const auto share_served = [&, lines = Lines()](int64_t from, int64_t to) {
      int64_t calm = 0;
      int64_t served = 0;
      for (const std::string& line : lines) {
        const auto frame = static_cast<int64_t>(NumberIn(line, "frame"));
        if (frame < from || frame >= to || !is_calm[frame]) continue;
        ++calm;
        served += IsServed(line);
        const std::string second = std::to_string(frame / kFramesPerSecond);
        if (!IsServed(line) && !alone.ends_with(" " + second)) alone += " " + second;
      }
      return static_cast<double>(served) / static_cast<double>(calm);
    };
    EXPECT_GE(share_served(before, static_cast<int64_t>(is_calm.size())),
              0.95 * share_served(first, before))
        << "alone in seconds" << alone << "\n"
        << robot->output();
  }

  std::mt19937 random_{7};
};

TEST_F(SlowBed, AServerThatDiesAndReturns) {
  auto server = StartServer();
  RunThrough([&] { server->Signal(SIGKILL); }, milliseconds(1000), [&] { server = StartServer(); },
             ToServer());
}

TEST_F(SlowBed, AServerThatStopsAndGoesOn) {
  const auto server = StartServer();
  RunThrough([&] { server->Signal(SIGSTOP); }, milliseconds(3000), [&] { server->Signal(SIGCONT); },
             ToServer());
}

TEST_F(SlowBed, ALinkThatIsCut) {
  const auto server = StartServer();
  RunThrough(
      [&] {
        Do({"cut", bed_});
      },
      milliseconds(5000),
      [&] {
        Do({"mend", bed_});
      },
      ToServer());
}

TEST_F(SlowBed, ALinkThatCarriesHardlyAnything) {
  const auto server = StartServer();
  RunThrough(
      [&] {
        Do({"rate", bed_, "0.1mbit"});
      },
      milliseconds(5000),
      [&] {
        Do({"rate", bed_, "20mbit"});
      },
      ToServer());
}

TEST_F(SlowBed, ARobotThatGetsAnotherAddress) {
  const auto server = StartServer();
  RunThrough([&] { Do({"move", bed_}); }, milliseconds(500), [] {}, ToServer());
}

TEST_F(SlowBed, ASecondServerWhoseFirstDies) {
  auto first = StartServer();
  const std::string address_of_first = ToServer()[1];
  const int port = std::exchange(port_, 0);
  const auto second = StartServer("second");
  Arguments to_both = ToServer();
  to_both[1] = address_of_first + "," + to_both[1];
  const int port_of_second = std::exchange(port_, port);
  RunThrough([&] { first->Signal(SIGKILL); }, milliseconds(2000), [&] { first = StartServer(); },
             to_both);
  EXPECT_NE(port_of_second, port);
}

// A robot alone has every answer; one with a link that comes and goes has no fewer of them in time.
TEST_F(SlowBed, ALinkThatFlaps) {
  const auto server = StartServer();
  const auto robot = StartRobot(ToServer());
  ASSERT_TRUE(AnswersCome(folder_ / "outputs.jsonl", true)) << robot->output();
  for (int i = 0; i < 15; ++i) {
    Do({"cut", bed_});
    std::this_thread::sleep_for(milliseconds(2000));
    Do({"mend", bed_});
    std::this_thread::sleep_for(milliseconds(2000));
  }
  ASSERT_TRUE(AnswersCome(folder_ / "outputs.jsonl", true)) << robot->output();
  robot->Signal(SIGTERM);
  EXPECT_EQ(robot->Wait(kLong), 0) << robot->output();
  ExpectAllInTime();
}

}  // namespace
}  // namespace cacheinf
