// Who is served by one server at the same time, and what a robot that comes again finds.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/exec/layout.h"
#include "common/link/channel.h"
#include "common/link/link.h"
#include "common/pair/server_connection.h"
#include "server/server.h"
#include "tests/link/loopback.h"
#include "tests/testing/clip.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

// An end whose peer has proven its key. Once it is silent, nothing passes it.
class KeyedLink final : public Link {
 public:
  KeyedLink(std::unique_ptr<Link> link, std::string key, const std::atomic<bool>& is_silent)
      : link_(std::move(link)), key_(std::move(key)), is_silent_(is_silent) {}
  Peer peer() const override { return {.key = key_}; }
  bool Send(std::span<const uint8_t> packet) override { return is_silent_ || link_->Send(packet); }
  bool Receive(std::vector<uint8_t>* packet) override {
    return !is_silent_ && link_->Receive(packet);
  }
  void Wait(std::chrono::nanoseconds at_most) override { link_->Wait(at_most); }
  std::string fault() const override { return link_->fault(); }

 private:
  const std::unique_ptr<Link> link_;
  const std::string key_;
  const std::atomic<bool>& is_silent_;
};

class GuestsTest : public FolderTest {
 protected:
  struct Robot {
    Robot(std::unique_ptr<Link> link, const Clock& clock, uint64_t token, const MappedFile& model)
        : channel(std::make_unique<KeyedLink>(std::move(link), "", is_silent), clock),
          connection(channel, {.robot = "rover", .token = token}, model) {
      channel.StartPumping();
      message::Settings settings;
      settings.mode = message::Settings::Mode::kRemote;
      connection.Use(std::move(settings));
    }

    bool IsServed() {
      Hear(10'000, [this] { return connection.is_ready(); });
      return connection.is_ready();
    }

    // Why it has ended, after a while that is shorter than any patience.
    std::string Fate() {
      Hear(300, [] { return false; });
      return connection.fault();
    }

    // Its last words, too.
    void Hear(int most_ms, const std::function<bool()>& holds) {
      for (int i = 0; i < most_ms && connection.fault().empty() && !holds(); ++i) {
        (void)connection.Receive();
        std::this_thread::sleep_for(milliseconds(1));
      }
      (void)connection.Receive();
    }

    std::atomic<bool> is_silent = false;
    Channel channel;
    ServerConnection connection;
  };

  void SetUp() override {
    config_.threads = 1;
    config_.models = folder_ / "served";
    thread_ = std::thread([this] {
      ServeRobots([this] { return Accept(); }, config_, clock_, [this] { return is_over_.load(); });
    });
  }
  void TearDown() override {
    is_over_ = true;
    thread_.join();
  }

  std::unique_ptr<Robot> Come(const std::string& key, uint64_t token) {
    auto [robot, server] = MakeLoopback({}, clock_);
    {
      const std::lock_guard lock(mutex_);
      arriving_.push_back(std::make_unique<KeyedLink>(std::move(server), key, kNever));
    }
    return std::make_unique<Robot>(std::move(robot), clock_, token, pack_);
  }

  std::unique_ptr<Link> Accept() {
    {
      const std::lock_guard lock(mutex_);
      if (!arriving_.empty()) {
        std::unique_ptr<Link> link = std::move(arriving_.front());
        arriving_.pop_front();
        return link;
      }
    }
    std::this_thread::sleep_for(milliseconds(1));
    return nullptr;
  }

  static constexpr std::atomic<bool> kNever = false;
  const SteadyClock clock_{};
  const std::shared_ptr<const Graph> graph_ = MakeNetwork(TenNetworks().front(), kHeight, kWidth);
  const MappedFile pack_ = PackForServers(*graph_);
  ServerConfig config_;
  std::mutex mutex_;
  std::deque<std::unique_ptr<Link>> arriving_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

TEST_F(GuestsTest, ARobotThatComesAgainEvictsWhatIsLeftOfIt) {
  const auto dead = Come("arm", 7);
  ASSERT_TRUE(dead->IsServed()) << dead->connection.fault();
  const auto again = Come("arm", 7);
  EXPECT_TRUE(again->IsServed()) << again->connection.fault();
  EXPECT_EQ(dead->Fate(), "the robot has come again");
  EXPECT_EQ(again->Fate(), "");
}

TEST_F(GuestsTest, NobodyElseEvictsARobot) {
  const auto robot = Come("arm", 7);
  ASSERT_TRUE(robot->IsServed());
  std::vector<std::unique_ptr<Robot>> others;
  others.push_back(Come("arm", 8));  // of another process
  others.push_back(Come("leg", 7));  // a stranger who has heard the token
  others.push_back(Come("", 7));     // or one without any key
  others.push_back(Come("arm", 0));  // of a release without tokens, twice
  others.push_back(Come("arm", 0));
  for (const auto& other : others) EXPECT_TRUE(other->IsServed()) << other->connection.fault();
  EXPECT_EQ(robot->Fate(), "");
  for (const auto& other : others) EXPECT_EQ(other->Fate(), "");
}

// A key's quota here is enough for one robot.
class SmallGuestsTest : public GuestsTest {
 protected:
  SmallGuestsTest() {
    const double bytes =
        2.0 * static_cast<double>(pack_.size) +
        2.0 * sizeof(float) * static_cast<double>(MakeLayout(*graph_, {}, Keep::kAll).arena_floats);
    config_.robot_memory_mb = 1.5 * bytes / (1 << 20);
  }
};

TEST_F(SmallGuestsTest, WhatAnEvictedRobotTookIsFreeForItsSuccessor) {
  std::vector<std::unique_ptr<Robot>> robots;
  for (int i = 0; i < 5; ++i) {
    robots.push_back(Come("arm", 7));
    ASSERT_TRUE(robots.back()->IsServed()) << robots.back()->connection.fault();
    robots.back()->is_silent = i < 4;
  }
  const auto other = Come("arm", 8);
  EXPECT_FALSE(other->IsServed());
  EXPECT_NE(other->connection.fault().find("--robot-memory-mb"), std::string::npos)
      << other->connection.fault();
  EXPECT_EQ(robots.back()->Fate(), "");
}

}  // namespace
}  // namespace cacheinf
