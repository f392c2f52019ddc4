#include "common/exec/backend.h"

#include <algorithm>
#include <cstdlib>
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

}  // namespace cacheinf
