#ifndef CACHEINF_SPARSE_OPS_CUDA_REAL_LAUNCH_CUH_
#define CACHEINF_SPARSE_OPS_CUDA_REAL_LAUNCH_CUH_

#include <cuda_runtime.h>

#include <type_traits>

#include "sparse_ops/cuda/real/device.h"
#include "sparse_ops/cuda/real/thread.cuh"

namespace cacheinf::cuda {

// Kernel::kBlocksAtOnce, or 0, which asks for nothing.
template <class Kernel, class = void>
struct BlocksAtOnce : std::integral_constant<int, 0> {};
template <class Kernel>
struct BlocksAtOnce<Kernel, std::void_t<decltype(Kernel::kBlocksAtOnce)>>
    : std::integral_constant<int, Kernel::kBlocksAtOnce> {};

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, BlocksAtOnce<Kernel>::value)
    RunKernel(const Kernel kernel) {
  kernel(RealThread());
}

template <class Kernel>
void RealDevice::LaunchNow(Stream& stream, const Blocks& blocks, const Kernel& kernel,
                           size_t shared_bytes) {
  static_assert(std::is_trivially_copyable<Kernel>::value, "arguments are copied to the device");
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) return;
  constexpr size_t kWithoutAsking = 48 * 1024;
  if (shared_bytes > kWithoutAsking) {
    cudaFuncSetAttribute(RunKernel<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         static_cast<int>(shared_bytes));
  }
  const dim3 grid(static_cast<unsigned>(blocks.x), static_cast<unsigned>(blocks.y),
                  static_cast<unsigned>(blocks.z));
  RunKernel<<<grid, Kernel::kThreads, shared_bytes,
              static_cast<cudaStream_t>(stream.handle_.pointer_)>>>(kernel);
  CheckLaunch(Kernel::kName, stream);
}

#define CACHEINF_INSTANTIATE(Kernel)                                                 \
  template void RealDevice::LaunchNow<Kernel>(Stream & stream, const Blocks& blocks, \
                                              const Kernel& kernel, size_t shared_bytes)

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_REAL_LAUNCH_CUH_
