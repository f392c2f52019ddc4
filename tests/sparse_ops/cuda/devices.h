#ifndef CACHEINF_TESTS_SPARSE_OPS_CUDA_DEVICES_H_
#define CACHEINF_TESTS_SPARSE_OPS_CUDA_DEVICES_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>

#include "sparse_ops/cuda/emulated/device.h"
#include "sparse_ops/cuda/real/device.h"

// What tests of device code run on: always the stand-in, and a GPU if there is one.

namespace cacheinf {
namespace cuda {

#ifdef CACHEINF_HAS_CUDA
using Devices = testing::Types<EmulatedDevice, RealDevice>;
#else
using Devices = testing::Types<EmulatedDevice>;
#endif

// Names the stand-in of a device that has warpgroup instructions.
struct EmulatedWarpgroups {};

// Devices that multiply matrices differently.
#ifdef CACHEINF_HAS_CUDA
using MatrixDevices = testing::Types<EmulatedDevice, EmulatedWarpgroups, RealDevice>;
#else
using MatrixDevices = testing::Types<EmulatedDevice, EmulatedWarpgroups>;
#endif

// A suite that runs on each of Devices or MatrixDevices; skips a kind that the machine lacks.
template <class Kind>
class OnDevice : public testing::Test {
  static constexpr bool kHasWarpgroups = std::is_same_v<Kind, EmulatedWarpgroups>;
  using Device = std::conditional_t<kHasWarpgroups, EmulatedDevice, Kind>;

 protected:
  // Seeds the stand-in's order of threads.
  void UseSeed(unsigned seed) {
    if constexpr (std::is_same_v<Device, EmulatedDevice>) {
      EmulatedDevice::Options options;
      options.seed = seed;
      if (kHasWarpgroups) options.compute_major = 9;
      device_.emplace(options);
    }
  }

  void SetUp() override {
#ifdef CACHEINF_HAS_CUDA
    if constexpr (std::is_same_v<Device, RealDevice>) {
      if (RealDevice::Count() == 0) GTEST_SKIP() << "there is no CUDA device here";
      device_.emplace();
    }
#endif
    UseSeed(1);
  }

  Device& device() { return *device_; }

 private:
  std::optional<Device> device_;
};

// Waits for the copy.
template <class Device, typename T>
Buffer<Device, T> ToDevice(Device& device, typename Device::Stream& stream,
                           const std::vector<T>& values) {
  Buffer<Device, T> buffer(device, values.size());
  device.CopyToDevice(stream, buffer.data(), values.data(), buffer.bytes());
  device.Synchronize(stream);
  return buffer;
}

// Waits for the stream.
template <class Device, typename T>
std::vector<T> ToHost(Device& device, typename Device::Stream& stream, const T* values,
                      size_t count) {
  std::vector<T> host(count);
  device.CopyToHost(stream, host.data(), values, count * sizeof(T));
  device.Synchronize(stream);
  return host;
}

}  // namespace cuda
}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CUDA_DEVICES_H_
