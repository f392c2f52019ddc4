// The kernels, compiled for GPUs.

#include "sparse_ops/cuda/mask_kernels.h"
#include "sparse_ops/cuda/real/launch.cuh"

namespace cacheinf {
namespace cuda {

CACHEINF_INSTANTIATE(CombineMasks);
CACHEINF_INSTANTIATE(SetColumns);
CACHEINF_INSTANTIATE(PropagateMask);
CACHEINF_INSTANTIATE(ListPixels);
CACHEINF_INSTANTIATE(ClearUnchangedPixels);

}  // namespace cuda
}  // namespace cacheinf
