#ifndef CACHEINF_TESTS_MODEL_EXPECT_SAME_VALUES_H_
#define CACHEINF_TESTS_MODEL_EXPECT_SAME_VALUES_H_

#include <cstdint>

#include "common/model/graph/graph.h"

namespace cacheinf {

// Runs both graphs on the same random inputs. Expects outputs with the same names, shapes and
// types, and numbers that differ at most by `tolerance` of the output's range. Numbers that are
// infinite or NaN must be so in both.
void ExpectSameValues(const Graph& expected, const Graph& actual, uint32_t seed,
                      double tolerance = 1e-5);

// The graph after Optimise, which must be valid, have no dead operators, not change when optimised
// again, and give the same values.
Graph OptimiseAndCompare(const Graph& graph, uint32_t seed = 1, double tolerance = 1e-5);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_MODEL_EXPECT_SAME_VALUES_H_
