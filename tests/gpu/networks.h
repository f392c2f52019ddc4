#ifndef CACHEINF_TESTS_GPU_NETWORKS_H_
#define CACHEINF_TESTS_GPU_NETWORKS_H_

#include <cstdint>
#include <string>

#include "common/model/graph/graph.h"
#include "tests/gpu/place.h"

namespace cacheinf {

// A small network with operators of many kinds, which has been written to a native model file and
// read back.
Graph PackedNetwork(uint32_t seed);

// Runs some frames of a network, whole and changed, under the exact policy. Returns an empty
// string, or which value is the first that has not the bits of a dense run: by the reference, or in
// a lower precision by the same kernels with large tiles.
std::string CheckNetwork(const Graph& graph, const Place& place, int changed_frames, uint32_t seed);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_GPU_NETWORKS_H_
