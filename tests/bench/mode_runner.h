#ifndef CACHEINF_TESTS_BENCH_MODE_RUNNER_H_
#define CACHEINF_TESTS_BENCH_MODE_RUNNER_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/bench_server.h"
#include "tests/bench/contender.h"
#include "tests/bench/mode_list.h"
#include "tests/bench/replay.h"

namespace cacheinf {

struct RunPlace {
  Cores cores;
  std::filesystem::path name_server;
  std::filesystem::path models;  // the servers' folder
};

// As in a configuration; 3 ms each way.
std::string LinkText(double mbit);

// Runs modes over one link, all with the same cacheinf-server, which starts with the first mode
// that needs it. A mode that takes more than 90 seconds loses its server.
class ModeRunner {
 public:
  // `link` is as in a configuration; empty if none is emulated.
  ModeRunner(RunPlace place, std::string link) : place_(std::move(place)), link_(std::move(link)) {}

  // These throw std::runtime_error as MeasureFrames and RunLive do.
  std::vector<FrameCost> Measure(const Subject& subject, const Mode& mode);
  LiveAnswers RunLive(const Subject& subject, const Mode& mode, double slowdown,
                      const std::function<bool()>& stop, const CellLength& length = {});

 private:
  const BenchServer* ServerFor(const Mode& mode);
  static std::vector<KnownSmaller> SmallerOf(const Subject& subject, const Mode& mode,
                                             double slowdown);
  RobotConfig ConfigOf(const Subject& subject, const Mode& mode, double slowdown) const;
  std::unique_ptr<Contender> MakeContender(const Subject& subject, const Mode& mode,
                                           double slowdown) const;

  const RunPlace place_;
  const std::string link_;
  std::unique_ptr<BenchServer> server_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_MODE_RUNNER_H_
