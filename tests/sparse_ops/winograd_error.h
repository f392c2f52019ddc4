#ifndef CACHEINF_TESTS_SPARSE_OPS_WINOGRAD_ERROR_H_
#define CACHEINF_TESTS_SPARSE_OPS_WINOGRAD_ERROR_H_

#include <vector>

#include "sparse_ops/ops.h"

namespace cacheinf {

// How far Winograd's numbers (cpu/winograd.h) may lie from the reference's by rounding, at most:
// one for each number of `memory`, in which args.output lies; 0 for the gaps.
// REQUIRES: an activation that is nowhere steeper than 2.
std::vector<double> WinogradErrorBounds(const ConvArgs& args, const std::vector<float>& memory);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_WINOGRAD_ERROR_H_
