#ifndef CACHEINF_COMMON_BACKEND_DEVICE_CUDA_BACKEND_H_
#define CACHEINF_COMMON_BACKEND_DEVICE_CUDA_BACKEND_H_

#include <memory>

#include "common/backend/backend.h"
#include "sparse_ops/cuda/conv_options.h"

namespace cacheinf {
namespace cuda {
class EmulatedDevice;
}  // namespace cuda

// Runs on this machine's first GPU. Throws InputError if there is none, this build has no CUDA, or
// the GPU lacks the precision.
std::unique_ptr<Backend> MakeCudaBackend(const cuda::ConvOptions& options = {});

// The same on the strict stand-in for a GPU, slow, for tests and developers. The seed decides the
// order in which its threads and blocks take turns.
std::unique_ptr<Backend> MakeEmulatedCudaBackend(unsigned seed = 1,
                                                 const cuda::ConvOptions& options = {});
std::unique_ptr<Backend> MakeEmulatedCudaBackend(std::shared_ptr<cuda::EmulatedDevice> device,
                                                 const cuda::ConvOptions& options = {});

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_DEVICE_CUDA_BACKEND_H_
