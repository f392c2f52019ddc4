#ifndef CACHEINF_COMMON_MODEL_GRAPH_DECODE_H_
#define CACHEINF_COMMON_MODEL_GRAPH_DECODE_H_

#include <cstdint>
#include <vector>

#include "common/model/graph/graph.h"

// The beginning of a graph: from a camera's picture to the network's input, as an ordinary
// operator.

namespace cacheinf {

// Input channel c of the network is (pixel[channel_order[c]] - mean[c]) / divisor[c].
struct Normalisation {
  std::vector<double> mean = {0.0};       // one for all channels, or one each
  std::vector<double> divisor = {255.0};  // likewise
  std::vector<int> channel_order = {};    // empty: as the picture has them
};

// Puts a ScaleShift in front of the graph's first input, and an operator that moves channels to the
// last dimension if the input has them there (1×H×W×C, as in TensorFlow). The new first input keeps
// the old one's name; it is the resized 8-bit picture as numbers 0 to 255, in the order of
// `picture.channels`, and `graph.picture` describes it. Sizes of 0 in `picture` stand for the
// input's own. Throws InputError when picture, numbers and input do not fit each other, or the
// graph has a picture already.
void PrependPicture(Graph& graph, const PictureSpec& picture, const Normalisation& normalisation);

// Whether the network's own first operators divide levels from 0 to 255, by 255, 127.5, a standard
// deviation of pixels or the like. REQUIRES: a graph not yet optimised, since that hides them in
// weights.
bool ScalesLevels(const Graph& graph);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_DECODE_H_
