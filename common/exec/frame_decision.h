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

// Everything decided about a frame before any of it is computed. Together with the picture that the
// network is to see and a state at `base`, it is all that a robot, a server, a replay or a test
// needs to execute the frame. A plain value: it refers to nothing.
struct FrameDecision {
  enum class Kind : uint8_t {
    kWhole,    // everything, whatever was stored
    kChanged,  // what can differ from what is stored
    kRefresh,  // only `forced`, of the last decision's picture; nobody waits for an answer
  };

  int64_t number = 0;  // counts decisions, refreshes included
  int64_t base = -1;   // the decision that the stored values come from; -1: none
  int64_t frame = 0;   // the source's index
  Kind kind = Kind::kWhole;

  // Both masks are of what the network sees, and have no pixels if no results are kept.
  // Pixels that differ from the base after `scroll` or `stored_from_frame`: all in a whole frame,
  // none in a refresh.
  Mask changed;
  // Pixels to compute and store, however little they change.
  Mask forced;

  // How the stored maps move first: by whole strides, or so that pixel p of the frame lies at
  // stored_from_frame(p) in them. At most one of the two is not the identity.
  Shift scroll;
  Homography stored_from_frame;
  // The network sees the frame with this light undone.
  Light light;

  // The version of policy, thresholds, spreads and cuts.
  int64_t settings = 0;
  // One row per cut, in the order of the settings: the robot owns the map's rows above it. Empty:
  // the robot owns all.
  std::vector<int> robot_rows;
};
constexpr Words<3> WordsOf(FrameDecision::Kind) { return {"whole", "changed", "refresh"}; }

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_FRAME_DECISION_H_
