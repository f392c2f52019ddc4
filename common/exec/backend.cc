#include "common/exec/backend.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "common/exec/arena.h"

namespace cacheinf {

Backend::Memory AllocateOnHost(size_t floats) {
  const size_t taken = AlignedFloats(std::max<size_t>(floats, 1));
  void* memory = std::aligned_alloc(kArenaAlignmentFloats * sizeof(float), taken * sizeof(float));
  if (memory == nullptr) throw std::bad_alloc();
  auto* const first = static_cast<float*>(memory);
  std::fill_n(first, taken, 0.0f);
  return Backend::Memory(first, [](float* pointer) { std::free(pointer); });
}

void MoveOnHost(const TensorView& map, int rows, int columns) {
  const int64_t height = map.dims[2];
  const int64_t width = map.dims[3];
  // All pixels that move within one image are as far apart: one block of memory.
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

}  // namespace cacheinf
