#ifndef CACHEINF_TESTS_SPARSE_OPS_ROUNDING_ERROR_H_
#define CACHEINF_TESTS_SPARSE_OPS_ROUNDING_ERROR_H_

#include <vector>

#include "sparse_ops/ops.h"

namespace cacheinf {

// The most that a convolution's numbers may differ from the reference's if each input and weight is
// rounded once, by a relative error of `unit`, and sums have single precision. Returns a bound for
// each number of `memory`, which holds args.output, and 0 for the gaps. All bounds are infinite if
// the activation is steeper than 2 somewhere.
std::vector<double> RoundingErrorBounds(const ConvArgs& args, const std::vector<float>& memory,
                                        double unit);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_ROUNDING_ERROR_H_
