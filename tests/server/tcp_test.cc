// Robot and server as programs that know each other by their keys, over ZeroMQ.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/file.h"
#include "tests/server/programs.h"
#include "tests/server/tcp_world.h"
#include "tests/testing/command.h"
#include "tests/testing/process.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class Tcp : public TcpTest {};

TEST_F(Tcp, AnswersHaveTheDenseRunsBits) {
  Process dense(Robot(12, "dense", {"--mode", "dense"}));
  EXPECT_EQ(dense.Wait(kLong), 0) << dense.output();
  const auto server = StartServer();
  const std::string inner = graph_->operators[graph_->operators.size() / 2].name;
  for (const Arguments& how :
       {Arguments{"--mode", "remote", "--codec", "png", "--server-mode", "cache"},
        Arguments{"--mode", "split", "--cut", inner + ":0.3", "--slice-codec", "zstd"}}) {
    SCOPED_TRACE(how[1]);
    Process robot(Robot(12, how[1], ToServer() + Arguments{"--server-wait", "10"} + how));
    EXPECT_EQ(robot.Wait(kLong), 0) << robot.output();
    EXPECT_EQ(FilesIn(folder_ / how[1]), FilesIn(folder_ / "dense"));
    const std::vector<std::string> lines = LinesOf(folder_ / (how[1] + ".jsonl"));
    EXPECT_GE(std::ranges::count_if(lines, IsServed), 10) << robot.output();
  }
  server->Signal(SIGTERM);
  EXPECT_EQ(server->Wait(kLong), 0) << server->output();
}

TEST_F(Tcp, ARobotOutlivesItsServerAndUsesTheNextUntilItsKeyIsStruck) {
  auto server = StartServer();
  Process robot(Robot(100'000'000, "outputs",
                      ToServer() + Arguments{"--mode", "remote", "--codec", "png", "--check", "7",
                                             "--summary", Path("summary")}));
  const fs::path answers = folder_ / "outputs.jsonl";
  ASSERT_TRUE(AnswersCome(answers, true)) << robot.output();
  server->Signal(SIGKILL);
  EXPECT_TRUE(robot.HasPrinted("answers alone: the connection was lost", milliseconds(3000)))
      << robot.output();
  ASSERT_TRUE(AnswersCome(answers, false)) << robot.output();
  server = StartServer();
  ASSERT_TRUE(AnswersCome(answers, true)) << robot.output();

  std::ofstream(Path("robots"), std::ios::trunc) << "# nobody\n";
  EXPECT_TRUE(server->HasPrinted("left: its key was struck from the list", milliseconds(3000)))
      << server->output();
  EXPECT_TRUE(robot.HasPrinted("does not have this robot's key in its list", kLong))
      << robot.output();
  ASSERT_TRUE(AnswersCome(answers, false)) << robot.output();
  robot.Signal(SIGTERM);
  EXPECT_EQ(robot.Wait(kLong), 0) << robot.output();

  ExpectAllAnswered(answers, Path("summary"));
}

TEST_F(Tcp, ARobotHearsWhyItIsNotServedAnyMore) {
  auto server = StartServer();
  ASSERT_TRUE(ComesTrue([&] { return fs::exists(folder_ / "models"); }));
  std::this_thread::sleep_for(milliseconds(200));  // it looks whether it has made the folder
  fs::remove_all(folder_ / "models");
  Process robot(Robot(100'000'000, "outputs", ToServer() + Arguments{"--mode", "remote"}));
  EXPECT_TRUE(robot.HasPrinted("cannot be kept: No such file", kLong)) << robot.output();
  EXPECT_TRUE(server->HasPrinted("cannot be kept: No such file", kLong)) << server->output();
  fs::create_directory(folder_ / "models");
  ASSERT_TRUE(AnswersCome(folder_ / "outputs.jsonl", true)) << robot.output();
  server->Signal(SIGTERM);
  EXPECT_EQ(server->Wait(kLong), 0) << server->output();
  EXPECT_TRUE(robot.HasPrinted("answers alone: the server stops", kLong)) << robot.output();
}

TEST_F(Tcp, ARobotThatIsToldToEndWhileItWaitsForItsServerEnds) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    port_ = 1;
    Process robot(Robot(3, "outputs",
                        ToServer() + Arguments{"--mode", "remote", "--server-wait", "1000",
                                               "--summary", Path("summary")}));
    ASSERT_TRUE(robot.HasPrinted("there is no server", kLong)) << robot.output();
    robot.Signal(signal);
    EXPECT_EQ(robot.Wait(milliseconds(5000)), 0) << robot.output();
    EXPECT_NE(ReadFile(Path("summary")).find("\"interrupted\": true"), std::string::npos);
    fs::remove(Path("summary"));
  }
}

