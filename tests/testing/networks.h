#ifndef CACHEINF_TESTS_TESTING_NETWORKS_H_
#define CACHEINF_TESTS_TESTING_NETWORKS_H_

#include <memory>
#include <ostream>
#include <vector>

#include "common/model/graph/graph.h"

// Small networks of well-known shapes, with random weights.

namespace cacheinf {

struct Network {
  const char* name;
  Graph (*build)(int height, int width);  // as an exporter writes it, with 3 input channels
};
inline void PrintTo(const Network& network, std::ostream* stream) { *stream << network.name; }

// One network of each family: a chain of convolutions and a classifier (VGG), residual sums
// (ResNet), dense blocks (DenseNet), depthwise convolutions with gates (MobileNet), inverted
// bottlenecks with wide depthwise windows (EfficientNet), feature pyramids with three outputs
// (YOLO), 7×7 windows with layer norms (ConvNeXt), upsampling by transposed convolutions beside
// skips (U-Net), dilated branches (ESPNet, DeepLab), squeezes and expansions (SqueezeNet).
const std::vector<Network>& TenNetworks();

// A network for 8-bit pictures of this size, optimised as after loading.
// REQUIRES: sizes that are multiples of 32.
std::shared_ptr<const Graph> MakeNetwork(const Network& network, int height, int width);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_NETWORKS_H_
