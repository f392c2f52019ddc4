#include "common/reuse/frame_cache.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "common/base/error.h"
#include "common/exec/cache_choice.h"
#include "common/exec/spreads.h"
#include "common/exec/stem.h"

namespace cacheinf {

// Always keeps the maps on which a stem's changes are judged.
StateOptions OptionsFor(const ReuseSettings& settings, const Graph& graph) {
  const bool moves = settings.is_by_warp();
  if (settings.budget_mb == 0) return {.persistent = {}, .keep = Keep::kAll, .moves = moves};
  const auto budget_bytes = static_cast<size_t>(settings.budget_mb * 1e6);
  const std::vector<ValueId> tested = StemOutputs(graph, settings.change_policy().stem_depth);
  const CacheChoice choice = ChooseCaches(graph, budget_bytes, tested, moves);
  if (choice.bytes > budget_bytes) {
    throw InputError(fmt::format("cache.budget_mb is {}, but model '{}' needs {:.1f} MB",
                                 settings.budget_mb, graph.name,
                                 std::ceil(static_cast<double>(choice.bytes) / 1e5) / 10));
  }
  return {.persistent = choice.kept, .keep = Keep::kChosen, .moves = moves};
}

FrameCache::FrameCache(const ReuseSettings& settings, std::unique_ptr<Geometry> geometry,
                       const Clock& clock, ModelState& state)
    : clock_(clock), state_(state), reuse_(settings, state.graph(), std::move(geometry)) {}

FrameWork FrameCache::Run(const PictureView& frame, const Verdict& verdict, int64_t index,
                          const Execution& execution) {
  MeasureSpreadsIfDue();
  const auto begin = clock_.Now();
  const FrameDecision& decision = reuse_.Decide(index, frame, verdict);
  FrameWork work;
  work.tracking = clock_.Now() - begin;
  work.loss = reuse_.placement().loss;
  work.rest = reuse_.rest();
  work.is_dense = decision.kind == FrameDecision::Kind::kWhole;
  const ConstMaskView changed = decision.changed;
  work.active =
      static_cast<double>(CountActive(changed)) / static_cast<double>(changed.pixel_count());
  work.operators = Execute(decision, execution);
  return work;
}

std::optional<RefreshWork> FrameCache::Refresh(const PictureView& frame, const Verdict& verdict,
                                               const Execution& execution) {
  MeasureSpreadsIfDue();
  const FrameDecision* const decision = reuse_.DecideRefresh(frame, verdict);
  if (decision == nullptr) return std::nullopt;
  RefreshWork work;
  work.is_anchor = decision->kind == FrameDecision::Kind::kWhole;
  const double share = Execute(*decision, execution).share();
  work.share = work.is_anchor ? 1.0 : share;
  return work;
}

void FrameCache::MeasureSpreadsIfDue() {
  if (std::exchange(are_spreads_due_, false)) reuse_.SetSpreads(MeasureSpreads(state_));
}

ChangedWork FrameCache::Execute(const FrameDecision& decision, const Execution& execution) {
  const Executed done = execution
                            ? execution(decision, reuse_.seen(), reuse_.policy(), needs_all_)
                            : Executed{state_.Apply(decision, reuse_.seen(), reuse_.policy())};
  reuse_.Commit(done.work.share());
  if (decision.kind == FrameDecision::Kind::kRefresh) return done.work;
  const bool are_due = reuse_.AreSpreadsDue();
  are_spreads_due_ = are_due && done.holds_all;
  needs_all_ = are_due && !done.holds_all;
  return done.work;
}

}  // namespace cacheinf