TEST_F(Tcp, ARobotThatIsToldToEndWhileItWaitsForAnAnswerEnds) {
  const auto server = StartServer();
  Process first(
      Robot(3, "first", ToServer() + Arguments{"--mode", "remote", "--server-wait", "10"}));
  EXPECT_EQ(first.Wait(kLong), 0) << first.output();  // brings the model
  // A picture takes seven seconds.
  Process robot(
      Robot(100'000, "outputs",
            ToServer() + Arguments{"--mode", "remote", "--codec", "raw", "--emulate", "20kbit",
                                   "--server-wait", "10", "--summary", Path("summary")}));
  ASSERT_TRUE(robot.HasPrinted("a server is there", kLong)) << robot.output();
  std::this_thread::sleep_for(milliseconds(1500));
  robot.Signal(SIGTERM);
  EXPECT_EQ(robot.Wait(milliseconds(3000)), 0) << robot.output();
  EXPECT_NE(ReadFile(Path("summary")).find("\"interrupted\": true"), std::string::npos);
}

TEST_F(Tcp, TheSummarySaysWhyNoServerWasMet) {
  const auto server = StartServer();
  EXPECT_EQ(Keygen("stranger").exit_code, 0);
  const CommandResult result = RunCommand(Robot(
      3, "outputs",
      {"--mode", "remote", "--server", "tcp://127.0.0.1:" + std::to_string(port_), "--robot-key",
       Path("stranger.key"), "--server-key", Path("server.pub"), "--server-wait", "2"}));
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_NE(result.out.find("the robot answered alone: the server at tcp://127.0.0.1:"),
            result.out.npos)
      << result.out;
  EXPECT_NE(result.out.find("does not have this robot's key in its list"), result.out.npos);
}

TEST_F(Tcp, ASecondServerAnswersSoonAfterTheFirstIsKilledOrStopped) {
  const auto first = StartServer();
  const std::string first_address = "tcp://127.0.0.1:" + std::to_string(std::exchange(port_, 0));
  const auto second = StartServer("second");
  Arguments to_both = ToServer();
  to_both[1] = first_address + "," + to_both[1];
  for (const int signal : {SIGSTOP, SIGKILL}) {
    const std::string name = "outputs" + std::to_string(signal);
    Process robot(
        Robot(100'000'000, name, to_both + Arguments{"--mode", "remote", "--codec", "png"}));
    const fs::path answers = folder_ / (name + ".jsonl");
    ASSERT_TRUE(robot.HasPrinted("a server is there: " + first_address, kLong)) << robot.output();
    ASSERT_TRUE(robot.HasPrinted("another server is ready", kLong)) << robot.output();
    ASSERT_TRUE(AnswersCome(answers, true)) << robot.output();
    first->Signal(signal);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(robot.HasPrinted(
        "a server is there: " + to_both[1].substr(first_address.size() + 1), kLong))
        << robot.output();
    ASSERT_TRUE(AnswersCome(answers, true, 1)) << robot.output();
    EXPECT_LT(std::chrono::steady_clock::now() - begin,
              milliseconds(signal == SIGKILL ? 2000 : 4000));
    robot.Signal(SIGTERM);
    EXPECT_EQ(robot.Wait(kLong), 0) << robot.output();
    first->Signal(SIGCONT);
  }
}

// Wakes cost a robot on the same processor some of its time.
TEST_F(Tcp, AServerWithNothingToDoRarelyWakes) {
  const auto server = StartServer();
  Process robot(
      Robot(100'000'000, "outputs", ToServer() + Arguments{"--mode", "dense", "--realtime"}));
  ASSERT_TRUE(robot.HasPrinted("a server is there", kLong)) << robot.output();
  std::this_thread::sleep_for(milliseconds(2000));
  EXPECT_TRUE(RarelyWakes(server->id(), 200));
}

TEST_F(Tcp, TheLinkIsMeasured) {
  const auto server = StartServer();
  const CommandResult result =
      RunCommand(Arguments{ProgramPath("cacheinf-profile"), "link", "--rounds", "3"} + ToServer());
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_NE(result.out.find("A robot's estimate:"), std::string::npos) << result.out;
}

// Robot or server is of the previous release: its programs are in $CACHEINF_BEFORE
// (scripts/internal/build_before).
class SlowUpgrade : public Tcp {
 protected:
  void SetUp() override {
    if (std::getenv("CACHEINF_BEFORE") == nullptr) {
      GTEST_SKIP() << "CACHEINF_BEFORE names no folder with programs of the release before";
    }
  }

