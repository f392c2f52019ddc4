#ifndef CACHEINF_COMMON_PAIR_SAY_H_
#define CACHEINF_COMMON_PAIR_SAY_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/link/channel.h"
#include "common/pair/messages.h"

namespace cacheinf {

// Frame number of messages that Channel::GiveUp never takes back.
inline constexpr int64_t kNoFrame = -1;

// Limit of an uncoded slice, above any value of ours.
inline constexpr size_t kMostSliceBytes = size_t{512} << 20;

// A longer reason that a peer gives when it leaves is cut.
inline constexpr size_t kLongestReason = 500;  // characters

template <typename T>
Message MessageOf(T message, int64_t frame = kNoFrame) {
  return {static_cast<uint8_t>(T::kKind), frame, Encode(std::move(message))};
}

// Returns false if the channel is broken.
template <typename T>
bool Say(Channel& channel, T message, int64_t frame = kNoFrame) {
  return channel.Send(MessageOf(std::move(message), frame));
}

template <typename T>
bool Is(const Message& message) {
  return message.kind == static_cast<uint8_t>(T::kKind);
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_SAY_H_
