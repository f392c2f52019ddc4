#include "common/pair/remote_server.h"

#include <chrono>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/canvas/make_geometry.h"
#include "common/codec/slice_codec.h"
#include "common/exec/slice.h"
#include "common/pair/remote_picture.h"
#include "common/pair/say.h"
#include "common/tracker/tracker.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

bool IsDense(const message::Settings& settings) {
  return settings.server_mode == message::Settings::ServerMode::kDense;
}

ReuseSettings ReuseOf(const message::Settings& settings) {
  ChangeConfig change;
  change.threshold = settings.change_threshold;
  return Resolve(settings.cache, change);
}

StateOptions StateOptionsOf(const message::Settings& settings, const Graph& graph) {
  return IsDense(settings) ? StateOptions() : OptionsFor(ReuseOf(settings), graph);
}

bool IsWithin(const Range& part, int whole) {
  return part.begin >= 0 && part.begin < part.end && part.end <= whole;
}

}  // namespace

RemoteServer::RemoteServer(std::shared_ptr<const CompiledModel> model,
                           const message::Settings& settings, Channel& channel, const Clock& clock,
                           Watch watch, Slowdown slowdown)
    : channel_(channel),
      clock_(clock),
      model_(std::move(model)),
      state_(model_, StateOptionsOf(settings, model_->graph())),
      decoder_(PictureFormatOf(model_->graph())),
      slice_codec_(settings.slice_codec),
      watch_(std::move(watch)),
      slowdown_(std::move(slowdown)) {
  if (IsDense(settings)) return;
  const ReuseSettings reuse = ReuseOf(settings);
  std::unique_ptr<Tracker> tracker;
  if (reuse.follows_camera()) {
    TrackerConfig config;
    config.kind = settings.tracker;
    tracker = MakeTracker(config);
  }
  cache_.emplace(reuse, MakeGeometry(reuse, model_->graph(), std::move(tracker)), clock_, state_);
}

void RemoteServer::Take(const message::Frame& frame) {
  const auto begin = clock_.Now();
  may_refresh_ = false;
  wanted_.reset();
  if (const char* const fault = Decode(frame)) {
    Say(channel_, message::FrameRefusal{frame.decision.number, fault});
    return;
  }
  slowdown_.CatchUp();
  wanted_.emplace();
  wanted_->frame = frame.decision.number;
  wanted_->decode_us = duration_cast<microseconds>(clock_.Now() - begin).count();
  frame_ = frame.decision.frame;
  if (watch_) watch_(frame_, decoder_.picture(), model_->graph().picture);
}

void RemoteServer::Take(const message::GiveUp& give_up) {
  if (wanted_ && wanted_->frame == give_up.frame) wanted_.reset();
}

bool RemoteServer::Step() {
  if (!wanted_) return false;
  const auto begin = clock_.Now();
  message::Answer answer = *std::exchange(wanted_, std::nullopt);
  Compute(&answer);
  PackOutputs(&answer);
  slowdown_.CatchUp();
  answer.compute_us = duration_cast<microseconds>(clock_.Now() - begin).count();
  Say(channel_, std::move(answer));
  may_refresh_ = cache_.has_value();
  return true;
}

// Null, or why there is no picture.
const char* RemoteServer::Decode(const message::Frame& frame) {
  const PictureSpec& spec = model_->graph().picture;
  if (!IsWithin(frame.place.rows, spec.height) || !IsWithin(frame.place.columns, spec.width)) {
    return "the frame's place is not in the picture";
  }
  if (const char* const fault = decoder_.Decode(frame.picture)) return fault;
  if (cache_ && frame.place != place_) cache_->SetPlaceOfFrames(frame.place);
  place_ = frame.place;
  return nullptr;
}

void RemoteServer::Compute(message::Answer* answer) {
  if (!cache_) {
    state_.SetPicture(decoder_.picture());
    state_.Run();
    answer->active = answer->work = 1.0;
    return;
  }
  const FrameWork work = cache_->Run(decoder_.picture(), {}, frame_);
  answer->kind = cache_->reuse().decision().kind;
  answer->active = work.active;
  answer->work = work.share();
  answer->frame_from_seen = cache_->reuse().placement().frame_from_seen;
}

void RemoteServer::PackOutputs(message::Answer* answer) {
  const Graph& graph = model_->graph();
  for (const ValueId output : graph.outputs) {
    const Mask mask = AllPixelsOf(graph.value(output));
    const ConstMaskView all = mask;
    std::vector<uint8_t> slice;
    AppendSlice(model_->backend(), state_.view(output), output, {0, all.height}, all, &slice);
    AppendCodedSlice(slice_codec_, slice, &answer->outputs.emplace_back());
  }
}

bool RemoteServer::Refresh() {
  if (!std::exchange(may_refresh_, false)) return false;
  return cache_->Refresh(decoder_.picture()).has_value();
}

}  // namespace cacheinf
