#ifndef CACHEINF_TESTS_TESTING_NETWORKS_H_
#define CACHEINF_TESTS_TESTING_NETWORKS_H_

#include <memory>
#include <ostream>
#include <vector>

#include "common/model/graph/graph.h"

// Small networks of the shapes that people use, with random weights.

namespace cacheinf {

struct Network {
  const char* name;
  Graph (*build)(int height, int width);  // as an exporter would write it, from 3 channels on
};
inline void PrintTo(const Network& network, std::ostream* stream) { *stream << network.name; }

// One of each family: a chain of convolutions and a classifier (VGG), residual sums (ResNet), dense
// blocks (DenseNet), depthwise convolutions with gates (MobileNet), inverted bottlenecks with wide
// depthwise windows (EfficientNet), feature pyramids with three outputs (YOLO), 7×7 windows with
// layer norms (ConvNeXt), upsampling by transposed convolutions beside skips (U-Net), dilated
// branches (ESPNet, DeepLab), squeezes and expansions (SqueezeNet).
const std::vector<Network>& TenNetworks();

// A network for 8-bit pictures of that size, optimised as after loading.
// REQUIRES: sizes that are multiples of 32.
std::shared_ptr<const Graph> MakeNetwork(const Network& network, int height, int width);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_NETWORKS_H_
