#ifndef CACHEINF_TESTS_BENCH_MODE_CHECKS_H_
#define CACHEINF_TESTS_BENCH_MODE_CHECKS_H_

#include <string>
#include <vector>

#include "tests/bench/bench.h"

namespace cacheinf {

// The key of a row for the agreement of what is in hand at the deadline.
std::string OnTimeKey(double deadline_ms);

// Reads the rows of `modes`: checks the promises for modes, which mode wins where, and how far
// replayed cells are from live ones.
class ModeChecks {
 public:
  // A live cell may have a second row: its repetition.
  void Add(const nlohmann::ordered_json& row) {
    (row["deadline_ms"].is_null() ? rows_ : on_time_rows_).push_back(row);
  }

  // The modes that should repeat their live cells for that link and server: those that take more
  // than they should, and those they are compared with. A mode may come twice.
  std::vector<std::string> ToRepeat(const std::string& model, const std::string& clip, double mbit,
                                    double speedup) const;

  // Table rows of the medians, and notes with the worst news first.
  void AddTo(BenchReport* report) const;

 private:
  std::vector<nlohmann::ordered_json> rows_;
  std::vector<nlohmann::ordered_json> on_time_rows_;  // of mode cacheinf, with a deadline
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_MODE_CHECKS_H_
