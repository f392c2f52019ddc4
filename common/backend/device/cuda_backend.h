#ifndef CACHEINF_COMMON_BACKEND_DEVICE_CUDA_BACKEND_H_
#define CACHEINF_COMMON_BACKEND_DEVICE_CUDA_BACKEND_H_

#include <memory>

#include "common/backend/backend.h"
#include "sparse_ops/cuda/conv_options.h"

namespace cacheinf {
namespace cuda {
class EmulatedDevice;
}  // namespace cuda

// On this machine's first GPU. Throws InputError where there is none, or no CUDA in this build, or
// the GPU lacks the precision.
std::unique_ptr<Backend> MakeCudaBackend(const cuda::ConvOptions& options = {});

// The same on the strict stand-in for a GPU, slow, for tests and developers. Its threads and blocks
// take turns as the seed has it.
std::unique_ptr<Backend> MakeEmulatedCudaBackend(unsigned seed = 1,
                                                 const cuda::ConvOptions& options = {});
std::unique_ptr<Backend> MakeEmulatedCudaBackend(std::shared_ptr<cuda::EmulatedDevice> device,
                                                 const cuda::ConvOptions& options = {});

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_DEVICE_CUDA_BACKEND_H_
