#ifndef CACHEINF_SPARSE_OPS_CUDA_EMULATED_PROCESSOR_H_
#define CACHEINF_SPARSE_OPS_CUDA_EMULATED_PROCESSOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/emulated/fiber.h"
#include "sparse_ops/cuda/emulated/memory.h"
#include "sparse_ops/cuda/emulated/place.h"
#include "sparse_ops/cuda/emulated/warpgroup.h"

namespace cacheinf::cuda {

// Runs launches, one after another. Blocks run in random order, and so do a block's threads, which
// are fibers, between the points where they wait for each other. Throws KernelFault for errors that
// a device would not report:
//   - access to memory outside an allocation, misaligned, never written, or not yet landed
//   - accesses of two threads to the same memory that no barrier (SyncWarp within a warp)
//   separates,
//     unless both read or both are atomic
//   - threads of a block that do not meet at a barrier, lanes that do not meet in a warp's
//   operation
//   - a thread that ends without waiting for its copies
//   - what warpgroup.h lists
// It may miss a race on the bytes of a word that are written one by one and read by several
// threads.
class Processor {
 public:
  struct Launch {
    const char* kernel_name;
    Blocks blocks;
    int threads;
    size_t shared_bytes;
    // Runs one thread of the kernel.
    void (*run_thread)(const void* kernel, Processor& processor, int thread);
    const void* kernel;
  };

  Processor(const Memory& memory, unsigned seed, bool has_warpgroups)
      : memory_(memory), random_(seed), has_warpgroups_(has_warpgroups) {}

  void Run(const Launch& launch);
  // Whether the last launch used warpgroup instructions.
  bool used_warpgroups() const { return used_warpgroups_; }

  // The host has copied or filled these bytes.
  static void NoteHostWrite(const Allocation& allocation, uintptr_t address, size_t bytes);
  // From now on any access to retired bytes fails, and any read of renewed ones until they are
  // written again.
  static void NoteRetired(const Allocation& allocation, uintptr_t address, size_t bytes);
  static void NoteRenewed(const Allocation& allocation, uintptr_t address, size_t bytes);

  // -----------------------------------------------------------------------------------------------
  // For kernels' threads. `thread` is the caller.

  const Launch& launch() const { return *launch_; }
  Blocks block() const { return block_; }

  // Checks an access and returns the host's memory for it. REQUIRES: whole words, or part of one.
  const std::byte* Read(int thread, uintptr_t address, size_t bytes, size_t alignment,
                        Place place) {
    const Found found = Find(thread, address, bytes, alignment, "reads", place);
    ForEachWord(found, address, bytes, [&](WordHistory& word, unsigned word_bytes) {
      NoteRead(thread, word, word_bytes, found.is_shared, address, place);
    });
    return found.memory;
  }
  std::byte* Write(int thread, uintptr_t address, size_t bytes, size_t alignment, Place place,
                   uint64_t flags = 0) {
    const Found found = Find(thread, address, bytes, alignment, "writes", place);
    ForEachWord(found, address, bytes, [&](WordHistory& word, unsigned word_bytes) {
      NoteWrite(thread, word, word_bytes, flags, found.is_shared, address, place);
    });
    return found.memory;
  }

  // The same for an atomic operation.
  std::byte* Update(int thread, uintptr_t address, size_t bytes, Place place) {
    const Found found = Find(thread, address, bytes, bytes, "updates", place);
    ForEachWord(found, address, bytes, [&](WordHistory& word, unsigned word_bytes) {
      if (!IsKnown(word, word_bytes, found.is_shared)) {
        FailToRead(thread, word, false, address, place);
      }
      NoteWrite(thread, word, word_bytes, stamp::kByAtomic, found.is_shared, address, place);
    });
    return found.memory;
  }

  // Waits for all threads of the block. Returns how many say yes.
  int Barrier(int thread, bool says_yes, Place place);

  // Waits for all lanes of the warp. The last to arrive calls complete(slots, lanes); slot i is
  // what lane i passed.
  template <typename Complete>
  void Meet(int thread, const char* operation, void* slot, Place place, const Complete& complete) {
    Warp& warp = warps_[static_cast<size_t>(thread / kWarp)];
    warp.slots[static_cast<size_t>(thread % kWarp)] = slot;
    if (!ArriveInWarp(thread, operation, place)) return;
    complete(warp.slots.data(), warp.lanes);
    ReleaseWarp(thread);
  }

