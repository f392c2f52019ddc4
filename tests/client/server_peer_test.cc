// A robot looks for its server again.

#include "client/server_peer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/config/configured_model.h"
#include "common/config/robot_config.h"
#include "common/config/server_link_config.h"
#include "common/link/address.h"
#include "common/link/channel.h"
#include "common/link/link.h"
#include "common/link/zmq_link.h"
#include "common/model/graph/graph.h"
#include "common/pair/messages.h"
#include "common/pair/say.h"
#include "tests/client/demo_config.h"
#include "tests/link/loopback.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ServerPeerTest : public testing::Test {
 protected:
  // To a new server, which is the test.
  ConnectToServers Doors() {
    return {[this] {
      auto [robot, server] = MakeLoopback(weather_, clock_);
      servers_.push_back(std::make_unique<Channel>(std::move(server), clock_));
      servers_.back()->StartPumping();
      if (!refusal_.empty()) Say(*servers_.back(), message::Bye{refusal_});
      return std::move(robot);
    }};
  }

  // Meets a server, and loses it before it is ready.
  void MeetAndLose(ServerPeer& peer) {
    ServerConnection* const met = peer.Poll();
    ASSERT_NE(met, nullptr);
    if (refusal_.empty()) weather_.CutAll();
    WaitForLoss(*met);
  }

  static void WaitForLoss(ServerConnection& met) {
    while (met.fault().empty()) {
      (void)met.Receive();
      std::this_thread::sleep_for(milliseconds(1));
    }
  }

  static Message Received(Channel& channel) {
    while (true) {
      if (std::optional<Message> message = channel.Receive()) return *std::move(message);
      EXPECT_EQ(channel.fault(), "");
      std::this_thread::sleep_for(milliseconds(1));
    }
  }

  const Graph graph_ = LoadGraph(DemoConfig("1x3x64x96"), false);
  ManualClock clock_;
  LoopbackWeather weather_;
  std::vector<std::unique_ptr<Channel>> servers_;
  std::string refusal_;  // of all servers, if there is one
};

// Two servers, whose ends of the links the test holds, on a clock that it moves.
class TwoServersTest : public ServerPeerTest {
 protected:
  struct Server {
    void Die() {
      weather.CutAll();
      is_up = false;
    }

    LoopbackWeather weather;
    std::unique_ptr<Channel> channel;
    bool is_up = true;
    std::chrono::nanoseconds says_alive_at{};
  };

  // On a clock that stands still, a robot that says goodbye waits for ever.
  void TearDown() override {
    first_.Die();
    second_.Die();
  }

  ConnectToServer To(Server& server) {
    return [this, &server]() -> std::unique_ptr<Link> {
      if (!server.is_up) return nullptr;
      auto [robot, other] = MakeLoopback(server.weather, clock_);
      server.channel = std::make_unique<Channel>(std::move(other), clock_);
      return std::move(robot);
    };
  }

  // What a server without the model does: `pieces_` counts the messages of all models.
  void Serve(Server& server) {
    if (server.channel && clock_.Now() >= server.says_alive_at) {
      server.says_alive_at = clock_.Now() + milliseconds(500);
      Say(*server.channel, message::Alive{});
    }
    while (server.channel) {
      const std::optional<Message> message = server.channel->Receive();
      if (!message) return;
      if (message->kind == static_cast<uint8_t>(message::Kind::kHello)) {
        Say(*server.channel, message::Welcome{.needs_model = true, .arithmetic = "FP32"});
      } else if (message->kind == static_cast<uint8_t>(message::Kind::kProfile)) {
        const std::string name = &server == &first_ ? "first" : "second";
        Say(*server.channel, message::Schedule{{name.begin(), name.end()}, false});
      }
    }
  }

  // Lets the time pass in frames of 20 ms. Returns the last connection that the robot was given.
  void Pass(milliseconds time) {
    for (const auto end = clock_.Now() + time; clock_.Now() < end;) {
      clock_.Advance(milliseconds(20));
      Look();
    }
  }

  void Look() {
    for (int i = 0; i < 4; ++i) {
      Pump();
      Serve(first_);
      Serve(second_);
      if (current_ != nullptr) (void)current_->Receive();
    }
    const auto let_go = [this] { current_ = nullptr; };
    if (ServerConnection* const met = peer_.Poll(let_go)) current_ = met;
  }

