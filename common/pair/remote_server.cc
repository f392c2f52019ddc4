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

bool IsWithin(const Range& part, int whole) {
  return part.begin >= 0 && part.begin < part.end && part.end <= whole;
}

}  // namespace

RemoteServer::RemoteServer(std::shared_ptr<const CompiledModel> model,
                           const message::Settings& settings, Channel& channel, const Clock& clock,
                           OnPicture on_picture)
    : channel_(channel),
      clock_(clock),
      model_(std::move(model)),
      settings_(settings.shared),
      reuse_settings_(Resolve(settings_)),
      decoder_(PictureFormatOf(model_->graph())),
      on_picture_(std::move(on_picture)) {}

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
  Turn(ToDo::kNothing);
  if (const char* const fault = Decode(frame)) {
    Say(channel_, message::FrameRefusal{frame.number, fault});
    return;
  }
  Turn(ToDo::kAnswer);
  const std::chrono::milliseconds left(frame.left_ms);
  const bool is_due = frame.left_ms != 0;
  due_at_ = is_due ? begin + left : std::chrono::nanoseconds::max();
  drop_at_ = is_due ? due_at_ + left : std::chrono::nanoseconds::max();
  done_ = {.number = frame.number};
  done_.times.server_decoding = clock_.Now() - begin;
  frame_ = frame.frame;
  if (on_picture_) on_picture_(frame_, decoder_.picture(), model_->graph().picture);
}

void RemoteServer::Take(const message::GiveUp& give_up) {
  if (is_open() && done_.number == give_up.number) Turn(ToDo::kNothing);
}

// Abandons what is being computed.
void RemoteServer::Turn(ToDo to_do) {
  to_do_ = to_do;
  computed_ = {};
  if (computing_ != nullptr) std::exchange(computing_, nullptr)->Abandon();
}

bool RemoteServer::Step(std::chrono::nanoseconds queued) {
  if (to_do_ == ToDo::kNothing) return false;
  const auto begin = clock_.Now();
  if (is_open() && begin >= drop_at_) {
    Turn(ToDo::kNothing);
    return false;
  }
  if (computing_ != nullptr) {
    computing_->Step();
  } else if (!Begin()) {
    return false;
  }
  // In the same step, so that a device gets no other robot's work in between.
  const bool is_last = computing_->next_stage() == computing_->stage_count();
  if (is_last) Commit();
  computed_ += clock_.Now() - begin;
  if (is_last) End(queued);
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

// Begins what is to do. Returns false if there is nothing.
bool RemoteServer::Begin() {
  if (!keeps_) {
    if (!whole_) whole_.emplace(model_);
    whole_->BeginFrame(FrameDecision(), decoder_.picture(), {});  // whole
    computing_ = &*whole_;
    return true;
  }
  if (!kept_) MakeKept();
  reuse_->MeasureSpreadsIfDue(*kept_);
  const FrameDecision* const decision = to_do_ == ToDo::kAnswer
                                            ? &reuse_->Decide(frame_, decoder_.picture(), {})
                                            : reuse_->DecideRefresh(decoder_.picture(), {});
  if (decision == nullptr) {
    to_do_ = ToDo::kNothing;
    return false;
  }
  kept_->BeginFrame(*decision, reuse_->seen(), reuse_->policy());
  computing_ = &*kept_;
  return true;
}

void RemoteServer::Commit() {
  const ModelState& state = *computing_;
  const ChangedWork done = std::exchange(computing_, nullptr)->Commit();
  const FrameWork work = keeps_ ? reuse_->Commit(done) : FrameWork();
  if (to_do_ == ToDo::kRefresh) return;
  done_.work = work;
  if (keeps_) {
    done_.kind = reuse_->decision().kind;
    done_.frame_from_seen = reuse_->placement().frame_from_seen;
  }
  PackOutputs(state);
}

// Notes what was committed.
void RemoteServer::End(std::chrono::nanoseconds queued) {
  if (to_do_ == ToDo::kRefresh) return Turn(ToDo::kNothing);
  done_.times.server_computing = computed_;
  done_.times.server_queueing = queued;
  Say(channel_, std::move(done_));
  Turn(keeps_ ? ToDo::kRefresh : ToDo::kNothing);
}

void RemoteServer::PackOutputs(const ModelState& state) {
  const Graph& graph = model_->graph();
  for (const ValueId output : graph.outputs) {
    const Mask mask = AllPixelsOf(graph.value(output));
    const ConstMaskView all = mask;
    std::vector<uint8_t> slice;
    AppendSlice(model_->backend(), state.view(output), output, {0, all.height}, all, &slice);
    if (settings_.most_scores > 0 && output == graph.outputs.front()) {
      KeepBestScores(settings_.most_scores, &slice);
    }
    AppendCodedSlice(settings_.slice_codec, slice, &done_.outputs.emplace_back());
  }
}

}  // namespace cacheinf
