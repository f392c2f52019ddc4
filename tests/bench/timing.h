#ifndef CACHEINF_TESTS_BENCH_TIMING_H_
#define CACHEINF_TESTS_BENCH_TIMING_H_

#include <functional>
#include <vector>

namespace cacheinf {

// Times of one contender, in milliseconds, in the order taken.
struct Samples {
  std::vector<double> ms;

  // The value below which `share` of the samples lie, interpolated. REQUIRES: a sample, 0..1.
  double Quantile(double share) const;
  double Median() const { return Quantile(0.5); }
};

struct TimingOptions {
  int warm_up_rounds = 3;
  int min_rounds = 11;
  int max_rounds = 1001;
  double min_time_ms = 3000.0;  // rounds are added until they took this long in all
  double turn_ms = 20.0;        // anything quicker is timed several times per turn
};

struct Timing {
  std::vector<Samples> contenders;  // one per action, in the given order
  // How much a fixed piece of arithmetic varied between the rounds: its 90 % quantile over its
  // median. About 1 on a quiet machine.
  double noise = 1.0;
};

// Whether timings taken under this noise should be doubted.
inline bool IsTooNoisy(double noise) { return noise > 1.10; }

// A contender's turn: it runs `count` times and gives the milliseconds of each.
using Turn = std::function<std::vector<double>(int count)>;

// Gives all contenders their turns, round after round, so that a disturbance hits all of them.
// Rotates the order within a round, so that none always follows the same other.
Timing TimeTurns(const std::vector<Turn>& turns, const TimingOptions& options);

// The same for actions, which it times itself, once per turn.
Timing TimeInterleaved(const std::vector<std::function<void()>>& actions,
                       const TimingOptions& options);

// Milliseconds of one call.
double TimeOnce(const std::function<void()>& action);

// Milliseconds of `count` calls, after an untimed one.
std::vector<double> TimeCalls(const std::function<void()>& action, int count);

// The turn of our own kernels, in this process, whose other threads all belong to our pool: like
// other engines' after calls that fill caches and wake threads. Because our calls do not wait for a
// thread that still sleeps, anything quicker than waking one is called several times.
Turn OwnTurn(std::function<void()> call);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_TIMING_H_
