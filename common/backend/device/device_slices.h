#ifndef CACHEINF_COMMON_BACKEND_DEVICE_DEVICE_SLICES_H_
#define CACHEINF_COMMON_BACKEND_DEVICE_DEVICE_SLICES_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "common/backend/device/device_queue.h"
#include "sparse_ops/cuda/arena.h"
#include "sparse_ops/cuda/device.h"

namespace cacheinf {

// Carries slices between host and device beside the kernels, each direction on its own stream. The
// streams wait for each other by events; the host waits only for slices that leave, by the event of
// the copy.
template <class Device>
class DeviceSlices {
 public:
  // Parts that cross in one copy lie end to end, each aligned.
  struct Part {
    const void* from;
    size_t bytes;
  };
  static constexpr size_t Aligned(size_t bytes) { return (bytes + 15) / 16 * 16; }

  // Parts on their way to the host. Their memory is reused when nobody holds this.
  class Leaving {
   private:
    friend class DeviceSlices<Device>;
    cuda::Buffer<cuda::Arena<Device>, unsigned char> on_device_;
    unsigned char* on_host_;
    typename Device::Event packed_;
    typename Device::Event landed_;
  };

  explicit DeviceSlices(std::shared_ptr<DeviceStream<Device>> stream);
  DeviceSlices(const DeviceSlices&) = delete;
  DeviceSlices& operator=(const DeviceSlices&) = delete;
  ~DeviceSlices();

  // Call before the first frame: the parts of a slice, each Aligned, have at most so many bytes.
  void Reserve(size_t bytes);

  // Begins to copy what the kernels already in the stream leave in these parts. Later kernels run
  // beside the copy, and may write to the parts.
  std::shared_ptr<Leaving> Leave(std::span<const Part> parts);
  // Waits for the copy. The bytes are valid as long as `leaving` is held.
  const unsigned char* Land(Leaving& leaving);

  // Begins to copy parts of the host's memory, which need not stay. Returns where the next kernels
  // of the stream find them; kernels already in the stream run beside the copy.
  const unsigned char* Arrive(std::span<const Part> parts);
  // Notes that all kernels that read the last arrival are in the stream.
  void NoteTaken();

 private:
  // One is filled while kernels read the other.
  struct Arriving {
    cuda::Buffer<cuda::Arena<Device>, unsigned char> on_device;
    typename Device::Event arrived;
    typename Device::Event taken;
  };

  Device& device() { return stream_->device(); }
  void MakeArriving();

  std::shared_ptr<DeviceStream<Device>> stream_;
  size_t bytes_ = 0;
  std::vector<std::shared_ptr<Leaving>> leaving_;
  std::vector<Arriving> arriving_;  // none or two
  size_t last_arriving_ = 0;
  typename Device::Stream device_to_host_;
  typename Device::Stream host_to_device_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_DEVICE_DEVICE_SLICES_H_
