#ifndef CACHEINF_SPARSE_OPS_CUDA_MASKS_H_
#define CACHEINF_SPARSE_OPS_CUDA_MASKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sparse_ops/cuda/device.h"
#include "sparse_ops/mask/axis_map.h"
#include "sparse_ops/mask/mask.h"
#include "sparse_ops/window.h"

// Masks on a device, laid out as mask/mask.h has them: its views, with words in the device's
// memory. What has a name of mask/ computes the same. All runs in a stream; nothing waits or
// allocates but what constructs. Sizes are at most 65535.

namespace cacheinf {
namespace cuda {

// A mask that owns its memory; garbage at first.
template <class Device>
class DeviceMask {
 public:
  DeviceMask() = default;
  DeviceMask(Device& device, int height, int width)
      : words_(device, MaskWords(height, width)), height_(height), width_(width) {}

  MaskView view() const { return {words_.data(), height_, width_}; }

 private:
  Buffer<Device, uint64_t> words_;
  int height_ = 0;
  int width_ = 0;
};

// Between masks of the same size; `host` must stay until the stream has come to it.
template <class Device>
void CopyToDevice(Device& device, typename Device::Stream& stream, ConstMaskView host, MaskView to);
template <class Device>
void CopyToHost(Device& device, typename Device::Stream& stream, ConstMaskView from, MaskView host);
template <class Device>
void Copy(Device& device, typename Device::Stream& stream, ConstMaskView from, MaskView to);

template <class Device>
void ClearAll(Device& device, typename Device::Stream& stream, MaskView mask);
template <class Device>
void SetAll(Device& device, typename Device::Stream& stream, MaskView mask);

// `rows` may reach outside.
template <class Device>
void KeepRows(Device& device, typename Device::Stream& stream, Range rows, MaskView mask);

template <class Device>
void Unite(Device& device, typename Device::Stream& stream, ConstMaskView a, ConstMaskView b,
           MaskView out);
template <class Device>
void Intersect(Device& device, typename Device::Stream& stream, ConstMaskView a, ConstMaskView b,
               MaskView out);
template <class Device>
void Subtract(Device& device, typename Device::Stream& stream, ConstMaskView a, ConstMaskView b,
              MaskView out);

// MaskPropagation of mask/propagation.h.
template <class Device>
class DevicePropagation {
 public:
  // Waits for the stream.
  DevicePropagation(Device& device, typename Device::Stream& stream, const AxisWindow& rows,
                    const AxisWindow& columns);

  void GrowThrough(typename Device::Stream& stream, ConstMaskView in, MaskView out) {
    Propagate(stream, forward_rows_, forward_columns_, in, out);
  }
  void NeededThrough(typename Device::Stream& stream, ConstMaskView out, MaskView in) {
    Propagate(stream, backward_rows_, backward_columns_, out, in);
  }

 private:
  struct Axis {
    bool is_identity = false;
    Buffer<Device, int> first;
    Buffer<Device, Range> ranges;
  };

  static Axis MakeAxis(Device& device, typename Device::Stream& stream, const AxisWindow& window,
                       AxisMap::Direction direction);
  void Propagate(typename Device::Stream& stream, const Axis& rows, const Axis& columns,
                 ConstMaskView from, MaskView to);

  Device& device_;
  Axis forward_rows_;
  Axis forward_columns_;
  Axis backward_rows_;
  Axis backward_columns_;
};

// Pixels that kernels work through: pixels[i] (PackPixel) for i < *count, by row and column. Both
// pointers are the device's; the host never knows the count.
struct PixelsView {
  const uint32_t* pixels = nullptr;
  const int* count = nullptr;
  int capacity = 0;
};

// A list that owns its memory.
template <class Device>
class PixelList {
 public:
  // Room for all pixels of a map of this size.
  PixelList(Device& device, int height, int width)
      : device_(device), pixels_(device, static_cast<size_t>(height) * width), count_(device, 1) {}

  // Lists the active pixels of some rows. REQUIRES: a mask no larger; rows within it.
  void Assign(typename Device::Stream& stream, ConstMaskView mask, Range rows);

  // Of the last Assign. `capacity` is the pixels of its rows.
  PixelsView view() const { return {pixels_.data(), count_.data(), capacity_}; }

 private:
  Device& device_;
  Buffer<Device, uint32_t> pixels_;
  Buffer<Device, int> count_;
  int capacity_ = 0;
};

// Clears the pixels of the list that `changed`, the device's, has 0 for; all others stay.
template <class Device>
void ClearUnchanged(Device& device, typename Device::Stream& stream, const PixelsView& pixels,
                    const uint8_t* changed, MaskView mask);

}  // namespace cuda
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CUDA_MASKS_H_
