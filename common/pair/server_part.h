#ifndef CACHEINF_COMMON_PAIR_SERVER_PART_H_
#define CACHEINF_COMMON_PAIR_SERVER_PART_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/frame_times.h"
#include "common/reuse/frame_work.h"

namespace cacheinf {

// What a server did for a frame.
struct ServerPart {
  FrameWork work = {.share = 0.0};
  // By cut, the first row of the model's picture that was the server's from there on. Empty: the
  // server had all rows of all layers.
  std::vector<int> robot_rows = {};
  uint64_t sent_bytes = 0;
  uint64_t received_bytes = 0;
};

// What a frame's answer cost, on both sides.
struct FrameExpense {
  FrameTimes times;
  std::optional<FrameWork> work;     // of the robot, if results are kept
  std::optional<ServerPart> server;  // if a server took part

  // The share of a dense run's multiply-adds, on both sides; nothing if all was computed.
  std::optional<double> share() const {
    if (work ? work->is_dense : !server || server->work.is_dense) return std::nullopt;
    return std::min(1.0, (work ? work->share : 0.0) + (server ? server->work.share : 0.0));
  }
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_SERVER_PART_H_
