#include "sparse_ops/cuda/emulated/processor.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace cacheinf::cuda {
namespace {

constexpr const char* kBarrier = "Barrier";

std::string NameOf(const Blocks& block) {
  return "block (" + std::to_string(block.x) + ", " + std::to_string(block.y) + ", " +
         std::to_string(block.z) + ")";
}

}  // namespace

void Processor::Run(const Launch& launch) {
  launch_ = &launch;
  used_warpgroups_ = false;
  Prepare(launch);
  launch_began_ = ++moment_;
  std::vector<int> order(static_cast<size_t>(launch.blocks.x) *
                         static_cast<size_t>(launch.blocks.y) *
                         static_cast<size_t>(launch.blocks.z));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random_);
  for (const int block : order) {
    RunBlock({block % launch.blocks.x, block / launch.blocks.x % launch.blocks.y,
              block / launch.blocks.x / launch.blocks.y});
  }
}

void Processor::Prepare(const Launch& launch) {
  shared_.resize(launch.shared_bytes);
  shared_history_.resize(launch.shared_bytes / 4 + 1);
  const auto threads = static_cast<size_t>(launch.threads);
  while (all_threads_.size() < threads) {
    auto thread = std::make_unique<Thread>();
    thread->processor = this;
    thread->index = static_cast<int>(all_threads_.size());
    thread->fiber.Start(&FiberMain, thread.get());
    all_threads_.push_back(std::move(thread));
  }
}

// Runs the thread over and over, once per block.
void Processor::FiberMain(void* thread) {
  auto& self = *static_cast<Thread*>(thread);
  for (;;) {
    Processor& processor = *self.processor;
    try {
      const Launch& launch = *processor.launch_;
      launch.run_thread(launch.kernel, processor, self.index);
      if (!self.copies.empty()) {
        processor.Fail(self.index, self.place, "ends without having waited for its copies");
      }
      processor.warpgroup_.CheckNothingIsUnderWay(self.index, self.place);
    } catch (...) {
      processor.failure_ = std::current_exception();
    }
    self.is_finished = true;
    ++processor.finished_;
    self.fiber.Suspend();
  }
}

void Processor::RunBlock(const Blocks& index) {
  block_ = index;
  block_began_ = block_synced_ = ++moment_;
  warp_synced_.fill(0);
  FillWithGarbage(shared_.data(), shared_.size());
  const int threads = launch_->threads;
  finished_ = at_barrier_ = yes_at_barrier_ = 0;
  ready_.resize(static_cast<size_t>(threads));
  std::iota(ready_.begin(), ready_.end(), 0);
  for (int i = 0; i < threads; ++i) {
    Thread& thread = *all_threads_[static_cast<size_t>(i)];
    thread.is_finished = false;
    thread.waits_in = nullptr;
    thread.copies.clear();
    thread.committed = 0;
    thread.shown = thread.shown_before_barrier = 0;
  }
  warpgroup_.Begin();
  for (int first = 0; first < threads; first += kWarp) {
    Warp& warp = warps_[static_cast<size_t>(first / kWarp)];
    warp.lanes = std::min(kWarp, threads - first);
    warp.arrived = 0;
  }
  try {
    while (!ready_.empty()) {
      std::swap(ready_[random_() * ready_.size() >> 32], ready_.back());
      Thread& thread = *all_threads_[static_cast<size_t>(ready_.back())];
      ready_.pop_back();
      thread.fiber.Resume();
      if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }
    if (finished_ < threads) FailToMeet();
    warpgroup_.End();
  } catch (...) {
    AbandonBlock();
    throw;
  }
}

void Processor::AbandonBlock() {
  for (const auto& thread : all_threads_) thread->fiber.Start(&FiberMain, thread.get());
}

void Processor::Suspend(int thread, const char* operation, Place place) {
  Thread& self = *all_threads_[static_cast<size_t>(thread)];
  self.waits_in = operation;
  self.place = place;
  self.fiber.Suspend();
}

void Processor::WakeUp(Thread& thread) {
  thread.waits_in = nullptr;
  ready_.push_back(thread.index);
}

