#ifndef CACHEINF_SPARSE_OPS_REFERENCE_QUANT_SUMS_H_
#define CACHEINF_SPARSE_OPS_REFERENCE_QUANT_SUMS_H_

#include <cstdint>

#include "sparse_ops/ops.h"

namespace cacheinf::reference {

// Stores what a convolution of 8-bit maps makes of the sums `acc` of some channels of a pixel, as
// QuantConvArgs says; sums[0] is that of the first of these channels.
void StoreSums(const QuantConvArgs& args, int image, int row, int column, Range channels,
               const int32_t* sums);

}  // namespace cacheinf::reference

#endif  // CACHEINF_SPARSE_OPS_REFERENCE_QUANT_SUMS_H_
