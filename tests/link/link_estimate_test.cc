// What an estimate of a link rests on.

#include "common/link/link_estimate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "common/link/channel.h"
#include "common/link/packet.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kChunk = 30'000;

class LinkEstimateTest : public testing::Test {
 protected:
  // The peer has our clock, and is 1 ms away.
  void MeasureRoundTrip() {
    estimate_.Pinged(milliseconds(1));
    Report pong;
    pong.pong = std::chrono::nanoseconds(milliseconds(1)).count();
    pong.sent_at = std::chrono::nanoseconds(milliseconds(2)).count();
    pong.is_quiet = 1;
    ASSERT_EQ(estimate_.Take(pong, milliseconds(3), {}), nullptr);
  }

  // So many chunks leave, of which all but the first wait, and one arrives every few milliseconds.
  void Send(int chunks, milliseconds each, uint64_t bytes = kChunk) {
    for (int i = 0; i < chunks; ++i) estimate_.Sent(bytes, i > 0, now_);
    for (int i = 0; i < chunks; ++i) {
      now_ += each;
      Report report;
      report.arrived_bytes = arrived_ += bytes;
      report.arrived_at = std::chrono::nanoseconds(now_ + milliseconds(1)).count();
      ASSERT_EQ(estimate_.Take(report, now_ + milliseconds(2), {}), nullptr);
    }
    now_ += milliseconds(10);
  }

  LinkEstimate estimate_{milliseconds(0)};
  milliseconds now_{10};
  uint64_t arrived_ = 0;
};

// The first ping may have waited for a process that still connected.
TEST_F(LinkEstimateTest, OneLongRoundTripIsSoonForgotten) {
  const auto ping = [this](milliseconds takes) {
    while (!estimate_.IsPingDue(now_)) now_ += milliseconds(1);
    estimate_.Pinged(now_);
    Report pong;
    pong.pong = std::chrono::nanoseconds(now_).count();
    pong.is_quiet = 1;
    now_ += takes;
    ASSERT_EQ(estimate_.Take(pong, now_, {}), nullptr);
  };
  ping(milliseconds(780));
  EXPECT_EQ(estimate_.round_trip(), milliseconds(780));
  const milliseconds first = now_;
  ping(milliseconds(6));
  EXPECT_EQ(estimate_.round_trip(), milliseconds(6));
  EXPECT_LE(now_ - first, milliseconds(110));
  const milliseconds known = now_;
  ping(milliseconds(6));
  EXPECT_GE(now_ - known, milliseconds(5000)) << "a ping wakes both sides";
}

TEST_F(LinkEstimateTest, FewBytesAreAGuess) {
  EXPECT_EQ(estimate_.basis(now_), BandwidthBasis::kTooLittle);
  MeasureRoundTrip();
  Send(2, milliseconds(4));
  EXPECT_TRUE(estimate_.bandwidth(now_)) << "the best guess";
  EXPECT_EQ(estimate_.basis(now_), BandwidthBasis::kTooLittle);
  Send(2, milliseconds(4));
  EXPECT_EQ(estimate_.basis(now_), BandwidthBasis::kMeasured);
  EXPECT_NEAR(estimate_.bandwidth(now_).value(), kChunk / 4e-3, 1);
}

TEST_F(LinkEstimateTest, ManyBytesInNextToNoTimeAreAGuess) {
  MeasureRoundTrip();
  Send(4, milliseconds(1));
  EXPECT_EQ(estimate_.basis(now_), BandwidthBasis::kTooLittle);
  Send(4, milliseconds(1));
  EXPECT_EQ(estimate_.basis(now_), BandwidthBasis::kMeasured);
}

// Answers of a small network.
TEST_F(LinkEstimateTest, FewBytesThatOftenTakeLongAreMeasured) {
  MeasureRoundTrip();
  for (int answers = 0; answers < 2; ++answers) Send(1, milliseconds(40), 1250);
  EXPECT_EQ(estimate_.basis(now_), BandwidthBasis::kTooLittle);
  Send(1, milliseconds(40), 1250);
  EXPECT_EQ(estimate_.basis(now_), BandwidthBasis::kMeasured);
  EXPECT_NEAR(estimate_.bandwidth(now_).value(), 1250 / 40e-3, 1);
  Send(1, milliseconds(200), 1250);
  EXPECT_EQ(estimate_.basis(now_), BandwidthBasis::kTooLittle) << "others were quicker";
}

