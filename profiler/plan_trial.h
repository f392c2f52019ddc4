#ifndef CACHEINF_PROFILER_PLAN_TRIAL_H_
#define CACHEINF_PROFILER_PLAN_TRIAL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/answer/answers.h"
#include "common/answer/outputs.h"
#include "common/answer/smaller_model.h"
#include "common/base/picture_view.h"
#include "common/codec/picture_codec.h"
#include "common/config/model_config.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/model/picture.h"
#include "common/plan/plan.h"

namespace cacheinf {

// How far a plan's dense answer to one picture agrees with the first model's dense answer to it,
// and how much that counts (AgreementMeasure).
struct PlanAgreement {
  Plan plan;
  double agreement = 1;
  double weight = 1;
};

// Finds out what codecs and smaller models cost in agreement, on frames as they come, in small
// steps that fit between them. Each round takes a few frames in a row and answers the last one
// densely. Then, for one codec after the other, it answers what a server would see of that frame at
// the end of a stream of them; and each smaller model answers the frame itself. So one dense answer
// serves all, and all are judged by the same pictures.
//
// A round begins once frames have saved its cost: each saves the given share of a dense run until
// every plan has been judged by kEnough pictures, then half of that, as scenes change. The first
// round is on credit. A picture with nothing to compare, in either answer, says nothing.
//
// Same frames, same results: nothing here looks at a clock.
class PlanTrial {
 public:
  static constexpr double kUsualShare = 0.05;
  static constexpr int64_t kEnough = 8;
  // Frames of a round. A video's first pictures are better than later ones.
  static constexpr size_t kFramesInARow = 8;

  // Judges the codecs in this order in every round, except for lossless ones, which lose nothing,
  // and those that this machine lacks; then the smaller models. `share` may be infinite. Throws
  // InputError for what is no codec, and as SmallerModelReader does. REQUIRES: a model that takes
  // pictures, and codecs that may run here: a pipeline of GStreamer does what it says.
  PlanTrial(std::shared_ptr<const CompiledModel> model, const DecoderConfig& decoder,
            const std::vector<std::string>& codecs, double share = kUsualShare,
            const SmallerModels& smaller = {});

  // Call it for every frame, fitted to the model, in the order in which they would be sent. Copies
  // those that it wants. REQUIRES: with smaller models, the frame itself and how it was fitted.
  void Offer(const PictureView& picture, const Picture& frame = {},
             const PictureFit* fit = nullptr);

  // Runs one stage of a network, or codes one picture. Returns false if there is nothing to do
  // until more frames come. Any frame of the robot may come between two steps.
  bool Step();

  // Returns each result once, as soon as it is there.
  std::optional<PlanAgreement> TakeResult();

 private:
  struct Smaller {
    Smaller(const SmallerModel& smaller, const Graph& first, const DecoderConfig& decoder)
        : state(smaller.model), reader(smaller, first, decoder) {}

    ModelState state;
    SmallerModelReader reader;
    // The round's last frame.
    std::optional<PictureFit> fit = {};
    std::vector<uint8_t> pixels = {};
  };
  struct Candidate {
    Plan plan;
    PictureCodec codec = {};                // unless it is a smaller model
    std::unique_ptr<Smaller> smaller = {};  // or null
    int64_t judged = 0;                     // pictures with anything to compare
  };
  // A codec at work on the round's pictures.
  struct Coding {
    Coding(const PictureCodec& codec, const PictureFormat& format, size_t first)
        : encoder(codec, format), decoder(format), next(first) {}

    PictureEncoder encoder;
    PictureDecoder decoder;
    size_t next;  // picture
  };
  struct Answer {
    AnswerContent content;
    OutputNumbers numbers;
  };

  double CostOfRound() const { return 1.0 + static_cast<double>(candidates_.size()); }
  double Share() const;
  PictureView picture(size_t index) const;
  void BeginAnswer(ModelState& state, const PictureView& seen);
  void FinishAnswer();
  void BeginCandidate();
  void Code(const PictureCodec& codec);
  void Judge(const Answer& answer);
  void DropCodec(const std::string& why);

  const PictureFormat format_;
  ModelState state_;
  AnswerReader reader_;
  const double share_;
  std::vector<Candidate> candidates_;
  std::deque<PlanAgreement> results_;

  double saved_ = 0;                            // in dense runs
  std::vector<std::vector<uint8_t>> pictures_;  // of the round
  size_t taken_ = 0;                            // of them
  std::optional<PictureFit> fit_;               // of the last frame, if known
  ModelState* answering_ = nullptr;             // at work on an answer
  std::optional<Answer> dense_;                 // to the last picture
  size_t candidate_ = 0;                        // whose turn it is
  std::optional<Coding> coding_;
  std::vector<uint8_t> bytes_;
};

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_PLAN_TRIAL_H_
