#ifndef CACHEINF_SPARSE_OPS_CPU_QUANT_CONV_H_
#define CACHEINF_SPARSE_OPS_CPU_QUANT_CONV_H_

#include <cstdint>
#include <vector>

#include "sparse_ops/active_pixels.h"
#include "sparse_ops/cpu/aligned_floats.h"
#include "sparse_ops/cpu/quant_kernels.h"
#include "sparse_ops/cpu/thread_pool.h"
#include "sparse_ops/ops.h"

namespace cacheinf::cpu {

class ActiveRuns;

// A convolution of 8-bit maps with its weights packed for this machine's kernels; QuantConvArgs
// says what it computes. Kernels get output pixels as lists; dense rows are one case.
class QuantConv {
 public:
  // Whether the kernels can compute it: not with many groups of one channel that have several
  // outputs each, and not with more than a few hundred taps.
  static bool Takes(const QuantConvArgs& args);

  // Copies weights, bias, scales and table; reads only the channels of the views. Takes the best of
  // the family's ways for such weights.
  explicit QuantConv(const QuantConvArgs& args, const QuantFamily& family = ChooseQuantFamily());

  // Computes the active pixels; with a test, of threshold 0, stores only those that change.
  // REQUIRES: the arguments that it was made with, except for the views. Allocates nothing.
  void Run(const QuantConvArgs& args, const ActivePixels& pixels, const ChangeTest* test,
           ThreadPool& pool) const;

 private:
  struct List;
  struct Place;
  class Worker;

  void SetEpilogue(const QuantConvArgs& args);
  void PackBlocks(const QuantConvArgs& args);
  void AddBlocks(int first_input, Range outputs, int vectors);
  void PackChannel(const QuantConvArgs& args, int channel, const QuantBlock& block, int vector,
                   int lane, uint8_t* weights, int32_t& sum) const;
  void PackWeight(int w, int tap, int input, const QuantBlock& block, int vector, int lane,
                  uint8_t* weights) const;
  int64_t BytesOfBlock(int vectors) const;

  const QuantKernels* kernels_;
  bool is_depthwise_;
  bool in_registers_ = false;
  int group_inputs_;
  int group_outputs_;
  int group_words_;  // that a tap reads
  int taps_;
  int tap_columns_;
  QuantEpilogue epilogue_;
  AlignedFloats weights_;
  std::vector<int32_t> sums_;
  std::vector<float> multipliers_;
  std::vector<QuantBlock> blocks_;
  std::vector<uint8_t> outside_;  // a pixel outside the picture
};

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_QUANT_CONV_H_
