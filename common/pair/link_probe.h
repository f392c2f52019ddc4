#ifndef CACHEINF_COMMON_PAIR_LINK_PROBE_H_
#define CACHEINF_COMMON_PAIR_LINK_PROBE_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "common/base/clock.h"
#include "common/link/channel.h"
#include "common/pair/messages.h"

namespace cacheinf {

// Sends back what a probe asks for, as a server does. Throws InputError if earlier answers still
// wait to leave.
void AnswerProbe(Channel& channel, const message::Probe& probe);

// Times messages to a server and back, before or after it is greeted. Nothing else may be received
// meanwhile.
class LinkProbe {
 public:
  using Time = std::chrono::nanoseconds;
  // Waits for a message; Channel::WaitForMessage unless a test has its own clock.
  using Wait = std::function<bool(std::chrono::nanoseconds deadline)>;

  // Channel and clock must outlive this.
  LinkProbe(Channel& channel, const Clock& clock, Wait wait = {});

  // Returns how long it takes to send `bytes` and get `bytes_back` (at least 1) back. Throws
  // std::runtime_error if the channel breaks or the server takes a minute.
  Time Exchange(size_t bytes, size_t bytes_back);

 private:
  Channel& channel_;
  const Clock& clock_;
  const Wait wait_;
};

// Median times of messages of one size, over the link and the server's thread.
struct ProbedSize {
  size_t bytes = 0;
  double round_trip_ms = 0;  // there, and as many bytes back
  // From the time taken beyond that for one byte each way; nothing where noise hides it.
  std::optional<double> mbit_to_server = {};
  std::optional<double> mbit_to_robot = {};
};

// Probes ascending sizes, each in `rounds` rounds, up to one whose round trip takes a second. Ends
// early once `stop` is set, without the current size. Throws as Exchange does. REQUIRES: at least
// three rounds.
std::vector<ProbedSize> ProbeLink(LinkProbe& probe, std::span<const size_t> sizes, int rounds,
                                  const std::atomic<bool>& stop);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_LINK_PROBE_H_