  // By hand, because what threads move depends on how busy the machine is.
  void Pump() {
    bool has_moved = true;
    while (has_moved) {
      has_moved = peer_.Pump();
      for (Server* const server : {&first_, &second_}) {
        if (server->channel && server->channel->Pump()) has_moved = true;
      }
    }
  }

  // The server whose schedule was taken last.
  std::string ScheduleOf() {
    if (auto schedule = peer_.TakeSchedule()) {
      schedule_ = std::string(schedule->schedule.begin(), schedule->schedule.end());
    }
    return schedule_;
  }

  void MeetBoth() {
    peer_.AskForSchedule({}, "profile");
    Pass(milliseconds(2000));
    ASSERT_NE(current_, nullptr);
    ASSERT_TRUE(current_->has_model());
    ASSERT_EQ(ScheduleOf(), "first");
  }

  // How long the robot is without a server that has the model, and a schedule of the second.
  std::chrono::nanoseconds TimeWithout() {
    const auto begin = clock_.Now();
    do {
      Pass(milliseconds(20));
    } while ((current_ == nullptr || !current_->has_model() || ScheduleOf() != "second") &&
             clock_.Now() < begin + seconds(20));
    return clock_.Now() - begin;
  }

  Server first_;
  Server second_;
  ServerPeer peer_{{}, graph_, clock_, {To(first_), To(second_)}, 1};
  ServerConnection* current_ = nullptr;
  std::string schedule_;
};

TEST_F(TwoServersTest, TheFirstOfTheListIsTakenEvenIfTheSecondIsThereBefore) {
  first_.is_up = false;
  Pass(milliseconds(300));
  EXPECT_EQ(current_, nullptr);
  first_.is_up = true;
  peer_.AskForSchedule({}, "profile");
  testing::internal::CaptureStderr();
  SetLogLevel(LogLevel::kInfo);
  Pass(milliseconds(200));
  SetLogLevel(LogLevel::kOff);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("another server is ready"), log.npos) << log;
  EXPECT_EQ(ScheduleOf(), "first");
}

TEST_F(TwoServersTest, TheSecondIsTakenIfTheFirstIsNotThere) {
  first_.is_up = false;
  peer_.AskForSchedule({}, "profile");
  Pass(milliseconds(1000));
  ASSERT_NE(current_, nullptr);
  EXPECT_EQ(ScheduleOf(), "second");
}

TEST_F(TwoServersTest, TheSecondHasAllThatItNeedsWhenTheFirstIsKilled) {
  MeetBoth();
  first_.Die();
  EXPECT_LE(TimeWithout(), milliseconds(100));
}

TEST_F(TwoServersTest, TheSecondTakesOverFromOneThatIsSilent) {
  MeetBoth();
  first_.weather.Hold(true);
  const auto without = TimeWithout();
  EXPECT_GT(without, milliseconds(500)) << "a pause is no death";
  EXPECT_LE(without, milliseconds(2500));
}

TEST_F(TwoServersTest, TheFirstIsTakenAgainOnceItHasBeenReadyForAWhile) {
  MeetBoth();
  const uint64_t sent_before = peer_.statistics()->sent.wire;
  first_.Die();
  ASSERT_LE(TimeWithout(), milliseconds(100));
  EXPECT_GE(peer_.statistics()->sent.wire, sent_before) << "over both connections";
  first_.is_up = true;
  Pass(milliseconds(4000));
  EXPECT_EQ(ScheduleOf(), "second");
  Pass(milliseconds(4000));
  EXPECT_EQ(ScheduleOf(), "first");
  ASSERT_NE(current_, nullptr);
  EXPECT_TRUE(current_->has_model());
  // It is lost again.
  first_.Die();
  EXPECT_LE(TimeWithout(), milliseconds(100));
}

