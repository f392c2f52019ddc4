#ifndef CACHEINF_TESTS_BENCH_MODE_CHECKS_H_
#define CACHEINF_TESTS_BENCH_MODE_CHECKS_H_

#include <string>
#include <vector>

#include "tests/bench/bench.h"

namespace cacheinf {

// Reads the rows of `modes`: whether what is promised of modes holds, which mode wins where, and
// how far replayed cells are from live ones.
class ModeChecks {
 public:
  // Of a live cell there may be a second row: its repetition.
  void Add(const nlohmann::ordered_json& row) { rows_.push_back(row); }

  // The modes whose live cells of that link and server are to be repeated: what takes more than it
  // should, and what it is held against. One may come twice.
  std::vector<std::string> ToRepeat(const std::string& model, const std::string& clip, double mbit,
                                    double speedup) const;

  // Table rows of the medians, and notes with the worst news first.
  void AddTo(BenchReport* report) const;

 private:
  std::vector<nlohmann::ordered_json> rows_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_MODE_CHECKS_H_
