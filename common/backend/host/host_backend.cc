#include "common/backend/host/host_backend.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "common/backend/arena.h"
#include "common/backend/host/host_pixel_sets.h"
#include "common/model/graph/geometry.h"
#include "sparse_ops/mask/bits.h"
#include "sparse_ops/ops.h"

namespace cacheinf {
namespace {

// Calls visit(numbers, count) for each block of the pixels' numbers that lies end to end.
template <typename T, typename Visit>
void VisitPixels(const BasicTensorView<T>& map, ConstMaskView pixels, Visit visit) {
  const BasicImageView<T> image = AsImage(map);
  const bool is_dense = image.pixel_stride == image.channels;
  for (int n = 0; n < image.batch; ++n) {
    for (int y = 0; y < image.height; ++y) {
      bits::ForEachRun(pixels.Row(y), pixels.words_per_row, [&](int begin, int end) {
        if (is_dense) return visit(image.Pixel(n, y, begin), (end - begin) * image.channels);
        for (int x = begin; x < end; ++x) visit(image.Pixel(n, y, x), image.channels);
      });
    }
  }
}

}  // namespace

Backend::Memory HostBackend::Allocate(size_t floats) {
  const size_t taken = AlignedFloats(std::max<size_t>(floats, 1));
  void* memory = std::aligned_alloc(kArenaAlignmentFloats * sizeof(float), taken * sizeof(float));
  if (memory == nullptr) throw std::bad_alloc();
  auto* const first = static_cast<float*>(memory);
  std::fill_n(first, taken, 0.0f);
  return Memory(first, [](float* pointer) { std::free(pointer); });
}

int HostBackend::Prepare(const Graph& graph, const Operator& op) {
  PrepareKernel(graph, op);
  const auto handle = static_cast<int>(is_local_.size());
  is_local_.push_back(IsLocal(graph, op));
  const size_t floats = ScratchFloats(handle);
  if (floats > scratch_floats_) {
    scratch_ = Allocate(floats);
    scratch_floats_ = floats;
  }
  return handle;
}

std::unique_ptr<PixelSets> HostBackend::MakeSets() {
  return std::make_unique<HostPixelSets>(parts_scratch_);
}

void HostBackend::Run(int handle, std::span<const ConstTensorView> inputs,
                      std::span<const TensorView> outputs, Range rows) {
  if (rows.empty()) return;
  RunKernel(handle, inputs, outputs, rows, /*test=*/nullptr, scratch_.get());
}

void HostBackend::Run(int handle, std::span<const ConstTensorView> inputs,
                      std::span<const TensorView> outputs, PixelSets& sets,
                      const PixelRunArgs& args) {
  auto& own = static_cast<HostPixelSets&>(sets);
  if (!is_local_[static_cast<size_t>(handle)]) {
    if (own.IsKnownEmpty(args.active) || IsEmpty(own.mask(args.active))) return;
    own.Count(args.active, args.weight);
    Run(handle, inputs, outputs, AllPixels(outputs[0]));
    return;
  }
  for (const ActivePart& part : own.Parts(args)) {
    RunKernel(handle, inputs, outputs, part.pixels, part.test, scratch_.get());
  }
  own.FinishParts(args);
}

void HostBackend::Shift(const TensorView& map, int rows, int columns) {
  const int64_t height = map.dims[2];
  const int64_t width = map.dims[3];
  // All pixels that stay within one image move by the same distance: one block of memory.
  const int64_t distance = rows * width + columns;
  const int64_t pixels = height * width - std::abs(distance);
  if (pixels <= 0) return;
  for (int64_t image = 0; image < map.dims[0]; ++image) {
    float* const first = map.data + image * map.strides[0];
    const int64_t channels = map.strides[3];
    std::memmove(first + std::max<int64_t>(-distance, 0) * channels,
                 first + std::max<int64_t>(distance, 0) * channels,
                 static_cast<size_t>(pixels * channels) * sizeof(float));
  }
}

void HostBackend::Warp(const WarpArgs& args, PixelSets& sets, PixelSet wanted,
                       PixelSet out_of_view) {
  auto& own = static_cast<HostPixelSets&>(sets);
  if (own.IsKnownEmpty(wanted)) return;
  WarpArgs masked = args;
  masked.wanted = own.mask(wanted);
  if (out_of_view.exists()) masked.out_of_view = own.MaskToChange(out_of_view);
  RunWarp(masked);
}

void HostBackend::Gather(const ConstTensorView& map, ConstMaskView pixels,
                         std::span<float> numbers) {
  float* to = numbers.data();
  VisitPixels(map, pixels,
              [&](const float* pixel, int count) { to = std::copy_n(pixel, count, to); });
}

void HostBackend::Scatter(std::span<const float> numbers, ConstMaskView pixels,
                          const TensorView& map) {
  const float* from = numbers.data();
  VisitPixels(map, pixels, [&](float* pixel, int count) {
    std::copy_n(from, count, pixel);
    from += count;
  });
}

}  // namespace cacheinf
