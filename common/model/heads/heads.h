#ifndef CACHEINF_COMMON_MODEL_HEADS_HEADS_H_
#define CACHEINF_COMMON_MODEL_HEADS_HEADS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/model/graph/graph.h"
#include "common/model/graph/head.h"

// From a network's outputs to an answer. Heads with many boxes are decoded by ordinary operators
// behind the network, so that either side can run them; heads with few numbers are read as they
// are.

namespace cacheinf {

// What is known of a head from outside the graph.
struct HeadSpec {
  HeadKind kind = HeadKind::kAuto;
  int class_count = 0;  // as many as there are names; 0: unknown
  // Classification: whether the outputs still need a softmax.
  bool softmax = true;
  // Segmentation: first enlarge the class scores, linearly, to the picture's size.
  bool enlarge = false;
  // Raw heads with anchors: strides and anchors of each output; empty: the kind's usual ones.
  std::vector<op::DecodeBoxes::Scale> scales;
  op::NonMaxSuppression suppression;
  std::optional<bool> is_normalised;  // nothing: as the kind usually is
};

// A row of the table of heads.
struct HeadRow {
  // How an answer is read from the outputs, once the decoder is part of the graph.
  enum class Answer : uint8_t { kRaw, kClasses, kClassMap, kBoxes, kHeatMaps, kPoints, kEmbedding };
  HeadKind kind;
  const char* outputs;  // what they must look like, for messages
  Answer answer;
};
const HeadRow& RowOf(HeadKind kind);

// What the outputs of a graph without a decoder look like.
struct Recognition {
  HeadKind kind = HeadKind::kRaw;    // kRaw: nothing for certain
  std::vector<HeadKind> candidates;  // if nothing is certain: what they could be
  std::string reason;  // "output 'output0' is 1x84x8400, 8400 cells at strides 8, 16, 32"
};

// Judges by shapes, names, the graph's tail, and what the model's file says about itself. If the
// file's task means one kind and the shapes show another, gives the task's, even if it does not
// fit.
Recognition Recognise(const Graph& graph, int class_count);

// Whether boxes are shares of the picture's size.
bool IsNormalised(const HeadSpec& spec);

// Why the outputs cannot be of this kind; empty if they can. REQUIRES: not kAuto.
std::string WhyNot(const Graph& graph, const HeadSpec& spec);

// Appends the head's operators, whose results replace the outputs that they read, and sets
// `graph.head`. Recognises the head first if the kind is kAuto. A graph that has a head, or ends in
// the operator that would be added, keeps it. Throws InputError that says what the outputs look
// like, and which kinds would fit, if they are not what the head needs.
void AppendHead(Graph& graph, const HeadSpec& spec);

// "output 'boxes' of shape 1x84x8400 and output 'protos' of shape 1x32x160x160"
std::string DescribeOutputs(const Graph& graph);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_HEADS_HEADS_H_
