#ifndef CACHEINF_CLIENT_HEAD_WATCH_H_
#define CACHEINF_CLIENT_HEAD_WATCH_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "common/answer/answers.h"
#include "common/answer/head_trial.h"
#include "common/config/robot_config.h"
#include "common/model/graph/graph.h"
#include "common/source/frame_source.h"

namespace cacheinf {

// Watches whether a network's outputs are what its decoder reads. Tries frames without the decoder
// until one shows anything that could contradict it: the first frame, then ever fewer, since each
// trial costs a dense frame. From then on it looks only at answers, which costs nothing.
class HeadWatch {
 public:
  static constexpr int64_t kFirstFrames = 100;

  // `network` is what LoadNetwork gives for the configuration.
  HeadWatch(RobotConfig config, Graph network)
      : config_(std::move(config)), network_(std::move(network)) {}

  // Call before each frame is answered. Throws InputError if its outputs contradict the decoder.
  // Warns, once, if nothing but the configuration says how the outputs are read.
  void Before(const Frame& frame);

  // Call after each. Throws InputError if an answer to one of the first frames contradicts the
  // decoder; later it only warns, once: a robot that has answered goes on. Warns if something is
  // odd about the first frames' answers.
  void After(const AnswerReader& reader);

 private:
  const RobotConfig config_;
  Graph network_;  // until the first trial
  int64_t frames_ = 0;
  int64_t next_trial_ = 0;
  bool is_over_ = false;  // no trial follows
  bool has_warned_ = false;
  std::optional<HeadTrials> trials_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_HEAD_WATCH_H_
