#ifndef CACHEINF_COMMON_GUARD_SAMPLING_H_
#define CACHEINF_COMMON_GUARD_SAMPLING_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "common/base/fields.h"
#include "common/config/guard_config.h"
#include "common/guard/safety_levels.h"
#include "common/model/graph/geometry.h"
#include "common/model/graph/graph.h"
#include "common/plan/plan.h"
#include "common/reuse/settings.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// A part of an answer to compute exactly and compare.
struct Sample {
  int64_t frame = 0;
  Plan plan;  // by which the answer was computed
  bool is_whole = true;
  Range rows;                 // of the first output, if not whole
  RowsOfOperators operators;  // that these need
  double cost = 1;            // of a dense run
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
CACHEINF_FIELDS(SampleCounts, samples, samples_with_evidence, whole_samples, bad_samples, changes)

// The samples of answers by one plan that a server or a smaller model had a part in.
struct PlanSamples {
  int64_t samples = 0;  // with evidence
  int64_t bad_samples = 0;
  double agreement = 1;  // of the last ones
  bool fails = false;    // they agree too little
};
CACHEINF_FIELDS(PlanSamples, samples, bad_samples, agreement, fails)

// Says when and where to sample answers, and what follows.
//
// For answers of the robot alone: a sample that agrees too little makes the next frame a whole one,
// is soon followed by another sample, and leads to safer settings as SafetyLevels says. For other
// answers, including those of a smaller model, it keeps an estimate per plan, one for all splits.
// The first time that an estimate is too low, a warning says so: the robot's settings cannot mend
// it. A sample without anything to compare counts for nothing.
//
// This depends on the graph, the configuration, the plans and earlier samples, not on time: each
// frame adds the configured share of a dense run's multiply-adds to what may be spent, twice as
// much until enough samples of its plan, or at the level, had anything to compare, and four times
// as much while one of the last was bad and they are not yet too many. The first sample gets its
// cost on credit, and is due with the eighth frame at the latest. At the level "dense" there is
// nothing to compute, and samples count as good.
class Sampling {
 public:
  // With bands, samples are mostly random rows of the first output, a map, if these need little
  // enough of a dense run. The graph must outlive this. REQUIRES: no bands if a server may have a
  // part in answers.
  Sampling(const Graph& graph, const GuardConfig& config, const ReuseSettings& settings,
           bool has_bands);

  // Call it for every answer; `plan` computed it; `is_whole`: nothing in it was reused. Returns the
  // sample to compute and judge; mostly nothing, and nothing while one is to be judged.
  std::optional<Sample> Next(const Plan& plan, bool is_whole, int64_t frame);

  // Whether another sample is due while one is to be judged.
  bool is_overdue() const { return is_overdue_; }

  // Takes the agreement of the sample that Next gave; nothing if it had nothing to compare.
  void Judge(const Sample& sample, const std::optional<AgreementSample>& agreement);

  // How answers by this plan agree, and the level of the next frame.
  GuardState state(const Plan& plan) const;

  // For the next decision. Says "forget" until NoteForgotten, as frames that began before may be
  // answered in between.
  Verdict verdict() const { return {must_forget_, levels_.level()}; }
  // Whoever reuses results has been told to forget them.
  void NoteForgotten() { must_forget_ = false; }

  // What was found wrong since the last Next, in words; empty if nothing.
  const std::string& alarm() const { return alarm_; }

  const SampleCounts& counts() const { return counts_; }
  // By the plan as text, without cuts. If only the samples of all plans together are bad enough,
  // they have an entry, too.
  std::map<std::string, PlanSamples> plans() const;

 private:
  struct WithServer {
    SafetyLevels last;  // of one level
    int64_t samples = 0;
    int64_t bad_samples = 0;
    bool is_reported = false;
  };

  Sample Choose();
  Sample Band(int first_row) const;
  int Random(int count);
  bool IsDue(const Plan& plan);
  const SafetyLevels& SamplesOf(const Plan& plan) const;
  double Haste(const Plan& plan) const;
  Sample Spend();
  void AddAlone(const AgreementSample& agreement, int64_t frame);
  void AddWithServer(const AgreementSample& agreement, const Plan& plan, int64_t frame);
  void Report(const WithServer& of, const std::string& plan, int64_t frame) const;

  const Graph& graph_;
  double share_;
  double least_;
  SafetyLevels levels_;         // of the robot alone
  const SafetyLevels unknown_;  // no samples yet
  std::map<std::string, WithServer> with_server_;
  WithServer together_;  // of all plans in with_server_
  std::mt19937_64 random_;
  int band_rows_ = 0;  // of the first output; 0: no bands pay
  Sample next_;
  double saved_ = 0;  // to spend on samples, in dense runs
  bool is_put_off_ = false;
  int frames_to_wait_ = 0;
  bool is_open_ = false;  // a sample is to be judged
  bool is_overdue_ = false;
  bool must_forget_ = false;
  std::string alarm_;
  SampleCounts counts_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_GUARD_SAMPLING_H_
