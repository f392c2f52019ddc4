#include "common/backend/device/device_slices.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sparse_ops/cuda/emulated/device.h"
#include "sparse_ops/cuda/real/device.h"

namespace cacheinf {

template <class Device>
DeviceSlices<Device>::DeviceSlices(std::shared_ptr<DeviceStream<Device>> stream)
    : stream_(std::move(stream)),
      device_to_host_(device().MakeStream()),
      host_to_device_(device().MakeStream()) {}

template <class Device>
DeviceSlices<Device>::~DeviceSlices() {
  for (const auto& leaving : leaving_) device().FreeHost(leaving->on_host_);
}

template <class Device>
void DeviceSlices<Device>::Reserve(size_t bytes) {
  bytes_ = std::max(bytes_, bytes);
}

template <class Device>
std::shared_ptr<typename DeviceSlices<Device>::Leaving> DeviceSlices<Device>::Leave(
    std::span<const Part> parts) {
  auto found =
      std::ranges::find_if(leaving_, [](const auto& each) { return each.use_count() == 1; });
  if (found == leaving_.end()) {
    auto made = std::make_shared<Leaving>();
    made->on_device_ = {stream_->arena(), bytes_};
    made->packed_ = device().MakeEvent();
    made->landed_ = device().MakeEvent();
    made->on_host_ = static_cast<unsigned char*>(device().AllocateHost(bytes_));
    found = leaving_.insert(leaving_.end(), std::move(made));
  }
  Leaving& leaving = **found;
  size_t at = 0;
  for (const Part& part : parts) {
    device().CopyOnDevice(stream_->kernels(), leaving.on_device_.data() + at, part.from,
                          part.bytes);
    at += Aligned(part.bytes);
  }
  device().Record(stream_->kernels(), leaving.packed_);
  device().Wait(device_to_host_, leaving.packed_);
  device().CopyToHost(device_to_host_, leaving.on_host_, leaving.on_device_.data(), at);
  device().Record(device_to_host_, leaving.landed_);
  return *found;
}

template <class Device>
const unsigned char* DeviceSlices<Device>::Land(Leaving& leaving) {
  device().Synchronize(leaving.landed_);
  return leaving.on_host_;
}

template <class Device>
void DeviceSlices<Device>::MakeArriving() {
  std::vector<Arriving> made(2);
  for (Arriving& each : made) {
    each.on_device = {stream_->arena(), bytes_};
    each.arrived = device().MakeEvent();
    each.taken = device().MakeEvent();
  }
  // Work under way may still use this memory.
  stream_->Wait();
  arriving_ = std::move(made);
}

template <class Device>
const unsigned char* DeviceSlices<Device>::Arrive(std::span<const Part> parts) {
  if (arriving_.empty()) MakeArriving();
  last_arriving_ = 1 - last_arriving_;
  Arriving& arriving = arriving_[last_arriving_];
  size_t bytes = 0;
  for (const Part& part : parts) bytes += Aligned(part.bytes);
  auto* const staged = static_cast<unsigned char*>(stream_->Stage(bytes));
  size_t at = 0;
  for (const Part& part : parts) {
    std::memcpy(staged + at, part.from, part.bytes);
    at += Aligned(part.bytes);
  }
  device().Wait(host_to_device_, arriving.taken);
  device().CopyToDevice(host_to_device_, arriving.on_device.data(), staged, bytes);
  device().Record(host_to_device_, arriving.arrived);
  device().Wait(stream_->kernels(), arriving.arrived);
  return arriving.on_device.data();
}

template <class Device>
void DeviceSlices<Device>::NoteTaken() {
  device().Record(stream_->kernels(), arriving_[last_arriving_].taken);
}

template class DeviceSlices<cuda::EmulatedDevice>;
#ifdef CACHEINF_HAS_CUDA
template class DeviceSlices<cuda::RealDevice>;
#endif

}  // namespace cacheinf
