#include "sparse_ops/cuda/emulated/memory.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "sparse_ops/cuda/device.h"

namespace cacheinf::cuda {

void FillWithGarbage(std::byte* memory, size_t bytes) {
  for (size_t i = 0; i < bytes; i += sizeof(kGarbage)) {
    std::memcpy(memory + i, &kGarbage, std::min(sizeof(kGarbage), bytes - i));
  }
}

uintptr_t Memory::Allocate(size_t bytes) {
  if (bytes > capacity_ - used_) {
    throw OutOfDeviceMemory("the emulated device has " + std::to_string(capacity_ - used_) +
                            " bytes left, not " + std::to_string(bytes));
  }
  Allocation allocation;
  allocation.address = kGlobalMemory + slots_.size() * kSlotBytes;
  allocation.bytes = bytes;
  allocation.memory.reset(static_cast<std::byte*>(std::malloc(std::max<size_t>(bytes, 1))));
  allocation.history.reset(static_cast<WordHistory*>(
      std::calloc(bytes / 4 + 1, sizeof(WordHistory))));  // untouched pages are free
  if (!allocation.memory || !allocation.history) throw std::bad_alloc();
  FillWithGarbage(allocation.memory.get(), bytes);
  used_ += bytes;
  const uintptr_t address = allocation.address;
  slots_.resize(slots_.size() + bytes / kSlotBytes + 2,
                std::make_shared<const Allocation>(std::move(allocation)));
  return address;
}

void Memory::Free(uintptr_t address) {
  const Allocation* const allocation = Near(address);
  if (allocation == nullptr || allocation->address != address) {
    throw DeviceError("what is freed was not allocated, or is free already");
  }
  used_ -= allocation->bytes;
  const size_t first = (address - kGlobalMemory) / kSlotBytes;
  const size_t count = allocation->bytes / kSlotBytes + 2;
  std::fill_n(slots_.begin() + static_cast<std::ptrdiff_t>(first), count, nullptr);
}

const Allocation& Memory::Holding(const void* address, size_t bytes,
                                  const std::string& what) const {
  const auto from = reinterpret_cast<uintptr_t>(address);
  const Allocation* const allocation = Near(from);
  if (allocation == nullptr || !allocation->Holds(from, bytes)) {
    throw DeviceError(what + " of " + std::to_string(bytes) +
                      " bytes reaches outside the device's " + "memory");
  }
  return *allocation;
}

}  // namespace cacheinf::cuda
