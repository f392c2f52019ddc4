#ifndef CACHEINF_CLIENT_RECONNECTION_H_
#define CACHEINF_CLIENT_RECONNECTION_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <random>

namespace cacheinf {

// Says when a robot looks again for a server that it has lost, and when that server may take part
// in frames again. One for each server.
//
// The robot looks for a lost server at once, but at most once a second. It asks one that refuses
// after 1, 2, 4, … up to 10 s. Every pause is longer by up to a quarter, so that the robots of a
// restarted server do not all knock at once. A server that was lost three times within half a
// minute must first have been there for a while: a link that comes and goes would cost more frames
// than it answers.
class Reconnection {
 public:
  using Time = std::chrono::nanoseconds;

  explicit Reconnection(uint64_t seed) : random_(static_cast<std::mt19937::result_type>(seed)) {}

  bool MayTry(Time now) const { return now >= next_; }

  void NoteMet(Time now) { met_at_ = now; }
  // The connection has ended, if it `has_refused` before the robot could send frames.
  void NoteEnd(Time now, bool has_refused);
  // It ended for a reason that is known to be gone.
  void TryAtOnce() { next_ = Time(0); }

  // From when on the server that was met last may take part in frames.
  Time TrustedFrom() const;
  bool IsTrusted(Time now) const { return now >= TrustedFrom(); }

 private:
  Time WithJitter(Time pause);

  Time next_{0};
  Time met_at_{0};
  Time refusal_pause_{0};
  std::deque<Time> losses_;  // the last ones
  std::mt19937 random_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RECONNECTION_H_