int Processor::Barrier(int thread, bool says_yes, Place place) {
  if (says_yes) ++yes_at_barrier_;
  if (++at_barrier_ < launch_->threads) {
    Suspend(thread, kBarrier, place);
    return all_threads_[static_cast<size_t>(thread)]->barrier_result;
  }
  for (int i = 0; i < launch_->threads; ++i) {
    Thread& other = *all_threads_[static_cast<size_t>(i)];
    if (i == thread) continue;
    if (!IsSame(other.place, place)) {
      Fail(thread, place,
           "meets thread " + std::to_string(i) + " at a barrier, which is that at " +
               NameOf(other.place));
    }
    other.barrier_result = yes_at_barrier_;
    WakeUp(other);
  }
  for (int i = 0; i < launch_->threads; ++i) Of(i).shown_before_barrier = Of(i).shown;
  block_synced_ = ++moment_;
  at_barrier_ = 0;
  return std::exchange(yes_at_barrier_, 0);
}

// Returns whether this lane is the last.
bool Processor::ArriveInWarp(int thread, const char* operation, Place place) {
  const int first = thread / kWarp * kWarp;
  Warp& warp = warps_[static_cast<size_t>(thread / kWarp)];
  if (++warp.arrived < warp.lanes) {
    Suspend(thread, operation, place);
    return false;
  }
  for (int i = first; i < first + warp.lanes; ++i) {
    const Thread& other = *all_threads_[static_cast<size_t>(i)];
    if (i == thread || (IsSame(other.waits_in, operation) && IsSame(other.place, place))) continue;
    Fail(thread, place,
         std::string("is in ") + operation + " with thread " + std::to_string(i) +
             " of its warp, " + "which is in " + other.waits_in + " at " + NameOf(other.place));
  }
  return true;
}

void Processor::ReleaseWarp(int last) {
  const int first = last / kWarp * kWarp;
  Warp& warp = warps_[static_cast<size_t>(last / kWarp)];
  warp.arrived = 0;
  for (int i = first; i < first + warp.lanes; ++i) {
    if (i != last) WakeUp(*all_threads_[static_cast<size_t>(i)]);
  }
}

void Processor::CopyAsync(int thread, uintptr_t to, uintptr_t from, size_t bytes, Place place) {
  AsyncCopy copy = {};
  if (from != 0) std::memcpy(copy.value.data(), Read(thread, from, bytes, bytes, place), bytes);
  if (to - kSharedMemory >= shared_.size())
    Fail(thread, place, "copies to what is not shared memory");
  copy.to = Write(thread, to, bytes, bytes, place, stamp::kInFlight);
  FillWithGarbage(copy.to, bytes);
  copy.history = shared_history_.data() + (to - kSharedMemory) / 4;
  copy.bytes = bytes;
  Thread& self = *all_threads_[static_cast<size_t>(thread)];
  copy.group = self.committed;
  self.place = place;
  self.copies.push_back(copy);
}

void Processor::WaitForCopies(int thread, int but_last) {
  Thread& self = *all_threads_[static_cast<size_t>(thread)];
  size_t landed = 0;
  while (landed < self.copies.size() && self.copies[landed].group < self.committed - but_last) {
    const AsyncCopy& copy = self.copies[landed++];
    std::memcpy(copy.to, copy.value.data(), copy.bytes);
    for (size_t i = 0; i < copy.bytes / 4; ++i) {
      copy.history[i].written = Stamp(thread, 0xf, 0) | static_cast<uint64_t>(0xf)
                                                            << stamp::kKnownShift;
    }
  }
  self.copies.erase(self.copies.begin(), self.copies.begin() + static_cast<std::ptrdiff_t>(landed));
}

Warpgroup& Processor::CheckedWarpgroup(int thread, Place place) {
  if (!has_warpgroups_) {
    Fail(thread, place, "uses an instruction of warpgroups, which this device has not");
  }
  if (launch_->threads != Warpgroup::kWarps * kWarp) {
    Fail(thread, place, "uses an instruction of warpgroups in a block that is none");
  }
  used_warpgroups_ = true;
  return warpgroup_;
}

