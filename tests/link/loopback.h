#ifndef CACHEINF_TESTS_LINK_LOOPBACK_H_
#define CACHEINF_TESTS_LINK_LOOPBACK_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
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
  double loss = 0;         // probabilities that a packet is lost, comes twice, comes with
  double duplication = 0;  // other bits, or changes places with the next
  double corruption = 0;
  double reordering = 0;
  std::optional<std::chrono::nanoseconds> death;  // how long the link lives
  std::string key;                                // of the peer, as the second end knows it
  uint32_t seed = 1;
};

// What befalls links while they are in use.
struct LoopbackWeather {
  // All links made so far end. Their ends are told, or else hear nothing more.
  void CutAll(bool is_told = true) { (is_told ? cut_below : silent_below) = links.load(); }
  // Nothing arrives for now.
  void Hold(bool is_held_now) { is_held[0] = is_held[1] = is_held_now; }

  LoopbackScript script;  // of links to come; its probabilities are those of all, from now on
  std::atomic<double> bytes_per_second = 0;       // if more, instead of the script's bandwidth
  std::atomic<bool> is_held[2] = {false, false};  // for now, what is sent to this end waits
  std::atomic<int> links = 0;                     // so far
  std::atomic<int> cut_below = 0;
  std::atomic<int> silent_below = 0;
  std::atomic<int64_t> packets = 0;  // so far
};

using LoopbackEnds = std::pair<std::unique_ptr<Link>, std::unique_ptr<Link>>;

// Two ends of a link within the process; each may have a thread of its own. An end breaks when the
// script or the weather says so, or when the other end is destroyed and all that it sent was
// received. Clock and weather must outlive them.
LoopbackEnds MakeLoopback(LoopbackWeather& weather, const Clock& clock);
// The same, with a weather of its own.
LoopbackEnds MakeLoopback(const LoopbackScript& script, const Clock& clock);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_LINK_LOOPBACK_H_
