#ifndef CACHEINF_COMMON_LINK_PACKET_H_
#define CACHEINF_COMMON_LINK_PACKET_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

// What a channel sends over a link. Every packet, all numbers little-endian:
//
//   bytes 0..2    'C', 'I', version 2
//   byte 3        type
//   bytes 4..7    length of the packet
//   bytes 8..15   XXH3 of bytes 16 and on, with bytes 0..7 as its seed
//   bytes 16..23  number of the packet: 0, 1, 2, … in each direction
//   then          by type, the members of the structs below in their order
//
// Times are nanoseconds of the clock of the side that they name.

namespace cacheinf {

constexpr int64_t kNoTime = -1;

// A part of a message.
struct Chunk {
  uint8_t kind = 0;
  int64_t frame = 0;
  uint64_t message_bytes = 0;
  uint64_t offset = 0;
  std::span<const uint8_t> bytes;  // of a packet that was read: points into it
};

// Acknowledges, measures, and shows that its sender lives.
struct Report {
  uint64_t arrived_bytes = 0;    // of all packets with chunks so far
  int64_t arrived_at = kNoTime;  // the last of them, in the sender's time
  int64_t arrived_late_by = 0;   // it may have lain there unnoticed for so long
  int64_t sent_at = 0;           // in the sender's time
  int64_t ping = kNoTime;        // if any: wants this number back at once
  int64_t pong = kNoTime;        // if any: the ping that this answers
  int64_t pinged_late_by = 0;
  uint8_t is_quiet = 0;           // 1: none of the sender's chunks are under way
  uint64_t bytes_per_second = 0;  // at which its chunks arrive here, as it knows; 0: it does not
  int64_t measured_ago = 0;       // that
};

// The rest of the message that was begun will not come.
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

// Replaces `bytes` by the packet. REQUIRES: what ReadPacket would accept.
void WritePacket(const Packet& packet, std::vector<uint8_t>* bytes);

// Null, or one sentence on what is wrong with the bytes, of which none is trusted; then the packet
// is unchanged.
const char* ReadPacket(std::span<const uint8_t> bytes, Packet* packet);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_PACKET_H_
