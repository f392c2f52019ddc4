#include "common/exec/apply.h"

#include "common/exec/spreads.h"

namespace cacheinf {

ChangedWork Apply(const FrameDecision& decision, const PictureView& seen,
                  const ChangePolicy& policy, PictureInput& input, ModelState& state) {
  switch (decision.kind) {
    case FrameDecision::Kind::kWhole:
      input.Set(seen, state);
      state.Run();
      return {};
    case FrameDecision::Kind::kChanged:
      if (!decision.scroll.is_zero()) state.Scroll(decision.scroll);
      // All of it, so that what is computed is computed from this frame: windows at the edges of
      // what changed would else read the levels of older frames beside it.
      input.Set(seen, state);
      if (!decision.stored_from_frame.IsIdentity()) state.Move(decision.stored_from_frame);
      break;
    case FrameDecision::Kind::kRefresh:
      state.Settle();
      if (IsEmpty(decision.forced)) return {};
      break;
  }
  const ConstMaskView changed = decision.changed;
  return state.RunChanged({&changed, 1}, policy, decision.forced);
}

InverseSpreads MeasureStoredSpreads(ModelState& state) {
  state.Settle();
  return MeasureSpreads(state);
}

}  // namespace cacheinf
