#ifndef CACHEINF_COMMON_GUARD_GUARD_H_
#define CACHEINF_COMMON_GUARD_GUARD_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

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
#include "common/model/picture.h"
#include "common/reuse/settings.h"
#include "common/reuse/verdict.h"

namespace cacheinf {

struct FrameDecision;

// How far these rows of a map of classes agree with the exact ones: the intersection over union,
// averaged over the exact rows' most frequent class and all others that cover at least a hundredth
// of the rows in either map. Each class gets a five-hundredth of the rows' pixels added as
// agreeing, so that the border of a small class says little. The weight is the number of pixels
// that do not have the most frequent class in both, plus the same addition. REQUIRES: maps of one
// size, at least one row, classes that are not negative.
AgreementSample CompareRows(const ClassMap& answer, const ClassMap& exact, const Range& rows);

// What a guard reports.
struct GuardReport : SampleCounts {
  GuardState state;        // at the end
  LatencyHistogram time;   // taken by samples
  size_t arena_bytes = 0;  // of the state that computes samples
};

// An answer, and what it was made from.
struct AnsweredFrame {
  const FrameDecision& decision;  // not a refresh
  const AnswerContent& content;
  FrameOutputs outputs;
  PictureView picture;    // the frame, fitted to the model
  PictureView seen;       // what the network saw instead
  const PictureFit* fit;  // of the frame to the picture
};

// Judges some answers that reuse what is stored (sampling.h), once they are out. Computes a sample
// exactly, from the frame alone, with a state that keeps nothing: mostly a band of random rows for
// a segmentation, with all that they need of earlier layers; otherwise the whole answer.
//
// Agreement is top-1, F1 or PCK (agreement.h); for raw outputs, 1 minus the relative error against
// a dense run of what the network saw; for segmentations, CompareRows. A sample of boxes weighs as
// much as it has boxes, so that the estimate is the F1 that a check of the same frames finds. A
// sample in which agreement.h finds no evidence counts for nothing.
class Guard {
 public:
  // Model, settings and decoder must be those of the answers. The clock must outlive the guard.
  Guard(std::shared_ptr<const CompiledModel> model, const GuardConfig& config,
        const ReuseSettings& settings, const DecoderConfig& decoder, const Clock& clock);

  // Call it for every answer, once it is out and before the refresh.
  void Judge(const AnsweredFrame& answered);

  // See Sampling.
  GuardState state() const { return sampling_.state(); }
  Verdict verdict() const { return sampling_.verdict(); }
  const std::string& alarm() const { return sampling_.alarm(); }

  GuardReport report() const;

 private:
  std::optional<AgreementSample> Compare(const AnsweredFrame& answered, const Sample& sample);

  ModelState state_;
  AnswerReader reader_;
  const Clock& clock_;
  Sampling sampling_;
  OutputNumbers numbers_;
  OutputNumbers exact_numbers_;
  LatencyHistogram time_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_GUARD_GUARD_H_
