#ifndef CACHEINF_COMMON_PAIR_PROGRESS_H_
#define CACHEINF_COMMON_PAIR_PROGRESS_H_

#include <cstdint>

namespace cacheinf {

// What a step of a frame did. A step computes one stage at most and never waits, so between two
// steps the caller can look at clock and link, or turn to another frame.
enum class Progress : uint8_t {
  kStepped,  // a stage has run
  kWaits,    // nothing can be done until the peer has sent a slice, or the answer
  kDone,     // the frame is committed
  kRefused,  // the peer takes no part in the frame any more, or sent what cannot be used
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_PROGRESS_H_
