// Robot, server and name server as programs that are started apart.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/median.h"
#include "tests/server/apart_world.h"
#include "tests/server/programs.h"
#include "tests/testing/process.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

class Apart : public ApartTest {};

TEST_F(Apart, ARobotOutlivesItsServerAndUsesTheNext) {
  const std::string inner = graph_->operators[graph_->operators.size() / 2].name;
  auto server = StartServer();
  Process robot(Robot(100'000'000, {"--mode", "split", "--cut", inner + ":0.5"}), kEnvironment);
  ASSERT_TRUE(AnswersCome(true)) << robot.output();
  server->Signal(SIGKILL);
  EXPECT_TRUE(robot.HasPrinted("the server is lost, the robot answers alone", milliseconds(3000)))
      << robot.output();
  ASSERT_TRUE(AnswersCome(false)) << robot.output();

  server = StartServer();
  ASSERT_TRUE(AnswersCome(true)) << robot.output();
  server->Signal(SIGTERM);
  EXPECT_EQ(server->Wait(kLong), 0) << server->output();
  EXPECT_TRUE(robot.HasPrinted("answers alone: the server stops", milliseconds(3000)))
      << robot.output();
  ASSERT_TRUE(AnswersCome(false)) << robot.output();
  robot.Signal(SIGTERM);
  EXPECT_EQ(robot.Wait(kLong), 0) << robot.output();

  EXPECT_EQ(CountOf("the server is lost", robot.output()), 2) << robot.output();
  EXPECT_EQ(CountOf("a server is there", robot.output()), 2) << robot.output();
  ExpectAllAnswered(folder_ / "answers", folder_ / "summary");
}

// Wakes cost a robot on the same processor some of its time.
TEST_F(Apart, AServerWithNothingToDoRarelyWakes) {
  const auto server = StartServer();
  Process robot(Robot(100'000'000, {"--mode", "dense", "--realtime"}), kEnvironment);
  ASSERT_TRUE(robot.HasPrinted("a server is there", kLong)) << robot.output();
  std::this_thread::sleep_for(milliseconds(2000));
  EXPECT_TRUE(RarelyWakes(server->id(), 250));
}

// The name server outlives whoever starts it, and would hold forever a lock that they left open.
TEST_F(Apart, TheNameServerHoldsNothingOfItsStarters) {
  NameServer("stop");
  const int open_file = open((folder_ / "lock").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GT(open_file, 2);
  NameServer("start");
  close(open_file);
  std::ifstream file(folder_ / "name-server");
  std::string process;
  for (int i = 0; i < 3; ++i) std::getline(file, process);
  process.resize(process.find(' '));
  int count = 0;
  for (const auto& descriptor : fs::directory_iterator("/proc/" + process + "/fd")) {
    EXPECT_NE(fs::read_symlink(descriptor.path()), folder_ / "lock");
    ++count;
  }
  EXPECT_GT(count, 3);
}

TEST_F(Apart, OnceServesOneRobot) {
  auto server = StartServer({"--once"});
  Process robot(Robot(20, {"--mode", "remote", "--server-wait", "10"}), kEnvironment);
  EXPECT_EQ(robot.Wait(kLong), 0) << robot.output();
  EXPECT_EQ(server->Wait(kLong), 0) << server->output();
  const std::vector<std::string> lines = LinesOf(folder_ / "answers");
  EXPECT_GE(std::count_if(lines.begin(), lines.end(), IsServed), 18);
}

TEST_F(Apart, OnceServesNobodyBesideThatRobot) {
  auto server = StartServer({"--once"});
  Process robot(Robot(100'000'000, {"--mode", "remote"}), kEnvironment);
  ASSERT_TRUE(AnswersCome(true)) << robot.output();
  Arguments words = Robot(20, {"--mode", "remote", "--server-wait", "2"});
  std::replace(words.begin(), words.end(), (folder_ / "answers").string(),
               (folder_ / "answers of another").string());
  Process another(words, kEnvironment);
  EXPECT_EQ(another.Wait(kLong), 0) << another.output();
  const std::vector<std::string> lines = LinesOf(folder_ / "answers of another");
  EXPECT_EQ(lines.size(), 20u);
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), IsServed), 0);
  ASSERT_TRUE(AnswersCome(true)) << robot.output();
  robot.Signal(SIGTERM);
  EXPECT_EQ(robot.Wait(kLong), 0) << robot.output();
  EXPECT_EQ(server->Wait(kLong), 0) << server->output();
}

