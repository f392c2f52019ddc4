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
  // Its weather is this one, or else its own.
  Wire(LoopbackWeather* weather, const LoopbackScript& script, const Clock& clock)
      : script_(script),
        own_weather_{.script = script},
        weather_(weather != nullptr ? *weather : own_weather_),
        clock_(clock),
        made_at_(clock.Now()),
        number_(weather_.links++),
        random_(script.seed + static_cast<uint32_t>(number_)) {
    for (int to : {0, 1}) lines_[to].emplace(ShapeTo(to), made_at_);
  }

  bool Send(int to, std::span<const uint8_t> packet) {
    const std::lock_guard lock(mutex_);
    const Time now = clock_.Now();
    KeepShape(now);
    if (IsSilent() || IsCut()) return true;
    if (!lines_[to]->HasRoom(now)) return false;
    ++weather_.packets;
    const LoopbackScript& script = weather_.script;
    if (IsDead(now) || Happens(script.loss)) return true;
    std::vector<uint8_t> bytes(packet.begin(), packet.end());
    if (Happens(script.corruption)) {
      bytes[random_() % bytes.size()] ^= static_cast<uint8_t>(1 << (random_() % 8));
    }
    const int copies = Happens(script.duplication) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      const double share = static_cast<double>(random_()) / std::mt19937::max();
      lines_[to]->Push(
          bytes, now,
          Time(static_cast<Time::rep>(share * static_cast<double>(script_.jitter.count()))));
    }
    sent_.notify_all();
    return true;
  }

  bool Receive(int at, std::vector<uint8_t>* packet) {
    const std::lock_guard lock(mutex_);
    KeepShape(clock_.Now());
    DelayLine& line = *lines_[at];
    const std::optional<Time> arrival = line.first_arrival();
    if (weather_.is_held[at] || IsSilent() || IsCut()) return false;
    if (!arrival || *arrival > clock_.Now() || IsDead(*arrival)) return false;
    packet->swap(line.first());
    line.Pop();
    if (line.first_arrival() && Happens(weather_.script.reordering)) packet->swap(line.first());
    return true;
  }

  void Wait(int at, Time at_most) {
    std::unique_lock lock(mutex_);
    const bool may_come = !weather_.is_held[at] && !IsSilent() && !IsCut();
    if (const std::optional<Time> arrival = lines_[at]->first_arrival(); arrival && may_come) {
      at_most = std::min(at_most, *arrival - clock_.Now());
    }
    if (at_most > Time(0)) sent_.wait_for(lock, at_most);
  }

  std::string Fault(int at) {
    const std::lock_guard lock(mutex_);
    if (IsCut()) return "the link was cut";
    if (IsDead(clock_.Now())) return "the link died";
    const bool has_left = has_left_[1 - at] && !IsSilent() && !lines_[at]->first_arrival();
    return has_left ? "the peer has left" : "";
  }

  Link::Peer PeerOf(int end) const { return {.key = end == 1 ? script_.key : ""}; }

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
  bool IsCut() const { return number_ < weather_.cut_below; }
  bool IsSilent() const { return number_ < weather_.silent_below; }

  LinkShape ShapeTo(int to) const {
    LinkShape shape = to == 0 ? script_.shape_back.value_or(script_.shape) : script_.shape;
    if (rate_ > 0) shape.bandwidth = {{std::chrono::hours(1), rate_}};
    return shape;
  }

  // Sends what has not come again if the weather's bandwidth is another now.
  void KeepShape(Time now) {
    const double rate = weather_.bytes_per_second;
    if (rate == rate_) return;
    rate_ = rate;
    for (int to : {0, 1}) {
      std::optional<DelayLine> before = std::move(lines_[to]);
      lines_[to].emplace(ShapeTo(to), now);
      for (; before->first_arrival(); before->Pop()) lines_[to]->Push(before->first(), now);
    }
  }

  const LoopbackScript script_;
  LoopbackWeather own_weather_;
  LoopbackWeather& weather_;
  const Clock& clock_;
  const Time made_at_;
  const int number_;
  std::mutex mutex_;  // of all below
  std::condition_variable sent_;
  std::mt19937 random_;
  double rate_ = 0;
  std::optional<DelayLine> lines_[2];  // to each end
  bool has_left_[2] = {false, false};
};

class LoopbackEnd final : public Link {
 public:
  LoopbackEnd(std::shared_ptr<Wire> wire, int end) : wire_(std::move(wire)), end_(end) {}
  ~LoopbackEnd() override { wire_->Leave(end_); }

  Peer peer() const override { return wire_->PeerOf(end_); }
  bool Send(std::span<const uint8_t> packet) override { return wire_->Send(1 - end_, packet); }
  bool Receive(std::vector<uint8_t>* packet) override { return wire_->Receive(end_, packet); }
  void Wait(std::chrono::nanoseconds at_most) override { wire_->Wait(end_, at_most); }
  std::string fault() const override { return wire_->Fault(end_); }

 private:
  const std::shared_ptr<Wire> wire_;
  const int end_;
};

LoopbackEnds EndsOf(const std::shared_ptr<Wire>& wire) {
  return {std::make_unique<LoopbackEnd>(wire, 0), std::make_unique<LoopbackEnd>(wire, 1)};
}

}  // namespace

LoopbackEnds MakeLoopback(LoopbackWeather& weather, const Clock& clock) {
  return EndsOf(std::make_shared<Wire>(&weather, weather.script, clock));
}

LoopbackEnds MakeLoopback(const LoopbackScript& script, const Clock& clock) {
  return EndsOf(std::make_shared<Wire>(nullptr, script, clock));
}

}  // namespace cacheinf
