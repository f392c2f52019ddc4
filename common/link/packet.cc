#include "common/link/packet.h"

#include <xxhash.h>

#include <type_traits>
#include <utility>

#include "common/base/fields.h"
#include "common/base/little_endian.h"
#include "common/link/wire.h"

namespace cacheinf {
namespace {

constexpr size_t kPrefixBytes = 16;  // up to and including the checksum
constexpr size_t kHeaderBytes = 24;

// Far from where sums and differences of times overflow.
constexpr int64_t kLatestTime = int64_t{1} << 60;

// Visits all members in their order on the wire; one list for both directions.
auto VisitMembers(MaybeConst<Chunk> auto& chunk, auto visit) {
  return visit(chunk.kind, chunk.frame, chunk.message_bytes, chunk.offset);
}

auto VisitMembers(MaybeConst<Report> auto& report, auto visit) {
  return visit(report.arrived_bytes, report.arrived_at, report.arrived_late_by, report.sent_at,
               report.ping, report.pong, report.pinged_late_by, report.is_quiet,
               report.bytes_per_second, report.measured_ago, report.basis);
}

auto VisitMembers(MaybeConst<Abandonment> auto& abandonment, auto visit) {
  return visit(abandonment.frame);
}

uint64_t Checksum(std::span<const uint8_t> bytes) {
  return XXH3_64bits_withSeed(bytes.data() + kPrefixBytes, bytes.size() - kPrefixBytes,
                              LittleEndianAt<uint64_t>(bytes.data()));
}

const char* WhatIsWrong(const Chunk& chunk) {
  if (chunk.bytes.size() > kLargestChunk) return "a chunk is too long";
  if (chunk.offset > chunk.message_bytes ||
      chunk.bytes.size() > chunk.message_bytes - chunk.offset) {
    return "a chunk goes beyond its message";
  }
  return chunk.bytes.empty() && chunk.message_bytes > 0 ? "a chunk is empty" : nullptr;
}

const char* WhatIsWrong(const Report& report) {
  for (const int64_t time : {report.arrived_at, report.ping, report.pong}) {
    if (time < kNoTime || time > kLatestTime) return "a report's time is out of range";
  }
  for (const int64_t time :
       {report.arrived_late_by, report.sent_at, report.pinged_late_by, report.measured_ago}) {
    if (time < 0 || time > kLatestTime) return "a report's time is out of range";
  }
  const bool is_known =
      report.is_quiet <= 1 && report.basis <= static_cast<uint8_t>(BandwidthBasis::kMeasured);
  return is_known ? nullptr : "a report's flag is unknown";
}

const char* WhatIsWrong(const Abandonment&) { return nullptr; }

template <typename Body>
const char* ReadBody(std::span<const uint8_t> bytes, Packet* packet) {
  Body body;
  const size_t size =
      VisitMembers(body, [](const auto&... members) { return (sizeof(members) + ...); });
  if (bytes.size() < size) return "a packet is too short for its type";
  const std::span<const uint8_t> rest = bytes.subspan(size);
  VisitMembers(body, [at = bytes.data()]<typename... Integer>(Integer&... members) mutable {
    ((members = LittleEndianAt<Integer>(std::exchange(at, at + sizeof(Integer)))), ...);
  });
  if constexpr (std::is_same_v<Body, Chunk>) {
    body.bytes = rest;
  } else {
    if (!rest.empty()) return "a packet is too long for its type";
  }
  if (const char* wrong = WhatIsWrong(body)) return wrong;
  packet->body = body;
  return nullptr;
}

}  // namespace

void WritePacket(const Packet& packet, std::vector<uint8_t>* bytes) {
  bytes->resize(kHeaderBytes);
  const auto append = [&](auto... members) { (AppendLittleEndian(members, bytes), ...); };
  std::visit([&](const auto& body) { VisitMembers(body, append); }, packet.body);
  if (const auto* chunk = std::get_if<Chunk>(&packet.body)) {
    bytes->insert(bytes->end(), chunk->bytes.begin(), chunk->bytes.end());
  }
  uint8_t* header = bytes->data();
  header[0] = 'C';
  header[1] = 'I';
  header[2] = kPacketVersion;
  header[3] = static_cast<uint8_t>(packet.body.index());
  PutLittleEndian(static_cast<uint32_t>(bytes->size()), header + 4);
  PutLittleEndian(packet.number, header + kPrefixBytes);
  PutLittleEndian(Checksum(*bytes), header + 8);
}

const char* ReadPacket(std::span<const uint8_t> bytes, Packet* packet) {
  if (bytes.size() < kHeaderBytes || bytes[0] != 'C' || bytes[1] != 'I') {
    return "what came is not a packet of CacheInf";
  }
  if (bytes[2] != kPacketVersion) {
    return "the peer writes packets of another version: install the same CacheInf on both";
  }
  if (LittleEndianAt<uint32_t>(bytes.data() + 4) != bytes.size())
    return "a packet's length is wrong";
  if (LittleEndianAt<uint64_t>(bytes.data() + 8) != Checksum(bytes))
    return "a packet's checksum is wrong";
  const std::span<const uint8_t> body = bytes.subspan(kHeaderBytes);
  Packet read;
  read.number = LittleEndianAt<uint64_t>(bytes.data() + kPrefixBytes);
  const char* wrong = "a packet's type is unknown";
  if (bytes[3] == 0) wrong = ReadBody<Chunk>(body, &read);
  if (bytes[3] == 1) wrong = ReadBody<Report>(body, &read);
  if (bytes[3] == 2) wrong = ReadBody<Abandonment>(body, &read);
  if (wrong == nullptr) *packet = read;
  return wrong;
}

}  // namespace cacheinf
