#ifndef CACHEINF_COMMON_EXEC_FRAME_DECISION_H_
#define CACHEINF_COMMON_EXEC_FRAME_DECISION_H_

#include <cstdint>
#include <vector>

#include "common/base/light.h"
#include "common/base/words.h"
#include "common/exec/scroll.h"
#include "sparse_ops/homography.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {

// All that is decided about one frame before anything of it is computed. Whoever holds the picture
// that the network is to see, a state at `base` and this, can execute the frame: the robot, a
// server, a replay, a test. A value: it refers to nothing.
struct FrameDecision {
  enum class Kind : uint8_t {
    kWhole,    // everything, whatever was stored
    kChanged,  // what can differ from what is stored
    kRefresh,  // the same picture as the decision before: only `forced`; nobody waits for an answer
  };

  int64_t number = 0;  // of decisions, one after the other; refreshes count
  int64_t base = -1;   // the decision that the stored values are of; -1: none
  int64_t frame = 0;   // the source's index
  Kind kind = Kind::kWhole;

  // Masks of what the network sees, where results are kept; else without pixels. Pixels that differ
  // from the base, after `scroll` or `stored_from_frame`: all of a whole frame, none of a refresh.
  Mask changed;
  // Computed and stored, however little they change.
  Mask forced;

  // How the stored maps move first: by whole strides, or pixel p of the frame lies at
  // stored_from_frame(p) in what is stored. One of them at most is not the identity.
  Shift scroll;
  Homography stored_from_frame;
  // What the network sees is the frame with this undone.
  Light light;

  // The version of policy, thresholds, spreads and cuts.
  int64_t settings = 0;
  // The rows of each map above which the robot owns them, as the cuts of the settings list them.
  // Empty: the robot owns all.
  std::vector<int> robot_rows;
  int64_t deadline_us = 0;  // after the frame's stamp; 0: none
};
constexpr Words<3> WordsOf(FrameDecision::Kind) { return {"whole", "changed", "refresh"}; }

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_FRAME_DECISION_H_
