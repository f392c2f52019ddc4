#include "common/reuse/frame_cache.h"

#include <utility>

#include "common/exec/spreads.h"

namespace cacheinf {

FrameCache::FrameCache(const CacheSettings& settings, std::unique_ptr<Geometry> geometry,
                       const Clock& clock, ModelState& state)
    : clock_(clock), state_(state), reuse_(settings, state.graph(), std::move(geometry)) {}

FrameWork FrameCache::Run(const PictureView& frame, const Verdict& verdict, int64_t index) {
  const auto begin = clock_.Now();
  const FrameDecision& decision = reuse_.Decide(index, frame, verdict);
  FrameWork work;
  work.tracking = clock_.Now() - begin;
  work.loss = reuse_.placement().loss;
  work.rests = reuse_.rests();
  work.is_dense = decision.kind == FrameDecision::Kind::kWhole;
  const ConstMaskView changed = decision.changed;
  work.active =
      static_cast<double>(CountActive(changed)) / static_cast<double>(changed.pixel_count());
  work.operators = Execute(decision);
  return work;
}

std::optional<RefreshWork> FrameCache::Refresh(const PictureView& frame, const Verdict& verdict) {
  const FrameDecision* const decision = reuse_.DecideRefresh(frame, verdict);
  if (decision == nullptr) return std::nullopt;
  RefreshWork work;
  work.is_anchor = decision->kind == FrameDecision::Kind::kWhole;
  const double share = Execute(*decision).share();
  work.share = work.is_anchor ? 1.0 : share;
  return work;
}

ChangedWork FrameCache::Execute(const FrameDecision& decision) {
  const ChangedWork work = state_.Apply(decision, reuse_.seen(), reuse_.policy());
  reuse_.Commit(work.share());
  const bool is_refresh = decision.kind == FrameDecision::Kind::kRefresh;
  if (!is_refresh && reuse_.AreSpreadsDue()) reuse_.SetSpreads(MeasureSpreads(state_));
  return work;
}

}  // namespace cacheinf
