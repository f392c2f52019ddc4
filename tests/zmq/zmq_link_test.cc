// Read this first: robot and server meet over ZeroMQ, by their keys.

#include "common/link/zmq_link.h"

#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/link/exchange.h"
#include "tests/testing/places.h"
#include "tests/testing/process.h"
#include "tests/testing/refusal.h"
#include "tests/zmq/zmq_world.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// If a peer is silent for longer, a channel takes it for dead.
constexpr milliseconds kPatience(1500);

class ZmqLinkTest : public ZmqWorld {
 protected:
  // A server in a process of its own, at this port if it is not 0.
  std::unique_ptr<Process> StartServer(int packets, int* port) const {
    auto server = std::make_unique<Process>(std::vector<std::string>{
        ProgramPath("zmq_peer"), "server", "tcp://127.0.0.1:" + std::to_string(*port),
        Path("server.key"), Path("robots"), std::to_string(packets)});
    EXPECT_TRUE(server->HasPrinted(".", kLong) && server->HasPrinted("ready at ", kLong))
        << server->output();
    const std::string output = server->output();
    *port = std::stoi(output.substr(output.find("ready at ") + 9));
    return server;
  }

  // Exchanges until something ends it; channels always send.
  static milliseconds TimeToFault(Link* link) {
    const auto begin = steady_clock::now();
    const std::vector<uint8_t> heartbeat(100);
    std::vector<uint8_t> packet;
    while (link->fault().empty() && steady_clock::now() < begin + kLong) {
      link->Send(heartbeat);
      while (link->Receive(&packet)) {
      }
      link->Wait(milliseconds(20));
    }
    return std::chrono::ceil<milliseconds>(steady_clock::now() - begin);
  }

  static void SendPackets(Link* link, int count) {
    RandomPackets packets(3);
    for (int i = 0; i < count; ++i) {
      const std::vector<uint8_t> sent = packets.Next();
      while (!link->Send(sent)) {
        ASSERT_EQ(link->fault(), "");
        link->Wait(milliseconds(10));
      }
    }
  }

  static void ExpectPackets(Link* link, int count) {
    RandomPackets expected(3);
    std::vector<uint8_t> packet;
    for (int i = 0; i < count; ++i) {
      while (!link->Receive(&packet) && link->fault().empty()) link->Wait(milliseconds(100));
      ASSERT_EQ(packet, expected.Next()) << i << ": " << link->fault();
    }
  }
};

TEST_F(ZmqLinkTest, RobotAndServerExchangePackets) {
  ZmqListener listener(ServerAddress());
  ZmqConnector connector(RobotAddress(listener.port()));
  const Pair pair = Meet(&connector, &listener);
  ASSERT_TRUE(pair.robot && pair.server) << connector.problem();
  EXPECT_EQ(ExchangeBothWays(pair, 10000), "");
}

TEST_F(ZmqLinkTest, OnOneMachineTheyNeedNoKeys) {
  ZmqListener listener(ParseLinkAddress("--listen", "tcp://localhost:0"));
  ZmqConnector connector(
      ParseLinkAddress("--server", "tcp://localhost:" + std::to_string(listener.port())));
  const Pair pair = Meet(&connector, &listener);
  ASSERT_TRUE(pair.robot && pair.server) << connector.problem();
  EXPECT_EQ(ExchangeBothWays(pair, 1000), "");
}

TEST_F(ZmqLinkTest, WhatWasSentBeforeTheEndArrivesBeforeIt) {
  ZmqListener listener(ServerAddress());
  ZmqConnector connector(RobotAddress(listener.port()));
  for (const bool is_robot_first : {false, true}) {
    Pair pair = Meet(&connector, &listener);
    ASSERT_TRUE(pair.robot && pair.server) << connector.problem();
    std::unique_ptr<Link>& first = is_robot_first ? pair.robot : pair.server;
    std::unique_ptr<Link>& last = is_robot_first ? pair.server : pair.robot;
    std::thread sending([&first] {
      SendPackets(first.get(), 40);
      first.reset();
    });
    ExpectPackets(last.get(), 40);
    sending.join();
    EXPECT_EQ(FaultOf(last.get()), "the peer ended the connection");
    std::vector<uint8_t> packet;
    EXPECT_FALSE(last->Receive(&packet));
  }
}

