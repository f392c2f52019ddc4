#ifndef CACHEINF_SPARSE_OPS_CUDA_CONV_WEIGHTS_H_
#define CACHEINF_SPARSE_OPS_CUDA_CONV_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "sparse_ops/cuda/conv_kernels.h"
#include "sparse_ops/ops.h"

namespace cacheinf::cuda {

// A convolution's weights, on the host, as the kernels take them.
struct ConvWeights {
  bool is_direct = false;  // for ConvDirect; else for ConvGemm
  int padded_inputs = 0;   // a group's
  int padded_outputs = 0;  // a group's; for ConvDirect all
  ConvAxis rows;
  ConvAxis columns;
  std::vector<PhaseTaps> row_taps;
  std::vector<PhaseTaps> column_taps;
  std::vector<int64_t> phase_weights;
  // A word is a number of single precision or TF32, or two of 16 bits. For ConvGemm each phase and
  // group has a matrix of products, in ConvGemm's order, by output channels, where each row has
  // WeightWords words of every channel.
  std::vector<uint32_t> words;
};

// REQUIRES: weights on the host. Reads only the channels of the views.
ConvWeights PackConvWeights(const ConvArgs& args, Precision precision);

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_CONV_WEIGHTS_H_