  static std::string ProgramBefore(const std::string& name) {
    return fs::path(std::getenv("CACHEINF_BEFORE")) / name;
  }

  // Lets a robot answer twelve frames.
  std::string RobotWith(bool is_old, const std::string& name, const Arguments& how) {
    Arguments words = Robot(12, name, ToServer() + Arguments{"--server-wait", "5"} + how);
    if (is_old) words[0] = ProgramBefore("cacheinf-robot");
    Process robot(words);
    EXPECT_EQ(robot.Wait(kLong), 0) << robot.output();
    EXPECT_EQ(FilesIn(folder_ / name), dense_);
    return robot.output();
  }

  int64_t Served(const std::string& name) const {
    return std::ranges::count_if(LinesOf(folder_ / (name + ".jsonl")), IsServed);
  }

  // Pictures work; the robot says in a sentence why rows are not shared, and answers alone.
  void ExpectPicturesAlone(bool is_robot_old) {
    Process dense(Robot(12, "dense", {"--mode", "dense"}));
    ASSERT_EQ(dense.Wait(kLong), 0) << dense.output();
    dense_ = FilesIn(folder_ / "dense");
    const auto server = StartServer("models", is_robot_old ? "" : ProgramBefore("cacheinf-server"));
    std::string said = RobotWith(is_robot_old, "pictures",
                                 {"--mode", "remote", "--codec", "png", "--server-mode", "cache"});
    EXPECT_EQ(Served("pictures"), 12) << said;
    const std::string inner = graph_->operators[graph_->operators.size() / 2].name;
    said = RobotWith(is_robot_old, "rows", {"--mode", "split", "--cut", inner + ":0.3"});
    EXPECT_EQ(Served("rows"), 0) << said;
    EXPECT_NE(said.find("does not share rows between two arithmetics"), said.npos) << said;
    EXPECT_EQ(said.find("give both the same CacheInf") != said.npos, !is_robot_old) << said;
  }

  Files dense_;
};

TEST_F(SlowUpgrade, AnOlderRobotSendsPicturesToAServerOfThisRelease) { ExpectPicturesAlone(true); }

TEST_F(SlowUpgrade, ARobotOfThisReleaseSendsPicturesToAnOlderServer) { ExpectPicturesAlone(false); }

// Exit code 2, and one sentence.
void ExpectRefusal(const CommandResult& result, const std::string& sentence) {
  EXPECT_EQ(result.exit_code, 2) << result.error;
  EXPECT_NE(result.error.find(sentence), std::string::npos) << result.error;
  EXPECT_EQ(std::ranges::count(result.error, '\n'), 1) << result.error;
}

TEST_F(Tcp, WhatIsNotSafeIsRefused) {
  ExpectRefusal(Keygen("server"), "is there already: give the key another name");
  const auto server = [&](const Arguments& how) {
    return RunCommand(Server(folder_ / "models", how + Arguments{"--once", "--wait", "0.2"}));
  };
  const Arguments all = {"--listen", "tcp://*:0"};
  ExpectRefusal(server(all), "without them a server listens to its own machine only");
  const Arguments with_keys = all + Arguments{"--key", Path("server.key"), "--robots"};
  ExpectRefusal(server(with_keys + Arguments{Path("none")}), "none: no such file");
  fs::permissions(Path("server.key"), fs::perms::group_read, fs::perm_options::add);
  ExpectRefusal(server(with_keys + Arguments{Path("robots")}), "chmod 600");
  ExpectRefusal(RunCommand(Server(Path("robots"), {"--listen", "tcp://127.0.0.1:0", "--once"})),
                "is not a folder for models");
  const std::string long_name(300, 'a');
  ExpectRefusal(RunCommand(Server(Path(long_name), {"--listen", "tcp://127.0.0.1:0", "--once"})),
                "is not a folder for models");
  fs::create_directory(Path("closed"));
  fs::permissions(Path("closed"), fs::perms::owner_read | fs::perms::owner_exec);
  // A user who may override access rights can read everything.
  const Arguments as_user = {"/usr/bin/setpriv", "--bounding-set=-dac_override,-dac_read_search"};
  const Arguments closed = Server(Path("closed"), {"--listen", "tcp://127.0.0.1:0", "--once"});
  ExpectRefusal(RunCommand(geteuid() == 0 ? as_user + closed : closed), "models cannot be kept in");
  ExpectRefusal(RunCommand(Robot(1, "outputs", {"--server", "tcp://lab:5588"})),
                "needs --robot-key");
  ExpectRefusal(RunCommand(Robot(1, "outputs", {"--server", "tcp://lab"})),
                "is not tcp://HOST:PORT");
}

}  // namespace
}  // namespace cacheinf
