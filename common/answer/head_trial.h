#ifndef CACHEINF_COMMON_ANSWER_HEAD_TRIAL_H_
#define CACHEINF_COMMON_ANSWER_HEAD_TRIAL_H_

#include <optional>
#include <string>
#include <vector>

#include "common/config/robot_config.h"
#include "common/model/graph/graph.h"
#include "common/model/heads/heads.h"
#include "common/model/picture.h"

// One frame through the network without its decoder, to see whether the decoder reads what is
// there.

namespace cacheinf {

struct HeadTrial {
  HeadKind kind = HeadKind::kRaw;
  std::string recognised_by;  // empty: the configuration names the kind
  // Kinds that the outputs could be, where none is certain.
  std::vector<HeadKind> candidates;
  std::string picture;  // what frames become, in one line
  std::string outputs;  // "output 'output0' of shape 1x84x8400"
  std::vector<std::vector<float>> numbers;
  std::string contradiction;  // empty: the numbers do not contradict the kind
};

// Loads the configuration's model and tries the frame. Nothing if the file holds a decoder itself.
// Throws InputError if the model cannot be loaded or its outputs' shapes contradict decoder.kind.
std::optional<HeadTrial> TryHead(const RobotConfig& config, const Picture& frame, int threads);

// What is wrong and what to do about it, in one sentence. REQUIRES: a contradiction.
std::string DescribeContradiction(const HeadTrial& trial, const std::string& model);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_ANSWER_HEAD_TRIAL_H_
