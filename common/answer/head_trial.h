#ifndef CACHEINF_COMMON_ANSWER_HEAD_TRIAL_H_
#define CACHEINF_COMMON_ANSWER_HEAD_TRIAL_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/config/robot_config.h"
#include "common/model/graph/graph.h"
#include "common/model/heads/head_check.h"
#include "common/model/heads/heads.h"
#include "common/model/picture.h"

// Runs frames through the network without its decoder, to see whether the decoder reads what is
// there.

namespace cacheinf {

class CompiledModel;

struct HeadTrial {
  HeadKind kind = HeadKind::kRaw;
  std::string recognised_by;  // empty: the configuration names the kind
  // Kinds that the outputs could be by shapes and numbers, where none is certain; likeliest first.
  std::vector<HeadKind> candidates;
  std::string picture;  // how frames become pictures, in one line
  std::string outputs;  // "output 'output0' of shape 1x84x8400"
  std::vector<std::vector<float>> numbers;
  std::string contradiction;  // empty: the numbers do not contradict the kind
  std::string unconfirmed;    // that nothing but the configuration tells the kind; empty: more does
  bool has_evidence = false;  // there was a box, say, that could have contradicted it
};

// A network without its decoder.
class HeadTrials {
 public:
  // `graph` is what LoadNetwork gives for the configuration. Throws InputError if it takes no
  // picture. REQUIRES: CompleteNetwork does not refuse it.
  HeadTrials(const RobotConfig& config, Graph graph, int threads);

  // Whether there is a decoder to try; false if the model's file holds it.
  bool is_needed() const { return check_.has_value(); }

  // Whether the frame can become the network's picture.
  bool Fits(const Picture& frame) const;  // REQUIRES: is_needed()

  // Throws InputError unless the frame fits. REQUIRES: is_needed().
  HeadTrial Try(const Picture& frame) const;

 private:
  HeadTrial described_;
  std::optional<HeadCheck> check_;
  std::shared_ptr<const CompiledModel> model_;
};

// What is wrong and what to do about it, in one sentence. REQUIRES: a contradiction.
std::string DescribeContradiction(const HeadTrial& trial, const std::string& model);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_ANSWER_HEAD_TRIAL_H_
