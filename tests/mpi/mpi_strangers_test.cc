// Who disturbs robots and servers that meet over MPI, and what they leave behind.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "common/base/error.h"
#include "common/link/descriptor.h"
#include "common/link/mpi_link.h"
#include "tests/link/exchange.h"
#include "tests/mpi/mpi_apart.h"
#include "tests/testing/places.h"
#include "tests/testing/process.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A TCP port at which some process of this machine listens.
struct Port {
  std::string program;
  std::string address;  // as the kernel writes it: "0100007F" is 127.0.0.1
  int number = 0;
};

// Ports of those of these programs that have the name server's file, or another folder, in their
// environment.
std::vector<Port> PortsOf(const std::set<std::string>& programs,
                          const std::string& in_environment) {
  std::map<std::string, std::string> program_of;  // by socket
  for (const auto& process : fs::directory_iterator("/proc")) {
    std::ifstream name(process.path() / "comm");
    std::string program;
    std::getline(name, program);
    if (!programs.contains(program)) continue;
    std::ifstream environment(process.path() / "environ");
    std::stringstream text;
    text << environment.rdbuf();
    if (text.str().find(in_environment) == std::string::npos) continue;
    std::error_code error;
    for (const auto& file : fs::directory_iterator(process.path() / "fd", error)) {
      program_of[fs::read_symlink(file.path(), error).string()] = program;
    }
  }
  std::vector<Port> ports;
  for (const char* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      std::vector<std::string> word(10);
      for (std::string& each : word) words >> each;
      const auto found = program_of.find("socket:[" + word[9] + "]");
      if (word[3] != "0A" || found == program_of.end()) continue;
      const size_t colon = word[1].find(':');
      ports.push_back({found->second, word[1].substr(0, colon),
                       std::stoi(word[1].substr(colon + 1), nullptr, 16)});
    }
  }
  return ports;
}

Descriptor Visit(int port, const std::string& words) {
  Descriptor visitor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(visitor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    (void)send(visitor.get(), words.data(), words.size(), MSG_NOSIGNAL);
  }
  return visitor;
}

// Everything that Open MPI and the programs that start it write to their temporary folder is in a
// folder of the test.
class MpiStrangersTest : public ApartTest {
 protected:
  MpiStrangersTest() : before_(std::getenv("TMPDIR")), place_(folder_ / "tmp") {
    fs::create_directory(place_);
    setenv("TMPDIR", place_.c_str(), 1);
  }
  ~MpiStrangersTest() override {
    before_ != nullptr ? setenv("TMPDIR", before_, 1) : unsetenv("TMPDIR");
    unsetenv("CACHEINF_MPI_CHILD");
  }

  std::vector<Port> PortsHere() const {
    return PortsOf({"cacheinf-mpi-ch", "orted"}, place_.string());
  }

  bool IsEmptySoon() const {
    const auto until = steady_clock::now() + milliseconds(20000);
    while (!fs::is_empty(place_) && steady_clock::now() < until) {
      std::this_thread::sleep_for(milliseconds(20));
    }
    return fs::is_empty(place_);
  }

  std::string Left() const {
    std::string left;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(place_, error)) {
      left += entry.path().string() + "\n";
    }
    return left;
  }

  const char* const before_;
  const fs::path place_;
};

TEST_F(MpiStrangersTest, ASilentConnectionEndsNoLink) {
  MpiListener listener(address_);
  MpiConnector connector(address_);
  std::unique_ptr<Link> server;
  const std::unique_ptr<Link> robot = Connect(&connector, &listener, &server);
  ASSERT_TRUE(robot && server) << connector.problem();
  const std::vector<Port> ports = PortsHere();
  EXPECT_GE(ports.size(), 2U) << "each side has an orted";
  std::vector<Descriptor> strangers;
  for (const Port& port : ports) {
    EXPECT_EQ(port.program, "orted") << port.number;
    for (const char* const words : {"", "x"}) strangers.push_back(Visit(port.number, words));
  }
  for (int i = 0; i < 4; ++i) {
    std::string of_server;
    std::thread serving([&] { of_server = Exchange(server.get(), 200, kServerSeed, kRobotSeed); });
    EXPECT_EQ(Exchange(robot.get(), 200, kRobotSeed, kServerSeed), "");
    serving.join();
    EXPECT_EQ(of_server, "");
    std::this_thread::sleep_for(milliseconds(500));
  }
}

TEST_F(MpiStrangersTest, NobodyElsewhereIsHeardUnlessAnInterfaceIsNamed) {
  MpiListener listener(address_);
  MpiConnector connector(address_);
  std::unique_ptr<Link> server;
  const std::unique_ptr<Link> robot = Connect(&connector, &listener, &server);
  ASSERT_TRUE(robot && server) << connector.problem();
  std::vector<Port> ports = PortsHere();
  for (const Port& port : PortsOf({"ompi-server"}, "CACHEINF_BIND=")) ports.push_back(port);
  EXPECT_GE(ports.size(), 3U);
  const std::set<std::string> loopback = {"0100007F", "00000000000000000000000001000000"};
  for (const Port& port : ports) {
    EXPECT_TRUE(loopback.contains(port.address)) << port.program << " at " << port.address;
  }
  LinkAddress elsewhere = address_;
  elsewhere.files.interface = "nowhere0";
  EXPECT_NE(RefusalOf([&] {
              const MpiConnector refused(elsewhere);
            }).find("--interface: this machine has no interface \"nowhere0\", but lo (127.0.0.1)"),
            std::string::npos);
}

