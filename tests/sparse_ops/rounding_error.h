#ifndef CACHEINF_TESTS_SPARSE_OPS_ROUNDING_ERROR_H_
#define CACHEINF_TESTS_SPARSE_OPS_ROUNDING_ERROR_H_

#include <vector>

#include "sparse_ops/ops.h"

namespace cacheinf {

// How far a convolution's numbers may lie from the reference's, at most, if each input and weight
// is rounded once, by a relative error of `unit`, and sums are of single precision: one for each
// number of `memory`, in which args.output lies; 0 for the gaps, and infinity for all where the
// activation is steeper than 2 somewhere.
std::vector<double> RoundingErrorBounds(const ConvArgs& args, const std::vector<float>& memory,
                                        double unit);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_ROUNDING_ERROR_H_
