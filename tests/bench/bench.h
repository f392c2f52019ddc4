#ifndef CACHEINF_TESTS_BENCH_BENCH_H_
#define CACHEINF_TESTS_BENCH_BENCH_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/model/graph/graph.h"
#include "tests/bench/timing.h"

namespace cacheinf {

struct BenchOptions {
  std::vector<std::filesystem::path> models;  // empty: the bench's own
  std::vector<std::string> videos;            // sources of frames; empty: the bench's own
  std::vector<Shape> input_shapes;            // of --shape; empty: the file's own
  std::vector<int> threads;                   // empty: the bench's own
  std::vector<std::string> engines;           // empty: all
  bool full = false;                          // everything, however long it takes
  bool quick = false;                         // less than the bench's own, in a few minutes
  std::filesystem::path peers_python;         // has the engines of peers/requirements.txt
  std::filesystem::path cache;                // where converted models are kept
  std::filesystem::path sige;                 // a build of SIGE to measure too; empty: none
  std::filesystem::path sige_python;          // has the PyTorch that it was built with
  std::vector<std::string> layers;  // names, or beginnings of names; empty: the bench's own
  int frames = 0;                   // of every clip; 0: the bench's own
  std::vector<double> budgets;      // shares of the memory that keeping all takes; empty: 1
  std::filesystem::path trace;      // a link's bandwidth over time; empty: the bench's own
  double mean_mbit = 0;             // to which it is scaled; 0: as it is
  TimingOptions timing;
};

// What a bench found: rows of the same keys, in the order in which the table shows them.
class BenchReport {
 public:
  void AddRow(nlohmann::ordered_json row);
  // A row that the table shows, instead of those above, where these are too many to read.
  void AddTableRow(nlohmann::ordered_json row);
  // A line under the table: what is missing, or what to doubt.
  void AddNote(const std::string& note);
  // Keeps the worst.
  void AddNoise(const Timing& timing);

  const std::vector<nlohmann::ordered_json>& rows() const { return rows_; }

  std::string Table() const;
  // {"bench", "commit", "machine", "date", "rows", "notes", "noise"}
  nlohmann::ordered_json ToJson(const std::string& bench, const std::string& commit) const;

 private:
  std::vector<nlohmann::ordered_json> rows_;
  std::vector<nlohmann::ordered_json> table_rows_;
  std::vector<std::string> notes_;
  double noise_ = 1.0;
};

// A named measurement.
struct Bench {
  const char* name;
  const char* what;
  void (*run)(const BenchOptions& options, BenchReport* report);
};

// Whole networks, every operator computed on the whole picture, by our executor and its peers.
void BenchDense(const BenchOptions& options, BenchReport* report);

// Convolutions alone, on a share of their pixels, beside the same layer computed whole.
void BenchKernels(const BenchOptions& options, BenchReport* report);

// Whole networks of which a part of the picture changed, under each policy: the time beside that
// of the share of multiply-adds that are done.
void BenchChanges(const BenchOptions& options, BenchReport* report);

// Videos, frame by frame, computed by keeping results in every way and by the simple rivals: time
// beside a dense run, and agreement with it.
void BenchFrames(const BenchOptions& options, BenchReport* report);

// DeepCache's own configuration and the sweeps of its parameters, and CacheInf's sweep of N: what
// is saved, of every layer and in all, and what it costs in agreement.
void BenchDeepCache(const BenchOptions& options, BenchReport* report);

// Networks cut in two between a robot and a server: what would cross of every value, and from it,
// for several links and servers, the best cut beside the robot alone and beside JPEG and video of
// the input. The rows are of every cut and codec, the table of the best ones.
void BenchCuts(const BenchOptions& options, BenchReport* report);

// Generated video in which something goes wrong for a while: agreement with dense before,
// meanwhile and after, and in how many frames it is back.
void BenchFailures(const BenchOptions& options, BenchReport* report);

// What a server that is connected over MPI and has nothing to do costs a robot that computes alone:
// turns with it and without it, pair by pair, and the median of the pairs' ratios with its 95 %
// interval.
void BenchIdlePeer(const BenchOptions& options, BenchReport* report);

// Videos of which the light is changed, with the network shown frames as they are and in the light
// of what is stored: work, and agreement with dense answers.
void BenchLight(const BenchOptions& options, BenchReport* report);

// A robot and a server as programs, over MPI and an emulated link, in every mode, and two rivals
// without a line of ours: latency, bytes, agreement, and what is in hand at a deadline. Some cells
// are run live, all are replayed from what frames cost.
void BenchModes(const BenchOptions& options, BenchReport* report);

// A robot and a server whose link's bandwidth follows a trace, in mode cacheinf and in every fixed
// mode: latencies, what is in hand at a deadline, and how often the plan changes.
void BenchTrace(const BenchOptions& options, BenchReport* report);

// What profiles that were measured on other clips predict for a clip's frames, dense and by
// changes, beside what these take.
void BenchPredict(const BenchOptions& options, BenchReport* report);

// One operator at a time, by every backend, on some of its pixels and on all.
void BenchOperators(const BenchOptions& options, BenchReport* report);

// Bytes that go from a robot to a server and back, over MPI between programs started apart: alone,
// and as messages of a channel.
void BenchPingPong(const BenchOptions& options, BenchReport* report);

// How a frame is aligned with the one before: block matchers as in DeepCache's Table 4, and
// homographies.
void BenchTracker(const BenchOptions& options, BenchReport* report);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_BENCH_H_
