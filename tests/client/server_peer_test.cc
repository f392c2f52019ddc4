// A robot looks for its server again.

#include "client/server_peer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "common/config/configured_model.h"
#include "common/config/robot_config.h"
#include "common/config/server_link_config.h"
#include "common/link/channel.h"
#include "common/link/link.h"
#include "common/model/graph/graph.h"
#include "common/pair/messages.h"
#include "common/pair/say.h"
#include "tests/client/demo_config.h"
#include "tests/link/loopback.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CutLink final : public Link {
 public:
  bool Send(std::span<const uint8_t> /*packet*/) override { return true; }
  bool Receive(std::vector<uint8_t>* /*packet*/) override { return false; }
  void Wait(std::chrono::nanoseconds /*at_most*/) override {}
  std::string fault() const override { return "the link was cut"; }
};

class ServerPeerTest : public testing::Test {
 protected:
  // Meets a server, and loses it before it was ready.
  static void MeetAndLose(ServerPeer& peer) {
    ServerConnection* const met = peer.Poll();
    ASSERT_NE(met, nullptr);
    while (!peer.is_lost()) {
      (void)met->Receive();
      std::this_thread::sleep_for(milliseconds(1));
    }
  }

  const Graph graph_ = LoadGraph(DemoConfig("1x3x64x96"), false);
  ManualClock clock_;
};

TEST_F(ServerPeerTest, AServerThatIsLostAgainAndAgainIsLookedForEverySecond) {
  ServerPeer peer({}, graph_, clock_, [] { return std::make_unique<CutLink>(); });
  for (int i = 0; i < 6; ++i) {
    MeetAndLose(peer);
    clock_.Advance(milliseconds(999));
    EXPECT_EQ(peer.Poll(), nullptr);
    clock_.Advance(milliseconds(1));
  }
}

TEST_F(ServerPeerTest, AServerIsToldWhichOfAProgramsRobotsItMeets) {
  const SteadyClock clock;
  const auto name_of = [&](const std::string& robot) {
    ServerLinkConfig config;
    config.robot = robot;
    std::unique_ptr<Channel> server;
    ServerPeer peer(config, graph_, clock, [&] {
      auto [ours, theirs] = MakeLoopback({}, clock);
      server = std::make_unique<Channel>(std::move(theirs), clock);
      server->StartPumping();
      return std::move(ours);
    });
    EXPECT_NE(peer.Poll(), nullptr);
    message::Hello hello;
    if (!server->WaitForMessage(clock.Now() + seconds(30))) return hello.robot;
    EXPECT_EQ(message::Decode(server->Receive().value().bytes, &hello), "");
    return hello.robot;
  };
  const std::string machine = name_of("");
  EXPECT_FALSE(machine.empty());
  EXPECT_EQ(name_of("left"), machine + "/left");
}

TEST_F(ServerPeerTest, AServerThatRefusesIsAskedLessAndLessOften) {
  std::vector<std::unique_ptr<Channel>> servers;
  ServerPeer peer({}, graph_, clock_, [&] {
    auto [robot, server] = MakeLoopback({}, clock_);
    servers.push_back(std::make_unique<Channel>(std::move(server), clock_));
    servers.back()->StartPumping();
    Say(*servers.back(), message::Bye{"this server serves nobody"});
    return std::move(robot);
  });
  for (const int pause : {1, 2, 4, 8, 10, 10}) {
    MeetAndLose(peer);
    EXPECT_EQ(peer.Poll(), nullptr);
    clock_.Advance(seconds(pause) - milliseconds(1));
    EXPECT_EQ(peer.Poll(), nullptr) << pause;
    clock_.Advance(milliseconds(1));
  }
}

}  // namespace
}  // namespace cacheinf
