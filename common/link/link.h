#ifndef CACHEINF_COMMON_LINK_LINK_H_
#define CACHEINF_COMMON_LINK_LINK_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cacheinf {

// A connection to one peer that carries packets, whole and in order, until it breaks. Callers must
// not depend on what carries them: MPI, a pipe within the process, an emulated radio. Only Wait
// blocks. For one thread at a time.
class Link {
 public:
  static constexpr size_t kLargestPacket = size_t{33} * 1024;

  // Who is at the other end, as far as the transport has made sure of it.
  struct Peer {
    std::string key = {};     // its public key as text; empty: unknown
    bool is_trusted = false;  // by the list of robots
  };

  virtual ~Link() = default;

  virtual Peer peer() const { return {}; }

  // Sends a packet; false if there is no room now. REQUIRES: 1 to kLargestPacket bytes.
  virtual bool Send(std::span<const uint8_t> packet) = 0;

  // Replaces `packet` by the next one to arrive; false if there is none.
  virtual bool Receive(std::vector<uint8_t>* packet) = 0;

  // Returns once a packet may have arrived or there may be room, after `at_most` at the latest.
  virtual void Wait(std::chrono::nanoseconds at_most) = 0;

  // Says that the caller will not look for packets for so long, unless it sends one before: the
  // link need not be quicker than that.
  virtual void Rest(std::chrono::nanoseconds /*interval*/) {}

  // One sentence once the connection is known to be gone for good, else empty. Packets that arrived
  // before can still be received.
  virtual std::string fault() const = 0;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_LINK_H_