  // Orders what the warp's lanes did so far before what they do from now on.
  void OrderWarp(int thread) { warp_synced_[static_cast<size_t>(thread / kWarp)] = ++moment_; }

  // `from` = 0 copies zeros.
  void CopyAsync(int thread, uintptr_t to, uintptr_t from, size_t bytes, Place place);
  void CommitCopies(int thread) { ++all_threads_[static_cast<size_t>(thread)]->committed; }
  void WaitForCopies(int thread, int but_last);

  // The block's warpgroup. Fails if the device has none, or the block is not one.
  Warpgroup& CheckedWarpgroup(int thread, Place place);
  // What the thread wrote counts as shown after the next barrier.
  void ShowToWarpgroup(int thread) { Of(thread).shown = NextMoment(); }
  // Reads shared memory that every writer has shown to the warpgroup.
  const std::byte* ReadShown(int thread, uintptr_t address, size_t bytes, Place place);
  void CheckNotWrittenSince(int thread, uintptr_t address, size_t bytes, uint64_t moment,
                            Place place) const;
  uint64_t NextMoment() { return ++moment_; }

  [[noreturn]] void Fail(int thread, Place place, const std::string& what) const;

 private:
  struct Found {
    std::byte* memory;
    WordHistory* history;
    bool is_shared;
  };

  struct AsyncCopy {
    int group;
    std::byte* to;
    WordHistory* history;
    size_t bytes;
    std::array<std::byte, 16> value;
  };

  struct Thread {
    Fiber fiber;
    Processor* processor = nullptr;
    int index = 0;
    bool is_finished = false;
    const char* waits_in = nullptr;  // the operation; null while it can run
    Place place = {"", 0};
    int barrier_result = 0;
    std::vector<AsyncCopy> copies;
    int committed = 0;
    // When it last showed its writes to the warpgroup: at all, and before the last barrier.
    uint64_t shown = 0;
    uint64_t shown_before_barrier = 0;
  };

  struct Warp {
    std::array<void*, kWarp> slots = {};
    int lanes = 0;
    int arrived = 0;
  };

  Thread& Of(int thread) { return *all_threads_[static_cast<size_t>(thread)]; }
  static void FiberMain(void* thread);
  void RunBlock(const Blocks& index);
  void Prepare(const Launch& launch);
  void AbandonBlock();
  void Suspend(int thread, const char* operation, Place place);
  void WakeUp(Thread& thread);
  bool ArriveInWarp(int thread, const char* operation, Place place);
  void ReleaseWarp(int last);
  [[noreturn]] void FailToMeet() const;

  Found Find(int thread, uintptr_t address, size_t bytes, size_t alignment, const char* verb,
             Place place) {
    const uintptr_t in_shared = address - kSharedMemory;
    if (in_shared < shared_.size() && bytes <= shared_.size() - in_shared &&
        address % alignment == 0) {
      return {shared_.data() + in_shared, shared_history_.data() + in_shared / 4, true};
    }
    const Allocation* const allocation = memory_.Near(address);
    if (allocation == nullptr || !allocation->Holds(address, bytes) || address % alignment != 0) {
      FailToFind(thread, address, bytes, alignment, verb, place);
    }
    return {allocation->At(address), allocation->HistoryAt(address), false};
  }
  [[noreturn]] void FailToFind(int thread, uintptr_t address, size_t bytes, size_t alignment,
                               const char* verb, Place place) const;

  template <typename Visit>
  static void ForEachWord(const Found& found, uintptr_t address, size_t bytes, const Visit& visit) {
    if (bytes < 4) {
      visit(*found.history, ((1u << bytes) - 1) << (address % 4));
      return;
    }
    for (size_t i = 0; i < bytes / 4; ++i) visit(found.history[i], 0xfu);
  }

