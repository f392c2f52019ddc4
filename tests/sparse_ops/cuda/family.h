#ifndef CACHEINF_TESTS_SPARSE_OPS_CUDA_FAMILY_H_
#define CACHEINF_TESTS_SPARSE_OPS_CUDA_FAMILY_H_

#include "tests/sparse_ops/cases.h"

namespace cacheinf {

// The operators of sparse_ops/cuda on this device, which outlives the family: EmulatedDevice, or in
// builds with CUDA RealDevice. Every call copies all operands to memory of the device that has no
// room for more, and what it wrote back.
template <class Device>
OperatorFamily CudaFamily(Device& device);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CUDA_FAMILY_H_