TEST_F(ZmqLinkTest, OneServerHasManyRobots) {
  ZmqListener listener(ServerAddress());
  std::vector<std::unique_ptr<ZmqConnector>> connectors;
  std::vector<Pair> pairs;
  for (int i = 0; i < 4; ++i) {
    connectors.push_back(
        std::make_unique<ZmqConnector>(RobotAddress(listener.port(), i % 2 == 0 ? "arm" : "leg")));
    pairs.push_back(Meet(connectors.back().get(), &listener));
    ASSERT_TRUE(pairs.back().robot && pairs.back().server) << connectors.back()->problem();
  }
  std::vector<std::thread> exchanges;
  std::vector<std::string> results(pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    exchanges.emplace_back([&, i] { results[i] = ExchangeBothWays(pairs[i], 1000); });
  }
  for (std::thread& exchange : exchanges) exchange.join();
  EXPECT_EQ(results, std::vector<std::string>(pairs.size()));
}

TEST_F(ZmqLinkTest, ARobotThatIsKilledIsNoticedAndTheNextIsServed) {
  ZmqListener listener(ServerAddress());
  const auto robot = [&](int packets) {
    return std::vector<std::string>{ProgramPath("zmq_peer"),
                                    "robot",
                                    RobotAddress(listener.port()).endpoint(),
                                    Path("arm.key"),
                                    Path("server.pub"),
                                    std::to_string(packets)};
  };
  {
    Process killed(robot(1'000'000'000));
    const std::unique_ptr<Link> link = listener.Accept(kLong);
    ASSERT_TRUE(link) << killed.output();
    ASSERT_TRUE(killed.HasPrinted("connected", kLong));
    killed.Signal(SIGKILL);
    EXPECT_LT(TimeToFault(link.get()), kPatience);
    EXPECT_EQ(link->fault(), "the connection was lost");
  }
  Process next(robot(100));
  const std::unique_ptr<Link> link = listener.Accept(kLong);
  ASSERT_TRUE(link) << next.output();
  EXPECT_EQ(Exchange(link.get(), 100, kServerSeed, kRobotSeed), "");
  EXPECT_EQ(FaultOf(link.get()), "the peer ended the connection");
  EXPECT_EQ(next.Wait(kLong), 0) << next.output();
}

TEST_F(ZmqLinkTest, AServerThatIsKilledIsNoticedAndMetAgain) {
  int port = 0;
  auto server = StartServer(1'000'000'000, &port);
  ZmqConnector connector(RobotAddress(port));
  {
    const Pair pair = Meet(&connector);
    ASSERT_TRUE(pair.robot) << connector.problem();
    server->Signal(SIGKILL);
    EXPECT_LT(TimeToFault(pair.robot.get()), kPatience);
    EXPECT_EQ(pair.robot->fault(), "the connection was lost");
  }
  EXPECT_FALSE(Meet(&connector, nullptr, milliseconds(1000)).robot);
  EXPECT_NE(connector.problem().find("nobody listens at"), std::string::npos)
      << connector.problem();
  server = StartServer(100, &port);
  const Pair pair = Meet(&connector);
  ASSERT_TRUE(pair.robot) << connector.problem();
  EXPECT_EQ(connector.problem(), "");
  EXPECT_EQ(Exchange(pair.robot.get(), 100, kRobotSeed, kServerSeed), "");
}

TEST_F(ZmqLinkTest, AServerThatHangsTakesLittleAndMakesNoCallOfTheRobotWait) {
  int port = 0;
  const auto server = StartServer(1'000'000'000, &port);
  ZmqConnector connector(RobotAddress(port));
  const Pair pair = Meet(&connector);
  ASSERT_TRUE(pair.robot) << connector.problem();
  server->Signal(SIGSTOP);
  std::this_thread::sleep_for(milliseconds(50));  // until all of its threads have stopped
  const std::vector<uint8_t> packet(Link::kLargestPacket);
  std::vector<uint8_t> received;
  int sent = 0;
  int refused = 0;
  milliseconds longest(0);
  for (const auto until = steady_clock::now() + milliseconds(500); steady_clock::now() < until;) {
    const auto before = steady_clock::now();
    ++(pair.robot->Send(packet) ? sent : refused);
    pair.robot->Receive(&received);
    longest = std::max(longest, std::chrono::ceil<milliseconds>(steady_clock::now() - before));
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(sent * packet.size(), size_t{1} << 20);
  EXPECT_LT(longest, milliseconds(300));
  EXPECT_EQ(pair.robot->fault(), "");
}

// A busy one may close its socket before it has read all, and then its last words are lost.
TEST_F(ZmqLinkTest, AListenerThatEndsEndsItsLinks) {
  const std::string ended = "the peer ended the connection";
  std::string heard;
  for (int i = 0; i < 5 && heard != ended; ++i) {
    auto listener = std::make_unique<ZmqListener>(ServerAddress());
    ZmqConnector connector(RobotAddress(listener->port()));
    const Pair pair = Meet(&connector, listener.get());
    ASSERT_TRUE(pair.robot && pair.server) << connector.problem();
    listener.reset();
    EXPECT_EQ(pair.server->fault(), "the server stops listening");
    heard = FaultOf(pair.robot.get());
    EXPECT_TRUE(heard == ended || heard == "the connection was lost") << heard;
  }
  EXPECT_EQ(heard, ended);
}

TEST_F(ZmqLinkTest, RefusesAddressesThatCannotWork) {
  const auto of_server = [](const std::string& text, const LinkFiles& files = {}) {
    return RefusalOf(
        [&] { const ZmqListener listener(ParseLinkAddress("--listen", text, files)); });
  };
  const auto of_robot = [](const std::string& text, const LinkFiles& files = {}) {
    return RefusalOf([&] { ZmqConnector::Check(ParseLinkAddress("--server", text, files)); });
  };
  const std::string key = Path("arm.key");
  for (const std::string& refusal : {
           of_server("tcp://*:5588"),
           of_server("tcp://10.0.0.1:5588"),
           of_server("tcp://127.0.0.1:0", {.key = Path("server.key")}),
           of_server("tcp://127.0.0.1:0", {.trusted = Path("robots")}),
       }) {
    EXPECT_NE(refusal.find("listens to its own machine only"), std::string::npos) << refusal;
  }
  for (const std::string& refusal :
       {of_robot("tcp://lab:5588"), of_robot("tcp://127.0.0.1:1", {.key = key}),
        of_robot("tcp://127.0.0.1:1", {.trusted = TextOf("server")})}) {
    EXPECT_NE(refusal.find("needs --robot-key"), std::string::npos) << refusal;
  }
  EXPECT_EQ(of_robot("tcp://lab:5588", {.key = key, .trusted = TextOf("server")}), "");
  EXPECT_NE(of_robot("tcp://*:5588", {.key = key, .trusted = TextOf("server")}), "");
  EXPECT_NE(of_robot("tcp://lab:0", {.key = key, .trusted = TextOf("server")}), "");
  EXPECT_NE(of_robot("tcp://lab:5588", {.key = Path("none"), .trusted = TextOf("server")}), "");

  const ZmqListener first(ServerAddress());
  EXPECT_NE(RefusalOf([&] {
              const ZmqListener second(ServerAddress(first.port()));
            }).find("another program listens there"),
            std::string::npos);
}

}  // namespace
}  // namespace cacheinf
