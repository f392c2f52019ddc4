#include "common/pair/link_probe.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/pair/say.h"
#include "tests/link/channel_pair.h"

namespace cacheinf {
namespace {

// A server that only answers probes, on a clock that stands still between steps.
class LinkProbeTest : public testing::Test {
 protected:
  void Connect(const std::string& there, const std::string& back) {
    LoopbackScript script = Shaped(there);
    script.shape_back = ParseLinkShape(back);
    pair_.emplace(script);
    probe_.emplace(pair_->robot, pair_->clock, [this](auto deadline) { return Wait(deadline); });
    pair_->RunFor(std::chrono::milliseconds(50));
  }

  bool Wait(std::chrono::nanoseconds deadline) {
    pair_->RunFor(std::chrono::microseconds(100));
    while (const auto message = pair_->server.Receive()) {
      message::Probe asked;
      EXPECT_EQ(Decode(message->bytes, &asked), "");
      AnswerProbe(pair_->server, asked);
    }
    return pair_->clock.Now() < deadline;
  }

  std::optional<ChannelPair> pair_;
  std::optional<LinkProbe> probe_;
  std::atomic<bool> stop_ = false;
};

TEST_F(LinkProbeTest, TellsOneWayFromTheOther) {
  Connect("20mbit,3ms", "5mbit,3ms");
  const std::vector<size_t> sizes = {1, 10'000, 100'000};
  const auto probed = ProbeLink(*probe_, sizes, 5, stop_);
  ASSERT_EQ(probed.size(), 3u);
  EXPECT_NEAR(probed[0].round_trip_ms, 6, 1);
  EXPECT_FALSE(probed[0].mbit_to_server.has_value()) << "a byte shows no bandwidth";
  EXPECT_FALSE(probed[0].mbit_to_robot.has_value());
  for (size_t i = 1; i < probed.size(); ++i) {
    const ProbedSize& size = probed[i];
    EXPECT_EQ(size.bytes, sizes[i]);
    ASSERT_TRUE(size.mbit_to_server && size.mbit_to_robot);
    EXPECT_NEAR(*size.mbit_to_server, 20, 3);
    EXPECT_NEAR(*size.mbit_to_robot, 5, 0.75);
    const double bits = 8 * static_cast<double>(size.bytes);
    const double ms = 6 + bits / 20e3 + bits / 5e3;
    EXPECT_NEAR(size.round_trip_ms, ms, 0.1 * ms);
  }
  // What a robot's channel knows after that.
  pair_->RunFor(std::chrono::milliseconds(300));
  const ChannelStatistics statistics = pair_->robot.statistics();
  ASSERT_TRUE(statistics.bandwidth && statistics.bandwidth_back);
  EXPECT_NEAR(statistics.bandwidth->bits_per_second, 20e6, 2e6);
  EXPECT_NEAR(statistics.bandwidth_back->bits_per_second, 5e6, 0.5e6);
}

TEST_F(LinkProbeTest, LeavesOutWhatTakesTooLong) {
  Connect("1mbit,3ms", "1mbit,3ms");
  const std::vector<size_t> sizes = {10'000, 100'000, 1'000'000};
  const auto probed = ProbeLink(*probe_, sizes, 3, stop_);
  ASSERT_EQ(probed.size(), 2u);
  EXPECT_GT(probed[1].round_trip_ms, 1600);
}

TEST_F(LinkProbeTest, EndsWhereItIsToldTo) {
  Connect("20mbit,3ms", "20mbit,3ms");
  stop_ = true;
  const std::vector<size_t> sizes = {10'000};
  EXPECT_TRUE(ProbeLink(*probe_, sizes, 3, stop_).empty());
}

TEST_F(LinkProbeTest, ALinkThatBreaksOrAServerThatLeavesIsSaid) {
  Connect("20mbit,3ms", "20mbit,3ms");
  Say(pair_->server, message::Bye{"it stops"});
  EXPECT_THROW(
      {
        try {
          probe_->Exchange(10, 10);
        } catch (const std::runtime_error& error) {
          EXPECT_STREQ(error.what(), "it stops");
          throw;
        }
      },
      std::runtime_error);
  Connect("20mbit,3ms", "20mbit,3ms");
  pair_->server_sees.is_silent = true;
  EXPECT_THROW(probe_->Exchange(10, 10), std::runtime_error);
}

TEST_F(LinkProbeTest, NobodyMayAskForMoreThanTheLinkCarries) {
  Connect("1mbit,3ms", "1mbit,3ms");
  const message::Probe greedy{message::Probe::kMostBytes, {}};
  AnswerProbe(pair_->server, greedy);
  EXPECT_THROW(AnswerProbe(pair_->server, greedy), InputError);
  message::Probe read;
  EXPECT_EQ(Decode(Encode(message::Probe{message::Probe::kMostBytes + 1, {}}), &read),
            "a message of kind 'probe' is invalid: wanted is out of bounds");
}

}  // namespace
}  // namespace cacheinf
