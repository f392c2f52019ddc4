#ifndef CACHEINF_COMMON_LINK_PACKET_QUEUE_H_
#define CACHEINF_COMMON_LINK_PACKET_QUEUE_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "common/link/link.h"

namespace cacheinf {

// Passes packets from one thread to another, even in another process: it holds no pointers, and
// zeros are an empty queue. `written` and `read` count packets. Only the writer changes `written`
// and the free slots, only the reader changes `read`.
struct PacketQueue {
  static constexpr uint32_t kSlots = 32;
  static_assert(std::atomic<uint32_t>::is_always_lock_free, "shared between processes");

  struct Slot {
    uint32_t size;
    std::array<uint8_t, Link::kLargestPacket> bytes;
  };

  alignas(64) std::atomic<uint32_t> written;
  alignas(64) std::atomic<uint32_t> read;
  alignas(64) std::array<Slot, kSlots> slots;

  Slot& slot(uint32_t number) { return slots[number % kSlots]; }
  bool empty() const { return written == read; }
  bool full() const { return written - read >= kSlots; }

  bool Push(std::span<const uint8_t> packet) {
    if (full()) return false;
    Slot& free = slot(written);
    free.size = static_cast<uint32_t>(packet.size());
    std::memcpy(free.bytes.data(), packet.data(), packet.size());
    ++written;
    return true;
  }

  bool Pop(std::vector<uint8_t>* packet) {
    if (empty()) return false;
    const Slot& first = slot(read);
    const uint8_t* const bytes = first.bytes.data();
    packet->assign(bytes, bytes + std::min<size_t>(first.size, first.bytes.size()));
    ++read;
    return true;
  }
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_PACKET_QUEUE_H_
