#ifndef CACHEINF_SPARSE_OPS_CPU_PRODUCTS_H_
#define CACHEINF_SPARSE_OPS_CPU_PRODUCTS_H_

#include <cstddef>

#include "sparse_ops/cpu/conv.h"
#include "sparse_ops/cpu/quant_conv.h"
#include "sparse_ops/cpu/thread_pool.h"
#include "sparse_ops/ops.h"

// Matrix products on the kernels of convolutions: a row of the left matrix is a pixel.

namespace cacheinf::cpu {

// Computes what LinearArgs says.
class Linear {
 public:
  // Copies weights, bias, activation and the sizes of the last dimensions from `args`; the views'
  // data may be null.
  explicit Linear(const LinearArgs& args) : conv_(AsConv(args)) {}

  size_t ScratchFloats(int threads) const { return conv_.ScratchFloats(threads); }

  // REQUIRES: `args` has the same weights, bias, activation and sizes.
  void Run(const LinearArgs& args, ThreadPool& pool, float* scratch) const;

 private:
  static ConvArgs AsConv(const LinearArgs& args);

  Conv conv_;
};

// Computes what QuantLinearArgs says, as a convolution of rows that are rounded first.
class QuantLinear {
 public:
  // Copies what the product's arguments point to.
  explicit QuantLinear(const QuantLinearArgs& args) : conv_(args.product) {}

  // Uses only the dims of the views.
  static size_t ScratchFloats(const QuantLinearArgs& args);

  // REQUIRES: the arguments that it was made with, except for the views.
  void Run(const QuantLinearArgs& args, ThreadPool& pool, float* scratch) const;

 private:
  QuantConv conv_;
};

// Uses only the dims of the views.
size_t MatMulScratchFloats(const MatMulArgs& args);

void MatMul(const MatMulArgs& args, ThreadPool& pool, float* scratch);

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_PRODUCTS_H_
