#include "sparse_ops/cuda/masks.h"

#include <algorithm>

#include "sparse_ops/cuda/emulated/device.h"
#include "sparse_ops/cuda/mask_kernels.h"
#include "sparse_ops/cuda/real/device.h"

namespace cacheinf {
namespace cuda {
namespace {

size_t BytesOf(ConstMaskView mask) { return mask.word_count() * sizeof(uint64_t); }

Blocks BlocksFor(int64_t count, int threads) {
  return {static_cast<int>((count + threads - 1) / threads), 1, 1};
}

template <class Device>
void Combine(Device& device, typename Device::Stream& stream, MaskOperation operation,
             ConstMaskView a, ConstMaskView b, MaskView out) {
  const int words = static_cast<int>(out.word_count());
  device.Launch(stream, BlocksFor(words, CombineMasks::kThreads),
                CombineMasks{operation, a.words, b.words, out.words, words});
}

}  // namespace

template <class Device>
void CopyToDevice(Device& device, typename Device::Stream& stream, ConstMaskView host,
                  MaskView to) {
  device.CopyToDevice(stream, to.words, host.words, BytesOf(to));
}

template <class Device>
void CopyToHost(Device& device, typename Device::Stream& stream, ConstMaskView from,
                MaskView host) {
  device.CopyToHost(stream, host.words, from.words, BytesOf(from));
}

template <class Device>
void Copy(Device& device, typename Device::Stream& stream, ConstMaskView from, MaskView to) {
  device.CopyOnDevice(stream, to.words, from.words, BytesOf(to));
}

template <class Device>
void ClearAll(Device& device, typename Device::Stream& stream, MaskView mask) {
  device.Fill(stream, mask.words, 0, BytesOf(mask));
}

template <class Device>
void SetAll(Device& device, typename Device::Stream& stream, MaskView mask) {
  device.Launch(stream, BlocksFor(static_cast<int64_t>(mask.word_count()), SetColumns::kThreads),
                SetColumns{{0, mask.width}, mask});
}

template <class Device>
void KeepRows(Device& device, typename Device::Stream& stream, Range rows, MaskView mask) {
  rows.begin = std::clamp(rows.begin, 0, mask.height);
  rows.end = std::clamp(rows.end, rows.begin, mask.height);
  ClearAll(device, stream, CutRows(mask, {0, rows.begin}));
  ClearAll(device, stream, CutRows(mask, {rows.end, mask.height}));
}

template <class Device>
void Unite(Device& device, typename Device::Stream& stream, ConstMaskView a, ConstMaskView b,
           MaskView out) {
  Combine(device, stream, MaskOperation::kUnite, a, b, out);
}

template <class Device>
void Intersect(Device& device, typename Device::Stream& stream, ConstMaskView a, ConstMaskView b,
               MaskView out) {
  Combine(device, stream, MaskOperation::kIntersect, a, b, out);
}

template <class Device>
void Subtract(Device& device, typename Device::Stream& stream, ConstMaskView a, ConstMaskView b,
              MaskView out) {
  Combine(device, stream, MaskOperation::kSubtract, a, b, out);
}

template <class Device>
DevicePropagation<Device>::DevicePropagation(Device& device, typename Device::Stream& stream,
                                             const AxisWindow& rows, const AxisWindow& columns)
    : device_(device),
      forward_rows_(MakeAxis(device, stream, rows, AxisMap::Direction::kForward)),
      forward_columns_(MakeAxis(device, stream, columns, AxisMap::Direction::kForward)),
      backward_rows_(MakeAxis(device, stream, rows, AxisMap::Direction::kBackward)),
      backward_columns_(MakeAxis(device, stream, columns, AxisMap::Direction::kBackward)) {}

template <class Device>
typename DevicePropagation<Device>::Axis DevicePropagation<Device>::MakeAxis(
    Device& device, typename Device::Stream& stream, const AxisWindow& window,
    AxisMap::Direction direction) {
  const AxisMap map(window, direction);
  std::vector<int> first = {0};
  std::vector<Range> ranges;
  for (int g = 0; g < map.group_count(); ++g) {
    const AxisMap::Group group = map.group(g);
    for (int i = group.indices.begin; i < group.indices.end; ++i) {
      ranges.insert(ranges.end(), group.sources, group.sources + group.source_count);
      first.push_back(static_cast<int>(ranges.size()));
    }
  }
  Axis axis;
  axis.is_identity = map.is_identity();
  axis.first = Buffer<Device, int>(device, first.size());
  axis.ranges = Buffer<Device, Range>(device, ranges.size());
  device.CopyToDevice(stream, axis.first.data(), first.data(), axis.first.bytes());
  device.CopyToDevice(stream, axis.ranges.data(), ranges.data(), axis.ranges.bytes());
  device.Synchronize(stream);
  return axis;
}

template <class Device>
void DevicePropagation<Device>::Propagate(typename Device::Stream& stream, const Axis& rows,
                                          const Axis& columns, ConstMaskView from, MaskView to) {
  if (rows.is_identity && columns.is_identity) {
    Copy(device_, stream, from, to);
    return;
  }
  device_.Launch(stream, {to.height, 1, 1},
                 PropagateMask{{rows.first.data(), rows.ranges.data()},
                               {columns.first.data(), columns.ranges.data()},
                               from,
                               to},
                 static_cast<size_t>(from.words_per_row) * sizeof(uint64_t));
}

template <class Device>
void PixelList<Device>::Assign(typename Device::Stream& stream, ConstMaskView mask, Range rows) {
  capacity_ = rows.size() * mask.width;
  if (capacity_ == 0) {
    device_.Fill(stream, count_.data(), 0, count_.bytes());
    return;
  }
  device_.Launch(stream, {rows.size(), 1, 1},
                 ListPixels{CutRows(mask, rows), rows.begin, pixels_.data(), count_.data()},
                 ListPixels::kSharedBytes);
}

template <class Device>
void ClearUnchanged(Device& device, typename Device::Stream& stream, const PixelsView& pixels,
                    const uint8_t* changed, MaskView mask) {
  device.Launch(stream, BlocksFor(pixels.capacity, ClearUnchangedPixels::kThreads),
                ClearUnchangedPixels{pixels.pixels, pixels.count, changed, mask});
}

#define CACHEINF_INSTANTIATE_MASKS(Device)                                                   \
  template void CopyToDevice(Device&, Device::Stream&, ConstMaskView, MaskView);             \
  template void CopyToHost(Device&, Device::Stream&, ConstMaskView, MaskView);               \
  template void Copy(Device&, Device::Stream&, ConstMaskView, MaskView);                     \
  template void ClearAll(Device&, Device::Stream&, MaskView);                                \
  template void SetAll(Device&, Device::Stream&, MaskView);                                  \
  template void KeepRows(Device&, Device::Stream&, Range, MaskView);                         \
  template void Unite(Device&, Device::Stream&, ConstMaskView, ConstMaskView, MaskView);     \
  template void Intersect(Device&, Device::Stream&, ConstMaskView, ConstMaskView, MaskView); \
  template void Subtract(Device&, Device::Stream&, ConstMaskView, ConstMaskView, MaskView);  \
  template void ClearUnchanged(Device&, Device::Stream&, const PixelsView&, const uint8_t*,  \
                               MaskView);                                                    \
  template class DevicePropagation<Device>;                                                  \
  template class PixelList<Device>

CACHEINF_INSTANTIATE_MASKS(EmulatedDevice);
#ifdef CACHEINF_HAS_CUDA
CACHEINF_INSTANTIATE_MASKS(RealDevice);
#endif

}  // namespace cuda
}  // namespace cacheinf
