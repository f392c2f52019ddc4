// The kernels, compiled for GPUs.

#include "sparse_ops/cuda/mask_kernels.h"
#include "sparse_ops/cuda/real/launch.cuh"

namespace cacheinf {
namespace cuda {

CACHEINF_INSTANTIATE(UniteMasks);

}  // namespace cuda
}  // namespace cacheinf
