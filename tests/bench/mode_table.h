#ifndef CACHEINF_TESTS_BENCH_MODE_TABLE_H_
#define CACHEINF_TESTS_BENCH_MODE_TABLE_H_

#include <optional>
#include <string>
#include <vector>

#include "tests/bench/bench.h"
#include "tests/bench/mode_checks.h"
#include "tests/bench/mode_list.h"
#include "tests/bench/mode_subject.h"
#include "tests/bench/replay.h"

namespace cacheinf {

// A mode's results over a link, with a server that is `speedup` times as fast as the robot.
struct Cell {
  std::optional<double> mbit = {};  // none: there is no link
  double speedup = 1;
  std::string measured;  // "live", "replayed", "predicted"
  std::vector<CameraAnswer> answers;
  // The same for robots that began a part of the camera's period later: the mean of what is in hand
  // counts.
  std::vector<std::vector<CameraAnswer>> later = {};
  // With moved ones, where these were really handed out.
  std::optional<std::vector<CameraAnswer>> handed_out = {};
  std::string why = {};
  std::optional<double> again_ms = {};  // the median latency of a repetition
};

// Writes cells as rows of the report.
class ModeTable {
 public:
  explicit ModeTable(BenchReport* report) : report_(report) {}

  void Add(const Subject& subject, const Mode& mode, const Cell& cell);
  const ModeChecks& checks() const { return checks_; }
  // Adds what the rows say in sum.
  void Finish() const { checks_.AddTo(report_); }

 private:
  BenchReport* const report_;
  ModeChecks checks_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_MODE_TABLE_H_
