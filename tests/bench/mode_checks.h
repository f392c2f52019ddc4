#ifndef CACHEINF_TESTS_BENCH_MODE_CHECKS_H_
#define CACHEINF_TESTS_BENCH_MODE_CHECKS_H_

#include <vector>

#include "tests/bench/bench.h"

namespace cacheinf {

// Reads the rows of `modes`: whether what is promised of modes holds, which mode wins where, and
// how far replayed cells are from live ones.
class ModeChecks {
 public:
  void Add(const nlohmann::ordered_json& row) { rows_.push_back(row); }

  // Table rows of the medians, and notes with the worst news first.
  void AddTo(BenchReport* report) const;

 private:
  std::vector<nlohmann::ordered_json> rows_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_MODE_CHECKS_H_
