#ifndef CACHEINF_COMMON_MODEL_GRAPH_DECODE_H_
#define CACHEINF_COMMON_MODEL_GRAPH_DECODE_H_

#include <cstdint>
#include <vector>

#include "common/model/graph/graph.h"

// The ends of a graph: from a camera's picture to the network's input, and from the network's raw
// output to an answer. Both are ordinary operators, so that either side can run them.

namespace cacheinf {

// Input channel c of the network is (pixel[channel_order[c]] - mean[c]) / divisor[c].
struct Normalisation {
  std::vector<double> mean = {0.0};       // one for all channels, or one each
  std::vector<double> divisor = {255.0};  // likewise
  std::vector<int> channel_order = {};    // empty: as the picture has them
};

// Puts a ScaleShift in front of the graph's first input, and what moves its channels to the last
// dimension if the input has them there (1×H×W×C, as TensorFlow has them). The new first input
// keeps the old one's name; it is the resized 8-bit picture as numbers 0 to 255, in the order of
// `picture.channels`, and `graph.picture` describes it. Sizes of 0 in `picture` stand for the
// input's own. Throws InputError when picture, numbers and input do not fit each other, or the
// graph has a picture already.
void PrependPicture(Graph& graph, const PictureSpec& picture, const Normalisation& normalisation);

// What a network's outputs mean, and what to answer.
struct DecoderSpec {
  enum class Kind : uint8_t {
    kRaw,             // the outputs as they are
    kClassification,  // softmax of the first output's classes (dimension 1): "scores"
    kSegmentation,    // class of each pixel from the first output's channels: "classes"
    kBoxes,           // from all outputs, boxes that do not overlap: "boxes"
  };
  Kind kind = Kind::kRaw;

  // Segmentation: first enlarge the class scores, linearly, to the picture's size.
  bool enlarge = false;

  // Boxes: one scale per output, each a raw head; empty: the only output has a row per box, as
  // op::DecodeBoxes gives them.
  std::vector<op::DecodeBoxes::Scale> scales;
  bool apply_sigmoid = true;
  op::NonMaxSuppression suppression;
};

// Appends the operators; their result replaces the outputs that they read. Does not repeat an
// operator that the graph already ends with.
// Throws InputError when the outputs are not what the decoder reads.
void AppendDecoder(Graph& graph, const DecoderSpec& decoder);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_DECODE_H_
