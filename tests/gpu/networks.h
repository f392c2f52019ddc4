#ifndef CACHEINF_TESTS_GPU_NETWORKS_H_
#define CACHEINF_TESTS_GPU_NETWORKS_H_

#include <cstdint>
#include <string>

#include "common/model/graph/graph.h"
#include "tests/gpu/place.h"

namespace cacheinf {

// A small network with operators of many kinds, written to a native model file and read back.
Graph PackedNetwork(uint32_t seed);

// Runs a whole frame and some changed ones under the exact policy. Returns the first value that
// lacks the bits of a dense run, or an empty string. The reference does the dense run, or for a
// lower precision the same kernels with large tiles.
std::string CheckNetwork(const Graph& graph, const Place& place, int changed_frames, uint32_t seed);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_GPU_NETWORKS_H_
