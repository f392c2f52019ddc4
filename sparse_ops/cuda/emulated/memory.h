#ifndef CACHEINF_SPARSE_OPS_CUDA_EMULATED_MEMORY_H_
#define CACHEINF_SPARSE_OPS_CUDA_EMULATED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace cacheinf::cuda {

// What fresh memory holds: a signalling NaN, and as an index far outside anything.
constexpr uint32_t kGarbage = 0x7fa5a5a5;

void FillWithGarbage(std::byte* memory, size_t bytes);

// Device addresses are not host addresses, so that dereferencing one crashes.
constexpr uintptr_t kGlobalMemory = uintptr_t{1} << 53;
constexpr uintptr_t kSharedMemory = uintptr_t{1} << 54;

// Who last wrote and who last read a word of memory. 0: nobody.
//
// A stamp is, from the lowest bit: thread (10 bits), bytes of the word (4), flags (6), moment (44).
// A device counts moments through all launches; every barrier and every SyncWarp begins one.
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
// `written`: by an asynchronous copy that has not landed.
constexpr uint64_t kInFlight = uint64_t{2} << kFlagsShift;
// `written`: the bytes that were ever written.
constexpr int kKnownShift = kFlagsShift + 2;
// `written`: nobody may use the word.
constexpr uint64_t kRetired = kInFlight | ~uint64_t{0} << kMomentShift;
// `read`: by several lanes of a warp, by several warps of a block, by several blocks of a launch.
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

// All memory of a device.
class Memory {
 public:
  explicit Memory(size_t capacity) : capacity_(capacity) {}

  // Throws OutOfDeviceMemory.
  uintptr_t Allocate(size_t bytes);

  // Throws DeviceError if no allocation begins there.
  void Free(uintptr_t address);

  // The only allocation that may hold the address, or null. The caller checks whether it does.
  const Allocation* Near(uintptr_t address) const {
    const uintptr_t slot = (address - kGlobalMemory) / kSlotBytes;
    return slot < slots_.size() ? slots_[slot].get() : nullptr;
  }

  // For copies from and to the host. Throws DeviceError if any of it is not allocated.
  const Allocation& Holding(const void* address, size_t bytes, const std::string& what) const;

 private:
  // Allocations begin at multiples of this, with at least as much free between them.
  static constexpr size_t kSlotBytes = size_t{1} << 20;

  size_t capacity_;
  size_t used_ = 0;
  std::vector<std::shared_ptr<const Allocation>> slots_;
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_EMULATED_MEMORY_H_
