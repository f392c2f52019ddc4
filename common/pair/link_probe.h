#ifndef CACHEINF_COMMON_PAIR_LINK_PROBE_H_
#define CACHEINF_COMMON_PAIR_LINK_PROBE_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "common/base/clock.h"
#include "common/link/channel.h"
#include "common/pair/messages.h"
#include "common/pair/server_connection.h"

namespace cacheinf {

// Sends what a probe asks for, as a server does. Throws InputError if what it asked for before has
// not left yet.
void AnswerProbe(Channel& channel, const message::Probe& probe);

// Times messages to a server and back, before it is greeted or after. Nothing else may be received
// meanwhile.
class LinkProbe {
 public:
  using Time = std::chrono::nanoseconds;
  using Wait = ServerConnection::Wait;

  // Both outlive this.
  LinkProbe(Channel& channel, const Clock& clock, Wait wait = {});

  // What it takes to send so many bytes and get so many back, one at least. Throws
  // std::runtime_error if the channel breaks, or the server takes a minute.
  Time Exchange(size_t bytes, size_t bytes_back);

 private:
  Channel& channel_;
  const Clock& clock_;
  const Wait wait_;
};

// What the link and the server's thread make of messages of one size: medians.
struct ProbedSize {
  size_t bytes = 0;
  double round_trip_ms = 0;  // there, and as many back
  // By what takes longer than one byte each way does; nothing where that is lost in noise.
  std::optional<double> mbit_to_server = {};
  std::optional<double> mbit_to_robot = {};
};

// Of sizes that ascend, each in so many rounds; of those above one that takes a second to go and
// come back, none. Ends early once `stop` is set, without the size in hand. Throws as Exchange
// does. REQUIRES: three rounds.
std::vector<ProbedSize> ProbeLink(LinkProbe& probe, std::span<const size_t> sizes, int rounds,
                                  const std::atomic<bool>& stop);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_LINK_PROBE_H_
