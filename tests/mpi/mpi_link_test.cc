// Read this first: robot and server meet over MPI, in one mpirun or started apart.

#include "common/link/mpi_link.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <thread>

#include "common/base/error.h"
#include "tests/link/exchange.h"
#include "tests/mpi/mpi_apart.h"
#include "tests/testing/command.h"
#include "tests/testing/places.h"
#include "tests/testing/process.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::map<std::string, std::string> MpirunEnvironment() {
  return {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
}

std::vector<std::string> Mpirun(const std::vector<std::vector<std::string>>& programs) {
  std::vector<std::string> words = {CACHEINF_MPIRUN, "--bind-to", "none", "--oversubscribe"};
  for (const std::vector<std::string>& program : programs) {
    if (words.back() != "--oversubscribe") words.emplace_back(":");
    words.insert(words.end(), program.begin(), program.end());
  }
  return words;
}

size_t CountOf(const std::string& word, const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(MpirunTest, RobotAndServerExchangePackets) {
  const std::string peer = ProgramPath("mpi_peer");
  Process both(Mpirun({{"-n", "1", peer, "robot", "mpi", "none", "10000"},
                       {"-n", "1", peer, "server", "mpi", "none", "10000"}}),
               MpirunEnvironment());
  EXPECT_EQ(both.Wait(kLong), 0) << both.output();
  EXPECT_TRUE(both.HasPrinted("left: the peer ended the connection", milliseconds(0)))
      << both.output();
}

TEST(MpirunTest, OneServerHasManyRobotsAndTheyMayComeAgain) {
  const std::string peer = ProgramPath("mpi_peer");
  Process all(Mpirun({{"-n", "1", peer, "server", "mpi", "none", "500"},
                      {"-n", "3", peer, "robot", "mpi", "none", "500", "2"}}),
              MpirunEnvironment());
  EXPECT_EQ(all.Wait(kLong), 0) << all.output();
  EXPECT_EQ(CountOf("served", all.output()), 6U) << all.output();
}

TEST(MpirunTest, LinksThatHaveEndedKeepNoMemory) {
  const std::string peer = ProgramPath("mpi_peer");
  Process both(Mpirun({{"-n", "1", peer, "server", "mpi", "none", "20"},
                       {"-n", "1", peer, "robot", "mpi", "none", "20", "25"}}),
               MpirunEnvironment());
  EXPECT_EQ(both.Wait(kLong), 0) << both.output();
}

TEST(MpirunTest, NeedsExactlyOneServer) {
  Process robots(Mpirun({{"-n", "2", ProgramPath("mpi_peer"), "robot", "mpi", "none", "1"}}),
                 MpirunEnvironment());
  EXPECT_EQ(robots.Wait(kLong), 2) << robots.output();
  EXPECT_TRUE(robots.HasPrinted("exactly one must be a server", milliseconds(0)));
}

TEST(MpirunTest, IsNeededWithoutAName) {
  EXPECT_THROW(MpiConnector({}), InputError);
  EXPECT_THROW(MpiListener({}), InputError);
}

TEST_F(ApartTest, RobotAndServerExchangePackets) {
  MpiListener listener(address_);
  MpiConnector connector(address_);
  std::unique_ptr<Link> server;
  std::unique_ptr<Link> robot = Connect(&connector, &listener, &server);
  ASSERT_TRUE(robot && server) << connector.problem();
  std::string of_server;
  std::thread serving([&] { of_server = Exchange(server.get(), 10000, kServerSeed, kRobotSeed); });
  EXPECT_EQ(Exchange(robot.get(), 10000, kRobotSeed, kServerSeed), "");
  serving.join();
  EXPECT_EQ(of_server, "");

  // What was sent before the end arrives before it.
  RandomPackets packets(3);
  for (int i = 0; i < 20; ++i) {
    const std::vector<uint8_t> sent = packets.Next();
    while (!server->Send(sent)) {
      ASSERT_EQ(server->fault(), "");
      server->Wait(milliseconds(10));
    }
  }
  server.reset();
  RandomPackets expected(3);
  std::vector<uint8_t> packet;
  for (int i = 0; i < 20; ++i) {
    while (!robot->Receive(&packet) && robot->fault().empty()) robot->Wait(milliseconds(100));
    ASSERT_EQ(packet, expected.Next()) << robot->fault();
  }
  EXPECT_EQ(FaultOf(robot.get()), "the peer ended the connection");
}

TEST_F(ApartTest, ARobotOnArmAndAServerHereExchangePackets) {
  const char* const robot_on_arm = std::getenv("CACHEINF_ARM_ROBOT");
  if (robot_on_arm == nullptr) {
    GTEST_SKIP() << "$CACHEINF_ARM_ROBOT names no robot: scripts/internal/check_arm_mpi makes one";
  }
  Process server(Peer("server", 2000));
  ASSERT_TRUE(server.HasPrinted("ready", kLong)) << server.output();
  std::vector<std::string> words = Peer("robot", 2000);
  words.front() = robot_on_arm;
  Process robot(words);
  EXPECT_EQ(robot.Wait(kLong), 0) << robot.output();
  EXPECT_TRUE(server.HasPrinted("served", kLong)) << server.output();
  EXPECT_TRUE(server.HasPrinted("left: the peer ended the connection", kLong)) << server.output();
}

TEST_F(ApartTest, ServerOutlivesItsRobotsAndServesTheNext) {
  MpiListener listener(address_);
  std::unique_ptr<Link> link;
  {
    Process robot(Peer("robot", 1'000'000'000));
    link = listener.Accept(kLong);
    ASSERT_TRUE(link) << robot.output();
    ASSERT_TRUE(robot.HasPrinted("connected", kLong));
    robot.Signal(SIGKILL);
    EXPECT_NE(FaultOf(link.get()), "");
  }
  Process robot(Peer("robot", 100));
  link = listener.Accept(kLong);
  ASSERT_TRUE(link) << robot.output();
  EXPECT_EQ(Exchange(link.get(), 100, kServerSeed, kRobotSeed), "");
  EXPECT_EQ(FaultOf(link.get()), "the peer ended the connection");
  EXPECT_EQ(robot.Wait(kLong), 0) << robot.output();

  link.reset();
  EXPECT_FALSE(listener.Accept(milliseconds(2000)));
  siginfo_t dead = {};
  waitid(P_ALL, 0, &dead, WEXITED | WNOHANG | WNOWAIT);
  EXPECT_EQ(dead.si_pid, 0) << "a connection's process is a zombie";
}

TEST_F(ApartTest, RobotsThatDieWhileTheyConnectDisturbNobody) {
  MpiListener listener(address_);
  for (int delay_ms = 300; delay_ms <= 900; delay_ms += 75) {
    MpiConnector connector(address_);
    std::unique_ptr<Link> ignored;
    Connect(&connector, &listener, &ignored, milliseconds(delay_ms));
  }
  MpiConnector connector(address_);
  std::unique_ptr<Link> server;
  const std::unique_ptr<Link> robot = Connect(&connector, &listener, &server);
  EXPECT_TRUE(robot && server) << connector.problem();
}

TEST_F(ApartTest, ServerThatHangsMakesNoCallOfTheRobotWait) {
  Process server(Peer("server", 1'000'000'000));
  ASSERT_TRUE(server.HasPrinted("ready", kLong)) << server.output();
  MpiConnector connector(address_);
  const std::unique_ptr<Link> robot = Connect(&connector);
  ASSERT_TRUE(robot) << connector.problem();
  server.Signal(SIGSTOP);
  const std::vector<uint8_t> packet(Link::kLargestPacket);
  std::vector<uint8_t> received;
  int refused = 0;
  milliseconds longest(0);
  for (const auto until = steady_clock::now() + milliseconds(500); steady_clock::now() < until;) {
    const auto before = steady_clock::now();
    if (!robot->Send(packet)) ++refused;
    robot->Receive(&received);
    longest = std::max(longest, std::chrono::ceil<milliseconds>(steady_clock::now() - before));
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(longest, milliseconds(300));
  EXPECT_EQ(robot->fault(), "");
}

TEST_F(ApartTest, DeadNameServerDelaysNobodyAndANewOneIsFound) {
  MpiListener listener(address_);
  MpiConnector connector(address_);
  std::unique_ptr<Link> server;
  std::unique_ptr<Link> robot = Connect(&connector, &listener, &server);
  ASSERT_TRUE(robot && server) << connector.problem();
  KillNameServer();
  std::thread serving([&server] { Exchange(server.get(), 100, kServerSeed, kRobotSeed); });
  EXPECT_EQ(Exchange(robot.get(), 100, kRobotSeed, kServerSeed), "");  // connected is connected
  serving.join();
  robot.reset();
  server.reset();

  const auto until = steady_clock::now() + kLong;
  do {
    EXPECT_FALSE(Connect(&connector, nullptr, nullptr, milliseconds(3000)));
  } while (connector.problem().empty() && steady_clock::now() < until);
  EXPECT_NE(connector.problem(), "");
  NameServerScript("start");
  robot = Connect(&connector, &listener, &server);
  EXPECT_TRUE(robot && server) << connector.problem();
}

TEST_F(ApartTest, RefusesAnotherOpenMpi) {
  const NameServer real = ReadNameServer(address_.files.name_server);
  fs::rename(address_.files.name_server, folder_ / "real");
  std::ofstream(address_.files.name_server) << real.uri << "\nOpen MPI v4.1.8, package: other\n";
  const std::string refusal = RefusalOf([this] { const MpiConnector connector(address_); });
  EXPECT_NE(refusal.find("run scripts/setup --mpi"), std::string::npos) << refusal;
  EXPECT_THROW(MpiListener{address_}, InputError);
  fs::rename(folder_ / "real", address_.files.name_server);
}

TEST_F(ApartTest, NeedsANameServer) {
  LinkAddress nowhere = address_;
  nowhere.files.name_server = folder_ / "nothing";
  EXPECT_THROW(MpiConnector{nowhere}, InputError);
  std::ofstream(nowhere.files.name_server) << "1.0;tcp://127.0.0.1:9\n";
  EXPECT_THROW(MpiListener{nowhere}, InputError);
}

}  // namespace
}  // namespace cacheinf
