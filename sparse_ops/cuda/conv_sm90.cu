// The kernels that convolve by warpgroups, compiled only for compute capability 9.0 (sm_90a).

#include "sparse_ops/cuda/conv_kernels.h"
#include "sparse_ops/cuda/real/launch.cuh"

namespace cacheinf::cuda {

CACHEINF_INSTANTIATE(WarpgroupGemms<Precision::kTf32>::Middle);
CACHEINF_INSTANTIATE(WarpgroupGemms<Precision::kTf32>::Narrow);
CACHEINF_INSTANTIATE(WarpgroupGemms<Precision::kHalf>::Middle);
CACHEINF_INSTANTIATE(WarpgroupGemms<Precision::kHalf>::Narrow);
CACHEINF_INSTANTIATE(WarpgroupGemms<Precision::kBfloat16>::Middle);
CACHEINF_INSTANTIATE(WarpgroupGemms<Precision::kBfloat16>::Narrow);

}  // namespace cacheinf::cuda
