// What happens to programs that are killed, stopped and started again, while a robot answers.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/server/apart_world.h"
#include "tests/server/programs.h"
#include "tests/server/tcp_world.h"
#include "tests/testing/process.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

std::string Contents(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Processes, except this one, with the text in their command or environment.
std::vector<std::string> ProcessesWith(const std::string& text) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    const std::string name = process.path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    if (name == std::to_string(getpid())) continue;
    const std::string command = Contents(process.path() / "cmdline");
    const bool has_it = command.find(text) != command.npos ||
                        Contents(process.path() / "environ").find(text) != std::string::npos;
    if (!has_it || command.empty()) continue;
    found.push_back(name + " " + command.substr(0, command.find('\0')));
  }
  return found;
}

// A robot that answers from a camera of generated pictures, exactly, while others come and go.
template <typename World>
class Faults : public World {
 protected:
  using World::folder_;
  using World::graph_;

  // Temporary files of all programs lie in a folder of their own.
  Faults() { fs::create_directory(place_); }

  // Compares every answer with a dense run's.
  std::unique_ptr<Process> StartRobot(const std::string& name, const Arguments& how) const {
    return std::make_unique<Process>(
        ExactRobot(
            folder_, Generated(100'000'000),
            Arguments{"--check", "1", "--summary", SummaryOf(name), "--answers", AnswersOf(name)} +
                ToServer() + how),
        Environment());
  }

  Arguments Remotely() const { return {"--mode", "remote", "--codec", "png"}; }
  Arguments Split() const {
    return {"--mode", "split", "--cut",
            graph_->operators[graph_->operators.size() / 2].name + ":0.5"};
  }

  std::map<std::string, std::string> Environment() const {
    std::map<std::string, std::string> environment = kEnvironment;
    environment["TMPDIR"] = place_;
    return environment;
  }

  virtual Arguments ToServer() const = 0;
  virtual std::unique_ptr<Process> Serve() = 0;

  fs::path AnswersOf(const std::string& name) const { return folder_ / (name + ".jsonl"); }
  fs::path SummaryOf(const std::string& name) const { return folder_ / (name + ".summary"); }
  bool IsServedSoon(const std::string& name) const {
    return AnswersCome(AnswersOf(name), true, 15);
  }
  bool IsAloneSoon(const std::string& name) const {
    return AnswersCome(AnswersOf(name), false, 15);
  }

  void ExpectNothingLeft() const {
    EXPECT_TRUE(ComesTrue([&] { return fs::is_empty(place_) && ProcessesWith(place_).empty(); }));
    for (const std::string& process : ProcessesWith(place_)) ADD_FAILURE() << process;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(place_, error)) {
      ADD_FAILURE() << entry.path();
    }
  }

  static void End(Process& program) {
    program.Signal(SIGTERM);
    EXPECT_EQ(program.Wait(kLong), 0) << program.output();
  }

  // Robots come while the server stands still.
  void StopFor30Seconds(Process& server) {
    server.Signal(SIGSTOP);
    const std::vector<std::string> names = {"a", "b", "c"};
    std::vector<std::unique_ptr<Process>> robots;
    for (const std::string& name : names) {
      const Arguments how = name == "b" ? Split() : Remotely();
      robots.push_back(StartRobot(name, how + Arguments{"--realtime"}));
    }
    std::this_thread::sleep_for(seconds(30));
    for (size_t i = 0; i < names.size(); ++i) {
      EXPECT_GT(LinesOf(AnswersOf(names[i])).size(), 500u) << robots[i]->output();
    }
    server.Signal(SIGCONT);
    const auto begin = steady_clock::now();
    for (size_t i = 0; i < names.size(); ++i) {
      EXPECT_TRUE(IsServedSoon(names[i])) << robots[i]->output();
    }
    EXPECT_LT(steady_clock::now() - begin, seconds(15));
    std::this_thread::sleep_for(seconds(3));
    EXPECT_LE(ProcessesWith(place_).size(), most_processes_);
    EXPECT_EQ(CountOf("is served", server.output()), 3) << server.output();
    EXPECT_EQ(CountOf("could not be connected", server.output()), 0) << server.output();
    for (const auto& robot : robots) End(*robot);
    for (const std::string& name : names)
      ExpectAllAnswered(AnswersOf(name), SummaryOf(name), 1500, 15);
  }

  // A robot and a server; `fault` is made again and again, and the robot answers all frames.
  void Repeat(const std::function<void(std::unique_ptr<Process>& server)>& fault) {
    constexpr int kTimes = 5;
    auto server = Serve();
    const auto robot = StartRobot("survivor", Remotely());
    ASSERT_TRUE(IsServedSoon("survivor")) << robot->output();
    for (int i = 0; i < kTimes && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE(i);
      fault(server);
      EXPECT_TRUE(IsServedSoon("survivor")) << robot->output() << server->output();
    }
    End(*robot);
    End(*server);
    ExpectAllAnswered(AnswersOf("survivor"), SummaryOf("survivor"), 1500);
    ExpectNothingLeft();
  }

  const fs::path place_ = World::folder_ / "tmp";
  size_t most_processes_ = 4;  // of three robots and a server
};

