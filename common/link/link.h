#ifndef CACHEINF_COMMON_LINK_LINK_H_
#define CACHEINF_COMMON_LINK_LINK_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cacheinf {

// A connection to one peer that carries packets, whole and in order, until it breaks. Nothing above
// it may care what carries them: MPI, a pipe within the process, an emulated radio. Only Wait
// blocks. One thread at a time uses it.
class Link {
 public:
  static constexpr size_t kLargestPacket = size_t{33} * 1024;

  virtual ~Link() = default;

  // Hands a packet over. False: there is no room for it now. REQUIRES: 1 to kLargestPacket bytes.
  virtual bool Send(std::span<const uint8_t> packet) = 0;

  // Replaces `packet` by the next one that has arrived. False: none has.
  virtual bool Receive(std::vector<uint8_t>* packet) = 0;

  // Returns once a packet may have arrived or room may be there, at the latest after `at_most`.
  virtual void Wait(std::chrono::nanoseconds at_most) = 0;

  // One sentence once the connection is known to be gone for good; else empty. What had arrived
  // before can still be received.
  virtual std::string fault() const = 0;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_LINK_H_
