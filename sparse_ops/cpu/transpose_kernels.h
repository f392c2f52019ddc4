#ifndef CACHEINF_SPARSE_OPS_CPU_TRANSPOSE_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CPU_TRANSPOSE_KERNELS_H_

#include <cstdint>

namespace cacheinf::cpu {

inline constexpr int64_t kTransposedTogether = 16;  // a cache line of numbers

struct TransposeKernels {
  // to[i * to_step + j] = from[i + j * from_step] for i < count and j < kTransposedTogether.
  void (*transpose)(const float* from, int64_t from_step, float* to, int64_t to_step,
                    int64_t count) = nullptr;
};

// The kernels for the best target of this machine.
const TransposeKernels& ChooseTransposeKernels();

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_TRANSPOSE_KERNELS_H_
