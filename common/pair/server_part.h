#ifndef CACHEINF_COMMON_PAIR_SERVER_PART_H_
#define CACHEINF_COMMON_PAIR_SERVER_PART_H_

#include <chrono>
#include <cstdint>
#include <vector>

namespace cacheinf {

// What a server did for a frame, and how long it took.
struct ServerPart {
  std::chrono::nanoseconds encoding{};  // on the robot
  std::chrono::nanoseconds waiting{};   // the robot waited for the link and the server
  std::chrono::nanoseconds decoding{};  // on the server
  std::chrono::nanoseconds computing{};
  std::chrono::nanoseconds queueing{};  // behind other robots' frames, before and between stages
  double work = 0;                      // share of a dense run's multiply-adds
  bool is_whole = true;                 // it computed everything
  // By cut, the first row of the model's picture that was the server's from there on. Empty: all
  // rows of all layers were.
  std::vector<int> robot_rows = {};
  uint64_t sent_bytes = 0;
  uint64_t received_bytes = 0;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_SERVER_PART_H_
