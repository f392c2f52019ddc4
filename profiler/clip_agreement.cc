#include "profiler/clip_agreement.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "common/answer/agreement.h"
#include "common/answer/answers.h"
#include "common/answer/outputs.h"
#include "common/answer/seen_picture.h"
#include "common/canvas/make_geometry.h"
#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "common/reuse/reuse.h"
#include "common/reuse/settings.h"
#include "common/tracker/tracker.h"
#include "profiler/plan_trial.h"

namespace cacheinf {
namespace {

// Asked before every step; false: enough.
using GoOn = std::function<bool()>;

void JudgeCodecs(const std::shared_ptr<const CompiledModel>& model, const DecoderConfig& decoder,
                 const FittedClip& clip, const GoOn& go_on, std::vector<ProfiledCodec>* codecs) {
  std::vector<std::string> names;
  for (const ProfiledCodec& codec : *codecs) names.push_back(codec.codec);
  PlanTrial trial(model, decoder, names, std::numeric_limits<double>::infinity());
  for (size_t i = 0; i < clip.pictures.size(); ++i) {
    const bool may_stop = i % PlanTrial::kFramesInARow == 0 && i > 0;
    if (may_stop && !go_on()) return;
    trial.Offer(clip.picture(i));
    while (trial.Step()) {
    }
    while (const std::optional<PlanAgreement> result = trial.TakeResult()) {
      std::ranges::find(*codecs, result->plan.codec, &ProfiledCodec::codec)
          ->judged.Add(result->agreement, result->weight);
    }
  }
}

// A robot that answers alone.
void JudgeCache(const std::shared_ptr<const CompiledModel>& model, const SharedSettings& shared,
                const DecoderConfig& decoder, const FittedClip& clip, const GoOn& go_on,
                JudgedAgreement* judged) {
  const ReuseSettings settings = Resolve(shared);
  const Graph& graph = model->graph();
  auto tracker = settings.follows_camera() ? MakeTracker(shared.tracker) : nullptr;
  Reuse reuse(settings, graph, MakeGeometry(settings, graph, std::move(tracker)));
  reuse.SetPlaceOfFrames(clip.place);
  ModelState kept(model, OptionsFor(settings, graph));
  ModelState dense(model);
  AnswerReader reader(graph, decoder);
  OutputNumbers numbers;
  OutputNumbers dense_numbers;
  for (size_t i = 0; i < clip.pictures.size(); ++i) {
    if (i >= kLeastClipFrames && !go_on()) return;
    const PictureView picture = clip.picture(i);
    reuse.MeasureSpreadsIfDue(kept);
    const FrameDecision& decision = reuse.Decide(static_cast<int64_t>(i), picture, {});
    reuse.Commit(kept.Apply(decision, reuse.seen(), reuse.policy()));
    const SeenPicture seen = {nullptr, reuse.placement().frame_from_seen};
    const AnswerContent content = reader.Read(kept, seen);
    ReadOutputs(kept, numbers);
    if (i > 0) {  // the first frame has nothing to reuse
      dense.SetPicture(picture);
      dense.Run();
      ReadOutputs(dense, dense_numbers);
      const AgreementMeasure measure =
          MeasureOfFrame(content, numbers, reader.Read(dense, {}), dense_numbers,
                         seen.model_from_seen.IsIdentity());
      if (measure.value) judged->Add(*measure.value, measure.weight);
    }
    reuse.MeasureSpreadsIfDue(kept);
    if (const FrameDecision* const refresh = reuse.DecideRefresh(picture, {})) {
      reuse.Commit(kept.Apply(*refresh, reuse.seen(), reuse.policy()));
    }
  }
}

}  // namespace

bool ShowsAgreement(const FittedClip& clip) {
  return clip.source != "generated" && !clip.source.starts_with("generated:");
}

void JudgeOnClips(const std::shared_ptr<const CompiledModel>& model, const SharedSettings& settings,
                  const DecoderConfig& decoder, const std::vector<FittedClip>& clips,
                  double seconds, const Clock& clock,
                  const std::function<bool(double left_s)>& go_on, Profile* profile) {
  const auto begin = clock.Now();
  double clips_left = 0;
  for (const FittedClip& clip : clips) clips_left += ShowsAgreement(clip) ? 1 : 0;
  bool is_ended = false;
  const auto until = [&](double end_left_s) {
    return [&, end_left_s] {
      const double left_s = seconds - Milliseconds(clock.Now() - begin) / 1e3;
      is_ended = is_ended || !go_on(std::max(0.0, left_s));
      return !is_ended && left_s > end_left_s;
    };
  };
  for (const FittedClip& clip : clips) {
    if (is_ended || !ShowsAgreement(clip)) continue;
    const double left_s = seconds - Milliseconds(clock.Now() - begin) / 1e3;
    const double for_clip_s = left_s / clips_left--;
    JudgeCodecs(model, decoder, clip, until(left_s - for_clip_s / 2), &profile->codecs);
    JudgeCache(model, settings, decoder, clip, until(left_s - for_clip_s), &profile->cache_judged);
  }
}

}  // namespace cacheinf
