#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "sparse_ops/cpu/thread_pool.h"
#include "tests/bench/bench.h"
#include "tests/sparse_ops/cases.h"
#include "tests/sparse_ops/cpu/family.h"

namespace cacheinf {
namespace {

using nlohmann::ordered_json;

constexpr std::array kShares = {0.01, 0.1, 0.5, 1.0};

// A rectangle with the map's proportions, in its middle, as lists.
class MiddlePixels {
 public:
  MiddlePixels(const PreparedCase& prepared, double share) {
    const int height = prepared.rows().end;
    const int width = prepared.columns();
    const double side = std::sqrt(share);
    const int rows = std::max(1, static_cast<int>(std::lround(height * side)));
    const int columns = std::max(1, static_cast<int>(std::lround(width * side)));
    const int top = (height - rows) / 2;
    const int left = (width - columns) / 2;
    rows_ = {top, top + rows};
    share_ = 1.0 * rows * columns / (1.0 * height * width);
    before_.push_back(0);
    for (int y = top; y < top + rows; ++y) {
      runs_.push_back({y, left, left + columns});
      before_.push_back(before_.back() + columns);
    }
  }

  ActivePixels pixels() const {
    return {rows_, runs_.data(), before_.data(), static_cast<int>(runs_.size())};
  }
  double share() const { return share_; }

 private:
  Range rows_;
  std::vector<PixelRun> runs_;
  std::vector<int> before_;
  double share_ = 0.0;
};

void MeasureCase(const OperatorCase& operator_case, const OperatorFamily& family, int threads,
                 const TimingOptions& timing_options, BenchReport* report) {
  CaseOptions options;
  options.is_packed = true;
  const PreparedCase prepared = operator_case.Prepare(family, options);
  if (!prepared.run) return;

  std::vector<MiddlePixels> sets;
  if (prepared.map().rank == 4) {
    for (const double share : kShares) sets.emplace_back(prepared, share);
  } else {
    sets.emplace_back(prepared, 1.0);
  }
  std::vector<Turn> turns;
  for (const MiddlePixels& set : sets) {
    turns.push_back([&prepared, &set](int count) {
      return TimeCalls([&] { prepared.run(set.pixels(), nullptr); }, count);
    });
  }
  const Timing timing = TimeTurns(turns, timing_options);
  report->AddNoise(timing);

  const double whole_ms = timing.contenders.back().Median();
  ordered_json line = {{"case", operator_case.name},
                       {"backend", family.name},
                       {"threads", threads},
                       {"whole_ms", whole_ms}};
  for (size_t i = 0; i < sets.size(); ++i) {
    const Samples& samples = timing.contenders[i];
    report->AddRow({{"case", operator_case.name},
                    {"backend", family.name},
                    {"threads", threads},
                    {"share", sets[i].share()},
                    {"median_ms", samples.Median()},
                    {"p10_ms", samples.Quantile(0.1)},
                    {"p90_ms", samples.Quantile(0.9)}});
  }
  for (size_t i = 0; i + 1 < kShares.size(); ++i) {
    ordered_json& cell = line[std::to_string(std::lround(kShares[i] * 100)) + " %"];
    if (sets.size() > 1) cell = timing.contenders[i].Median() / whole_ms;
  }
  report->AddTableRow(std::move(line));
}

bool Wants(const BenchOptions& options, const std::string& family) {
  return options.engines.empty()
             ? family != "reference"
             : std::count(options.engines.begin(), options.engines.end(), family) > 0;
}

}  // namespace

void BenchOperators(const BenchOptions& options, BenchReport* report) {
  for (const std::string& engine : options.engines) {
    if (engine != "cpu" && engine != "reference") {
      throw InputError("there is no backend '" + engine + "' to measure; there are cpu, reference");
    }
  }
  const std::vector<int> all_threads =
      options.threads.empty() ? std::vector<int>{1, 2} : options.threads;
  for (const OperatorCase& operator_case : TimedCases()) {
    if (Wants(options, "reference")) {
      MeasureCase(operator_case, ReferenceFamily(), 1, options.timing, report);
    }
    if (!Wants(options, "cpu")) continue;
    for (const int threads : all_threads) {
      ThreadPool pool(threads);
      MeasureCase(operator_case, CpuFamily(pool), threads, options.timing, report);
    }
  }
  report->AddNote("1 %, 10 %, 50 %: the time with so many active pixels over that of all");
}

}  // namespace cacheinf