// Only those that a busy machine delays take long enough to measure.
TEST_F(LinkEstimateTest, WhatArrivesTooSoonToMeasureContradictsASlowEstimate) {
  MeasureRoundTrip();
  Send(1, milliseconds(75), 1250);
  EXPECT_LT(estimate_.bandwidth(now_).value(), 20e3);
  Send(1, milliseconds(0), 1250);
  EXPECT_GT(estimate_.bandwidth(now_).value(), 1e6);
  EXPECT_EQ(estimate_.basis(now_), BandwidthBasis::kTooLittle);
}

TEST_F(LinkEstimateTest, WhatFollowsALateNoticeIsNotQuick) {
  MeasureRoundTrip();
  for (int i = 0; i < 3; ++i) Send(1, milliseconds(60), 1500);
  ASSERT_EQ(estimate_.basis(now_), BandwidthBasis::kMeasured);
  for (int i = 0; i < 2; ++i) estimate_.Sent(1500, i > 0, now_);
  for (const auto& [noticed, late_by] : {std::pair(110, 50), std::pair(120, 0)}) {
    Report report;
    report.arrived_bytes = arrived_ += 1500;
    report.arrived_at = std::chrono::nanoseconds(now_ + milliseconds(noticed + 1)).count();
    report.arrived_late_by = std::chrono::nanoseconds(milliseconds(late_by)).count();
    ASSERT_EQ(estimate_.Take(report, now_ + milliseconds(noticed + 2), {}), nullptr);
  }
  EXPECT_EQ(estimate_.basis(now_ + milliseconds(122)), BandwidthBasis::kMeasured);
  EXPECT_NEAR(estimate_.bandwidth(now_ + milliseconds(122)).value(), 1500 / 60e-3, 5e3);
}

// Without a round trip it is unknown when they could have arrived.
TEST_F(LinkEstimateTest, BytesWithPausesSayWhatALinkCanDoAtLeast) {
  for (int i = 0; i < 4; ++i) {
    estimate_.Sent(kChunk, i > 0, now_);
    now_ += milliseconds(4);
    Report report;
    report.arrived_bytes = arrived_ += kChunk;
    report.arrived_at = std::chrono::nanoseconds(now_).count();
    ASSERT_EQ(estimate_.Take(report, now_ + milliseconds(1), {}), nullptr);
    now_ += milliseconds(2);
  }
  EXPECT_EQ(estimate_.basis(now_), BandwidthBasis::kAtLeast);
  EXPECT_LT(estimate_.bandwidth(now_).value(), kChunk / 4e-3);
}

TEST_F(LinkEstimateTest, WhatLeavesAtOnceIsMeasuredAlsoBeforeARoundTripIsKnown) {
  Send(4, milliseconds(4));
  EXPECT_EQ(estimate_.basis(now_), BandwidthBasis::kMeasured);
  EXPECT_NEAR(estimate_.bandwidth(now_).value(), kChunk / 4e-3, 1);
}

TEST(LinkEstimate, SaysOfAGuessThatNothingIsMeasured) {
  using Bandwidth = ChannelStatistics::Bandwidth;
  EXPECT_EQ(ToText(std::nullopt), "not measured yet");
  EXPECT_EQ(ToText(Bandwidth{1.951e9, {}, BandwidthBasis::kTooLittle}), "not measured yet");
  EXPECT_EQ(ToText(Bandwidth{20e6, {}, BandwidthBasis::kAtLeast}), "at least 20.0 Mbit/s");
  EXPECT_EQ(ToText(Bandwidth{20e6, {}, BandwidthBasis::kMeasured}), "20.0 Mbit/s");
}

}  // namespace
}  // namespace cacheinf
