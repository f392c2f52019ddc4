#include "tests/link/loopback.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace cacheinf {
namespace {

using Time = std::chrono::nanoseconds;

class Wire {
 public:
  Wire(const LoopbackScript& script, const Clock& clock)
      : script_(script),
        clock_(clock),
        made_at_(clock.Now()),
        random_(script.seed),
        lines_{DelayLine(script.shape_back.value_or(script.shape), made_at_),
               DelayLine(script.shape, made_at_)} {}

  bool Send(int to, std::span<const uint8_t> packet) {
    const std::lock_guard lock(mutex_);
    const Time now = clock_.Now();
    if (!lines_[to].HasRoom(now)) return false;
    if (IsDead(now) || Happens(script_.loss)) return true;
    std::vector<uint8_t> bytes(packet.begin(), packet.end());
    if (Happens(script_.corruption)) {
      bytes[random_() % bytes.size()] ^= static_cast<uint8_t>(1 << (random_() % 8));
    }
    const int copies = Happens(script_.duplication) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      const double share = static_cast<double>(random_()) / std::mt19937::max();
      lines_[to].Push(
          bytes, now,
          Time(static_cast<Time::rep>(share * static_cast<double>(script_.jitter.count()))));
    }
    sent_.notify_all();
    return true;
  }

  bool Receive(int at, std::vector<uint8_t>* packet) {
    const std::lock_guard lock(mutex_);
    DelayLine& line = lines_[at];
    const std::optional<Time> arrival = line.first_arrival();
    if (!arrival || *arrival > clock_.Now() || IsDead(*arrival)) return false;
    packet->swap(line.first());
    line.Pop();
    return true;
  }

  void Wait(int at, Time at_most) {
    std::unique_lock lock(mutex_);
    if (const std::optional<Time> arrival = lines_[at].first_arrival()) {
      at_most = std::min(at_most, *arrival - clock_.Now());
    }
    if (at_most > Time(0)) sent_.wait_for(lock, at_most);
  }

  std::string Fault(int at) {
    const std::lock_guard lock(mutex_);
    if (IsDead(clock_.Now())) return "the link died";
    const bool has_left = has_left_[1 - at] && !lines_[at].first_arrival();
    return has_left ? "the peer has left" : "";
  }

  void Leave(int end) {
    const std::lock_guard lock(mutex_);
    has_left_[end] = true;
    sent_.notify_all();
  }

 private:
  bool Happens(double probability) {
    return probability > 0 && random_() < probability * std::mt19937::max();
  }

  bool IsDead(Time at) const { return script_.death && at - made_at_ >= *script_.death; }

  const LoopbackScript script_;
  const Clock& clock_;
  const Time made_at_;
  std::mutex mutex_;  // of all below
  std::condition_variable sent_;
  std::mt19937 random_;
  DelayLine lines_[2];  // to each end
  bool has_left_[2] = {false, false};
};

class LoopbackEnd final : public Link {
 public:
  LoopbackEnd(std::shared_ptr<Wire> wire, int end) : wire_(std::move(wire)), end_(end) {}
  ~LoopbackEnd() override { wire_->Leave(end_); }

  bool Send(std::span<const uint8_t> packet) override { return wire_->Send(1 - end_, packet); }
  bool Receive(std::vector<uint8_t>* packet) override { return wire_->Receive(end_, packet); }
  void Wait(std::chrono::nanoseconds at_most) override { wire_->Wait(end_, at_most); }
  std::string fault() const override { return wire_->Fault(end_); }

 private:
  const std::shared_ptr<Wire> wire_;
  const int end_;
};

}  // namespace

std::pair<std::unique_ptr<Link>, std::unique_ptr<Link>> MakeLoopback(const LoopbackScript& script,
                                                                     const Clock& clock) {
  auto wire = std::make_shared<Wire>(script, clock);
  return {std::make_unique<LoopbackEnd>(wire, 0), std::make_unique<LoopbackEnd>(wire, 1)};
}

}  // namespace cacheinf
