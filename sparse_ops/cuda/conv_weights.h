#ifndef CACHEINF_SPARSE_OPS_CUDA_CONV_WEIGHTS_H_
#define CACHEINF_SPARSE_OPS_CUDA_CONV_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "sparse_ops/cuda/conv_kernels.h"
#include "sparse_ops/ops.h"

namespace cacheinf {
namespace cuda {

// A convolution's weights as the kernels take them, on the host.
struct ConvWeights {
  bool is_direct = false;  // for ConvDirect, else for ConvGemm
  int padded_inputs = 0;   // of a group
  int padded_outputs = 0;  // of a group; of all for ConvDirect
  ConvAxis rows;
  ConvAxis columns;
  std::vector<PhaseTaps> row_taps;
  std::vector<PhaseTaps> column_taps;
  std::vector<int64_t> phase_weights;
  // Bits of single precision or TF32, or of two numbers of half the size. For ConvGemm each phase
  // and group has a matrix: as many rows as there are products, in the order that ConvGemm says,
  // and output channels; so many rows are one as WeightWords says.
  std::vector<uint32_t> words;
};

// Packs what `args` has on the host; its views need only their channels.
ConvWeights PackConvWeights(const ConvArgs& args, Precision precision);

}  // namespace cuda
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CUDA_CONV_WEIGHTS_H_
