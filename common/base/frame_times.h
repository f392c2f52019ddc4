#ifndef CACHEINF_COMMON_BASE_FRAME_TIMES_H_
#define CACHEINF_COMMON_BASE_FRAME_TIMES_H_

#include <chrono>

namespace cacheinf {

// What a frame took on a server; 0 for work that was not done.
struct ServerTimes {
  using Time = std::chrono::nanoseconds;

  Time server_decoding{};  // of the picture, or of the robot's slices
  Time server_computing{};
  Time server_queueing{};  // behind other robots' frames, before and between stages
};

// What a frame took on both sides.
struct FrameTimes : ServerTimes {
  // How long the frame had waited since its stamp for a robot that was still busy with the last
  // one, its refresh, or the guard. 0 for recorded frames, which wait for the robot. Work that is
  // left until after the answer counts only in the frame rate.
  Time waited{};
  Time preprocess{};
  Time compute{};
  Time decode{};

  // Parts of `compute` on the robot.
  Time tracking{};  // following the camera, and finding what changed
  Time encoding{};  // what is sent to the server
  Time waiting{};   // for the link and the server

  void TakeServers(const ServerTimes& times) { static_cast<ServerTimes&>(*this) = times; }

  Time latency() const { return waited + preprocess + compute + decode; }
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_FRAME_TIMES_H_
