#ifndef CACHEINF_TESTS_GUARD_ANSWERING_H_
#define CACHEINF_TESTS_GUARD_ANSWERING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/answer/answers.h"
#include "common/answer/seen_picture.h"
#include "common/base/clock.h"
#include "common/base/picture_view.h"
#include "common/canvas/make_geometry.h"
#include "common/config/robot_config.h"
#include "common/exec/compiled_model.h"
#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "common/guard/guard.h"
#include "common/model/picture.h"
#include "common/plan/plan.h"
#include "common/reuse/reuse.h"
#include "common/reuse/settings.h"
#include "common/source/frame_source.h"
#include "common/tracker/tracker.h"
#include "tests/reuse/reused_frames.h"

namespace cacheinf {

// Answers the frames of a clip, each from what is stored of those before.
class Answering {
 public:
  Answering(const std::shared_ptr<const CompiledModel>& model, const RobotConfig& config,
            const Clock& clock)
      : settings_(Resolve(config.cache, config.tracker.change)),
        state_(model, OptionsFor(settings_, model->graph())),
        reader_(model->graph(), config.model_config.decoder),
        reused_(settings_, MakeGeometry(settings_, model->graph(), MakeTracker(config.tracker)),
                state_),
        guard_(model, config.guard, settings_, config.model_config.decoder, clock) {}

  // Answers a frame. Returns whether something was reused.
  bool Answer(const Frame& frame) {
    if (!fit_) fit_.emplace(state_.graph().picture, frame.picture.width, frame.picture.height);
    pixels_.resize(picture().byte_count());
    fit_->Resize(frame.picture, {0, picture().height}, pixels_.data());
    const FrameWork work = reused_.Run(picture(), guard_.verdict(), frame.index);
    guard_.NoteForgotten();
    content_ = reader_.Read(state_, {&*fit_, reused_.reuse().placement().frame_from_seen});
    return !work.is_dense;
  }

  // Lets the guard judge the answer, all at once if it does.
  void Judge() {
    Begin();
    if (guard_.is_open()) guard_.Finish();
  }

  void Begin() {
    const Reuse& reuse = reused_.reuse();
    const bool is_whole = reuse.decision().kind == FrameDecision::Kind::kWhole;
    guard_.Begin({reuse.decision().frame, Plan(), is_whole, false, content_, state_, picture(),
                  reuse.seen(), &*fit_});
  }

  void Refresh() { reused_.Refresh(picture(), guard_.verdict()); }

  PictureView picture() const {
    const PictureSpec& spec = state_.graph().picture;
    return {pixels_.data(), spec.width, spec.height, fit_->channels()};
  }
  const AnswerContent& content() const { return content_; }
  Guard& guard() { return guard_; }

 private:
  ReuseSettings settings_;
  ModelState state_;
  AnswerReader reader_;
  ReusedFrames reused_;
  Guard guard_;
  std::optional<PictureFit> fit_;
  std::vector<uint8_t> pixels_;
  AnswerContent content_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_GUARD_ANSWERING_H_
