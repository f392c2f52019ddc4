#include "tests/sparse_ops/cuda/thread_kernels.h"

#include "sparse_ops/cuda/real/launch.cuh"

namespace cacheinf {
namespace cuda {

CACHEINF_INSTANTIATE(AskWarp);
CACHEINF_INSTANTIATE(ChangeAtOnce);
CACHEINF_INSTANTIATE(MultiplyTile);
CACHEINF_INSTANTIATE(ApplyFunctions);

}  // namespace cuda
}  // namespace cacheinf
