#include "tests/gpu/place.h"

#include <cstdint>

#include "common/backend/device/cuda_backend.h"
#include "common/backend/device/device_backend.h"
#include "sparse_ops/cuda/emulated/device.h"
#include "sparse_ops/cuda/real/device.h"
#include "sparse_ops/cuda/real/device_query.h"
#include "tests/sparse_ops/cuda/family.h"

namespace cacheinf {
namespace {

// The stand-in takes about a second for ten million.
constexpr int64_t kFewProducts = 700000;

}  // namespace

std::string WhyNoGpu() { return QueryCuda().why_no_device; }

std::string Place::Describe() const {
  if (is_stand_in) return "the stand-in on the host, seed " + std::to_string(seed);
  const CudaDevice device = QueryCuda().devices.front();
  return device.name + ", compute capability " + std::to_string(device.compute_major) + "." +
         std::to_string(device.compute_minor) + ", " + std::to_string(device.multiprocessors) +
         " multiprocessors";
}

std::unique_ptr<Backend> Place::MakeBackend(int small_tiles_up_to) const {
  const cuda::ConvOptions options = {precision, small_tiles_up_to};
  return is_stand_in ? MakeEmulatedCudaBackend(seed, options) : MakeCudaBackend(options);
}

size_t Place::DeviceBytes(const Backend& backend) const {
#ifdef CACHEINF_HAS_CUDA
  if (!is_stand_in) {
    return static_cast<const DeviceBackend<cuda::RealDevice>&>(backend).device_bytes();
  }
#endif
  return static_cast<const DeviceBackend<cuda::EmulatedDevice>&>(backend).device_bytes();
}

void Place::WithFamily(const std::function<void(const OperatorFamily& family)>& check) const {
  if (is_stand_in) {
    cuda::EmulatedDevice::Options options;
    options.seed = seed;
    cuda::EmulatedDevice device(options);
    check(CudaFamily(device, {precision}, kFewProducts));
    return;
  }
#ifdef CACHEINF_HAS_CUDA
  cuda::RealDevice device;
  check(CudaFamily(device, {precision}));
#endif
}

}  // namespace cacheinf
