// Packets, each after its size in two bytes: a channel delivers no message that it should refuse.
// If the first byte is odd, the packets' headers are made right, so that their content is read.

#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/link/channel.h"
#include "tests/fuzz/target.h"
#include "tests/link/packet_feed.h"

namespace cacheinf::fuzz {
namespace {

using Packet = std::vector<uint8_t>;

std::vector<std::string> Packets() {
  std::string joined;
  for (const Packet& packet : PacketSeeds()) {
    joined += static_cast<char>(packet.size());
    joined += static_cast<char>(packet.size() >> 8);
    joined.append(packet.begin(), packet.end());
  }
  return {'\0' + joined, '\1' + joined};
}

std::deque<Packet> Split(Bytes bytes) {
  std::deque<Packet> packets;
  while (bytes.size() >= 2) {
    const size_t length = std::min<size_t>(bytes[0] + 256 * bytes[1], bytes.size() - 2);
    packets.emplace_back(bytes.begin() + 2, bytes.begin() + 2 + static_cast<ptrdiff_t>(length));
    bytes = bytes.subspan(2 + length);
  }
  return packets;
}

// All but the type, and on little-endian machines only.
void Mend(uint64_t number, Packet& packet) {
  constexpr size_t kHeader = 24;
  packet.resize(std::max(packet.size(), kHeader));
  uint8_t* header = packet.data();
  const auto length = static_cast<uint32_t>(packet.size());
  std::copy_n("CI\3", 3, header);
  header[3] %= 4;
  std::memcpy(header + 4, &length, sizeof length);
  std::memcpy(header + 16, &number, sizeof number);
  uint64_t seed = 0;
  std::memcpy(&seed, header, sizeof seed);
  const uint64_t checksum = XXH3_64bits_withSeed(header + 16, packet.size() - 16, seed);
  std::memcpy(header + 8, &checksum, sizeof checksum);
}

bool ReadsPackets(Bytes bytes) {
  if (bytes.empty()) return false;
  ChannelOptions options;
  options.largest_message = size_t{1} << 21;
  options.most_waiting = size_t{1} << 22;
  ManualClock clock;
  std::deque<Packet> arriving;
  Channel channel(std::make_unique<PacketFeed>(&arriving), clock, options);
  channel.Send({0, 0, Packet(100)});
  channel.Send({0, 1, Packet(100'000)});
  channel.Pump();
  size_t received = 0;
  uint64_t number = 0;
  for (Packet& packet : Split(bytes.subspan(1))) {
    if (bytes[0] % 2 == 1) Mend(number++, packet);
    arriving.push_back(std::move(packet));
    clock.Advance(std::chrono::milliseconds(1));
    channel.Pump();
    while (const std::optional<Message> message = channel.Receive()) {
      Promise(message->bytes.size() <= options.largest_message, "a message is larger than allowed");
      received += message->bytes.size();
    }
  }
  Promise(received <= bytes.size(), "more is received than was sent");
  const bool is_broken = !channel.fault().empty();
  Promise(is_broken != channel.Send({}), "a broken channel sends");
  Promise(!is_broken || !channel.Pump(), "a broken channel goes on");
  return !is_broken;
}

}  // namespace

const Target kPacket = {"packet", Packets, {}, ReadsPackets};

}  // namespace cacheinf::fuzz