TEST_F(TwoServersTest, TheFirstIsNotTakenAgainWhileItIsSilent) {
  MeetBoth();
  first_.Die();
  ASSERT_LE(TimeWithout(), milliseconds(100));
  first_.is_up = true;
  Pass(milliseconds(4200));
  first_.weather.Hold(true);
  Pass(milliseconds(900));
  EXPECT_EQ(ScheduleOf(), "second") << "ready for 5 s";
  first_.weather.Hold(false);
  Pass(milliseconds(600));
  EXPECT_EQ(ScheduleOf(), "first");
}

TEST_F(TwoServersTest, TheSecondsDeathDoesNotDisturbTheFirst) {
  MeetBoth();
  second_.Die();
  ServerConnection* const before = current_;
  testing::internal::CaptureStderr();
  SetLogLevel(LogLevel::kWarning);
  Pass(milliseconds(3000));
  SetLogLevel(LogLevel::kOff);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("another server is lost"), log.npos) << log;
  EXPECT_EQ(current_, before);
  second_.is_up = true;
  Pass(milliseconds(3000));
  EXPECT_EQ(current_, before);
  first_.Die();
  EXPECT_LE(TimeWithout(), milliseconds(100)) << "it is ready again";
}

TEST_F(ServerPeerTest, AListOfServersIsOfTcpAddressesAndTheirKeys) {
  const auto refusal = [](const std::string& address, const std::string& keys) {
    ServerLinkConfig config;
    config.address = address;
    config.server_key = keys;
    return RefusalOf([&] { CheckServerLink(config); });
  };
  EXPECT_EQ(refusal("tcp://127.0.0.1:1,tcp://localhost:2", ""), "");
  EXPECT_EQ(refusal("tcp://127.0.0.1:1,mpi:lab", ""),
            "--server takes a list of tcp://HOST:PORT alone, not \"mpi:lab\"");
  EXPECT_EQ(refusal("tcp://127.0.0.1:1,tcp://127.0.0.1:1", ""),
            "--server names tcp://127.0.0.1:1 twice");
  EXPECT_NE(refusal("tcp://127.0.0.1:1,", ""), "");
  EXPECT_NE(refusal("tcp://127.0.0.1:1,tcp://127.0.0.1", "").find("is not tcp://HOST:PORT"),
            std::string::npos);
  EXPECT_EQ(refusal("tcp://127.0.0.1:1", "a.pub,b.pub"),
            "--server-key names 2 keys for the 1 servers of --server: give one for each, in the "
            "same order, or one for all");
}

TEST_F(ServerPeerTest, WhatCannotBeEmulatedIsRefusedBeforeALinkIsMade) {
  ServerLinkConfig config;
  config.emulate = "5x,";
  EXPECT_NE(RefusalOf([&] { CheckServerLink(config); }).find("no link such as"), std::string::npos);
}

// A robot that takes longer for a frame than its server's patience with a silent one.
TEST_F(ServerPeerTest, ARobotThatLooksSeldomMeetsItsServer) {
  ZmqListener listener(ParseLinkAddress("--listen", "tcp://127.0.0.1:0", {}));
  ServerLinkConfig config;
  config.address = "tcp://127.0.0.1:" + std::to_string(listener.port());
  const SteadyClock clock;
  ServerPeer peer(config, graph_, clock);
  EXPECT_EQ(peer.Poll(), nullptr);
  std::unique_ptr<Link> link = listener.Accept(seconds(20));
  ASSERT_NE(link, nullptr);
  Channel server(std::move(link), clock);
  server.StartPumping();
  std::this_thread::sleep_for(milliseconds(2000));
  EXPECT_EQ(server.fault(), "");
  ASSERT_NE(peer.Poll(), nullptr);
  EXPECT_EQ(Received(server).kind, static_cast<uint8_t>(message::Kind::kHello));
}

TEST_F(ServerPeerTest, ALostConnectionLivesUntilWhoUsesItIsTold) {
  ServerPeer peer({}, graph_, clock_, Doors());
  ServerConnection* const met = peer.Poll();
  ASSERT_NE(met, nullptr);
  bool is_told = false;
  const auto let_go = [&] {
    EXPECT_EQ(met->fault(), "the link was cut");
    is_told = true;
  };
  EXPECT_EQ(peer.Poll(let_go), nullptr);
  EXPECT_FALSE(is_told);
  weather_.CutAll();
  WaitForLoss(*met);
  EXPECT_EQ(peer.Poll(let_go), nullptr);
  EXPECT_TRUE(is_told);
}

