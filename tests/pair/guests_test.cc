// Who is served by one server at the same time, and what a robot that comes again finds.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
#include "tests/pair/in_process_server.h"
#include "tests/testing/clip.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

class GuestsTest : public FolderTest {
 protected:
  struct Robot {
    Robot(std::unique_ptr<Link> link, const Clock& clock, uint64_t token, const MappedFile& model)
        : channel(std::move(link), clock),
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

    Channel channel;
    ServerConnection connection;
  };

  std::unique_ptr<Robot> Come(const std::string& key, uint64_t token) {
    if (!server_) server_.emplace(folder_, clock_, config_);
    return std::make_unique<Robot>(server_->Connect(key), clock_, token, pack_);
  }

  const SteadyClock clock_{};
  const std::shared_ptr<const Graph> graph_ = MakeNetwork(TenNetworks().front(), kHeight, kWidth);
  const MappedFile pack_ = PackForServers(*graph_);
  ServerConfig config_;
  std::optional<InProcessServer> server_;
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

TEST_F(GuestsTest, WhatAnEvictedRobotTookIsFreeForItsSuccessor) {
  const double bytes =
      2.0 * static_cast<double>(pack_.size) +
      2.0 * sizeof(float) * static_cast<double>(MakeLayout(*graph_, {}, Keep::kAll).arena_floats);
  config_.robot_memory_mb = 1.5 * bytes / (1 << 20);  // for one robot
  std::vector<std::unique_ptr<Robot>> robots;
  for (int i = 0; i < 5; ++i) {
    robots.push_back(Come("arm", 7));
    ASSERT_TRUE(robots.back()->IsServed()) << robots.back()->connection.fault();
    if (i < 4) server_->Kill(/*is_told=*/false);
  }
  const auto other = Come("arm", 8);
  EXPECT_FALSE(other->IsServed());
  EXPECT_NE(other->connection.fault().find("--robot-memory-mb"), std::string::npos)
      << other->connection.fault();
  EXPECT_EQ(robots.back()->Fate(), "");
}

}  // namespace
}  // namespace cacheinf
