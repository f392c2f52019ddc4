// Read this first: messages over a link that is slow, late, lossy or dead. Only the test advances
// time.

#include "common/link/channel.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/link/channel_pair.h"

namespace cacheinf {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Sizes from 0 to 5 MB, small ones as often as large ones.
size_t RandomSize(std::mt19937& random) {
  constexpr double kMostBits = 22.25;
  const double bits = kMostBits * static_cast<double>(random()) / std::mt19937::max();
  return static_cast<size_t>(std::exp2(bits)) - 1;
}

// Messages that were sent but not yet received. Checks that those that arrive are those that were
// sent.
class Expected {
 public:
  void Send(Channel& channel, Message message) {
    sent_.push_back(message);
    ASSERT_TRUE(channel.Send(std::move(message)));
  }

  // Returns false if something else arrived.
  bool Receive(Channel& channel) {
    while (const std::optional<Message> message = channel.Receive()) {
      if (sent_.empty() || !AreEqual(*message, sent_.front())) return false;
      sent_.pop_front();
    }
    return true;
  }

  bool IsEmpty() const { return sent_.empty(); }

 private:
  std::deque<Message> sent_;
};

void CheckDelivery(uint32_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  LoopbackScript script;
  const int megabits = 1 << (2 + random() % 8);
  script.shape =
      ParseLinkShape(std::to_string(megabits) + "mbit," + std::to_string(random() % 30'000) + "us");
  script.jitter = microseconds(random() % 5000);
  script.duplication = .1 * static_cast<double>(random() % 3);
  script.seed = seed;
  ChannelPair pair(script);
  Expected to_server;
  Expected to_robot;
  for (int i = 0; i < 12; ++i) {
    to_server.Send(pair.robot, RandomMessage(random, RandomSize(random), i));
    if (i % 2 == 0) to_robot.Send(pair.server, RandomMessage(random, RandomSize(random), i));
    if (i % 4 == 0) pair.RunFor(milliseconds(random() % 100));
  }
  bool are_right = true;
  EXPECT_TRUE(pair.RunUntil(
      [&] {
        are_right = to_server.Receive(pair.server) && to_robot.Receive(pair.robot);
        return !are_right || (to_server.IsEmpty() && to_robot.IsEmpty());
      },
      seconds(200)));
  EXPECT_TRUE(are_right);
  EXPECT_TRUE(pair.RunUntil([&] { return pair.robot.IsFlushed() && pair.server.IsFlushed(); }));
  EXPECT_EQ(pair.robot.fault(), "");
  EXPECT_EQ(pair.server.fault(), "");

  if (script.duplication > 0) {
    EXPECT_GT(pair.server.statistics().received.wire, pair.robot.statistics().sent.wire);
  }

  EXPECT_FALSE(pair.robot_sees.has_exceeded_credit);
  EXPECT_FALSE(pair.server_sees.has_exceeded_credit);
}

TEST(ChannelTest, DeliversExactlyAndInOrder) {
  for (uint32_t seed = 1; seed <= 8; ++seed) CheckDelivery(seed);
}

TEST(SlowChannelTest, DeliversExactlyAndInOrder) {
  for (uint32_t seed = 9; seed <= 100; ++seed) CheckDelivery(seed);
}

// Whatever happens to packets, no message is wrong and none is skipped.
void CheckFaults(LoopbackScript script, const std::string& fault) {
  int broken = 0;
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    script.seed = seed;
    std::mt19937 random(seed);
    ChannelPair pair(script);
    Expected to_server;
    for (int i = 0; i < 50; ++i) {
      to_server.Send(pair.robot, RandomMessage(random, random() % 60'000, i));
    }
    bool is_right = true;
    EXPECT_TRUE(pair.RunUntil([&] {
      is_right = to_server.Receive(pair.server);
      return !is_right || (!pair.robot.fault().empty() && !pair.server.fault().empty()) ||
             to_server.IsEmpty();
    }));
    EXPECT_TRUE(is_right);
    if (pair.server.fault().empty()) continue;
    ++broken;
    EXPECT_FALSE(to_server.IsEmpty());
    EXPECT_FALSE(pair.server.Send({}));
    EXPECT_EQ(pair.server.statistics().waiting_to_leave, 0);
    const bool is_told = pair.server.fault() == fault || pair.robot.fault() == fault;
    EXPECT_TRUE(is_told) << pair.server.fault() << " / " << pair.robot.fault();
  }
  EXPECT_GT(broken, 20);
}

TEST(ChannelTest, BreaksWherePacketsGetLost) {
  LoopbackScript script = Shaped("20mbit,3ms");
  script.loss = .05;
  CheckFaults(script, "a packet from the peer was lost");
}

TEST(ChannelTest, BreaksWherePacketsAreDamaged) {
  LoopbackScript script = Shaped("20mbit,3ms");
  script.corruption = .02;
  std::string wrong;
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    script.seed = seed;
    ChannelPair pair(script);
    std::mt19937 random(seed);
    const Message message = RandomMessage(random, 1'000'000);
    pair.robot.Send(message);
    pair.RunUntil([&] { return !pair.robot.fault().empty() || !pair.server.fault().empty(); });
    const std::optional<Message> received = pair.server.Receive();
    EXPECT_TRUE(!received || AreEqual(*received, message));
    for (const Channel* channel : {&pair.robot, &pair.server}) wrong += channel->fault() + "\n";
  }
  EXPECT_NE(wrong.find("a packet's checksum is wrong"), std::string::npos) << wrong;
  EXPECT_EQ(wrong.find("lost"), std::string::npos) << wrong;
}

TEST(ChannelTest, BreaksWhereTheLinkDies) {
  LoopbackScript script = Shaped("20mbit,3ms");
  script.death = milliseconds(300);
  CheckFaults(script, "the link died");
}

TEST(ChannelTest, BreaksWhenNothingIsHeard) {
  ChannelPair pair(Shaped("20mbit,3ms"));
  pair.RunFor(seconds(10));
  EXPECT_EQ(pair.robot.fault(), "");
  EXPECT_EQ(pair.server.fault(), "");
  pair.robot_sees.is_silent = true;
  pair.RunFor(milliseconds(1240));
  EXPECT_EQ(pair.server.fault(), "");
  EXPECT_TRUE(pair.RunUntil([&] { return !pair.server.fault().empty(); }, milliseconds(300)));
  EXPECT_EQ(pair.server.fault(), "nothing was heard from the peer for 1500 ms");
  EXPECT_EQ(pair.robot.fault(), "");
}

TEST(ChannelTest, AnAnswerIsDueOnceAMessageHasArrivedInFull) {
  ChannelPair pair(Shaped("1mbit,3ms"));
  std::mt19937 random(1);
  pair.RunFor(seconds(5));
  EXPECT_EQ(pair.robot.WithoutAnswer(), seconds(0)) << "nothing was sent";
  pair.robot.Send(RandomMessage(random, 500'000));
  pair.RunFor(seconds(3));
  EXPECT_EQ(pair.robot.WithoutAnswer(), seconds(0)) << "it is on its way";
  ASSERT_TRUE(pair.RunUntil([&] { return pair.robot.IsFlushed(); }));
  pair.RunFor(seconds(1));
  pair.robot.Send(RandomMessage(random, 500'000));  // is no reason to begin again
  pair.RunFor(seconds(1));
  EXPECT_NEAR(Milliseconds(pair.robot.WithoutAnswer()), 2000, 30);
  pair.server.Send({});
  ASSERT_TRUE(pair.RunUntil([&] { return pair.robot.Receive().has_value(); }));
  EXPECT_EQ(pair.robot.WithoutAnswer(), seconds(0));
  ASSERT_TRUE(pair.RunUntil([&] { return pair.robot.IsFlushed(); }));
  pair.RunFor(seconds(1));
  EXPECT_NEAR(Milliseconds(pair.robot.WithoutAnswer()), 1000, 30) << "of the second message";
}

TEST(ChannelTest, OutlivesAPauseOfBothSides) {
  ChannelPair pair(Shaped("20mbit,3ms"));
  pair.RunFor(seconds(1));
  pair.clock.Advance(seconds(60));
  pair.RunFor(seconds(1));
  EXPECT_EQ(pair.robot.fault(), "");
  EXPECT_EQ(pair.server.fault(), "");
}

TEST(ChannelTest, GivesWhatIsCompleteAfterABreak) {
  ChannelPair pair(Shaped("20mbit,3ms"));
  pair.robot.Send({1, 2, {3}});
  pair.RunUntil([&] { return pair.server.statistics().received.payload == 1; });
  pair.robot_sees.is_silent = true;
  ASSERT_TRUE(pair.RunUntil([&] { return !pair.server.fault().empty(); }));
  EXPECT_TRUE(pair.server.Receive().has_value());
}

TEST(ChannelTest, BearsAcknowledgementsThatComeLate) {
  ChannelPair pair(Shaped("20mbit,700ms"));
  std::mt19937 random(1);
  Expected to_server;
  Expected to_robot;
  to_server.Send(pair.robot, RandomMessage(random, 300'000));
  to_robot.Send(pair.server, RandomMessage(random, 300'000));
  EXPECT_TRUE(pair.RunUntil([&] {
    return to_server.Receive(pair.server) && to_robot.Receive(pair.robot) && to_robot.IsEmpty() &&
           to_server.IsEmpty();
  }));
}

TEST(ChannelTest, SendsNoMoreOfWhatIsGivenUp) {
  ChannelPair pair(Shaped("5mbit,3ms"));
  std::mt19937 random(1);
  const Message before = RandomMessage(random, 1000, 1);
  const Message after = RandomMessage(random, 100'000, 3);
  pair.robot.Send(before);
  pair.robot.Send(RandomMessage(random, 1'000'000, 2));
  pair.robot.Send(RandomMessage(random, 1'000'000, 2));
  pair.robot.Send(after);
  ASSERT_TRUE(pair.RunUntil([&] { return pair.server.statistics().received.payload > 200'000; }));
  const uint64_t sent = pair.robot.statistics().sent.payload;
  pair.robot.GiveUp(2);
  EXPECT_EQ(pair.robot.statistics().waiting_to_leave, after.bytes.size());
  ASSERT_TRUE(pair.RunUntil([&] { return pair.robot.IsFlushed(); }));
  EXPECT_EQ(pair.robot.statistics().sent.payload, sent + after.bytes.size());
  const std::optional<Message> first = pair.server.Receive();
  const std::optional<Message> second = pair.server.Receive();
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(AreEqual(*first, before));
  EXPECT_TRUE(AreEqual(*second, after));
  EXPECT_FALSE(pair.server.Receive().has_value());
}

TEST(ChannelTest, GivesUpAtAnyTime) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    LoopbackScript script = Shaped("50mbit,2ms");
    script.duplication = .05;
    script.seed = seed;
    ChannelPair pair(script);
    std::vector<Message> sent;
    std::vector<bool> is_given_up;
    std::vector<Message> received;
    for (int frame = 0; frame < 30; ++frame) {
      sent.push_back(RandomMessage(random, random() % 200'000, frame));
      is_given_up.push_back(random() % 2 == 0);
      pair.robot.Send(sent.back());
      pair.RunFor(microseconds(random() % 30'000));
      if (is_given_up.back()) pair.robot.GiveUp(frame);
      while (auto message = pair.server.Receive()) received.push_back(std::move(*message));
    }
    ASSERT_TRUE(pair.RunUntil([&] { return pair.robot.IsFlushed(); }));
    while (auto message = pair.server.Receive()) received.push_back(std::move(*message));
    EXPECT_EQ(pair.server.fault(), "");

    size_t next = 0;
    for (size_t i = 0; i < sent.size(); ++i) {
      const bool has_come = next < received.size() && AreEqual(received[next], sent[i]);
      EXPECT_TRUE(has_come || is_given_up[i]);
      if (has_come) ++next;
    }
    EXPECT_EQ(next, received.size());
  }
}

// A report takes time, too.
constexpr double kReportBits = 8 * 97;

// Sends frames of `frame_bytes`, 30 a second, or one long message.
void CheckEstimate(int megabits, int delay_ms, size_t frame_bytes) {
  SCOPED_TRACE(std::to_string(megabits) + " Mbit/s, " + std::to_string(delay_ms) + " ms, " +
               std::to_string(frame_bytes) + " bytes a frame");
  ChannelPair pair(Shaped(std::to_string(megabits) + "mbit," + std::to_string(delay_ms) + "ms"));
  const int frames = frame_bytes > 0 ? 60 : 1;
  const size_t bytes = frame_bytes > 0 ? frame_bytes : std::min(megabits, 100) * size_t{250'000};
  for (int frame = 0; frame < frames; ++frame) {
    pair.robot.Send({0, frame, std::vector<uint8_t>(bytes)});
    pair.RunFor(milliseconds(33));
  }
  ASSERT_TRUE(pair.RunUntil([&] { return pair.robot.IsFlushed(); }));
  pair.RunFor(milliseconds(100));
  const ChannelStatistics statistics = pair.robot.statistics();
  ASSERT_TRUE(statistics.bandwidth && statistics.round_trip);
  EXPECT_NEAR(statistics.bandwidth->bits_per_second, megabits * 1e6, megabits * 1e5);
  EXPECT_LT(statistics.bandwidth->age, milliseconds(400));
  const double round_trip_ms = 2 * (delay_ms + kReportBits * 1e-3 / megabits);
  EXPECT_NEAR(Milliseconds(statistics.round_trip->time), round_trip_ms, .1 * round_trip_ms + .2);
  EXPECT_LT(statistics.round_trip->age, milliseconds(100 + 4 * delay_ms));
}

TEST(ChannelTest, EstimatesBandwidthAndRoundTrip) {
  for (const int megabits : {1, 5, 20, 93, 300}) {
    for (const int delay_ms : {1, 3, 20}) {
      CheckEstimate(megabits, delay_ms, 0);
      if (megabits >= 20) CheckEstimate(megabits, delay_ms, 40'000);
      if (megabits <= 20) CheckEstimate(megabits, delay_ms, 3000);
    }
  }
}

TEST(ChannelTest, APeerThatBeginsLateIsNotFarAway) {
  ManualClock clock;
  auto [robots, servers] = MakeLoopback(Shaped("93mbit,3ms"), clock);
  Channel robot(std::move(robots), clock);
  robot.Pump();
  clock.Advance(milliseconds(248));
  Channel server(std::move(servers), clock);
  for (int i = 0; i < 1000; ++i) {
    robot.Pump();
    server.Pump();
    clock.Advance(std::chrono::microseconds(100));
  }
  ASSERT_TRUE(robot.statistics().round_trip);
  EXPECT_NEAR(Milliseconds(robot.statistics().round_trip->time), 6, .6);
}

TEST(ChannelTest, EstimatesWhatIsAcknowledgedAndNotWhatIsSent) {
  ChannelPair pair(Shaped("93mbit,3ms"));
  pair.RunFor(seconds(12));
  EXPECT_FALSE(pair.robot.statistics().bandwidth.has_value());
  ASSERT_TRUE(pair.robot.statistics().round_trip.has_value());
  EXPECT_LE(pair.robot.statistics().round_trip->age, milliseconds(5010));
  pair.server_sees.is_silent = true;
  pair.robot.Send({0, 0, std::vector<uint8_t>(1'000'000)});
  pair.RunFor(seconds(1));
  const ChannelStatistics statistics = pair.robot.statistics();
  EXPECT_EQ(statistics.unacknowledged, statistics.sent.payload + 2 * kChunkOverhead);
  EXPECT_LE(statistics.unacknowledged, 65536);
  EXPECT_EQ(statistics.acknowledged, 0);
  EXPECT_FALSE(statistics.bandwidth.has_value());
}

// Each end measures what it sends by the other's reports, and learns from the other what it gets.
TEST(ChannelTest, BothEndsKnowBothWays) {
  LoopbackScript script = Shaped("93mbit,3ms");
  script.shape_back = ParseLinkShape("5mbit,3ms");
  ChannelPair pair(script);
  pair.RunFor(milliseconds(50));
  pair.robot.Send({0, 0, std::vector<uint8_t>(1'000'000)});
  ASSERT_TRUE(pair.RunUntil([&] { return pair.robot.IsFlushed(); }));
  pair.RunFor(milliseconds(300));
  EXPECT_FALSE(pair.robot.statistics().bandwidth_back.has_value()) << "nothing came that way";
  pair.server.Send({0, 0, std::vector<uint8_t>(100'000)});
  ASSERT_TRUE(pair.RunUntil([&] { return pair.server.IsFlushed(); }));
  pair.RunFor(seconds(2));
  const ChannelStatistics robot = pair.robot.statistics();
  const ChannelStatistics server = pair.server.statistics();
  ASSERT_TRUE(robot.bandwidth && robot.bandwidth_back);
  ASSERT_TRUE(server.bandwidth && server.bandwidth_back);
  EXPECT_NEAR(robot.bandwidth->bits_per_second, 93e6, 9.3e6);
  EXPECT_NEAR(robot.bandwidth_back->bits_per_second, 5e6, 0.5e6);
  EXPECT_NEAR(server.bandwidth_back->bits_per_second, robot.bandwidth->bits_per_second, 8);
  EXPECT_NEAR(robot.bandwidth_back->bits_per_second, server.bandwidth->bits_per_second, 8);
  // Telling it took 3 ms.
  const auto late = server.bandwidth->age - robot.bandwidth_back->age;
  EXPECT_GT(robot.bandwidth_back->age, milliseconds(1900));
  EXPECT_LT(late, milliseconds(5));
}

TEST(ChannelTest, MeasuresNoQueuesOfThePeer) {
  ChannelPair pair(Shaped("20mbit,3ms"));
  pair.RunFor(milliseconds(50));
  pair.server.Send({0, 0, std::vector<uint8_t>(5'000'000)});
  for (int frame = 0; frame < 50; ++frame) {
    pair.robot.Send({0, frame, std::vector<uint8_t>(60'000)});
    pair.RunFor(milliseconds(33));
  }
  const ChannelStatistics statistics = pair.robot.statistics();
  ASSERT_TRUE(statistics.bandwidth && statistics.round_trip);
  EXPECT_NEAR(statistics.bandwidth->bits_per_second, 20e6, 2e6);
  EXPECT_NEAR(Milliseconds(statistics.round_trip->time), 6, .6);
}

TEST(ChannelTest, FollowsABandwidthThatFalls) {
  LoopbackScript script = Shaped("93mbit,3ms");
  script.shape.bandwidth = {{seconds(1), 93 * 125e3}, {seconds(100), 2 * 125e3}};
  ChannelPair pair(script);
  for (int frame = 0; pair.clock.Now() < milliseconds(1500); ++frame) {
    pair.robot.Send({0, frame, std::vector<uint8_t>(5000)});
    pair.RunFor(milliseconds(33));
  }
  ASSERT_TRUE(pair.robot.statistics().bandwidth.has_value());
  EXPECT_NEAR(pair.robot.statistics().bandwidth->bits_per_second, 2e6, 2e5);
}

// At 0.1 Mbit/s, where 32 KiB take 2.6 s.
TEST(ChannelTest, StaysWholeOnANarrowLinkWhoseReportsNeverWaitLong) {
  ChannelPair pair(Shaped("100kbit,3ms"));
  std::mt19937 random(1);
  Expected to_server;
  Expected to_robot;
  to_server.Send(pair.robot, RandomMessage(random, 100'000));
  to_robot.Send(pair.server, RandomMessage(random, 30'000));
  uint64_t heard = 0;
  auto heard_at = pair.clock.Now();
  std::chrono::nanoseconds longest_silence{0};
  const bool have_come = pair.RunUntil(
      [&] {
        const uint64_t received = pair.server.statistics().received.wire;
        if (received != heard) heard_at = pair.clock.Now();
        heard = received;
        longest_silence = std::max(longest_silence, pair.clock.Now() - heard_at);
        return to_server.Receive(pair.server) && to_robot.Receive(pair.robot) &&
               to_server.IsEmpty() && to_robot.IsEmpty();
      },
      seconds(14));
  EXPECT_TRUE(have_come) << pair.robot.fault() << " / " << pair.server.fault();
  EXPECT_LT(longest_silence, milliseconds(260));
  ASSERT_TRUE(pair.robot.statistics().bandwidth);
  EXPECT_NEAR(pair.robot.statistics().bandwidth->bits_per_second, 100e3, 10e3);
  EXPECT_LT(pair.robot.statistics().credit, 5000);
}

// The first chunks are small; a quick link has its usual credit after a few of them.
TEST(ChannelTest, WidensBeforeAnythingIsMeasured) {
  ChannelPair pair(Shaped("1000mbit,3ms"));
  pair.robot.Send({0, 0, std::vector<uint8_t>(1'000'000)});
  pair.RunFor(microseconds(100));
  EXPECT_LE(pair.robot.statistics().unacknowledged, 8192);
  pair.RunFor(milliseconds(40));
  EXPECT_GE(pair.robot.statistics().credit, 65536);
}

// Before that, so much was sent that the link would be busy for seconds.
TEST(ChannelTest, ACollapseIsSeenBeforeAnythingIsAcknowledged) {
  for (const bool collapses : {false, true}) {
    SCOPED_TRACE(collapses);
    LoopbackScript script = Shaped("20mbit,3ms");
    if (collapses) {
      script.shape.bandwidth = {{seconds(1), 20 * 125e3}, {seconds(100), 0.1 * 125e3}};
    }
    ChannelPair pair(script);
    std::optional<std::chrono::nanoseconds> seen_at;
    for (int frame = 0; pair.clock.Now() < seconds(4); ++frame) {
      pair.robot.Send({0, frame, std::vector<uint8_t>(8000)});
      pair.RunUntil(
          [&] {
            const auto& known = pair.robot.statistics().bandwidth;
            if (!seen_at && pair.clock.Now() > seconds(1) && known &&
                known->bits_per_second < 2e6 && known->age < milliseconds(1)) {
              seen_at = pair.clock.Now();
            }
            return false;
          },
          milliseconds(33));
      pair.robot.GiveUp(frame);
    }
    EXPECT_EQ(pair.robot.fault(), "");
    EXPECT_EQ(pair.server.fault(), "");
    ASSERT_EQ(seen_at.has_value(), collapses);
    if (!collapses) continue;
    EXPECT_LE(*seen_at, milliseconds(1300));
    EXPECT_NEAR(pair.robot.statistics().bandwidth->bits_per_second, 100e3, 30e3);
    EXPECT_LT(pair.robot.statistics().credit, 2500);
  }
}

TEST(ChannelTest, CountsBytes) {
  ChannelPair pair(Shaped("93mbit,3ms"));
  pair.robot.Send({0, 0, std::vector<uint8_t>(100'000)});
  ASSERT_TRUE(pair.RunUntil([&] { return pair.robot.IsFlushed(); }));
  pair.RunFor(milliseconds(20));
  const ChannelStatistics robot = pair.robot.statistics();
  const ChannelStatistics server = pair.server.statistics();
  EXPECT_EQ(robot.sent.payload, 100'000);
  EXPECT_EQ(server.received.payload, 100'000);
  const uint64_t overhead = robot.acknowledged - 100'000;
  EXPECT_EQ(overhead % kChunkOverhead, 0);
  EXPECT_LE(overhead, 16 * kChunkOverhead);
  EXPECT_EQ(robot.sent.wire, server.received.wire);
  EXPECT_EQ(robot.received.wire, server.sent.wire);
  EXPECT_LT(robot.sent.wire, 101'500);
  EXPECT_LT(robot.received.wire, 2000);
}

}  // namespace
}  // namespace cacheinf
