#ifndef CACHEINF_TESTS_SPARSE_OPS_CUDA_FAMILY_H_
#define CACHEINF_TESTS_SPARSE_OPS_CUDA_FAMILY_H_

#include <cstdint>
#include <limits>

#include "sparse_ops/cuda/conv.h"
#include "tests/sparse_ops/cases.h"

namespace cacheinf {

// The relative error of rounding inputs and weights to a precision.
double RoundingOf(cuda::Precision precision);

// The operators of sparse_ops/cuda on a device, which must outlive the family: EmulatedDevice, or
// in builds with CUDA RealDevice. Every call copies all operands to device memory without a byte to
// spare, and copies back what it wrote. Lacks convolutions of more than `most_products` products.
template <class Device>
OperatorFamily CudaFamily(Device& device, const cuda::ConvOptions& conv_options = {},
                          int64_t most_products = std::numeric_limits<int64_t>::max());

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CUDA_FAMILY_H_
