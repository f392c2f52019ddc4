#include "sparse_ops/cuda/real/device_query.h"

#include <cuda_runtime_api.h>

namespace cacheinf {

CudaReport QueryCuda() {
  CudaReport report;
  report.built_in = true;
  cudaRuntimeGetVersion(&report.runtime_version);
  if (cudaDriverGetVersion(&report.driver_version) != cudaSuccess) report.driver_version = 0;

  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    report.why_no_device = cudaGetErrorString(error);
    return report;
  }
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties;
    const cudaError_t device_error = cudaGetDeviceProperties(&properties, index);
    if (device_error != cudaSuccess) {
      report.why_no_device = cudaGetErrorString(device_error);
      continue;
    }
    CudaDevice device;
    device.name = properties.name;
    device.compute_major = properties.major;
    device.compute_minor = properties.minor;
    device.multiprocessors = properties.multiProcessorCount;
    device.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
    report.devices.push_back(device);
  }
  if (!report.devices.empty()) report.why_no_device.clear();
  return report;
}

}  // namespace cacheinf
