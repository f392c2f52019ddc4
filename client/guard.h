#ifndef CACHEINF_CLIENT_GUARD_H_
#define CACHEINF_CLIENT_GUARD_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "client/answer/agreement.h"
#include "client/answer/answers.h"
#include "client/answer/statistics.h"
#include "client/robot.h"
#include "common/base/clock.h"
#include "common/config/robot_config.h"
#include "common/exec/executor.h"
#include "common/model/graph/geometry.h"
#include "common/reuse/picture_input.h"
#include "common/reuse/safety_levels.h"

namespace cacheinf {

// How far these rows of a map of classes agree with the exact ones: the intersection over union of
// classes, averaged over the exact rows' most frequent one and all others that cover at least a
// hundredth of the rows in either map. To every class a five-hundredth of the rows' pixels is added
// as agreeing, so that the border of a small class says little. The weight is the number of pixels
// that are not of the most frequent class in both, with as many added. REQUIRES: maps of one size,
// at least one row, classes that are not negative.
AgreementSample CompareRows(const ClassMap& answer, const ClassMap& exact, const Range& rows);

// What a guard came to.
struct GuardReport {
  GuardState state;                                 // at the end
  int64_t samples = 0;                              // computed
  int64_t whole_samples = 0;                        // of these, of whole answers
  int64_t bad_samples = 0;                          // of these, below the least
  int64_t changes = 0;                              // of the level
  std::array<int64_t, kSafetyLevelCount> frames{};  // answered at each level
  LatencyHistogram time;                            // that samples took
  size_t arena_bytes = 0;                           // of the executor for samples
};

// Watches over a robot in mode cache. Now and then, once an answer is out, a sample of it is
// computed exactly, from the frame alone, by an executor that keeps nothing: of a segmentation
// mostly a band of random rows, with all that they need of the layers before; else the whole
// answer. A sample that agrees too little makes the next frame a whole one, is followed by another
// one soon, and moves the robot to safer settings as SafetyLevels says.
//
// When a sample is taken and where depends on the graph, the configuration and the samples before,
// not on time: each frame adds the configured share of a dense run's multiply-adds to what may be
// spent, four times that while in doubt. The first sample is lent what it costs, and is due with
// the eighth frame at the latest. At the level "dense" there is nothing to compute, and samples
// count as good.
//
// Agreement is top-1, F1, or PCK (agreement.h); of raw outputs 1 less the relative error, against
// a dense run of what the network saw; of segmentations CompareRows. Two boxes that agree are
// counted in addition, so that a sample with hardly anything in it says little.
class Guard {
 public:
  // As for the robot, which is in mode cache.
  Guard(std::shared_ptr<const Graph> graph, std::unique_ptr<Backend> backend,
        const RobotConfig& config, const Clock& clock);

  // At which level the next frame is answered.
  GuardState state() const { return {levels_.level(), levels_.estimate()}; }

  // To be called for every answer once it is out, before the robot's Refresh. Returns the time that
  // a sample took, if there was one.
  std::optional<std::chrono::nanoseconds> Watch(const Answer& answer, Robot& robot);

  // What the last Watch found wrong, for people; empty if nothing.
  const std::string& alarm() const { return alarm_; }

  GuardReport report() const;

 private:
  // What is to be computed next.
  struct Plan {
    bool is_whole = true;
    Range rows;         // of the first output, if not
    RowPlan operators;  // that these need
    double cost = 1;    // of a dense run
  };

  Plan ChooseNext();
  Plan PlanBand(int first_row) const;
  int Random(int count);
  bool IsDue();
  AgreementSample Compare(const Answer& answer, const Robot& robot);
  void Judge(const AgreementSample& sample, int64_t frame, Robot& robot);

  Executor executor_;
  AnswerReader reader_;
  const Clock& clock_;
  CacheSettings configured_;
  double share_;
  double least_;
  SafetyLevels levels_;
  std::mt19937_64 random_;
  int band_rows_ = 0;  // of the first output; 0: there are no bands that pay
  Plan next_;
  double saved_ = 0;  // to be spent on samples, in dense runs
  bool is_put_off_ = false;
  int frames_to_wait_ = 0;
  PictureInput input_;
  OutputNumbers numbers_;
  OutputNumbers exact_numbers_;
  std::string alarm_;
  GuardReport report_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_GUARD_H_
