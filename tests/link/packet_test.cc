// What a hostile peer may send; none of it is trusted.

#include "common/link/packet.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/link/channel.h"
#include "tests/link/packet_feed.h"

namespace cacheinf {
namespace {

std::vector<uint8_t> Bytes(uint64_t number, const PacketBody& body) {
  std::vector<uint8_t> bytes;
  WritePacket({number, body}, &bytes);
  return bytes;
}

Report RichReport() {
  Report report;
  report.arrived_bytes = 1;
  report.arrived_at = 2;
  report.arrived_late_by = 3;
  report.sent_at = 4;
  report.ping = 5;
  report.pong = 6;
  report.pinged_late_by = 7;
  report.is_quiet = 1;
  report.bytes_per_second = 8;
  report.measured_ago = 9;
  report.basis = 2;
  return report;
}

TEST(PacketTest, ReadsWhatItWrote) {
  const std::vector<uint8_t> payload = {1, 2, 3};
  Packet packet;
  const std::vector<uint8_t> chunk = Bytes(7, Chunk{200, -5, 1000, 997, payload});
  EXPECT_EQ(chunk.size(), kChunkOverhead + payload.size());
  ASSERT_EQ(ReadPacket(chunk, &packet), nullptr);
  EXPECT_EQ(packet.number, 7);
  const Chunk& read = std::get<Chunk>(packet.body);
  EXPECT_EQ(read.kind, 200);
  EXPECT_EQ(read.frame, -5);
  EXPECT_EQ(read.message_bytes, 1000);
  EXPECT_EQ(read.offset, 997);
  EXPECT_EQ(std::vector<uint8_t>(read.bytes.begin(), read.bytes.end()), payload);

  // Another build relies on these bytes.
  const std::vector<uint8_t> report = Bytes(1, RichReport());
  ASSERT_EQ(report.size(), 98);
  EXPECT_EQ(report[2], 3) << "version";
  EXPECT_EQ(report[3], 1) << "type";
  EXPECT_EQ(report[4], 98) << "length";
  for (int i = 0; i < 7; ++i) EXPECT_EQ(report[24 + 8 * i], i + 1);
  EXPECT_EQ(report[80], 1);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(report[81 + 8 * i], i + 8);
  EXPECT_EQ(report[97], 2);

  ASSERT_EQ(ReadPacket(Bytes(0, Abandonment{12}), &packet), nullptr);
  EXPECT_EQ(std::get<Abandonment>(packet.body).frame, 12);
}

TEST(PacketTest, RefusesEveryFlippedBit) {
  const std::vector<uint8_t> payload = {1, 2, 3};
  const std::vector<uint8_t> like_a_report(Bytes(0, Report()).size() - kChunkOverhead);
  for (const PacketBody& body : {PacketBody(Chunk{1, 2, 3, 0, payload}),
                                 PacketBody(Chunk{0, 0, like_a_report.size(), 0, like_a_report}),
                                 PacketBody(RichReport()), PacketBody(Abandonment{12})}) {
    std::vector<uint8_t> bytes = Bytes(9, body);
    Packet packet;
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      EXPECT_NE(ReadPacket(bytes, &packet), nullptr) << bit;
      bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    }
    ASSERT_EQ(ReadPacket(bytes, &packet), nullptr);
    while (!bytes.empty()) {
      bytes.pop_back();
      EXPECT_NE(ReadPacket(bytes, &packet), nullptr) << bytes.size();
    }
  }
}

TEST(PacketTest, RefusesWhatMakesNoSense) {
  const std::vector<uint8_t> payload(kLargestChunk + 1);
  const auto refused = [](const PacketBody& body) {
    Packet packet;
    const char* wrong = ReadPacket(Bytes(0, body), &packet);
    return wrong == nullptr ? "" : wrong;
  };
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  const std::span<const uint8_t> bytes(payload);
  EXPECT_EQ(refused(Chunk{0, 0, kMost, kMost - 5, bytes.first(5)}), std::string());
  EXPECT_EQ(refused(Chunk{0, 0, kMost, kMost - 5, bytes.first(6)}),
            std::string("a chunk goes beyond its message"));
  EXPECT_EQ(refused(Chunk{0, 0, 5, 6, {}}), std::string("a chunk goes beyond its message"));
  EXPECT_EQ(refused(Chunk{0, 0, 5, 5, {}}), std::string("a chunk is empty"));
  EXPECT_EQ(refused(Chunk{0, 0, 0, 0, {}}), std::string());
  EXPECT_EQ(refused(Chunk{0, 0, kMost, 0, bytes}), std::string("a chunk is too long"));
  Report unknown;
  unknown.basis = 3;
  EXPECT_EQ(refused(unknown), std::string("a report's flag is unknown"));
  for (int64_t Report::*time :
       {&Report::arrived_at, &Report::arrived_late_by, &Report::sent_at, &Report::ping,
        &Report::pong, &Report::pinged_late_by, &Report::measured_ago}) {
    for (const int64_t wrong :
         {int64_t{-2}, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
      Report report;
      report.*time = wrong;
      EXPECT_EQ(refused(report), std::string("a report's time is out of range"));
    }
  }
}

// What a channel says after these packets.
std::string Fault(std::deque<std::vector<uint8_t>> packets, const ChannelOptions& options = {}) {
  ManualClock clock;
  Channel channel(std::make_unique<PacketFeed>(&packets), clock, options);
  channel.Send({0, 0, std::vector<uint8_t>(100)});
  channel.Pump();
  return channel.fault();
}

TEST(PacketTest, NoPeerBreaksTheRules) {
  const std::vector<uint8_t> payload(100);
  const std::span<const uint8_t> bytes(payload);
  const auto chunk = [&](uint64_t number, uint64_t size, uint64_t offset, int64_t frame = 0) {
    return Bytes(number, Chunk{1, frame, size, offset, bytes});
  };
  EXPECT_EQ(Fault({chunk(0, 200, 0), chunk(1, 200, 100)}), "");
  EXPECT_EQ(Fault({chunk(0, 200, 0), chunk(0, 200, 0), chunk(1, 200, 100)}), "");
  EXPECT_EQ(Fault({chunk(1, 200, 0)}), "a packet from the peer was lost");
  EXPECT_EQ(Fault({chunk(0, 200, 50)}),
            "the peer sent the middle of a message without its beginning");
  const std::string gap = "the peer sent a chunk that does not go on where the last one ended";
  EXPECT_EQ(Fault({chunk(0, 300, 0), chunk(1, 300, 200)}), gap);
  EXPECT_EQ(Fault({chunk(0, 200, 0), chunk(1, 200, 0)}), gap);
  EXPECT_EQ(Fault({chunk(0, 300, 0), chunk(1, 301, 100)}), gap);
  EXPECT_EQ(Fault({chunk(0, 300, 0), chunk(1, 300, 100, 1)}), gap);
  EXPECT_EQ(Fault({chunk(0, uint64_t{1} << 62, 0)}), "the peer announced too large a message");
  EXPECT_EQ(Fault({Bytes(0, Abandonment{0})}), "the peer gave up a message that it had not begun");
  EXPECT_EQ(Fault({chunk(0, 200, 0), Bytes(1, Abandonment{1})}),
            "the peer gave up a message that it had not begun");
  EXPECT_EQ(Fault({chunk(0, 200, 0), Bytes(1, Abandonment{0}), chunk(2, 100, 0)}), "");

  Report report;
  report.arrived_bytes = 1000;
  EXPECT_EQ(Fault({Bytes(0, report)}), "the peer acknowledged what was not sent");

  ChannelOptions options;
  options.largest_message = 199;
  options.most_waiting = 3 * (100 + 64);
  EXPECT_EQ(Fault({chunk(0, 200, 0)}, options), "the peer announced too large a message");
  std::deque<std::vector<uint8_t>> many;
  for (int i = 0; i < 3; ++i) many.push_back(chunk(i, 100, 0));
  EXPECT_EQ(Fault(many, options), "");
  many.push_back(chunk(3, 100, 0));
  EXPECT_EQ(Fault(many, options), "the peer sent more than was taken");
}

}  // namespace
}  // namespace cacheinf