class TcpFaults : public Faults<TcpTest> {
 protected:
  TcpFaults() { before_server_ = {"env", "TMPDIR=" + place_.string()}; }

  Arguments ToServer() const override { return TcpTest::ToServer(); }
  std::unique_ptr<Process> Serve() override { return StartServer(); }
};

class ApartFaults : public Faults<ApartTest> {
 protected:
  // The three robots' programs and the server, each robot's two children, and Open MPI's own.
  ApartFaults() { most_processes_ = 4 + 2 * 3 * 2; }

  Arguments ToServer() const override {
    return {"--server", "mpi:lab", "--name-server", folder_ / "name-server"};
  }
  std::unique_ptr<Process> Serve() override { return StartServer({}, Environment()); }
};

template <typename Transport>
class SlowFaults : public Transport {};

struct NameOfTransport {
  template <typename Transport>
  static std::string GetName(int) {
    return std::is_same_v<Transport, TcpFaults> ? "Tcp" : "Apart";
  }
};
using Transports = testing::Types<TcpFaults, ApartFaults>;
TYPED_TEST_SUITE(SlowFaults, Transports, NameOfTransport);

TYPED_TEST(SlowFaults, AServerThatWasStoppedForHalfAMinuteServesAgain) {
  const auto server = this->Serve();
  this->StopFor30Seconds(*server);
  this->End(*server);
  this->ExpectNothingLeft();
}

TYPED_TEST(SlowFaults, AServerIsKilledAndStartedAgain) {
  this->Repeat([this](std::unique_ptr<Process>& server) {
    server->Signal(SIGKILL);
    EXPECT_TRUE(this->IsAloneSoon("survivor"));
    server = this->Serve();
  });
}

TYPED_TEST(SlowFaults, AServerIsStoppedAndGoesOn) {
  this->Repeat([this](std::unique_ptr<Process>& server) {
    server->Signal(SIGSTOP);
    EXPECT_TRUE(this->IsAloneSoon("survivor"));
    std::this_thread::sleep_for(seconds(3));
    server->Signal(SIGCONT);
  });
}

TYPED_TEST(SlowFaults, AnotherRobotIsKilledAndStartedAgain) {
  std::unique_ptr<Process> other;
  int others = 0;
  this->Repeat([&](std::unique_ptr<Process>&) {
    const std::string name = "other" + std::to_string(++others);
    other = this->StartRobot(name, this->Split());
    EXPECT_TRUE(this->IsServedSoon(name)) << other->output();
    other->Signal(SIGKILL);
    other->Wait(kLong);
  });
}

class SlowNameServerFaults : public ApartFaults {};

TEST_F(SlowNameServerFaults, TheNameServerIsKilledAndStartedAgain) {
  Repeat([&](std::unique_ptr<Process>& server) {
    KillNameServer();
    std::this_thread::sleep_for(seconds(1));
    EXPECT_TRUE(IsServedSoon("survivor")) << "a connection needs it no more";
    server->Signal(SIGKILL);  // the robot looks for another in vain
    EXPECT_TRUE(IsAloneSoon("survivor"));
    std::this_thread::sleep_for(seconds(2));
    NameServer("start");
    server = Serve();
  });
}

}  // namespace
}  // namespace cacheinf
