#ifndef CACHEINF_TESTS_LINK_LOOPBACK_H_
#define CACHEINF_TESTS_LINK_LOOPBACK_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/clock.h"
#include "common/link/delay_line.h"
#include "common/link/link.h"

namespace cacheinf {

// What happens to packets, in both directions.
struct LoopbackScript {
  LinkShape shape;
  std::optional<LinkShape> shape_back;  // from the second end, if that way differs
  std::chrono::nanoseconds jitter{};    // delays each packet by up to this
  double loss = 0;         // probabilities that a packet is lost, comes twice, or comes
  double duplication = 0;  // with other bits
  double corruption = 0;
  std::optional<std::chrono::nanoseconds> death;  // how long the link lives
  uint32_t seed = 1;
};

// Two ends of a link within the process; each may have a thread of its own. An end breaks when the
// script says so, or when the other end is destroyed and all that it sent was received. The clock
// must outlive them.
std::pair<std::unique_ptr<Link>, std::unique_ptr<Link>> MakeLoopback(const LoopbackScript& script,
                                                                     const Clock& clock);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_LINK_LOOPBACK_H_
