#ifndef CACHEINF_TESTS_SPARSE_OPS_WINOGRAD_ERROR_H_
#define CACHEINF_TESTS_SPARSE_OPS_WINOGRAD_ERROR_H_

#include <vector>

#include "sparse_ops/ops.h"

namespace cacheinf {

// The most that rounding may take Winograd's numbers (cpu/winograd.h) away from the reference's.
// Returns a bound for each number of `memory`, which holds args.output, and 0 for the gaps.
// REQUIRES: an activation whose slope is at most 2.
std::vector<double> WinogradErrorBounds(const ConvArgs& args, const std::vector<float>& memory);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_WINOGRAD_ERROR_H_
