#ifndef CACHEINF_TESTS_BENCH_BENCH_H_
#define CACHEINF_TESTS_BENCH_BENCH_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/model/graph.h"
#include "tests/bench/timing.h"

namespace cacheinf {

struct BenchOptions {
  std::vector<std::filesystem::path> models;  // empty: the bench's own
  std::vector<Shape> input_shapes;            // of --shape; empty: the file's own
  std::vector<int> threads = {1};
  TimingOptions timing;
};

// What a bench found: rows of the same keys, in the order in which the table shows them.
class BenchReport {
 public:
  void AddRow(nlohmann::ordered_json row);
  // A line under the table: what is missing, or what to doubt.
  void AddNote(const std::string& note);
  // Keeps the worst.
  void AddNoise(const Timing& timing);

  std::string Table() const;
  // {"bench", "commit", "machine", "date", "rows", "notes", "noise"}
  nlohmann::ordered_json ToJson(const std::string& bench, const std::string& commit) const;

 private:
  std::vector<nlohmann::ordered_json> rows_;
  std::vector<std::string> notes_;
  double noise_ = 1.0;
};

// A named measurement.
struct Bench {
  const char* name;
  const char* what;
  void (*run)(const BenchOptions& options, BenchReport* report);
};

// Our executor beside LibTorch, every operator computed on the whole picture.
void BenchDense(const BenchOptions& options, BenchReport* report);

// For BenchDense, in a process of its own: {"first_answer_ms", "peak_mb"} of an engine, from
// opening the model file on.
nlohmann::ordered_json FirstAnswer(const std::string& engine_name, const BenchOptions& options);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_BENCH_H_