TEST_F(MpiStrangersTest, ASecondServerOfTheNameIsRefusedWhileTheFirstLives) {
  auto first = std::make_unique<Process>(Peer("server", 100));
  ASSERT_TRUE(first->HasPrinted("ready", kLong)) << first->output();
  {
    Process second(Peer("server", 100));
    EXPECT_EQ(second.Wait(kLong), 2) << second.output();
    EXPECT_TRUE(second.HasPrinted("the name lab cannot be published: another server has it",
                                  milliseconds(0)))
        << second.output();
  }
  Process robot(Peer("robot", 100));
  EXPECT_EQ(robot.Wait(kLong), 0) << robot.output();
  first->Signal(SIGKILL);
  first->Wait(kLong);
  Process next(Peer("server", 100));
  EXPECT_TRUE(next.HasPrinted("ready", kLong)) << next.output();
}

TEST_F(MpiStrangersTest, AServerWhoseProgramIsGoneLivesOnAndBothSidesSayWhy) {
  MpiListener listener(address_);
  const std::string program = ProgramPath("cacheinf-mpi-child");
  setenv("CACHEINF_MPI_CHILD", "/nonexistent/child", 1);
  EXPECT_NE(RefusalOf([this] { const MpiListener refused(address_); })
                .find("/nonexistent/child cannot be started: No such file or directory; it belongs "
                      "beside this program"),
            std::string::npos);
  setenv("CACHEINF_MPI_CHILD", program.c_str(), 1);
  MpiConnector connector(address_);
  const auto until = steady_clock::now() + kLong;
  std::string problem;
  (void)connector.Poll();  // starts its own
  setenv("CACHEINF_MPI_CHILD", "/nonexistent/child", 1);
  while (problem.empty() && steady_clock::now() < until) {
    EXPECT_FALSE(connector.Poll());
    EXPECT_FALSE(listener.Accept(milliseconds(5)));
    problem = connector.problem();
  }
  EXPECT_NE(problem.find("the server lab says: /nonexistent/child cannot be started"),
            std::string::npos)
      << problem;
  setenv("CACHEINF_MPI_CHILD", program.c_str(), 1);
  std::unique_ptr<Link> server;
  const std::unique_ptr<Link> robot = Connect(&connector, &listener, &server);
  EXPECT_TRUE(robot && server) << connector.problem();
}

TEST_F(MpiStrangersTest, AnotherUsersRobotSaysWhyItFindsNoServer) {
  if (getuid() != 0) GTEST_SKIP() << "only root may become somebody else";
  fs::permissions(folder_, fs::perms::others_all, fs::perm_options::add);
  fs::permissions(place_, fs::perms::others_all, fs::perm_options::add);
  MpiListener listener(address_);
  const std::string program = (folder_ / "child").string();
  std::ofstream(program)
      << "#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups env TMPDIR="
      << place_.string() << " HOME=/ '" << ProgramPath("cacheinf-mpi-child") << "' \"$@\"\n";
  fs::permissions(program, fs::perms::owner_all);
  setenv("CACHEINF_MPI_CHILD", program.c_str(), 1);
  MpiConnector connector(address_);
  EXPECT_FALSE(Connect(&connector, nullptr, nullptr, milliseconds(4000)));
  EXPECT_TRUE(connector.problem().starts_with("the name server knows no server lab that user "))
      << connector.problem();
  EXPECT_EQ(connector.problem().find("root"), std::string::npos);
}

// The processes that this program started.
std::vector<pid_t> Children() {
  std::vector<pid_t> children;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "children");
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

TEST_F(MpiStrangersTest, ProcessesThatAreKilledLeaveNothing) {
  MpiListener listener(address_);
  MpiConnector connector(address_);
  std::unique_ptr<Link> server;
  std::unique_ptr<Link> robot = Connect(&connector, &listener, &server);
  ASSERT_TRUE(robot && server) << connector.problem();
  for (const pid_t child : Children()) kill(child, SIGKILL);
  std::vector<uint8_t> packet;
  const auto until = steady_clock::now() + milliseconds(1000);
  while ((robot->fault().empty() || server->fault().empty()) && steady_clock::now() < until) {
    EXPECT_FALSE(robot->Receive(&packet) || server->Receive(&packet));
  }
  EXPECT_EQ(robot->fault(), "the connection was lost");
  robot.reset();
  server.reset();
  EXPECT_TRUE(IsEmptySoon()) << Left();
}

TEST_F(MpiStrangersTest, WhoAsksADeadNameServerLeavesNothing) {
  KillNameServer();
  for (const milliseconds time : {milliseconds(300), milliseconds(1500), milliseconds(3000)}) {
    auto connector = std::make_unique<MpiConnector>(address_);
    EXPECT_FALSE(Connect(connector.get(), nullptr, nullptr, time));
    connector.reset();
    EXPECT_TRUE(IsEmptySoon()) << Left();
  }
}

TEST_F(MpiStrangersTest, NothingIsLeftBehind) {
  {
    MpiListener listener(address_);
    for (int i = 0; i < 2; ++i) {
      MpiConnector connector(address_);
      std::unique_ptr<Link> server;
      const std::unique_ptr<Link> robot = Connect(&connector, &listener, &server);
      ASSERT_TRUE(robot && server) << connector.problem();
    }
  }
  EXPECT_TRUE(IsEmptySoon()) << Left();
}

}  // namespace
}  // namespace cacheinf