// After the third time it takes no part in frames until it has been there for a while.
TEST_F(ServerPeerTest, AServerThatIsLostAgainAndAgainIsLookedForEverySecond) {
  ServerPeer peer({}, graph_, clock_, Doors());
  for (size_t i = 1; i <= 8; ++i) {
    if (i <= 3) {
      MeetAndLose(peer);
    } else {
      EXPECT_EQ(peer.Poll(), nullptr) << "it comes and goes";
      EXPECT_TRUE(peer.problem().starts_with("the link came and went")) << peer.problem();
      weather_.CutAll();
      std::this_thread::sleep_for(milliseconds(30));
    }
    EXPECT_EQ(servers_.size(), i);
    EXPECT_EQ(peer.Poll(), nullptr);  // the loss is noted
    clock_.Advance(milliseconds(999));
    EXPECT_EQ(peer.Poll(), nullptr);
    EXPECT_EQ(servers_.size(), i);
    clock_.Advance(milliseconds(251));
  }
}

TEST_F(ServerPeerTest, AServerIsToldWhichOfAProgramsRobotsItMeets) {
  std::set<uint64_t> tokens;
  const auto name_of = [&](const std::string& robot) {
    ServerLinkConfig config;
    config.robot = robot;
    ServerPeer peer(config, graph_, clock_, Doors());
    EXPECT_NE(peer.Poll(), nullptr);
    message::Hello hello;
    EXPECT_EQ(message::Decode(Received(*servers_.back()).bytes, &hello), "");
    weather_.CutAll();
    tokens.insert(hello.token);
    return hello.robot;
  };
  const std::string machine = name_of("");
  EXPECT_FALSE(machine.empty());
  EXPECT_EQ(name_of("left"), machine + "/left");
  EXPECT_EQ(name_of("left"), machine + "/left");
  EXPECT_EQ(tokens.size(), 3u) << "robots of one name are told apart";
  EXPECT_FALSE(tokens.contains(0));
}

// As programs that speak only version 8 of the wire do.
TEST_F(ServerPeerTest, AServerOfTheReleaseBeforeIsGreetedAgainAtOnceInItsOwnVersion) {
  ServerPeer peer({}, graph_, clock_, Doors());
  const auto greeting = [&] {
    message::Hello hello;
    const Message received = Received(*servers_.back());
    EXPECT_EQ(message::Decode(received.bytes, &hello), "");
    return hello.speaks;
  };
  for (int i = 0; i < 2; ++i) {  // it may have been replaced by a newer one meanwhile
    ServerConnection* met = peer.Poll();
    ASSERT_NE(met, nullptr);
    EXPECT_EQ(greeting(), kWire);
    Say(*servers_.back(), message::Bye{"a message of kind 'hello' is invalid: the protocol is "
                                       "another one"});
    WaitForLoss(*met);
    met = peer.Poll();
    ASSERT_NE(met, nullptr);
    EXPECT_EQ(greeting(), (WireVersions{8, 8}));
    Say(*servers_.back(), message::Welcome{.needs_model = false, .arithmetic = "FP32", .wire = 8});
    while (!met->has_model()) {
      (void)met->Receive();
      std::this_thread::sleep_for(milliseconds(1));
    }
    Say(*servers_.back(), message::Bye{"the server stops"});
    WaitForLoss(*met);
    EXPECT_EQ(peer.Poll(), nullptr);
    clock_.Advance(milliseconds(1250));
  }
}

TEST_F(ServerPeerTest, AServerThatRefusesIsAskedLessAndLessOften) {
  refusal_ = "this server serves nobody";
  ServerPeer peer({}, graph_, clock_, Doors());
  for (const int pause : {1, 2, 4, 8, 10, 10}) {
    MeetAndLose(peer);
    EXPECT_EQ(peer.Poll(), nullptr);
    EXPECT_EQ(peer.problem(), refusal_);
    clock_.Advance(seconds(pause) - milliseconds(1));
    EXPECT_EQ(peer.Poll(), nullptr) << pause;
    clock_.Advance(milliseconds(1 + 250 * pause));
  }
}

}  // namespace
}  // namespace cacheinf