TEST_F(Apart, OnceEndsWhereNobodyComes) {
  auto server = StartServer({"--once", "--wait", "0.2"});
  EXPECT_EQ(server->Wait(kLong), 1) << server->output();
}

class ApartPlanned : public Apart {
 protected:
  ApartPlanned() { environment_["CACHEINF_CACHE"] = folder_ / "cache"; }

  // Twenty times as slow as the server, with a network that takes more time than messages do.
  Arguments SlowRobot(int frames, const Arguments& more = {}) const {
    const std::filesystem::path configs = SourceFolder() / "configs";
    Arguments words = Robot(frames, Arguments{"--mode", "cacheinf", "--emulate", "20x", "--config",
                                              configs / "demo.json"} +
                                        more);
    std::ranges::replace(words, (folder_ / "model").string(),
                         (configs / "models/demo_segmentation.onnx").string());
    return words;
  }

  std::map<std::string, std::string> environment_ = kEnvironment;
};

TEST_F(ApartPlanned, AServerThatComesLateHasAPlanLongBeforeItHasMeasured) {
  Process robot(SlowRobot(100'000'000), environment_);
  ASSERT_TRUE(robot.HasPrinted("there is no server, the robot answers alone: ", kLong))
      << robot.output();
  ASSERT_TRUE(AnswersCome(false, 5)) << robot.output();
  EXPECT_EQ(CountOf("there is no server", robot.output()), 1) << robot.output();
  const auto server = StartServer();
  ASSERT_TRUE(robot.HasPrinted("a server is there", kLong)) << robot.output();
  EXPECT_TRUE(robot.HasPrinted("the server has sent a first plan", milliseconds(6000)))
      << robot.output();
  EXPECT_TRUE(AnswersCome(true, 5)) << robot.output();
  robot.Signal(SIGTERM);
  (void)robot.Wait(kLong);
}

TEST_F(ApartPlanned, ARunOfSixtyFramesWaitsForAPlanAndUsesAServerThatPays) {
  const auto server = StartServer();
  const auto begin = steady_clock::now();
  Process robot(SlowRobot(60, {"--server-wait", "10"}), environment_);
  EXPECT_EQ(robot.Wait(kLong), 0) << robot.output();
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(40)) << "it does not measure itself";
  const std::vector<std::string> lines = LinesOf(folder_ / "answers");
  ASSERT_EQ(lines.size(), 60u);
  EXPECT_NE(lines.front().find("\"plan\""), std::string::npos) << lines.front();
  EXPECT_GE(std::ranges::count_if(lines, IsServed), 30) << robot.output();
}

// The server measures and solves for half a minute.
using SlowApartPlanned = ApartPlanned;

TEST_F(SlowApartPlanned, WhatTheServerFinishesWithoutTheRobotTheNextOneGets) {
  const auto server = StartServer();
  Process robot(SlowRobot(60, {"--server-wait", "10"}), environment_);
  EXPECT_EQ(robot.Wait(kLong), 0) << robot.output();
  EXPECT_TRUE(server->HasPrinted("is kept in", std::chrono::minutes(2))) << server->output();
  Process next(SlowRobot(60, {"--server-wait", "10"}), environment_);
  EXPECT_EQ(next.Wait(kLong), 0) << next.output();
  EXPECT_EQ(CountOf("the server has sent a first plan", next.output()), 0) << next.output();
  EXPECT_EQ(CountOf("the server has sent a schedule", next.output()), 1) << next.output();
}

