#ifndef CACHEINF_COMMON_GUARD_SAMPLING_H_
#define CACHEINF_COMMON_GUARD_SAMPLING_H_

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include "common/config/guard_config.h"
#include "common/guard/safety_levels.h"
#include "common/model/graph/geometry.h"
#include "common/model/graph/graph.h"
#include "common/reuse/settings.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// A part of an answer to compute exactly and compare.
struct Sample {
  bool is_whole = true;
  Range rows;         // of the first output, if not whole
  RowPlan operators;  // that these need
  double cost = 1;    // of a dense run
};

// The results of samples.
struct SampleCounts {
  int64_t samples = 0;                                          // computed
  int64_t samples_with_evidence = 0;                            // had anything to compare
  int64_t whole_samples = 0;                                    // of whole answers
  int64_t bad_samples = 0;                                      // with too little agreement
  int64_t changes = 0;                                          // of the safety level
  std::array<int64_t, WordsOf(SafetyLevel()).size()> frames{};  // answered at each level
};

// Says when and where to sample answers, and what follows for coming decisions: a sample that
// agrees too little makes the next frame a whole one, is soon followed by another sample, and leads
// to safer settings as SafetyLevels says. A sample without anything to compare counts for nothing.
//
// This depends on the graph, the configuration and earlier samples, not on time: each frame adds
// the configured share of a dense run's multiply-adds to what may be spent, twice as much until
// enough samples at the level had anything to compare, and four times as much while one of the last
// was bad. The first sample gets its cost on credit, and is due with the eighth frame at the
// latest. At the level "dense" there is nothing to compute, and samples count as good.
class Sampling {
 public:
  // With bands, samples are mostly random rows of the first output, a map, if these need little
  // enough of a dense run. The graph must outlive this.
  Sampling(const Graph& graph, const GuardConfig& config, const ReuseSettings& settings,
           bool has_bands);

  // Call it for every answer; `is_whole`: nothing in it was reused. Returns the sample to compute
  // and judge now, valid until then; mostly null.
  const Sample* Next(bool is_whole, int64_t frame);

  // Takes the agreement of the last sample that Next gave; nothing if it had nothing to compare.
  void Judge(const std::optional<AgreementSample>& agreement, int64_t frame);

  // The level of the next frame.
  GuardState state() const;

  // For the next decision.
  Verdict verdict() const { return {!alarm_.empty(), levels_.level()}; }

  // What was found wrong since the last Next, in words; empty if nothing.
  const std::string& alarm() const { return alarm_; }

  const SampleCounts& counts() const { return counts_; }

 private:
  Sample Choose();
  Sample Band(int first_row) const;
  int Random(int count);
  bool IsDue();
  double Haste() const;
  void Spend();
  void Add(const AgreementSample& agreement, int64_t frame);

  const Graph& graph_;
  double share_;
  double least_;
  SafetyLevels levels_;
  std::mt19937_64 random_;
  int band_rows_ = 0;  // of the first output; 0: no bands pay
  Sample next_;
  double saved_ = 0;  // to spend on samples, in dense runs
  bool is_put_off_ = false;
  int frames_to_wait_ = 0;
  std::string alarm_;
  SampleCounts counts_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_GUARD_SAMPLING_H_
