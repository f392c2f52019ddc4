#include "common/pair/link_probe.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "common/base/error.h"
#include "common/pair/say.h"

namespace cacheinf {
namespace {

constexpr size_t kNothing = 1;  // byte
constexpr std::chrono::minutes kLongestExchange(1);
constexpr std::chrono::milliseconds kLookAgain(100);  // whether the channel is whole
constexpr double kLongestRoundTripMs = 1000;

struct Quartiles {
  double lower = 0;
  double median = 0;
  double upper = 0;

  double spread() const { return upper - lower; }
};

Quartiles QuartilesOf(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const size_t last = samples.size() - 1;
  return {samples[last / 4], samples[last / 2], samples[last - last / 4]};
}

std::optional<double> Mbit(size_t bytes, const Quartiles& taken, const Quartiles& nothing) {
  if (bytes <= kNothing) return std::nullopt;
  const double ms = taken.median - nothing.median;
  if (ms <= std::max(taken.spread(), nothing.spread())) return std::nullopt;
  return static_cast<double>(bytes) * 8 / (ms * 1000);
}

}  // namespace

void AnswerProbe(Channel& channel, const message::Probe& probe) {
  if (channel.statistics().waiting_to_leave > message::Probe::kMostBytes) {
    throw InputError("the robot asks for more probes than the link carries");
  }
  if (probe.wanted == 0) return;
  Say(channel, message::Probe{0, std::vector<uint8_t>(probe.wanted)});
}

LinkProbe::LinkProbe(Channel& channel, const Clock& clock, Wait wait)
    : channel_(channel), clock_(clock), wait_(std::move(wait)) {}

LinkProbe::Time LinkProbe::Exchange(size_t bytes, size_t bytes_back) {
  message::Probe probe{static_cast<uint32_t>(bytes_back), std::vector<uint8_t>(bytes)};
  Message message = MessageOf(std::move(probe));
  const Time begin = clock_.Now();
  channel_.Send(std::move(message));
  while (true) {
    const Time deadline = clock_.Now() + kLookAgain;
    wait_ ? wait_(deadline) : channel_.WaitForMessage(deadline);
    const Time taken = clock_.Now() - begin;
    const std::optional<Message> reply = channel_.Receive();
    if (reply && Is<message::Probe>(*reply)) return taken;
    if (!channel_.fault().empty()) throw std::runtime_error(channel_.fault());
    if (reply && Is<message::Bye>(*reply)) {
      message::Bye bye;
      throw std::runtime_error(Decode(reply->bytes, &bye).empty() && !bye.reason.empty()
                                   ? bye.reason
                                   : "the server has left");
    }
    if (taken > kLongestExchange) throw std::runtime_error("the server answers no probe");
  }
}

std::vector<ProbedSize> ProbeLink(LinkProbe& probe, std::span<const size_t> sizes, int rounds,
                                  const std::atomic<bool>& stop) {
  const auto time = [&](size_t bytes, size_t bytes_back) {
    std::vector<double> ms;
    for (int round = 0; round < rounds && !stop; ++round) {
      ms.push_back(Milliseconds(probe.Exchange(bytes, bytes_back)));
    }
    return ms.empty() ? Quartiles() : QuartilesOf(std::move(ms));
  };
  std::vector<ProbedSize> probed;
  time(kNothing, kNothing);  // the first ones wake both sides
  const Quartiles nothing = time(kNothing, kNothing);
  for (const size_t bytes : sizes) {
    const Quartiles there = time(bytes, kNothing);
    const Quartiles back = time(kNothing, bytes);
    const Quartiles both = time(bytes, bytes);
    if (stop) break;
    probed.push_back({bytes, both.median, Mbit(bytes, there, nothing), Mbit(bytes, back, nothing)});
    if (both.median > kLongestRoundTripMs) break;
  }
  return probed;
}

}  // namespace cacheinf