// With a network that takes the robot four deadlines. Other work on this machine may make some
// answers late. Takes half a minute.
class SlowApartInTime : public Apart {
 protected:
  static constexpr int kKills = 5;

  Arguments SlowRobot(int frames, const std::string& answers, const Arguments& more) const {
    return DemoRobot(
        "generated:seed=6,moving=0.3,width=512,height=384,frames=" + std::to_string(frames),
        Arguments{"--shape", "1x3x384x512", "--emulate", "16x", "--answers", folder_ / answers} +
            more);
  }

  double DenseMs() const {
    Process dense(SlowRobot(9, "dense", {"--mode", "dense"}), kEnvironment);
    EXPECT_EQ(dense.Wait(kLong), 0) << dense.output();
    std::vector<double> times;
    for (const std::string& line : LinesOf(folder_ / "dense")) {
      times.push_back(NumberIn(line, "latency_ms"));
    }
    return MedianOf(times);
  }
};

TEST_F(SlowApartInTime, EveryFrameIsAnsweredWhenTheServerIsKilled) {
  const double dense_ms = DenseMs();
  const double deadline_ms = dense_ms / 4;
  auto server = StartServer();
  Process robot(SlowRobot(100'000'000, "answers",
                          {"--realtime", "--mode", "remote", "--codec", "raw", "--policy", "fixed",
                           "--stem", "0", "--refresh", "0", "--guard", "off", "--deadline-ms",
                           std::to_string(deadline_ms), "--server", "mpi:lab", "--name-server",
                           folder_ / "name-server"}),
                kEnvironment);
  std::vector<size_t> kills;  // lines of answers until then
  for (int kill = 0; kill < kKills; ++kill) {
    ASSERT_TRUE(ComesTrue([&] {
      const std::vector<std::string> lines = LinesOf(folder_ / "answers");
      return std::count_if(lines.end() - std::min<ptrdiff_t>(std::ssize(lines), 30), lines.end(),
                           IsServed) >= 5;
    })) << robot.output();
    kills.push_back(LinesOf(folder_ / "answers").size());
    server->Signal(SIGKILL);
    ASSERT_TRUE(AnswersCome(false)) << robot.output();
    server = StartServer();
  }
  robot.Signal(SIGTERM);
  EXPECT_EQ(robot.Wait(kLong), 0) << robot.output();

  const std::vector<std::string> lines = LinesOf(folder_ / "answers");
  const auto is_moved = [](const std::string& line) { return line.find("\"moved\"") != line.npos; };
  std::vector<double> alone_ms;  // the first answer after each kill that the robot computed
  for (const size_t kill : kills) {
    const auto alone =
        std::find_if(lines.begin() + static_cast<ptrdiff_t>(kill), lines.end(),
                     [&](const auto& line) { return !IsServed(line) && !is_moved(line); });
    ASSERT_NE(alone, lines.end());
    alone_ms.push_back(NumberIn(*alone, "latency_ms"));
    EXPECT_LE(NumberIn(*alone, "work"), 0.5) << *alone;
  }
  EXPECT_LE(MedianOf(alone_ms), dense_ms / 2);
  std::map<double, double> first_ms;  // by frame
  for (size_t i = kills.front(); i < lines.size(); ++i) {
    first_ms.emplace(NumberIn(lines[i], "frame"), NumberIn(lines[i], "latency_ms"));
  }
  const double frames = first_ms.rbegin()->first - first_ms.begin()->first + 1;
  const auto in_time = std::ranges::count_if(
      first_ms, [&](const auto& first) { return first.second <= deadline_ms; });
  EXPECT_GE(static_cast<double>(in_time), 0.9 * frames);
  EXPECT_GT(std::ranges::count_if(lines, is_moved), 0);
}

}  // namespace
}  // namespace cacheinf
