// Messages over a link that is slow, late, lossy or dead.

#include "common/link/channel.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "tests/link/channel_pair.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

LoopbackScript Shaped(const std::string& shape) {
  LoopbackScript script;
  script.shape = ParseLinkShape(shape);
  return script;
}

TEST(ChannelTest, DeliversWhatWasSent) {
  ChannelPair pair(Shaped("93mbit,3ms"));
  std::mt19937 random(1);
  const Message message = RandomMessage(random, 200'000, 7);
  ASSERT_TRUE(pair.robot.Send(message));
  std::optional<Message> received;
  ASSERT_TRUE(pair.RunUntil([&] { return (received = pair.server.Receive()).has_value(); }));
  EXPECT_TRUE(AreEqual(*received, message));
  EXPECT_TRUE(pair.RunUntil([&] { return pair.robot.IsFlushed(); }));
  EXPECT_EQ(pair.robot.fault(), "");
}

}  // namespace
}  // namespace cacheinf
