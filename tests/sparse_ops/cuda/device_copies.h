#ifndef CACHEINF_TESTS_SPARSE_OPS_CUDA_DEVICE_COPIES_H_
#define CACHEINF_TESTS_SPARSE_OPS_CUDA_DEVICE_COPIES_H_

#include <cstddef>
#include <deque>
#include <vector>

#include "sparse_ops/cuda/device.h"
#include "sparse_ops/mask/mask.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// Host memory with copies on a device.
template <class Device>
class DeviceCopies {
 public:
  explicit DeviceCopies(Device& device) : device_(device), stream_(device.MakeStream()) {}

  Device& device() { return device_; }
  typename Device::Stream& stream() { return stream_; }

  // The copy of `count` values. If they lie within memory asked for before, so does their copy.
  template <typename T>
  T* Of(T* host, int64_t count) {
    if (host == nullptr) return nullptr;
    const auto* const first = reinterpret_cast<const std::byte*>(host);
    const size_t bytes = static_cast<size_t>(count) * sizeof(T);
    for (const Copy& copy : copies_) {
      if (std::less_equal<>()(copy.host, first) &&
          std::less_equal<>()(first + bytes, copy.host + copy.memory.size())) {
        return reinterpret_cast<T*>(copy.memory.data() + (first - copy.host));
      }
    }
    copies_.push_back(
        {const_cast<std::byte*>(first), cuda::Buffer<Device, std::byte>(device_, bytes), bytes});
    return reinterpret_cast<T*>(copies_.back().memory.data());
  }

  // The vector must outlive this.
  template <typename T>
  T* Of(std::vector<T>& host) {
    return Of(host.data(), static_cast<int64_t>(host.size()));
  }

  template <typename T>
  BasicTensorView<T> Of(BasicTensorView<T> view) {
    int64_t floats = view.Count() == 0 ? 0 : 1;
    for (int i = 0; i < view.rank && floats != 0; ++i) {
      floats += (view.dims[i] - 1) * view.strides[i];
    }
    view.data = Of(view.data, floats);
    return view;
  }

  template <typename T>
  BasicImageView<T> Of(BasicImageView<T> view) {
    if (view.data == nullptr) return view;
    const bool is_empty =
        view.batch == 0 || view.height == 0 || view.width == 0 || view.channels == 0;
    const int64_t floats = (view.batch - 1) * view.batch_stride +
                           (view.height - 1) * view.row_stride +
                           (view.width - 1) * view.pixel_stride + view.channels;
    view.data = Of(view.data, is_empty ? 0 : floats);
    return view;
  }

  template <typename Word>
  BasicMaskView<Word> Of(BasicMaskView<Word> mask) {
    mask.words = Of(mask.words, static_cast<int64_t>(mask.word_count()));
    return mask;
  }

  // Device memory without a host counterpart.
  template <typename T>
  T* Garbage(int64_t count) {
    garbage_.emplace_back(device_, static_cast<size_t>(count) * sizeof(T));
    return reinterpret_cast<T*>(garbage_.back().data());
  }

  // Copies all that was asked for.
  void ToDevice() {
    for (Copy& copy : copies_) {
      device_.CopyToDevice(stream_, copy.memory.data(), copy.host, copy.bytes);
    }
  }
  void ToHost() {
    for (Copy& copy : copies_) {
      device_.CopyToHost(stream_, copy.host, copy.memory.data(), copy.bytes);
    }
    device_.Synchronize(stream_);
  }

 private:
  struct Copy {
    std::byte* host;
    cuda::Buffer<Device, std::byte> memory;
    size_t bytes;
  };

  Device& device_;
  typename Device::Stream stream_;
  std::deque<Copy> copies_;
  std::deque<cuda::Buffer<Device, std::byte>> garbage_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CUDA_DEVICE_COPIES_H_
