#ifndef CACHEINF_TESTS_BENCH_TIMING_H_
#define CACHEINF_TESTS_BENCH_TIMING_H_

#include <functional>
#include <vector>

namespace cacheinf {

// Times of one contender, in milliseconds, in the order they were taken.
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
  double min_time_ms = 3000.0;  // rounds are added until all of them took this long
  double turn_ms = 20.0;        // what is quicker than that is timed several times in a turn
};

struct Timing {
  std::vector<Samples> contenders;  // one an action, in the order given
  // How far a fixed piece of arithmetic, run between the rounds, strayed: its 90 % quantile over
  // its median. About 1 on a quiet machine.
  double noise = 1.0;
};

// Whether timings taken under this noise should be doubted.
inline bool IsTooNoisy(double noise) { return noise > 1.10; }

// A contender's turn: it runs `count` times and gives the milliseconds of each.
using Turn = std::function<std::vector<double>(int count)>;

// Gives all contenders their turns, round after round, so that what disturbs the machine disturbs
// all of them. The order within a round turns, so that none always follows the same other.
Timing TimeTurns(const std::vector<Turn>& turns, const TimingOptions& options);

// The same for actions that are timed here, once in a turn.
Timing TimeInterleaved(const std::vector<std::function<void()>>& actions,
                       const TimingOptions& options);

// Milliseconds that one call takes.
double TimeOnce(const std::function<void()>& action);

// Milliseconds of `count` calls, after one that is not timed.
std::vector<double> TimeCalls(const std::function<void()>& action, int count);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_TIMING_H_
