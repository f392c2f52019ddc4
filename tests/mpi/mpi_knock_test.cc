#include "common/link/mpi_knock.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

int PortOf(const KnockListener& listener) {
  std::istringstream words(listener.published());
  std::string word;
  int port = 0;
  words >> word >> word >> port;
  return port;
}

// What a robot says.
std::string KnockOf(const KnockListener& listener) {
  const std::string& published = listener.published();
  return published.substr(0, published.find(' ', published.find(' ') + 1));
}

// Connects like a program that does not know how to knock.
Descriptor ConnectTo(int port) {
  Descriptor visitor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(visitor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
            0);
  return visitor;
}

Descriptor AcceptBy(KnockListener* listener, milliseconds at_most) {
  for (const auto until = steady_clock::now() + at_most; steady_clock::now() < until;) {
    Descriptor connection = listener->Accept();
    if (connection) return connection;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return {};
}

TEST(KnockTest, OpensAConnectionForWhoKnowsTheName) {
  KnockListener listener;
  Descriptor robot;
  std::thread knocking([&] { robot = Knock(listener.published(), milliseconds(2000)); });
  Descriptor server = AcceptBy(&listener, milliseconds(2000));
  knocking.join();
  ASSERT_TRUE(robot && server);
  EXPECT_TRUE(WriteLine(server, "1.2:3"));
  EXPECT_EQ(ReadLine(robot, milliseconds(2000)), "1.2:3");
  server = Descriptor();
  EXPECT_EQ(ReadLine(robot, milliseconds(2000)), std::nullopt);
}

TEST(KnockTest, SendsOthersAwayWhoDisturbNobody) {
  KnockListener listener;
  const int port = PortOf(listener);
  const Descriptor silent = ConnectTo(port);
  const Descriptor wrong = ConnectTo(port);
  EXPECT_TRUE(WriteLine(wrong, "cacheinf/1 0123456789abcdef"));
  const Descriptor talkative = ConnectTo(port);
  EXPECT_TRUE(WriteLine(talkative, std::string(100000, 'x')));
  ConnectTo(port);  // and leave at once
  Descriptor robot;
  std::thread knocking([&] { robot = Knock(listener.published(), milliseconds(2000)); });
  EXPECT_TRUE(AcceptBy(&listener, milliseconds(2000)));
  knocking.join();
  EXPECT_TRUE(robot);

  EXPECT_FALSE(AcceptBy(&listener, milliseconds(1200)));
  EXPECT_EQ(listener.descriptors().size(), 1U);  // the silent one's time is up
  for (const Descriptor* visitor : {&silent, &wrong, &talkative}) {
    EXPECT_EQ(ReadLine(*visitor, milliseconds(1000)), std::nullopt);
  }
}

TEST(KnockTest, ASilentCrowdMakesNobodyWait) {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 4096);
  setrlimit(RLIMIT_NOFILE, &files);
  KnockListener listener;
  std::vector<Descriptor> crowd;
  for (int i = 0; i < 1000; ++i) {
    crowd.push_back(ConnectTo(PortOf(listener)));
    if (i % 100 != 0) continue;
    EXPECT_FALSE(listener.Accept());
  }
  Descriptor robot;
  std::thread knocking([&] { robot = Knock(listener.published(), milliseconds(500)); });
  EXPECT_TRUE(AcceptBy(&listener, milliseconds(500)));
  knocking.join();
  EXPECT_TRUE(robot);
  EXPECT_LT(listener.descriptors().size(), 300U);
}

// As a server that was stopped for a while finds them.
TEST(KnockTest, WhoKnockedLongAgoIsDroppedUnseen) {
  KnockListener listener;
  const std::string words = KnockOf(listener);
  std::vector<Descriptor> patient;
  for (int i = 0; i < 20; ++i) {
    patient.push_back(ConnectTo(PortOf(listener)));
    EXPECT_TRUE(WriteLine(patient.back(), words));
  }
  std::this_thread::sleep_for(milliseconds(1100));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(WriteLine(ConnectTo(PortOf(listener)), words));
  Descriptor robot;
  std::thread knocking([&] { robot = Knock(listener.published(), milliseconds(2000)); });
  EXPECT_TRUE(AcceptBy(&listener, milliseconds(2000)));
  knocking.join();
  EXPECT_TRUE(robot);
  EXPECT_FALSE(AcceptBy(&listener, milliseconds(100))) << "whoever has given up";
}

TEST(KnockTest, WithoutFilesForMoreItWaitsForRobotsAndRests) {
  KnockListener listener;
  const Descriptor silent = ConnectTo(PortOf(listener));
  EXPECT_FALSE(AcceptBy(&listener, milliseconds(20)));
  const Descriptor robot = ConnectTo(PortOf(listener));
  rlimit before = {};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit none = before;
  none.rlim_cur = 0;
  setrlimit(RLIMIT_NOFILE, &none);
  const auto begin = steady_clock::now();
  EXPECT_FALSE(listener.Accept());
  EXPECT_FALSE(listener.Accept());
  EXPECT_GT(steady_clock::now() - begin, milliseconds(40)) << "it would look without end";
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(WriteLine(robot, KnockOf(listener)));
  EXPECT_TRUE(AcceptBy(&listener, milliseconds(2000)));
}

TEST(KnockTest, AQuestionIsNoRobot) {
  auto listener = std::make_unique<KnockListener>();
  const std::string published = listener->published();
  bool is_answered = false;
  std::thread asking([&] { is_answered = IsAnswered(published, milliseconds(2000)); });
  EXPECT_FALSE(AcceptBy(listener.get(), milliseconds(300)));
  asking.join();
  EXPECT_TRUE(is_answered);
  listener.reset();
  EXPECT_FALSE(IsAnswered(published, milliseconds(2000)));
}

TEST(KnockTest, ListensAtOneAddressIfToldTo) {
  KnockListener listener("127.0.0.2");
  EXPECT_TRUE(listener.published().ends_with(" 127.0.0.2")) << listener.published();
  std::string elsewhere = listener.published();
  elsewhere.back() = '1';
  EXPECT_FALSE(Knock(elsewhere, milliseconds(300)));
  Descriptor robot;
  std::thread knocking([&] { robot = Knock(listener.published(), milliseconds(2000)); });
  EXPECT_TRUE(AcceptBy(&listener, milliseconds(2000)));
  knocking.join();
  EXPECT_THROW(KnockListener("192.0.2.77"), std::system_error);
}

TEST(KnockTest, FindsNobodyWhereNobodyIs) {
  EXPECT_FALSE(Knock("", milliseconds(100)));
  EXPECT_FALSE(Knock("anything else 12 ::1", milliseconds(100)));
  EXPECT_FALSE(Knock("cacheinf/1 0 99999 127.0.0.1", milliseconds(100)));
  EXPECT_FALSE(Knock("cacheinf/1 0 80 nonsense 300.1.1.1", milliseconds(100)));
  std::string dead;
  {
    const KnockListener listener;
    dead = listener.published();
  }
  const auto before = steady_clock::now();
  EXPECT_FALSE(Knock(dead, milliseconds(2000)));
  EXPECT_LT(steady_clock::now() - before, milliseconds(1500));
}

}  // namespace
}  // namespace cacheinf
