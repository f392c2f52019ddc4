#ifndef CACHEINF_TESTS_RIVALS_PLAIN_VIDEO_H_
#define CACHEINF_TESTS_RIVALS_PLAIN_VIDEO_H_

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/answer/answers.h"
#include "common/config/model_config.h"
#include "common/link/delay_line.h"
#include "common/link/descriptor.h"
#include "common/model/picture.h"
#include "tests/bench/replay.h"
#include "tests/bench/worker.h"
#include "tests/testing/process.h"

namespace cacheinf {

// The LibTorch process, which serves one client after the other.
class PlainVideoServer {
 public:
  // `python` has PyTorch, `model` is TorchScript. Throws std::runtime_error if it does not start.
  PlainVideoServer(const std::filesystem::path& python, const std::filesystem::path& model,
                   const PictureSpec& picture, const ModelConfig& config, int core);

  const ModelConfig& config() const { return config_; }
  int port() const { return port_; }
  std::string output() const { return process_.output(); }

 private:
  const ModelConfig config_;
  Process process_;
  int port_ = 0;
};

struct PlainVideoOptions {
  std::optional<LinkShape> link = {};  // none: as fast as this machine
  double slowdown = 1;                 // of the robot
  int robot_core = 0;
};

// What one would do without CacheInf: ffmpeg scales and encodes frames (x264, ultrafast,
// zerolatency, crf 23) and sends them over TCP to a process in which ffmpeg decodes them and
// LibTorch runs the whole network (peers/plain_video.py). Our code only gives frames to ffmpeg and,
// between the two, emulates the link and the slow robot.
class PlainVideo {
 public:
  // Frames have the fit's size; the server must outlive this. Throws std::runtime_error if it
  // cannot be reached.
  PlainVideo(const PlainVideoServer& server, const PlainVideoOptions& options,
             const PictureFit& fit);
  ~PlainVideo();
  PlainVideo(const PlainVideo&) = delete;
  PlainVideo& operator=(const PlainVideo&) = delete;

  // Throws std::runtime_error if there is no answer. No time includes handing the frame over.
  FrameCost Answer(const Picture& frame);
  double handing_over_ms() const { return handing_over_ms_; }

 private:
  using Time = std::chrono::nanoseconds;

  void HandOver(const Picture& frame);
  void Relay();
  void Receive(void* bytes, size_t size) const;
  AnswerContent Content(const std::vector<uint8_t>& bytes) const;

  const PlainVideoServer& server_;
  const PlainVideoOptions options_;
  const PictureFit fit_;
  const TemporaryFolder folder_;
  Descriptor server_link_;
  Descriptor listener_;
  Descriptor frames_;
  std::optional<Process> encoder_;
  Descriptor from_encoder_;
  std::atomic<Time> handed_over_{};  // the last frame
  std::atomic<Time> encoded_{};      // when its last byte had come
  std::atomic<Time> delivered_{};    // when it had left for the server
  std::atomic<size_t> bytes_ = 0;
  double handing_over_ms_ = 0;
  std::atomic<bool> stops_ = false;
  std::thread relay_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_RIVALS_PLAIN_VIDEO_H_
