#ifndef CACHEINF_COMMON_LINK_PACKET_H_
#define CACHEINF_COMMON_LINK_PACKET_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

// What a channel sends over a link. Every packet, all numbers little-endian:
//
//   bytes 0..2    'C', 'I', version (wire.h)
//   byte 3        type
//   bytes 4..7    length of the packet
//   bytes 8..15   XXH3 of the bytes from 16 on, with bytes 0..7 as its seed
//   bytes 16..23  number of the packet: 0, 1, 2, … in each direction
//   then          by type, the members of the structs below in order
//
// Times are nanoseconds of the named side's clock.

namespace cacheinf {

constexpr int64_t kNoTime = -1;

// What an estimate of a bandwidth rests on. Callers that only need the best guess need not ask.
enum class BandwidthBasis : uint8_t {
  kTooLittle,  // few bytes, or so short a time that it is a guess
  kAtLeast,    // bytes sent with pauses; the link may be faster
  kMeasured,
};

// A part of a message.
struct Chunk {
  uint8_t kind = 0;
  int64_t frame = 0;
  uint64_t message_bytes = 0;
  uint64_t offset = 0;
  std::span<const uint8_t> bytes;  // in a packet that was read: points into it
};

// Acknowledges, measures, and shows that its sender is alive.
struct Report {
  uint64_t arrived_bytes = 0;    // of all packets with chunks so far
  int64_t arrived_at = kNoTime;  // when the last of them did, in the sender's time
  int64_t arrived_late_by = 0;   // how long it may have lain unnoticed
  int64_t sent_at = 0;           // in the sender's time
  int64_t ping = kNoTime;        // if any: the peer returns this number at once
  int64_t pong = kNoTime;        // if any: the ping that this answers
  int64_t pinged_late_by = 0;
  uint8_t is_quiet = 0;           // 1: none of the sender's chunks are under way
  uint64_t bytes_per_second = 0;  // of the sender's own chunks; 0: unknown
  int64_t measured_ago = 0;       // age of bytes_per_second
  uint8_t basis = 0;              // of bytes_per_second, a BandwidthBasis
};

// The rest of the current message will not come.
struct Abandonment {
  int64_t frame = 0;
};

using PacketBody = std::variant<Chunk, Report, Abandonment>;

struct Packet {
  uint64_t number = 0;
  PacketBody body;
};

constexpr size_t kChunkOverhead = 24 + 1 + 3 * 8;
constexpr size_t kLargestChunkPacket = size_t{32} * 1024;
constexpr size_t kLargestChunk = kLargestChunkPacket - kChunkOverhead;

// Replaces `bytes` by the packet. REQUIRES: a packet that ReadPacket accepts.
void WritePacket(const Packet& packet, std::vector<uint8_t>* bytes);

// Returns null, or one sentence on what is wrong with the bytes, leaving the packet unchanged.
// Trusts no byte.
const char* ReadPacket(std::span<const uint8_t> bytes, Packet* packet);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_PACKET_H_
