#ifndef CACHEINF_COMMON_BASE_FRAME_TIMES_H_
#define CACHEINF_COMMON_BASE_FRAME_TIMES_H_

#include <chrono>

namespace cacheinf {

// What a frame took; 0 where nothing of the kind was done.
struct FrameTimes {
  using Time = std::chrono::nanoseconds;

  // How long the frame had waited since its stamp for a robot that was still busy with the last
  // one, its refresh, or the guard. 0 for recorded frames, which wait for the robot. Work left for
  // after the answer counts only in the frame rate.
  Time waited{};
  Time preprocess{};
  Time compute{};
  Time decode{};

  // Parts of `compute` on the robot.
  Time tracking{};  // following the camera, and finding what changed
  Time encoding{};  // what the server is sent
  Time waiting{};   // for the link and the server

  // On the server.
  Time server_decoding{};
  Time server_computing{};
  Time server_queueing{};  // behind other robots' frames, before and between stages

  Time latency() const { return waited + preprocess + compute + decode; }
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_FRAME_TIMES_H_
