// The kernels of convolutions, compiled for GPUs.

#include "sparse_ops/cuda/conv_kernels.h"
#include "sparse_ops/cuda/real/launch.cuh"
#include "sparse_ops/cuda/winograd_kernels.h"

namespace cacheinf::cuda {

CACHEINF_INSTANTIATE(ConvGemms<Precision::kExact>::Wide);
CACHEINF_INSTANTIATE(ConvGemms<Precision::kExact>::Middle);
CACHEINF_INSTANTIATE(ConvGemms<Precision::kExact>::Narrow);
CACHEINF_INSTANTIATE(ConvGemms<Precision::kTf32>::Wide);
CACHEINF_INSTANTIATE(ConvGemms<Precision::kTf32>::Middle);
CACHEINF_INSTANTIATE(ConvGemms<Precision::kTf32>::Narrow);
CACHEINF_INSTANTIATE(ConvGemms<Precision::kHalf>::Wide);
CACHEINF_INSTANTIATE(ConvGemms<Precision::kHalf>::Middle);
CACHEINF_INSTANTIATE(ConvGemms<Precision::kHalf>::Narrow);
CACHEINF_INSTANTIATE(ConvGemms<Precision::kBfloat16>::Wide);
CACHEINF_INSTANTIATE(ConvGemms<Precision::kBfloat16>::Middle);
CACHEINF_INSTANTIATE(ConvGemms<Precision::kBfloat16>::Narrow);
CACHEINF_INSTANTIATE(ConvDirect<false>);
CACHEINF_INSTANTIATE(ConvDirect<true>);
CACHEINF_INSTANTIATE(ListWinogradTiles);
CACHEINF_INSTANTIATE(TransformWinogradInput);
CACHEINF_INSTANTIATE(TransformWinogradOutput);

}  // namespace cacheinf::cuda
