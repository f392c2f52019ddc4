// A libFuzzer target: whatever packets come, a channel delivers no message that it should refuse.
// An input is packets, each after its size in two bytes. It needs no corpus: now and then it
// returns to good packets and damages them. Mostly it repairs their headers, so that their content
// is read.

#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "common/base/clock.h"
#include "common/link/channel.h"
#include "tests/link/packet_feed.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace cacheinf {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kHeader = 24;

std::deque<Bytes> Split(const uint8_t* data, size_t size) {
  std::deque<Bytes> packets;
  while (size >= 2) {
    const size_t length = std::min<size_t>(data[0] + 256 * data[1], size - 2);
    packets.emplace_back(data + 2, data + 2 + length);
    data += 2 + length;
    size -= 2 + length;
  }
  return packets;
}

size_t Join(const std::deque<Bytes>& packets, uint8_t* data, size_t max_size) {
  size_t size = 0;
  for (const Bytes& packet : packets) {
    if (size + 2 + packet.size() > max_size || packet.size() > 0xffff) break;
    data[size] = static_cast<uint8_t>(packet.size());
    data[size + 1] = static_cast<uint8_t>(packet.size() >> 8);
    std::copy(packet.begin(), packet.end(), data + size + 2);
    size += 2 + packet.size();
  }
  return size;
}

// All but the type, and on little-endian machines only.
void Mend(size_t number, Bytes* packet) {
  packet->resize(std::max(packet->size(), kHeader));
  uint8_t* header = packet->data();
  const auto length = static_cast<uint32_t>(packet->size());
  const uint64_t number64 = number;
  std::memcpy(header, "CI\1", 3);
  header[3] %= 4;
  std::memcpy(header + 4, &length, sizeof length);
  std::memcpy(header + 16, &number64, sizeof number64);
  uint64_t seed = 0;
  std::memcpy(&seed, header, sizeof seed);
  const uint64_t checksum = XXH3_64bits_withSeed(header + 16, packet->size() - 16, seed);
  std::memcpy(header + 8, &checksum, sizeof checksum);
}

}  // namespace
}  // namespace cacheinf

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  static const std::vector<cacheinf::Bytes> good = cacheinf::PacketSeeds();
  std::minstd_rand random(seed);
  std::deque<cacheinf::Bytes> packets = cacheinf::Split(data, size);
  if (packets.empty() || random() % 32 == 0) packets.assign(good.begin(), good.end());
  const size_t at = random() % packets.size();
  cacheinf::Bytes& packet = packets[at];
  switch (random() % 8) {
    case 0:
      packets.erase(packets.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      packets.push_back(cacheinf::Bytes(packet));
      break;
    case 2:
      std::swap(packet, packets[random() % packets.size()]);
      break;
    case 3:
      packets.push_back(good[random() % good.size()]);
      break;
    default: {
      // Half of the time the header stays.
      const size_t kept =
          random() % 2 == 0 ? std::min(packet.size(), cacheinf::kHeader) : size_t{0};
      const size_t length = packet.size() - kept;
      packet.resize(packet.size() + 64);
      packet.resize(kept + LLVMFuzzerMutate(packet.data() + kept, length, length + 64));
    }
  }
  if (random() % 16 != 0) {
    for (size_t i = 0; i < packets.size(); ++i) cacheinf::Mend(i, &packets[i]);
  }
  return cacheinf::Join(packets, data, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cacheinf::ChannelOptions options;
  options.largest_message = size_t{1} << 21;
  options.most_waiting = size_t{1} << 22;
  cacheinf::ManualClock clock;
  std::deque<cacheinf::Bytes> packets;
  cacheinf::Channel channel(std::make_unique<cacheinf::PacketFeed>(&packets), clock, options);
  channel.Send({0, 0, cacheinf::Bytes(100)});
  channel.Send({0, 1, cacheinf::Bytes(100'000)});
  channel.Pump();
  size_t received = 0;
  for (cacheinf::Bytes& packet : cacheinf::Split(data, size)) {
    packets.push_back(std::move(packet));
    clock.Advance(std::chrono::milliseconds(1));
    channel.Pump();
    while (const std::optional<cacheinf::Message> message = channel.Receive()) {
      if (message->bytes.size() > options.largest_message) std::abort();
      received += message->bytes.size();
    }
  }
  if (received > size) std::abort();
  const bool is_broken = !channel.fault().empty();
  if (is_broken == channel.Send({})) std::abort();
  if (is_broken && channel.Pump()) std::abort();
  return 0;
}
