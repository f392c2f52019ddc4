#include "common/exec/decision_fields.h"

namespace cacheinf {

const char* FaultOf(const FrameDecision& decision) {
  if (decision.base < -1 || decision.base >= decision.number) {
    return "base must be -1 or a number before this one's";
  }
  const ConstMaskView changed = decision.changed;
  const ConstMaskView forced = decision.forced;
  if (changed.height != forced.height || changed.width != forced.width) {
    return "forced must be a mask of the size of changed";
  }
  const bool is_whole = decision.kind == FrameDecision::Kind::kWhole;
  const bool is_refresh = decision.kind == FrameDecision::Kind::kRefresh;
  if (is_whole && CountActive(changed) != changed.pixel_count()) {
    return "changed must be everything in a whole frame";
  }
  if (is_refresh && !IsEmpty(changed)) return "changed must be nothing in a refresh";
  if (!is_whole && (decision.base < 0 || changed.pixel_count() == 0)) {
    return "kind must be whole without a base and a mask";
  }
  if (!decision.scroll.is_zero() && !decision.stored_from_frame.IsIdentity()) {
    return "scroll must be zero if the maps move otherwise";
  }
  return nullptr;
}

}  // namespace cacheinf
