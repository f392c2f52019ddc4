#ifndef CACHEINF_TESTS_TESTING_RANDOM_GRAPH_H_
#define CACHEINF_TESTS_TESTING_RANDOM_GRAPH_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "common/model/graph/graph.h"

// Random networks and inputs for property tests. Equal seeds give equal graphs.

namespace cacheinf {

struct RandomGraphOptions {
  int operator_count = 14;
  int64_t largest_value = 6000;  // elements
  // Only what networks do to feature maps: no reductions over space, no matrices, no reshapes.
  bool only_local = false;
  // Comparisons, and places computed from numbers: another rounding may make another choice.
  bool has_choices = true;
  // Convolutions are mostly 3x3, of stride 1, not dilated or grouped, with any padding.
  bool mostly_plain_threes = false;
};

// A directed acyclic graph over the operator set (all kinds but op::Foreign and the decoding of
// boxes): branches, concatenations (nested, repeated), residual sums, gates, resizes, transposed
// convolutions, slices. Some of its outputs are read on, are named twice, or are graph
// inputs or constants. It passes Validate.
Graph RandomGraph(uint32_t seed, const RandomGraphOptions& options = {});

// Operators of every kind in many variants (strided, grouped, broadcast, …), each in a graph of its
// own with the operator's inputs.
std::vector<Graph> OneOperatorGraphs(uint32_t seed, int count);

// A tensor for each graph input, values around [-2, 2].
std::vector<Tensor> RandomInputs(const Graph& graph, uint32_t seed);

Tensor RandomTensor(Shape shape, std::mt19937& random, float low = -2.0f, float high = 2.0f);

// Adds a convolution that keeps the map's size, with random weights of at most `spread`. Returns
// its output.
ValueId AddConv(Graph& graph, const std::string& name, ValueId input, int64_t channels, int kernel,
                std::mt19937& random, float spread = 2.0f);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_RANDOM_GRAPH_H_
