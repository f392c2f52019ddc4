#ifndef CACHEINF_SPARSE_OPS_CPU_PRODUCTS_H_
#define CACHEINF_SPARSE_OPS_CPU_PRODUCTS_H_

#include <cstddef>

#include "sparse_ops/cpu/conv.h"
#include "sparse_ops/cpu/thread_pool.h"
#include "sparse_ops/ops.h"

// Matrix products, by the kernels of convolutions: a row of the left matrix is a pixel.

namespace cacheinf {
namespace cpu {

// LinearArgs says what it computes.
class Linear {
 public:
  // Copies from `args` weights, bias, activation and the sizes of the last dimensions; the views'
  // data may be null.
  explicit Linear(const LinearArgs& args) : conv_(AsConv(args)) {}

  size_t ScratchFloats(int threads) const { return conv_.ScratchFloats(threads); }

  // `args` with the same weights, bias, activation and sizes.
  void Run(const LinearArgs& args, ThreadPool& pool, float* scratch) const;

 private:
  static ConvArgs AsConv(const LinearArgs& args);

  Conv conv_;
};

// Only the dims of the views count.
size_t MatMulScratchFloats(const MatMulArgs& args);

void MatMul(const MatMulArgs& args, ThreadPool& pool, float* scratch);

}  // namespace cpu
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_PRODUCTS_H_
