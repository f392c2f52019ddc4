#ifndef CACHEINF_COMMON_MODEL_HEADS_HEAD_CHECK_H_
#define CACHEINF_COMMON_MODEL_HEADS_HEAD_CHECK_H_

#include <span>
#include <string>
#include <vector>

#include "common/model/heads/heads.h"

namespace cacheinf {

// What the numbers of a network's outputs must be like, if a head is of its kind: scores between 0
// and 1, boxes in the picture, and so on.
class HeadCheck {
 public:
  // `graph` is the network without decoder, not yet optimised. REQUIRES: not kAuto; the shapes fit.
  HeadCheck(const Graph& graph, const HeadSpec& spec);

  // Why one frame's outputs, in the order of the graph's, contradict the head; empty if they do
  // not.
  std::string Contradiction(std::span<const std::vector<float>> outputs) const;

 private:
  std::string OfRows(const std::vector<float>& numbers) const;
  std::string OfPickedRows(const std::vector<float>& numbers) const;
  std::string OfPickedOutputs(std::span<const std::vector<float>> outputs) const;
  std::string OfQueries(std::span<const std::vector<float>> outputs) const;
  std::string OfClassification(const std::vector<float>& scores) const;
  std::string OfRawHeads(std::span<const std::vector<float>> outputs) const;

  Graph graph_;
  HeadSpec spec_;
  bool is_normalised_;
  bool is_placed_;  // boxes lie in the picture, not yet in the cells of a grid
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_HEADS_HEAD_CHECK_H_
