#ifndef CACHEINF_TESTS_TESTING_QUANTISED_NETWORKS_H_
#define CACHEINF_TESTS_TESTING_QUANTISED_NETWORKS_H_

#include <vector>

#include "common/model/graph/graph.h"
#include "tests/testing/networks.h"

namespace cacheinf {

// Rounds every map to u8 or s8 numbers in steps that fit it, and the weights of convolutions to
// whole steps, one size for each output channel. Optimise makes 8-bit operators of the result.
// REQUIRES: an optimised graph whose only input is a map of numbers from -2 to 2.
Graph Quantised(const Graph& floats);

// Three of TenNetworks, quantised: residual sums (ResNet), tables, concatenations and enlargements
// (YOLO), and maxima over what is concatenated (SqueezeNet).
const std::vector<Network>& ThreeQuantisedNetworks();

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_QUANTISED_NETWORKS_H_
