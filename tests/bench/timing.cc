#include "tests/bench/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace cacheinf {
namespace {

using BenchClock = std::chrono::steady_clock;

double MillisecondsSince(BenchClock::time_point start) {
  return std::chrono::duration<double, std::milli>(BenchClock::now() - start).count();
}

// About a millisecond in registers alone: only a busy or throttled core makes it slower.
void FixedArithmetic() {
  uint64_t state = 1;
  for (int i = 0; i < 400'000; ++i) state = state * 6364136223846793005u + 1442695040888963407u;
  volatile uint64_t sink = state;
  static_cast<void>(sink);
}

}  // namespace

double Samples::Quantile(double share) const {
  std::vector<double> sorted = ms;
  std::sort(sorted.begin(), sorted.end());
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

double TimeOnce(const std::function<void()>& action) {
  const auto start = BenchClock::now();
  action();
  return MillisecondsSince(start);
}

std::vector<double> TimeCalls(const std::function<void()>& action, int count) {
  action();
  std::vector<double> times;
  for (int i = 0; i < count; ++i) times.push_back(TimeOnce(action));
  return times;
}

Timing TimeTurns(const std::vector<Turn>& turns, const TimingOptions& options) {
  constexpr int kMostInATurn = 20;
  Timing timing;
  timing.contenders.resize(turns.size());
  std::vector<int> counts(turns.size(), 1);
  for (int round = 0; round < options.warm_up_rounds; ++round) {
    for (size_t i = 0; i < turns.size(); ++i) {
      const double once_ms = turns[i](1).front();
      counts[i] = static_cast<int>(
          std::clamp(options.turn_ms / std::max(once_ms, 1e-3), 1.0, double{kMostInATurn}));
    }
  }
  Samples yardstick;
  const auto start = BenchClock::now();
  for (int round = 0;
       round < options.min_rounds ||
       (round < options.max_rounds && MillisecondsSince(start) < options.min_time_ms);
       ++round) {
    for (size_t i = 0; i < turns.size(); ++i) {
      const size_t turn = (i + static_cast<size_t>(round)) % turns.size();
      const std::vector<double> times = turns[turn](counts[turn]);
      std::vector<double>& all = timing.contenders[turn].ms;
      all.insert(all.end(), times.begin(), times.end());
    }
    yardstick.ms.push_back(TimeOnce(FixedArithmetic));
  }
  timing.noise = yardstick.Quantile(0.9) / yardstick.Median();
  return timing;
}

Timing TimeInterleaved(const std::vector<std::function<void()>>& actions,
                       const TimingOptions& options) {
  std::vector<Turn> turns;
  for (const auto& action : actions) {
    turns.emplace_back([action](int) { return std::vector<double>{TimeOnce(action)}; });
  }
  return TimeTurns(turns, options);
}

Turn OwnTurn(std::function<void()> call) {
  return [call = std::move(call)](int count) {
    constexpr double kWakingMs = 1.0;
    for (double spent_ms = 0.0; spent_ms < kWakingMs;) spent_ms += TimeOnce(call);
    return TimeCalls(call, count);
  };
}

}  // namespace cacheinf
