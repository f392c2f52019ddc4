#include "common/pair/remote_server.h"

#include <chrono>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/canvas/make_geometry.h"
#include "common/codec/slice_codec.h"
#include "common/exec/slice.h"
#include "common/pair/best_scores.h"
#include "common/pair/remote_picture.h"
#include "common/pair/say.h"
#include "common/tracker/tracker.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

bool IsWithin(const Range& part, int whole) {
  return part.begin >= 0 && part.begin < part.end && part.end <= whole;
}

}  // namespace

RemoteServer::RemoteServer(std::shared_ptr<const CompiledModel> model,
                           const message::Settings& settings, Channel& channel, const Clock& clock,
                           OnPicture on_picture, Slowdown slowdown)
    : channel_(channel),
      clock_(clock),
      model_(std::move(model)),
      settings_(settings.shared),
      reuse_settings_(Resolve(settings_)),
      decoder_(PictureFormatOf(model_->graph())),
      on_picture_(std::move(on_picture)),
      slowdown_(std::move(slowdown)) {}

void RemoteServer::MakeKept() {
  std::unique_ptr<Tracker> tracker;
  if (reuse_settings_.follows_camera()) tracker = MakeTracker(settings_.tracker);
  const Graph& graph = model_->graph();
  kept_.emplace(model_, OptionsFor(reuse_settings_, graph));
  reuse_.emplace(reuse_settings_, graph, MakeGeometry(reuse_settings_, graph, std::move(tracker)));
  reuse_->SetPlaceOfFrames(place_);
}

void RemoteServer::Take(const message::RemoteFrame& frame) {
  const auto begin = clock_.Now();
  may_refresh_ = false;
  wanted_.reset();
  if (const char* const fault = Decode(frame)) {
    Say(channel_, message::FrameRefusal{frame.number, fault});
    return;
  }
  slowdown_.CatchUp();
  wanted_.emplace();
  wanted_->frame = frame.number;
  wanted_->decode_us = message::Microseconds(clock_.Now() - begin);
  frame_ = frame.frame;
  if (on_picture_) on_picture_(frame_, decoder_.picture(), model_->graph().picture);
}

void RemoteServer::Take(const message::GiveUp& give_up) {
  if (wanted_ && wanted_->frame == give_up.frame) wanted_.reset();
}

bool RemoteServer::Step(std::chrono::nanoseconds queued) {
  if (!wanted_) return false;
  const auto begin = clock_.Now();
  message::Answer answer = *std::exchange(wanted_, std::nullopt);
  PackOutputs(Compute(&answer), &answer);
  slowdown_.CatchUp();
  answer.compute_us = message::Microseconds(clock_.Now() - begin);
  answer.queue_us = message::Microseconds(queued);
  Say(channel_, std::move(answer));
  may_refresh_ = keeps_;
  return true;
}

// Returns null, or why there is no picture.
const char* RemoteServer::Decode(const message::RemoteFrame& frame) {
  const PictureSpec& spec = model_->graph().picture;
  if (!IsWithin(frame.place.rows, spec.height) || !IsWithin(frame.place.columns, spec.width)) {
    return "the frame's place is not in the picture";
  }
  if (const char* const fault = decoder_.Decode(frame.picture)) return fault;
  if (reuse_ && frame.place != place_) reuse_->SetPlaceOfFrames(frame.place);
  place_ = frame.place;
  keeps_ = frame.keeps;
  return nullptr;
}

// Returns the state that then holds the outputs.
ModelState& RemoteServer::Compute(message::Answer* answer) {
  if (!keeps_) {
    if (!whole_) whole_.emplace(model_);
    FrameDecision whole;
    whole.kind = FrameDecision::Kind::kWhole;
    whole_->Apply(whole, decoder_.picture(), {});
    answer->active = answer->work = 1;
    return *whole_;
  }
  if (!kept_) MakeKept();
  reuse_->MeasureSpreadsIfDue(*kept_);
  const FrameDecision& decision = reuse_->Decide(frame_, decoder_.picture(), {});
  const FrameWork work = reuse_->Commit(kept_->Apply(decision, reuse_->seen(), reuse_->policy()));
  answer->kind = decision.kind;
  answer->active = static_cast<float>(work.active);
  answer->work = static_cast<float>(work.share);
  answer->frame_from_seen = reuse_->placement().frame_from_seen;
  return *kept_;
}

void RemoteServer::PackOutputs(const ModelState& state, message::Answer* answer) {
  const Graph& graph = model_->graph();
  for (const ValueId output : graph.outputs) {
    const Mask mask = AllPixelsOf(graph.value(output));
    const ConstMaskView all = mask;
    std::vector<uint8_t> slice;
    AppendSlice(model_->backend(), state.view(output), output, {0, all.height}, all, &slice);
    if (settings_.most_scores > 0 && output == graph.outputs.front()) {
      KeepBestScores(settings_.most_scores, &slice);
    }
    AppendCodedSlice(settings_.slice_codec, slice, &answer->outputs.emplace_back());
  }
}

bool RemoteServer::Refresh() {
  if (!std::exchange(may_refresh_, false)) return false;
  reuse_->MeasureSpreadsIfDue(*kept_);
  const FrameDecision* const decision = reuse_->DecideRefresh(decoder_.picture(), {});
  if (decision == nullptr) return false;
  reuse_->Commit(kept_->Apply(*decision, reuse_->seen(), reuse_->policy()));
  return true;
}

}  // namespace cacheinf
