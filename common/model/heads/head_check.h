#ifndef CACHEINF_COMMON_MODEL_HEADS_HEAD_CHECK_H_
#define CACHEINF_COMMON_MODEL_HEADS_HEAD_CHECK_H_

#include <span>
#include <string>
#include <vector>

#include "common/model/heads/heads.h"

namespace cacheinf {

// Checks that the numbers of a network's outputs look as a head of its kind requires: scores
// between 0 and 1, boxes in the picture, and so on. `outputs` are one frame's, in the graph's
// order.
class HeadCheck {
 public:
  // `graph` is the network without decoder, not yet optimised. REQUIRES: not kAuto; the shapes fit.
  HeadCheck(Graph graph, HeadSpec spec);

  // Why the outputs contradict the head; empty if they do not.
  std::string Contradiction(std::span<const std::vector<float>> outputs) const;

  // Whether the outputs hold anything that could contradict it: a frame without boxes may show
  // little.
  bool HasEvidence(std::span<const std::vector<float>> outputs) const;

  // Whether the file, names or the graph's last operators say how to read boxes. Other answers have
  // no order of numbers to mistake.
  bool IsConfirmed() const;

  // Whether the outputs would not contradict this kind either. REQUIRES: its shapes fit.
  bool CouldBe(HeadKind kind, std::span<const std::vector<float>> outputs) const;

 private:
  Graph graph_;
  HeadSpec spec_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_HEADS_HEAD_CHECK_H_
