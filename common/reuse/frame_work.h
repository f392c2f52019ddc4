#ifndef CACHEINF_COMMON_REUSE_FRAME_WORK_H_
#define CACHEINF_COMMON_REUSE_FRAME_WORK_H_

#include <chrono>
#include <cstdint>

#include "common/base/words.h"
#include "common/exec/changed_work.h"
#include "common/reuse/loss.h"

namespace cacheinf {

// Why a frame is computed whole although something could be reused.
enum class Rest : uint8_t { kNone, kTooMuchChanged, kTooSlow };
constexpr Words<3> WordsOf(Rest) { return {"none", "too much changed", "reuse took longer"}; }

// What a frame cost.
struct FrameWork {
  ChangedWork operators;
  double active = 1.0;                   // share of the picture's pixels that count as changed
  bool is_dense = true;                  // everything was computed
  Loss loss = Loss::kNone;               // why, if the camera was lost
  Rest rest = Rest::kNone;               // why, if reuse did not pay
  std::chrono::nanoseconds tracking{0};  // following the camera, and finding what changed

  // Share of a dense run's multiply-adds.
  double share() const { return is_dense ? 1.0 : operators.share(); }
};

// What was done for the next frame after the answer was out.
struct RefreshWork {
  std::chrono::nanoseconds time{0};
  double share = 0.0;  // of a dense run's multiply-adds
  bool is_anchor = false;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_FRAME_WORK_H_
