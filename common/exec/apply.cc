#include "common/exec/apply.h"

#include "common/exec/spreads.h"

namespace cacheinf {

ChangedWork Apply(const FrameDecision& decision, const PictureView& seen,
                  const ChangePolicy& policy, PictureInput& input, Executor& executor) {
  switch (decision.kind) {
    case FrameDecision::Kind::kWhole:
      input.Set(seen, executor);
      executor.Run();
      return {};
    case FrameDecision::Kind::kChanged:
      if (!decision.scroll.is_zero()) executor.Scroll(decision.scroll);
      // All of it, so that what is computed is computed from this frame: windows at the edges of
      // what changed would else read the levels of older frames beside it.
      input.Set(seen, executor);
      if (!decision.stored_from_frame.IsIdentity()) executor.Move(decision.stored_from_frame);
      break;
    case FrameDecision::Kind::kRefresh:
      executor.Settle();
      if (IsEmpty(decision.forced)) return {};
      break;
  }
  const ConstMaskView changed = decision.changed;
  return executor.RunChanged({&changed, 1}, policy, decision.forced);
}

InverseSpreads MeasureStoredSpreads(Executor& executor) {
  executor.Settle();
  return MeasureSpreads(executor);
}

}  // namespace cacheinf
