#ifndef CACHEINF_COMMON_LINK_WIRE_H_
#define CACHEINF_COMMON_LINK_WIRE_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

// The wire: how robots and servers write what they say to each other. This is the one place that
// lists its versions; they are independent of releases. Raise kWire.newest when the bytes of a
// message (common/pair/messages.h) change, and drop the oldest one: a program speaks the last two.
// Then old and new machines still share pictures. Whether they may share rows is another question
// (common/pair/likeness.h).
//
//   8  names a build instead of versions
//   9  the robot says which versions it speaks and which process it is; the server says what it
//      computes, how much of the model it has, and that its computing thread is alive

namespace cacheinf {

struct WireVersions {
  uint32_t oldest = 0;
  uint32_t newest = 0;

  bool operator==(const WireVersions&) const = default;
};

inline constexpr WireVersions kWire = {8, 9};

// In this version a server does not say what it computes. All that speak it cut rows as this
// release does.
inline constexpr uint32_t kWireWithoutLikeness = 8;

// The version of packets (packet.h), in versions 8 and 9.
inline constexpr uint8_t kPacketVersion = 3;

// The first words on a connection of ZeroMQ, both ways, in versions 8 and 9. A server that takes no
// robot answers with a sentence instead.
inline constexpr std::string_view kZmqHello = "cacheinf/1";

// The newest version that both speak.
inline std::optional<uint32_t> CommonWire(const WireVersions& one, const WireVersions& other) {
  const uint32_t newest = std::min(one.newest, other.newest);
  if (newest < std::max(one.oldest, other.oldest)) return std::nullopt;
  return newest;
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_WIRE_H_
