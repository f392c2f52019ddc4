#ifndef CACHEINF_PROFILER_CODEC_TRIAL_H_
#define CACHEINF_PROFILER_CODEC_TRIAL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/answer/answers.h"
#include "common/answer/outputs.h"
#include "common/base/picture_view.h"
#include "common/codec/picture_codec.h"
#include "common/config/model_config.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"

namespace cacheinf {

// How far the dense answer to one decoded picture agrees with the dense answer to the picture
// itself, and how much that counts (AgreementMeasure).
struct CodecAgreement {
  std::string codec;
  double agreement = 1;
  double weight = 1;
};

// Finds out what codecs cost in agreement, on frames as they come, in small steps that fit between
// them. In rounds: takes a few frames in a row, answers the last one densely, and then, for one
// codec after the other, what a server would see of it at the end of a stream of them. So one dense
// answer serves all codecs, and all are judged by the same pictures.
//
// A round begins once frames have saved what it costs: the given share of a dense run each, until
// every codec has been judged by kEnough pictures, then half of that, as scenes change. The first
// round is on credit. A picture with nothing to compare, in either answer, says nothing.
//
// Same frames, same results: nothing here looks at a clock.
class CodecTrial {
 public:
  static constexpr double kUsualShare = 0.05;
  static constexpr int64_t kEnough = 8;
  // Of a round. A video's first pictures are better than those that follow.
  static constexpr size_t kFramesInARow = 8;

  // Judges the codecs in this order in every round, except for lossless ones, which lose nothing,
  // and those that this machine lacks. `share` may be infinite. Throws InputError for what is no
  // codec. REQUIRES: a model that takes pictures, and codecs that may run here: a pipeline of
  // GStreamer does what it says.
  CodecTrial(std::shared_ptr<const CompiledModel> model, const DecoderConfig& decoder,
             const std::vector<std::string>& codecs, double share = kUsualShare);

  // Call it for every frame, fitted to the model, in the order in which they would be sent. Copies
  // those that it wants.
  void Offer(const PictureView& picture);

  // Runs one stage of the network, or codes one picture. Returns false if there is nothing to do
  // before further frames. Any frame of the robot may come between two steps.
  bool Step();

  // Returns each result once, as soon as it is there.
  std::optional<CodecAgreement> TakeResult();

 private:
  struct Candidate {
    std::string text;
    PictureCodec codec;
    int64_t judged = 0;  // pictures with anything to compare
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
  void BeginAnswer(const PictureView& seen);
  Answer TakeAnswer();
  void Code();
  void Judge(const Answer& answer);
  void DropCodec(const std::string& why);

  const PictureFormat format_;
  ModelState state_;
  AnswerReader reader_;
  const double share_;
  std::vector<Candidate> candidates_;
  std::deque<CodecAgreement> results_;

  double saved_ = 0;                            // in dense runs
  std::vector<std::vector<uint8_t>> pictures_;  // of the round
  size_t taken_ = 0;                            // of them
  bool is_answering_ = false;
  std::optional<Answer> dense_;  // to the last picture
  size_t candidate_ = 0;         // whose turn it is
  std::optional<Coding> coding_;
  std::vector<uint8_t> bytes_;
};

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_CODEC_TRIAL_H_
