#ifndef CACHEINF_SPARSE_OPS_CPU_QUANT_CONV_H_
#define CACHEINF_SPARSE_OPS_CPU_QUANT_CONV_H_

#include <cstdint>
#include <vector>

#include "sparse_ops/active_pixels.h"
#include "sparse_ops/cpu/quant_kernels.h"
#include "sparse_ops/cpu/thread_pool.h"
#include "sparse_ops/ops.h"

namespace cacheinf::cpu {

// A convolution of 8-bit maps with its weights packed for this machine's kernels; QuantConvArgs
// says what it computes. Products are of 16-bit numbers, bytes less their zero points, which suit
// any weights. Groups of one input channel are slow here.
class QuantConv {
 public:
  // Copies the weights, and reads of the views the channels alone.
  explicit QuantConv(const QuantConvArgs& args);

  // Computes the active pixels. REQUIRES: the arguments that it was made with, but for the views.
  // Allocates nothing.
  void Run(const QuantConvArgs& args, const ActivePixels& pixels, ThreadPool& pool) const;

 private:
  struct Tile;

  void RunTile(const QuantConvArgs& args, const Tile& tile) const;
  void SumChannels(const QuantConvArgs& args, const Tile& tile, int group, int first, int blocks,
                   int32_t* sums) const;

  const QuantKernels& kernels_;
  int group_inputs_;
  int group_outputs_;
  int pairs_of_tap_;
  int blocks_;  // of a group
  int taps_;
  std::vector<int16_t> weights_;  // [group][block][tap][pair][lane][2]
  // By group, each filled up to whole blocks.
  std::vector<int32_t> bias_;
  std::vector<float> multipliers_;
};

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_QUANT_CONV_H_
