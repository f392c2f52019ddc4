#ifndef CACHEINF_SPARSE_OPS_CUDA_EMULATED_MEMORY_H_
#define CACHEINF_SPARSE_OPS_CUDA_EMULATED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace cacheinf {
namespace cuda {

// Fresh memory: a signalling NaN, and an index far out of anything.
constexpr uint32_t kGarbage = 0x7fa5a5a5;

void FillWithGarbage(std::byte* memory, size_t bytes);

// Addresses of the device's memory are none of the host's: who reads one without the device
// crashes.
constexpr uintptr_t kGlobalMemory = uintptr_t{1} << 53;
constexpr uintptr_t kSharedMemory = uintptr_t{1} << 54;

// Who last wrote and read a word of memory. Zero: nobody.
//
// Both stamps have, from the lowest bit: the thread (10 bits), the bytes of the word (4), flags
// (6), the moment (44). Moments are counted through all launches of a device; every barrier and
// every SyncWarp begins one.
struct WordHistory {
  uint64_t written = 0;
  uint64_t read = 0;
};

namespace stamp {

constexpr int kThreadBits = 10;
constexpr int kBytesShift = kThreadBits;
constexpr int kFlagsShift = kBytesShift + 4;
constexpr int kMomentShift = 20;

constexpr uint64_t kByAtomic = uint64_t{1} << kFlagsShift;
// Of `written`: an asynchronous copy has not landed.
constexpr uint64_t kInFlight = uint64_t{2} << kFlagsShift;
// Of `written`: the bytes that have ever been written.
constexpr int kKnownShift = kFlagsShift + 2;
// Of `written`: nobody uses the word.
constexpr uint64_t kRetired = kInFlight | ~uint64_t{0} << kMomentShift;
// Of `read`: by several lanes of the thread's warp, of the block, or by several blocks of a launch.
constexpr uint64_t kByWarp = uint64_t{2} << kFlagsShift;
constexpr uint64_t kByBlock = uint64_t{4} << kFlagsShift;
constexpr uint64_t kByBlocks = uint64_t{8} << kFlagsShift;

constexpr uint64_t Moment(uint64_t stamp) { return stamp >> kMomentShift; }
constexpr int Thread(uint64_t stamp) { return static_cast<int>(stamp & ((1 << kThreadBits) - 1)); }
constexpr unsigned Bytes(uint64_t stamp) {
  return static_cast<unsigned>(stamp >> kBytesShift) & 0xf;
}
constexpr unsigned KnownBytes(uint64_t written) {
  return static_cast<unsigned>(written >> kKnownShift) & 0xf;
}

}  // namespace stamp

// Memory of the device.
struct Allocation {
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  uintptr_t address = 0;
  size_t bytes = 0;
  std::unique_ptr<std::byte, Free> memory;
  std::unique_ptr<WordHistory, Free> history;  // one a word

  bool Holds(uintptr_t from, size_t count) const {
    return from >= address && from - address <= bytes && count <= bytes - (from - address);
  }
  std::byte* At(uintptr_t from) const { return memory.get() + (from - address); }
  WordHistory* HistoryAt(uintptr_t from) const { return history.get() + (from - address) / 4; }
};

// All that a device has.
class Memory {
 public:
  explicit Memory(size_t capacity) : capacity_(capacity) {}

  // Throws OutOfDeviceMemory.
  uintptr_t Allocate(size_t bytes);

  // Throws DeviceError where nothing is allocated.
  void Free(uintptr_t address);

  // What holds an address or lies before it, or null. An address outside the allocation that is
  // returned is wrong.
  const Allocation* Near(uintptr_t address) const {
    const uintptr_t slot = (address - kGlobalMemory) / kSlotBytes;
    return slot < slots_.size() ? slots_[slot].get() : nullptr;
  }

  // For copies from and to the host. Throws DeviceError if any of it is not allocated.
  const Allocation& Holding(const void* address, size_t bytes, const std::string& what) const;

 private:
  // Allocations begin at multiples of this, and at least as much is free between them.
  static constexpr size_t kSlotBytes = size_t{1} << 20;

  size_t capacity_;
  size_t used_ = 0;
  std::vector<std::shared_ptr<const Allocation>> slots_;
};

}  // namespace cuda
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CUDA_EMULATED_MEMORY_H_
