#ifndef CACHEINF_TESTS_SPARSE_OPS_CUDA_FAMILY_H_
#define CACHEINF_TESTS_SPARSE_OPS_CUDA_FAMILY_H_

#include <cstdint>
#include <limits>

#include "sparse_ops/cuda/conv.h"
#include "tests/sparse_ops/cases.h"

namespace cacheinf {

// How far a precision rounds inputs and weights, relatively.
double RoundingOf(cuda::Precision precision);

// The operators of sparse_ops/cuda on this device, which outlives the family: EmulatedDevice, or in
// builds with CUDA RealDevice. Every call copies all operands to memory of the device that has no
// room for more, and what it wrote back. Of convolutions it has those with at most so many
// products.
template <class Device>
OperatorFamily CudaFamily(Device& device, const cuda::ConvOptions& conv_options = {},
                          int64_t most_products = std::numeric_limits<int64_t>::max());

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CUDA_FAMILY_H_
