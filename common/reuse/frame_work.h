#ifndef CACHEINF_COMMON_REUSE_FRAME_WORK_H_
#define CACHEINF_COMMON_REUSE_FRAME_WORK_H_

#include <cstdint>

#include "common/base/words.h"
#include "common/tracker/loss.h"

namespace cacheinf {

// Why a frame is computed whole although something could be reused.
enum class Rest : uint8_t { kNone, kTooMuchChanged, kTooSlow };
constexpr Words<3> WordsOf(Rest) { return {"none", "too much changed", "reuse took longer"}; }

// What one side computed for a frame's answer, or for the next frame once the answer was out.
struct FrameWork {
  double share = 1.0;       // of a dense run's multiply-adds
  double active = 1.0;      // share of the picture's pixels that count as changed
  bool is_dense = true;     // everything was computed
  Loss loss = Loss::kNone;  // why, if the camera was lost
  Rest rest = Rest::kNone;  // why, if reuse did not pay
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_FRAME_WORK_H_
