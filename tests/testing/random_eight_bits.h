#ifndef CACHEINF_TESTS_TESTING_RANDOM_EIGHT_BITS_H_
#define CACHEINF_TESTS_TESTING_RANDOM_EIGHT_BITS_H_

#include <cstdint>

#include "common/model/graph/graph.h"

namespace cacheinf {

// A random network as a quantiser leaves it: floats, with maps rounded to 8-bit numbers here and
// there, and weights that are whole steps. Equal seeds give equal graphs. Optimise makes operators
// on 8-bit maps of it.
Graph RandomEightBitGraph(uint32_t seed);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_RANDOM_EIGHT_BITS_H_