  uint64_t Stamp(int thread, unsigned bytes, uint64_t flags) const {
    return moment_ << stamp::kMomentShift | static_cast<uint64_t>(thread) |
           static_cast<uint64_t>(bytes) << stamp::kBytesShift | flags;
  }

  // Whether the stamped access is ordered before what `thread` does now.
  bool IsBefore(uint64_t stamp, int thread) const {
    const uint64_t moment = stamp::Moment(stamp);
    if (moment < launch_began_) return true;
    if (moment < block_began_) return false;
    const int other = stamp::Thread(stamp);
    return other == thread || moment < block_synced_ ||
           (other / kWarp == thread / kWarp &&
            moment < warp_synced_[static_cast<size_t>(thread / kWarp)]);
  }

  // Whether all stamped reads are.
  bool AreReadsBefore(uint64_t read, int thread) const {
    if ((read & (stamp::kByWarp | stamp::kByBlock | stamp::kByBlocks)) == 0) {
      return IsBefore(read, thread);
    }
    const uint64_t moment = stamp::Moment(read);
    if (moment < launch_began_) return true;
    if ((read & stamp::kByBlocks) != 0 || moment < block_began_) return false;
    if (moment < block_synced_) return true;
    return (read & stamp::kByBlock) == 0 && stamp::Thread(read) / kWarp == thread / kWarp &&
           moment < warp_synced_[static_cast<size_t>(thread / kWarp)];
  }

  bool IsKnown(const WordHistory& word, unsigned bytes, bool is_shared) const {
    return (stamp::KnownBytes(word.written) & bytes) == bytes &&
           (!is_shared || stamp::Moment(word.written) >= block_began_);
  }

  // Whether a read needs no further check or note, as most do: the word was written whole before
  // any access that could race with this one, and several warps have read it in this moment
  // already.
  bool IsPlainRead(const WordHistory& word, unsigned bytes, bool is_shared) const {
    constexpr uint64_t kWhole = uint64_t{0xf} << stamp::kKnownShift;
    const uint64_t low = is_shared ? block_began_ : 0;
    const uint64_t high = is_shared ? block_synced_ : launch_began_;
    return (word.written & (kWhole | stamp::kInFlight)) == kWhole &&
           stamp::Moment(word.written) - low < high - low && stamp::Moment(word.read) == moment_ &&
           (word.read & stamp::kByBlock) != 0 && (stamp::Bytes(word.read) & bytes) == bytes;
  }
  void NoteRead(int thread, WordHistory& word, unsigned bytes, bool is_shared, uintptr_t address,
                Place place) {
    if (!IsPlainRead(word, bytes, is_shared)) {
      NoteOtherRead(thread, word, bytes, is_shared, address, place);
    }
  }
  void NoteOtherRead(int thread, WordHistory& word, unsigned bytes, bool is_shared,
                     uintptr_t address, Place place);
  void NoteWrite(int thread, WordHistory& word, unsigned bytes, uint64_t flags, bool is_shared,
                 uintptr_t address, Place place);

  [[noreturn]] void FailToRead(int thread, const WordHistory& word, bool is_known,
                               uintptr_t address, Place place) const;
  [[noreturn]] void FailToWrite(int thread, const WordHistory& word, uint64_t earlier,
                                uintptr_t address, Place place) const;
  std::string Who(uint64_t stamp) const;

  const Memory& memory_;
  std::mt19937 random_;
  bool has_warpgroups_;
  bool used_warpgroups_ = false;
  Warpgroup warpgroup_ = Warpgroup(*this);
  const Launch* launch_ = nullptr;
  Blocks block_;
  std::vector<std::byte> shared_;
  std::vector<WordHistory> shared_history_;
  std::vector<std::unique_ptr<Thread>> all_threads_;  // as many as the largest block so far had
  std::vector<int> ready_;
  int finished_ = 0;
  int at_barrier_ = 0;
  int yes_at_barrier_ = 0;
  std::array<Warp, 32> warps_;
  std::exception_ptr failure_;

  uint64_t moment_ = 1;
  uint64_t launch_began_ = 0;
  uint64_t block_began_ = 0;
  uint64_t block_synced_ = 0;
  std::array<uint64_t, 32> warp_synced_ = {};
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_EMULATED_PROCESSOR_H_
