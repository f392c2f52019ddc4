#ifndef CACHEINF_COMMON_GUARD_GUARD_H_
#define CACHEINF_COMMON_GUARD_GUARD_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/answer/agreement.h"
#include "common/answer/answers.h"
#include "common/answer/outputs.h"
#include "common/answer/statistics.h"
#include "common/base/clock.h"
#include "common/base/picture_view.h"
#include "common/config/guard_config.h"
#include "common/config/model_config.h"
#include "common/exec/model_state.h"
#include "common/guard/sampling.h"
#include "common/model/graph/geometry.h"
#include "common/model/picture.h"
#include "common/plan/plan.h"
#include "common/reuse/settings.h"
#include "common/reuse/verdict.h"

namespace cacheinf {

// What a guard reports.
struct GuardReport : SampleCounts {
  GuardState state;                          // of the last answer's plan, at the end
  std::map<std::string, PlanSamples> plans;  // of a server or a smaller model, as text
  double least = 0;                          // as configured
  LatencyHistogram time;                     // taken by samples
  size_t arena_bytes = 0;                    // of the state that computes samples
};

// An answer, and what it was made from.
struct AnsweredFrame {
  int64_t frame;
  Plan plan;        // that computed it
  bool is_whole;    // nothing was reused
  bool sees_moved;  // what the network saw lies elsewhere than in the frame
  const AnswerContent& content;
  FrameOutputs outputs;
  PictureView picture;    // the frame, fitted to the model
  PictureView seen;       // what the network saw instead
  const PictureFit* fit;  // of the frame to the picture
};

// A sample that had anything to compare.
struct JudgedSample {
  int64_t frame = 0;
  Plan plan;
  double agreement = 1;
  double weight = 1;  // as AgreementMeasure has it: at most 1, less for a band or few boxes
};

// Judges some answers that reuse what is stored, or that a server had a part in (sampling.h), once
// they are out. Computes a sample exactly, from the frame alone, on this machine, with a state that
// keeps nothing: mostly a band of random rows for a segmentation, with all that they need of
// earlier layers; otherwise, and always where there may be a server, the whole answer.
//
// The guard computes in steps of a stage at most, and no step waits. To let a frame go first, the
// caller does not take the next step; a sample may stay open while other frames are answered. It
// remains that of its frame, and its verdict takes effect once it is judged:
//
//   guard.Begin(answered);                                  // after every answer
//   while (guard.is_open() && nothing_else_to_do()) guard.Step();
//
// Agreement is top-1, F1 or PCK (agreement.h); for raw outputs, 1 minus the relative error against
// a dense run of what the network saw; for segmentations, CompareRows. A sample of boxes weighs as
// much as it has boxes, so that the estimate is the F1 that a check of the same frames finds. A
// sample in which agreement.h finds no evidence counts for nothing.
class Guard {
 public:
  // Model, settings and decoder must be those of the answers. The clock must outlive the guard.
  // `has_server`: whether a server may have a part in answers.
  Guard(std::shared_ptr<const CompiledModel> model, const GuardConfig& config,
        const ReuseSettings& settings, const DecoderConfig& decoder, const Clock& clock,
        bool has_server = false);

  // Call it for every computed answer, once it is out and before the refresh. Moved ones are not
  // judged: the trials of a robot that chooses plans show how well they agree. Opens a sample of
  // some answers, if none is open, and keeps what it needs of the frame.
  void Begin(const AnsweredFrame& answered);
  bool is_open() const { return sample_.has_value(); }
  // Computes a stage of the open sample (all stages of a band, if the backend only notes them). The
  // last step judges, and returns the sample if it had anything to compare. REQUIRES: a sample is
  // open.
  std::optional<JudgedSample> Step();
  // Takes the Steps left. REQUIRES: a sample is open.
  std::optional<JudgedSample> Finish();
  // Whether another sample is due while the open one is of an answer that the robot worked on to
  // the end. Finish it then: where there is never time for a step, nothing else would find errors
  // in such answers. (A robot that sends pictures waits for their answers.)
  bool is_overdue() const {
    return sampling_.is_overdue() && sample_->plan.kind != Plan::Kind::kRemote;
  }

  // See Sampling.
  GuardState state(const Plan& plan) const { return sampling_.state(plan); }
  Verdict verdict() const { return sampling_.verdict(); }
  void NoteForgotten() { sampling_.NoteForgotten(); }
  const std::string& alarm() const { return sampling_.alarm(); }

  GuardReport report() const;

 private:
  struct Compared {
    AgreementSample sample;
    double frames = 1;  // that it counts for
  };

  // For the open sample.
  void TakeStage();
  void TakeStageOfBand();
  std::optional<Compared> Compare();

  ModelState state_;
  AnswerReader reader_;
  const Clock& clock_;
  const double least_;
  Sampling sampling_;
  Plan last_plan_;

  // The open sample.
  std::optional<Sample> sample_;
  size_t stage_ = 0;  // the next one
  std::chrono::nanoseconds taken_{};
  RowsOfOperators rows_;  // of one stage of a band
  // The answer that it samples.
  PictureView picture_;  // of pixels_
  std::vector<uint8_t> pixels_;
  std::optional<PictureFit> fit_;
  AnswerContent content_;
  OutputNumbers numbers_;
  OutputNumbers exact_numbers_;
  LatencyHistogram time_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_GUARD_GUARD_H_
