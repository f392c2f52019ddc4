#ifndef CACHEINF_COMMON_PAIR_SERVER_PART_H_
#define CACHEINF_COMMON_PAIR_SERVER_PART_H_

#include <cstdint>
#include <vector>

#include "common/reuse/frame_work.h"

namespace cacheinf {

// What a server did for a frame.
struct ServerPart {
  FrameWork work = {.share = 0.0};
  // By cut, the first row of the model's picture that was the server's from there on. Empty: all
  // rows of all layers were.
  std::vector<int> robot_rows = {};
  uint64_t sent_bytes = 0;
  uint64_t received_bytes = 0;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_SERVER_PART_H_
