#ifndef CACHEINF_TESTS_BENCH_BENCH_H_
#define CACHEINF_TESTS_BENCH_BENCH_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
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
  std::string precision = "fp32";             // "fp32", "int8" or "bf16"
  bool full = false;                          // everything, however long it takes
  bool quick = false;                         // less than the bench's own, in a few minutes
  std::filesystem::path peers_python;         // has the engines of rivals/peers/requirements.txt
  std::filesystem::path cache;                // where converted models are kept
  std::filesystem::path sige;                 // a build of SIGE to measure too; empty: none
  std::filesystem::path sige_python;          // has the PyTorch that it was built with
  std::vector<std::string> layers;  // names, or beginnings of names; empty: the bench's own
  int frames = 0;                   // per clip; 0: the bench's own
  std::vector<double> budgets;      // shares of the memory for keeping everything; empty: 1
  std::filesystem::path trace;      // a link's bandwidth over time; empty: the bench's own
  double mean_mbit = 0;             // that it is scaled to; 0: as it is
  TimingOptions timing;
};

inline nlohmann::ordered_json NumberOrNull(const std::optional<double>& number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json();
}

// What a bench found: rows with the same keys, in the table's order.
class BenchReport {
 public:
  void AddRow(nlohmann::ordered_json row);
  // A row to show in the table instead of those above, if these are too many to read.
  void AddTableRow(nlohmann::ordered_json row);
  // A line under the table about what is missing, or what to doubt.
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

// Whole networks on the whole picture, by our executor and its peers.
void BenchDense(const BenchOptions& options, BenchReport* report);

// Single convolutions on a share of their pixels, beside the whole layer. For precision int8: in 8
// bits beside our own in fp32, by the best kernels of this machine and by those for AVX2.
void BenchKernels(const BenchOptions& options, BenchReport* report);
void BenchInt8Kernels(const BenchOptions& options, BenchReport* report);

// Whole networks after a part of the picture changed, under each policy: time, beside the share of
// multiply-adds done.
void BenchChanges(const BenchOptions& options, BenchReport* report);

// Videos, frame by frame, with results kept in every way, and by simple rivals: time beside a dense
// run, and agreement with it.
void BenchFrames(const BenchOptions& options, BenchReport* report);

// The same for precision int8: quantised networks, dense and with results kept, beside rivals' and
// beside repeating answers; all times are shares of our fp32 dense frame's, all agreement is with
// its answers. The later half of each clip counts; calibration sees the earlier one.
void BenchInt8Frames(const BenchOptions& options, BenchReport* report);

// DeepCache's configuration and its parameter sweeps, and CacheInf's sweep of N: what is saved, by
// layer and in all, and what that costs in agreement.
void BenchDeepCache(const BenchOptions& options, BenchReport* report);

// Robot and server in two network namespaces with a poor link between them, compared with an
// emulated link: latencies of three modes.
void BenchBed(const BenchOptions& options, BenchReport* report);

// Networks cut in two between a robot and a server: what would cross at every value and, from that,
// the best cut for several links and servers, beside the robot alone and JPEG and video of the
// input. Rows have every cut and codec, the table the best ones.
void BenchCuts(const BenchOptions& options, BenchReport* report);

// Generated video in which something goes wrong for a while: agreement with dense before, during
// and after, and how many frames until it is back.
void BenchFailures(const BenchOptions& options, BenchReport* report);

// What an idle server, connected over MPI or ZeroMQ, costs a robot that computes alone: turns with
// it and without it, in pairs, and the median of their ratios with its 95 % interval.
void BenchIdlePeer(const BenchOptions& options, BenchReport* report);

// Videos with changed light, shown to the network as they are and in the light of what is stored:
// work, and agreement with dense answers.
void BenchLight(const BenchOptions& options, BenchReport* report);

// A robot and a server as programs, over MPI and an emulated link, in every mode, and two rivals
// without our code: latency, bytes, agreement, and what is there at a deadline. Some cells run
// live; all are replayed from what frames cost.
void BenchModes(const BenchOptions& options, BenchReport* report);

// A robot and a server over a link whose bandwidth follows a trace, in mode cacheinf and every
// fixed mode: latencies, what is there at a deadline, and how often the plan changes.
void BenchTrace(const BenchOptions& options, BenchReport* report);

// What profiles measured on other clips predict for a clip's frames, dense and changed, beside what
// these take.
void BenchPredict(const BenchOptions& options, BenchReport* report);

// What mode cacheinf expects of its plans' answers (agreement, and the share in time), profiled on
// the first third of a clip, compared with the answers to the rest.
void BenchPromises(const BenchOptions& options, BenchReport* report);

// Answers some frames old, moved with the scene and by rivals: agreement with the dense answer to
// the frame.
void BenchMoved(const BenchOptions& options, BenchReport* report);

// Single operators, by every backend, on some of their pixels and on all.
void BenchOperators(const BenchOptions& options, BenchReport* report);

// Bytes from a robot to a server and back, over MPI between programs started apart: plain, and as
// messages of a channel.
void BenchPingPong(const BenchOptions& options, BenchReport* report);

// Ways to align a frame with the one before: block matchers as in DeepCache's Table 4, and
// homographies.
void BenchTracker(const BenchOptions& options, BenchReport* report);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_BENCH_H_