const std::byte* Processor::ReadShown(int thread, uintptr_t address, size_t bytes, Place place) {
  const Found found = Find(thread, address, bytes, bytes, "reads", place);
  ForEachWord(found, address, bytes, [&](WordHistory& word, unsigned word_bytes) {
    NoteRead(thread, word, word_bytes, found.is_shared, address, place);
    if (stamp::Moment(word.written) < Of(stamp::Thread(word.written)).shown_before_barrier) return;
    Fail(thread, place,
         "reads byte " + std::to_string(address - kSharedMemory) + " of shared memory, which " +
             Who(word.written) + " has not shown to the warpgroup");
  });
  return found.memory;
}

void Processor::CheckNotWrittenSince(int thread, uintptr_t address, size_t bytes, uint64_t moment,
                                     Place place) const {
  const size_t in_shared = address - kSharedMemory;
  for (size_t word = in_shared / 4; word < (in_shared + bytes) / 4; ++word) {
    const uint64_t written = shared_history_[word].written;
    if (stamp::Moment(written) < moment) continue;
    Fail(thread, place,
         "waits for a matrix instruction that reads byte " + std::to_string(word * 4) +
             " of shared memory, which " + Who(written) + " has written meanwhile");
  }
}

void Processor::NoteHostWrite(const Allocation& allocation, uintptr_t address, size_t bytes) {
  if (bytes == 0) return;
  const size_t begin = address - allocation.address;
  const size_t end = begin + bytes;
  for (size_t word = begin / 4; word <= (end - 1) / 4; ++word) {
    const uint64_t written = allocation.history.get()[word].written;
    if (written == stamp::kRetired) throw DeviceError("a copy or fill reaches what nobody uses");
    unsigned known = stamp::KnownBytes(written);
    for (size_t i = word * 4; i < word * 4 + 4; ++i) {
      if (i >= begin && i < end) known |= 1u << (i % 4);
    }
    allocation.history.get()[word] = {static_cast<uint64_t>(known) << stamp::kKnownShift, 0};
  }
}

void Processor::NoteRetired(const Allocation& allocation, uintptr_t address, size_t bytes) {
  std::fill_n(allocation.HistoryAt(address), (bytes + 3) / 4, WordHistory{stamp::kRetired, 0});
}

void Processor::NoteRenewed(const Allocation& allocation, uintptr_t address, size_t bytes) {
  std::fill_n(allocation.HistoryAt(address), (bytes + 3) / 4, WordHistory());
}

void Processor::NoteOtherRead(int thread, WordHistory& word, unsigned bytes, bool is_shared,
                              uintptr_t address, Place place) {
  const bool is_known = IsKnown(word, bytes, is_shared);
  if (!is_known || (word.written & stamp::kInFlight) != 0 ||
      ((stamp::Bytes(word.written) & bytes) != 0 && !IsBefore(word.written, thread))) {
    FailToRead(thread, word, is_known, address, place);
  }
  uint64_t flags = 0;
  const uint64_t read = word.read;
  if (stamp::Moment(read) >= launch_began_ && !AreReadsBefore(read, thread)) {
    flags = read & (stamp::kByWarp | stamp::kByBlock | stamp::kByBlocks);
    if (stamp::Moment(read) < block_began_) {
      flags = stamp::kByBlocks;
    } else if (stamp::Thread(read) / kWarp != thread / kWarp) {
      flags |= stamp::kByBlock;
    } else if (stamp::Thread(read) != thread) {
      flags |= stamp::kByWarp;
    }
    bytes |= stamp::Bytes(read);
  }
  word.read = Stamp(thread, bytes, flags);
}

void Processor::NoteWrite(int thread, WordHistory& word, unsigned bytes, uint64_t flags,
                          bool is_shared, uintptr_t address, Place place) {
  const uint64_t written = word.written;
  const bool is_of_this_block = !is_shared || stamp::Moment(written) >= block_began_;
  if (is_of_this_block) {
    const bool both_atomic = (written & flags & stamp::kByAtomic) != 0;
    if ((written & stamp::kInFlight) != 0 ||
        ((stamp::Bytes(written) & bytes) != 0 && !both_atomic && !IsBefore(written, thread))) {
      FailToWrite(thread, word, written, address, place);
    }
    if ((stamp::Bytes(word.read) & bytes) != 0 && !AreReadsBefore(word.read, thread)) {
      FailToWrite(thread, word, word.read, address, place);
    }
  }
  if (!is_of_this_block) word.read = 0;
  const unsigned known = (is_of_this_block ? stamp::KnownBytes(written) : 0) | bytes;
  word.written = Stamp(thread, bytes, flags) | static_cast<uint64_t>(known) << stamp::kKnownShift;
}

void Processor::Fail(int thread, Place place, const std::string& what) const {
  throw KernelFault(std::string("kernel ") + launch_->kernel_name + ", " + NameOf(block_) +
                    ", thread " + std::to_string(thread) + ", " + NameOf(place) + ": " + what);
}

void Processor::FailToMeet() const {
  std::map<std::string, int> counts;
  const Thread* some = nullptr;
  for (int i = 0; i < launch_->threads; ++i) {
    const Thread& thread = *all_threads_[static_cast<size_t>(i)];
    if (thread.is_finished) {
      ++counts["have ended"];
      continue;
    }
    if (some == nullptr) some = &thread;
    ++counts[std::string("wait in ") + thread.waits_in + " at " + NameOf(thread.place)];
  }
  std::string what = "waits in vain: of the block's threads";
  const char* separator = " ";
  for (const auto& [where, count] : counts) {
    what += separator + std::to_string(count) + " " + where;
    separator = ", ";
  }
  Fail(some->index, some->place, what);
}

void Processor::FailToFind(int thread, uintptr_t address, size_t bytes, size_t alignment,
                           const char* verb, Place place) const {
  std::string what = std::string(verb) + " " + std::to_string(bytes) + " bytes ";
  const Allocation* const allocation = memory_.Near(address);
  if (address % alignment != 0) {
    what += "that are not aligned to " + std::to_string(alignment);
  } else if (address - kSharedMemory < kSharedMemory / 2) {
    what += "at byte " + std::to_string(address - kSharedMemory) + " of shared memory of " +
            std::to_string(shared_.size()) + " bytes";
  } else if (allocation != nullptr) {
    what += "at byte " + std::to_string(address - allocation->address) + " of an allocation of " +
            std::to_string(allocation->bytes) + " bytes";
  } else {
    what += "outside the device's memory";
  }
  Fail(thread, place, what);
}

std::string Processor::Who(uint64_t stamp) const {
  if (stamp::Moment(stamp) < block_began_) return "another block";
  return "thread " + std::to_string(stamp::Thread(stamp));
}

void Processor::FailToRead(int thread, const WordHistory& word, bool is_known, uintptr_t address,
                           Place place) const {
  const uintptr_t in_shared = address - kSharedMemory;
  const std::string where =
      in_shared < shared_.size() ? " byte " + std::to_string(in_shared) + " of shared memory," : "";
  if (word.written == stamp::kRetired) Fail(thread, place, "reads memory that nobody uses");
  if ((word.written & stamp::kInFlight) != 0 && is_known) {
    Fail(thread, place,
         "reads" + where + " what a copy is still under way to, of " + Who(word.written));
  }
  if (!is_known) Fail(thread, place, "reads" + where + " what was never written");
  Fail(thread, place,
       "reads" + where + " what " + Who(word.written) + " writes, with no barrier between");
}

void Processor::FailToWrite(int thread, const WordHistory& word, uint64_t earlier,
                            uintptr_t address, Place place) const {
  const uintptr_t in_shared = address - kSharedMemory;
  const std::string where =
      in_shared < shared_.size() ? " byte " + std::to_string(in_shared) + " of shared memory," : "";
  if (word.written == stamp::kRetired) Fail(thread, place, "writes memory that nobody uses");
  if ((word.written & stamp::kInFlight) != 0) {
    Fail(thread, place,
         "writes" + where + " what a copy is still under way to, of " + Who(word.written));
  }
  Fail(thread, place,
       "writes" + where + " what " + Who(earlier) + (earlier == word.read ? " reads" : " writes") +
           ", with no barrier between");
}

}  // namespace cacheinf::cuda
