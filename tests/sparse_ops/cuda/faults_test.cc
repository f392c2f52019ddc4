// Read this first: what the stand-in for a GPU finds in kernels. A flag plants a fault in each
// kernel here; without it the kernel is right.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sparse_ops/cuda/emulated/device.h"
#include "sparse_ops/cuda/numbers.h"
#include "tests/sparse_ops/cuda/devices.h"

namespace cacheinf {
namespace cuda {
namespace {

constexpr unsigned kSeeds = 8;

// Launches the kernel that make(device, stream) returns, for some seeds, and expects `complaint`
// from the stand-in, or none if that is empty.
template <typename Make>
void ExpectComplaint(const Make& make, const std::string& complaint, size_t shared_bytes = 4096,
                     const Blocks& blocks = {2, 1, 1}, int compute_major = 8) {
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    EmulatedDevice::Options options;
    options.seed = seed;
    options.compute_major = compute_major;
    EmulatedDevice device(options);
    auto stream = device.MakeStream();
    Buffer<EmulatedDevice, float> memory = ToDevice(device, stream, std::vector<float>(256, 2.0f));
    const auto kernel = make(memory.data());
    device.Launch(stream, blocks, kernel, shared_bytes);
    std::string text;
    try {
      device.Synchronize(stream);
    } catch (const KernelFault& fault) {
      text = fault.what();
    }
    if (complaint.empty()) {
      EXPECT_EQ(text, "") << "seed " << seed;
      continue;
    }
    EXPECT_NE(text.find(complaint), std::string::npos) << "seed " << seed << ": " << text;
    EXPECT_NE(text.find(std::string("kernel ") + kernel.kName), std::string::npos) << text;
    EXPECT_NE(text.find("faults_test.cc:"), std::string::npos) << text;
  }
}

// Each thread hands its number to the next through shared memory, twice.
struct PassOn {
  static constexpr const char* kName = "PassOn";
  static constexpr int kThreads = 96;

  float* memory;
  bool lacks_first_barrier = false;
  bool lacks_second_barrier = false;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    auto* const shared = thread.template Shared<float>();
    const int i = thread.ThreadIndex();
    float value = static_cast<float>(i);
    for (int round = 0; round < 2; ++round) {
      thread.Store(shared + i, value);
      if (!lacks_first_barrier) thread.Barrier();
      value = thread.Load(shared + (i + 1) % kThreads);
      if (!lacks_second_barrier) thread.Barrier();
    }
    if (thread.BlockX() == 0) thread.Store(memory + i, value);
  }
};

TEST(KernelFaultsTest, AMissingBarrierIsFound) {
  ExpectComplaint([](float* memory) { return PassOn{memory}; }, "");
  ExpectComplaint(
      [](float* memory) {
        return PassOn{memory, false, true};
      },
      "with no barrier between");
  // The first thread to arrive reads what nobody has written.
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    EmulatedDevice::Options options;
    options.seed = seed;
    EmulatedDevice device(options);
    auto stream = device.MakeStream();
    Buffer<EmulatedDevice, float> memory(device, 256);
    device.Launch(stream, {1, 1, 1}, PassOn{memory.data(), true, false}, 4096);
    EXPECT_THROW(device.Synchronize(stream), KernelFault) << "seed " << seed;
  }
}

// Two threads access the same word in several ways.
struct MeetInWord {
  static constexpr const char* kName = "MeetInWord";
  static constexpr int kThreads = 64;
  enum class Way {
    kApart,
    kBothWrite,
    kReadThenWrite,
    kWithinWarp,
    kSyncedWarp,
    kAtomics,
    kHalves
  };

  float* memory;
  Way way;
  bool in_shared = true;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int i = thread.ThreadIndex();
    float* const place = in_shared ? thread.template Shared<float>() : memory + thread.BlockX();
    auto* const halves = reinterpret_cast<uint16_t*>(place);
    if (i == 0) thread.Store(place, 1.0f);
    thread.Barrier();
    switch (way) {
      case Way::kApart:
        if (i == 63) thread.Store(place, 2.0f);
        break;
      case Way::kBothWrite:
        if (i == 1 || i == 63) thread.Store(place, 2.0f);
        break;
      case Way::kReadThenWrite:
        if (i == 40) thread.Store(place, thread.Load(place) + 1.0f);
        if (i == 1) thread.Store(memory + 200 + thread.BlockX(), thread.Load(place));
        break;
      case Way::kWithinWarp:
      case Way::kSyncedWarp:
        if (i == 1) thread.Store(place, 2.0f);
        if (way == Way::kSyncedWarp) thread.SyncWarp();
        if (i == 2) thread.Store(memory + 200 + thread.BlockX(), thread.Load(place));
        break;
      case Way::kAtomics:
        thread.AtomicAdd(place, 1.0f);
        break;
      case Way::kHalves:
        if (i == 1) thread.Store(halves, uint16_t{1});
        if (i == 40) thread.Store(halves + 1, uint16_t{2});
        break;
    }
  }
};

TEST(KernelFaultsTest, RacesAreFoundInSharedAndInGlobalMemory) {
  using Way = MeetInWord::Way;
  for (const bool in_shared : {true, false}) {
    const auto expect = [&](Way way, const std::string& complaint) {
      SCOPED_TRACE(static_cast<int>(way));
      ExpectComplaint([&](float* memory) { return MeetInWord{memory, way, in_shared}; }, complaint);
    };
    expect(Way::kApart, "");
    expect(Way::kBothWrite, "with no barrier between");
    expect(Way::kReadThenWrite, "with no barrier between");
    expect(Way::kWithinWarp, "with no barrier between");
    expect(Way::kSyncedWarp, "");
    expect(Way::kAtomics, "");
    expect(Way::kHalves, "");
  }
}

// Block b writes word b, or all write word 0; or block 1 reads what block 0 writes.
struct MeetAcrossBlocks {
  static constexpr const char* kName = "MeetAcrossBlocks";
  static constexpr int kThreads = 32;

  float* memory;
  bool same_word = false;
  bool reads_other = false;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    if (thread.ThreadIndex() != 0) return;
    if (reads_other && thread.BlockX() == 1) {
      thread.Store(memory + 2, thread.Load(memory));
    } else {
      thread.Store(memory + (same_word ? 0 : thread.BlockX()), 1.0f);
    }
  }
};

TEST(KernelFaultsTest, BlocksThatMeetInAWordAreFound) {
  ExpectComplaint([](float* memory) { return MeetAcrossBlocks{memory}; }, "");
  ExpectComplaint(
      [](float* memory) {
        return MeetAcrossBlocks{memory, true, false};
      },
      "what another block");
  ExpectComplaint(
      [](float* memory) {
        return MeetAcrossBlocks{memory, false, true};
      },
      "what another block");
}

struct Touch {
  static constexpr const char* kName = "Touch";
  static constexpr int kThreads = 32;
  enum class What { kGlobal, kShared, kHost, kMisaligned, kNeverWritten };

  float* memory;
  What what;
  int index;
  bool writes;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    if (thread.ThreadIndex() != 7 || thread.BlockX() != 1) return;
    float* at = memory + index;
    float local = 0.0f;
    if (what == What::kShared) at = thread.template Shared<float>() + index;
    if (what == What::kHost) at = &local;
    if (what == What::kMisaligned) at = reinterpret_cast<float*>(reinterpret_cast<char*>(at) + 2);
    if (what == What::kNeverWritten) at = thread.template Shared<float>();
    if (writes) {
      thread.Store(at, 1.0f);
    } else {
      static_cast<void>(thread.Load(at));
    }
  }
};

TEST(KernelFaultsTest, WrongAddressesAreFound) {
  using What = Touch::What;
  for (const bool writes : {false, true}) {
    const auto expect = [&](What what, int index, const std::string& complaint) {
      ExpectComplaint([&](float* memory) { return Touch{memory, what, index, writes}; }, complaint);
    };
    expect(What::kGlobal, 255, "");
    expect(What::kGlobal, 256, "at byte 1024 of an allocation of 1024 bytes");
    expect(What::kGlobal, -1, writes ? "writes 4 bytes" : "reads 4 bytes");
    expect(What::kGlobal, 1 << 28, "outside the device's memory");
    expect(What::kShared, 1024, "at byte 4096 of shared memory of 4096 bytes");
    expect(What::kShared, -1, writes ? "writes 4 bytes" : "reads 4 bytes");
    expect(What::kHost, 0, "outside the device's memory");
    expect(What::kMisaligned, 0, "not aligned to 4");
    expect(What::kNeverWritten, 0, writes ? "" : "what was never written");
  }
}

TEST(KernelFaultsTest, FreshMemoryIsKnownAsNeverWritten) {
  EmulatedDevice device;
  auto stream = device.MakeStream();
  Buffer<EmulatedDevice, float> memory(device, 256);
  device.Launch(stream, {2, 1, 1}, Touch{memory.data(), Touch::What::kGlobal, 3, false});
  EXPECT_THROW(device.Synchronize(stream), KernelFault);
  device.Fill(stream, memory.data(), 0, memory.bytes());
  device.Launch(stream, {2, 1, 1}, Touch{memory.data(), Touch::What::kGlobal, 3, false});
  EXPECT_NO_THROW(device.Synchronize(stream));
}

// The host cannot read the device's memory by its address.
TEST(KernelFaultsDeathTest, TheHostCannotUseTheDevicesMemory) {
  EmulatedDevice device;
  Buffer<EmulatedDevice, float> memory(device, 256);
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(*static_cast<volatile float*>(memory.data()) = 1.0f, "");
}

struct Diverge {
  static constexpr const char* kName = "Diverge";
  static constexpr int kThreads = 64;
  enum class Way { kNot, kSomeEnd, kElsewhere, kWarpLaneEnds, kWarpElsewhere, kWarpAtBarrier };

  float* memory;
  Way way;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int i = thread.ThreadIndex();
    switch (way) {
      case Way::kNot:
        thread.Barrier();
        break;
      case Way::kSomeEnd:
        if (i == 5) return;
        thread.Barrier();
        break;
      case Way::kElsewhere:
        if (i < 32) {
          thread.Barrier();
        } else {
          thread.Barrier();
        }
        break;
      case Way::kWarpLaneEnds:
        if (i == 33) return;
        static_cast<void>(thread.Ballot(i % 2 == 0));
        break;
      case Way::kWarpElsewhere:
        if (i == 33) {
          static_cast<void>(thread.Shuffle(i, 0));
        } else {
          static_cast<void>(thread.Shuffle(i, 1));
        }
        break;
      case Way::kWarpAtBarrier:
        if (i == 33) {
          thread.Barrier();
        } else {
          thread.SyncWarp();
        }
        break;
    }
  }
};

TEST(KernelFaultsTest, ThreadsThatDoNotMeetAreFound) {
  using Way = Diverge::Way;
  const auto expect = [](Way way, const std::string& complaint) {
    ExpectComplaint([&](float* memory) { return Diverge{memory, way}; }, complaint);
  };
  expect(Way::kNot, "");
  expect(Way::kSomeEnd, "63 wait in Barrier at faults_test.cc:");
  expect(Way::kElsewhere, "at a barrier, which is that at faults_test.cc:");
  expect(Way::kWarpLaneEnds, "31 wait in Ballot at faults_test.cc:");
  expect(Way::kWarpElsewhere, "is in Shuffle with thread");
  expect(Way::kWarpAtBarrier, "1 wait in Barrier at faults_test.cc:");
}

// Copies two tiles in the background and adds them.
struct AddCopied {
  static constexpr const char* kName = "AddCopied";
  static constexpr int kThreads = 64;
  enum class Fault {
    kNone,
    kNoWait,
    kWaitsForOne,
    kNoCommit,
    kNoBarrier,
    kOverwrites,
    kNeverWaits
  };

  const float* in;
  float* out;
  Fault fault;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    auto* const shared = thread.template Shared<float>();
    const int i = thread.ThreadIndex();
    thread.CopyAsync(shared + i, in + i);
    if (fault != Fault::kNoCommit) thread.CommitCopies();
    thread.CopyAsyncOrZero(shared + kThreads + i, in + kThreads + i, i % 2 == 0);
    if (fault != Fault::kNoCommit) thread.CommitCopies();
    if (fault == Fault::kOverwrites) thread.Store(shared + i, 1.0f);
    if (fault == Fault::kNeverWaits) return;
    if (fault == Fault::kWaitsForOne) {
      thread.template WaitForCopies<1>();
    } else if (fault != Fault::kNoWait) {
      thread.template WaitForCopies<0>();
    }
    if (fault != Fault::kNoBarrier) thread.Barrier();
    const int other = kThreads - 1 - i;
    thread.Store(out + i, thread.Load(shared + other) + thread.Load(shared + kThreads + other));
  }
};

TEST(KernelFaultsTest, CopiesThatNobodyWaitsForAreFound) {
  using Fault = AddCopied::Fault;
  const auto expect = [](Fault fault, const std::string& complaint) {
    SCOPED_TRACE(static_cast<int>(fault));
    ExpectComplaint(
        [&](float* memory) {
          return AddCopied{memory, memory + 128, fault};
        },
        complaint, 4096, {1, 1, 1});
  };
  expect(Fault::kNone, "");
  expect(Fault::kNoWait, "what a copy is still under way to");
  expect(Fault::kWaitsForOne, "what a copy is still under way to");
  expect(Fault::kNoCommit, "what a copy is still under way to");
  expect(Fault::kOverwrites, "what a copy is still under way to");
  expect(Fault::kNeverWaits, "ends without having waited for its copies");
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    EmulatedDevice::Options options;
    options.seed = seed;
    EmulatedDevice device(options);
    auto stream = device.MakeStream();
    auto memory = ToDevice(device, stream, std::vector<float>(256, 2.0f));
    device.Launch(stream, {1, 1, 1},
                  AddCopied{memory.data(), memory.data() + 128, Fault::kNoBarrier}, 4096);
    EXPECT_THROW(device.Synchronize(stream), KernelFault) << "seed " << seed;
  }
}

TEST(KernelFaultsTest, CopiedTilesHaveTheNumbers) {
  EmulatedDevice device;
  auto stream = device.MakeStream();
  std::vector<float> numbers(256);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  auto memory = ToDevice(device, stream, numbers);
  device.Launch(stream, {1, 1, 1},
                AddCopied{memory.data(), memory.data() + 128, AddCopied::Fault::kNone}, 4096);
  const std::vector<float> sums = ToHost(device, stream, memory.data() + 128, 64);
  for (int i = 0; i < 64; ++i) {
    const int other = 63 - i;
    EXPECT_EQ(sums[i], static_cast<float>(other % 2 == 0 ? other + 64 + other : other));
  }
}

// Copies a tile in the background and multiplies by it: 64 rows of ones, 8 × 32 twos.
template <int threads = 128>
struct MultiplyCopied {
  static constexpr const char* kName = "MultiplyCopied";
  static constexpr int kThreads = threads;
  enum class Fault {
    kNone,
    kNoWaitForCopies,
    kNotShown,
    kShownTooSoon,
    kShownTooLate,
    kNotFenced,
    kOtherInputs,
    kOtherSums,
    kSumsOnTheWay,
    kNotCommitted,
    kNotWaited,
    kWaitsForAllButOne,
    kOverwrites,
    kTooFar,
    kUnaligned,
    kSwizzled,
    kWarpSkips,
    kWarpDiffers,
    kLaneDiffers
  };

  float* memory;
  Fault fault;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int i = thread.ThreadIndex();
    auto* const shared = thread.template Shared<float>();
    for (int word = i; word < 256; word += kThreads) {
      thread.CopyAsync(shared + word, memory + word);
    }
    thread.CommitCopies();
    if (fault == Fault::kShownTooSoon) thread.ShowToWarpgroup();
    if (fault != Fault::kNoWaitForCopies) thread.template WaitForCopies<0>();
    const bool shows = fault != Fault::kNotShown && fault != Fault::kShownTooSoon &&
                       (fault != Fault::kShownTooLate || i != 77);
    if (shows) thread.ShowToWarpgroup();
    thread.Barrier();
    if (fault == Fault::kShownTooLate) thread.ShowToWarpgroup();

    float sums[4][4] = {};
    const unsigned one = ToTf32(1.0f);
    unsigned a[2][4] = {{one, one, one, one}, {one, one, one, one}};
    if (fault != Fault::kNotFenced) thread.FenceWarpgroup(sums, a[0]);
    if (fault == Fault::kOtherInputs) a[0][3] = 0;
    if (fault == Fault::kOtherSums && i == 40) sums[3][3] = 1.0f;
    int first = fault == Fault::kTooFar ? 1024 : 0;
    if (fault == Fault::kUnaligned) first = 1;
    const bool differs =
        (fault == Fault::kWarpDiffers && i / 32 == 2) || (fault == Fault::kLaneDiffers && i == 9);
    uint64_t b = thread.WarpgroupMatrix(shared + first, differs ? 256 : 512, 128);
    if (fault == Fault::kSwizzled) b |= uint64_t{1} << 62;
    if (fault != Fault::kWarpSkips || i / 32 != 2) thread.MultiplyWarpgroupTf32(sums, a[0], b);
    if (fault == Fault::kSumsOnTheWay && i == 100) sums[1][1] = 3.0f;
    if (fault != Fault::kNotCommitted) thread.CommitWarpgroup();
    if (fault == Fault::kOverwrites) {
      thread.Barrier();
      if (i == 3) thread.Store(shared + 255, 1.0f);
      thread.Barrier();
    }
    if (fault == Fault::kWaitsForAllButOne) {
      thread.template WaitForWarpgroup<1>(sums);
    } else if (fault != Fault::kNotWaited) {
      thread.template WaitForWarpgroup<0>(sums);
    }
    thread.Store(memory + i, sums[i % 4][i / 4 % 4]);
  }
};

TEST(KernelFaultsTest, MatricesOfWarpgroupsThatAreNotReadyAreFound) {
  using Fault = MultiplyCopied<>::Fault;
  const auto expect = [](Fault fault, const std::string& complaint) {
    SCOPED_TRACE(static_cast<int>(fault));
    ExpectComplaint(
        [&](float* memory) {
          return MultiplyCopied<>{memory, fault};
        },
        complaint, 4096, {1, 1, 1}, 9);
  };
  expect(Fault::kNone, "");
  expect(Fault::kNoWaitForCopies, "what a copy is still under way to");
  expect(Fault::kNotShown, "has not shown to the warpgroup");
  expect(Fault::kShownTooSoon, "has not shown to the warpgroup");
  expect(Fault::kShownTooLate, "which thread 77 has not shown to the warpgroup");
  expect(Fault::kNotFenced, "multiplies registers that were not fenced");
  expect(Fault::kOtherInputs, "multiplies registers that changed since they were fenced");
  expect(Fault::kOtherSums, "multiplies registers that changed since they were fenced");
  expect(Fault::kSumsOnTheWay, "thread 100, faults_test.cc");
  expect(Fault::kSumsOnTheWay, "changed sums that were under way");
  expect(Fault::kNotCommitted, "ends without having waited for its matrix instructions");
  expect(Fault::kNotWaited, "ends without having waited for its matrix instructions");
  expect(Fault::kWaitsForAllButOne, "ends without having waited for its matrix instructions");
  expect(Fault::kOverwrites, "reads byte 1020 of shared memory, which thread 3 has written");
  expect(Fault::kTooFar, "of shared memory of 4096 bytes");
  expect(Fault::kUnaligned, "describes a matrix that is not aligned to 16");
  expect(Fault::kSwizzled, "says b with unknown bits");
  expect(Fault::kWarpSkips, "does not multiply with the other warps of its warpgroup");
  expect(Fault::kWarpDiffers, "multiplies with warps of its warpgroup that multiply otherwise");
  expect(Fault::kLaneDiffers, "says another b than other lanes");
}

TEST(KernelFaultsTest, InstructionsOfWarpgroupsWithoutOneAreFound) {
  using Fault = MultiplyCopied<>::Fault;
  ExpectComplaint(
      [](float* memory) {
        return MultiplyCopied<>{memory, Fault::kNone};
      },
      "which this device has not", 4096, {1, 1, 1}, 8);
  ExpectComplaint(
      [](float* memory) {
        return MultiplyCopied<64>{memory, MultiplyCopied<64>::Fault::kNone};
      },
      "in a block that is none", 4096, {1, 1, 1}, 9);
}

TEST(KernelFaultsTest, SumsOfWarpgroupsAreGarbageUntilTheyAreWaitedFor) {
  using Fault = MultiplyCopied<>::Fault;
  for (const Fault fault : {Fault::kNone, Fault::kNotWaited}) {
    EmulatedDevice::Options options;
    options.compute_major = 9;
    EmulatedDevice device(options);
    auto stream = device.MakeStream();
    auto memory = ToDevice(device, stream, std::vector<float>(256, 2.0f));
    device.Launch(stream, {1, 1, 1}, MultiplyCopied<>{memory.data(), fault}, 4096);
    if (fault == Fault::kNotWaited) {
      EXPECT_THROW(device.Synchronize(stream), KernelFault);
    }
    const std::vector<float> sums = ToHost(device, stream, memory.data(), 128);
    int garbage = 0;
    for (const float sum : sums) garbage += sum == 16.0f || sum == 2.0f ? 0 : 1;
    EXPECT_EQ(garbage != 0, fault == Fault::kNotWaited);
    if (fault == Fault::kNone) {
      EXPECT_EQ(sums, std::vector<float>(128, 16.0f));
    }
  }
}

// Its results depend on the order of threads, so seeds show in them.
struct TakeTicket {
  static constexpr const char* kName = "TakeTicket";
  static constexpr int kThreads = 64;

  int* counter;
  int* tickets;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int ticket = thread.AtomicAdd(counter, 1);
    thread.Store(tickets + thread.BlockX() * kThreads + thread.ThreadIndex(), ticket);
  }
};

TEST(EmulatedOrderTest, SeedsOrderThreadsAndBlocksAndRepeat) {
  const auto tickets_of = [](unsigned seed) {
    EmulatedDevice::Options options;
    options.seed = seed;
    EmulatedDevice device(options);
    auto stream = device.MakeStream();
    auto counter = ToDevice(device, stream, std::vector<int>{0});
    Buffer<EmulatedDevice, int> tickets(device, 256);
    device.Launch(stream, {4, 1, 1}, TakeTicket{counter.data(), tickets.data()});
    return ToHost(device, stream, tickets.data(), 256);
  };
  const std::vector<int> first = tickets_of(1);
  EXPECT_EQ(first, tickets_of(1));
  EXPECT_NE(first, tickets_of(2));
  EXPECT_NE(first[0] / 64 * 4096 + first[64] / 64 * 64 + first[128] / 64,
            tickets_of(5)[0] / 64 * 4096 + tickets_of(5)[64] / 64 * 64 + tickets_of(5)[128] / 64);
  std::vector<int> sorted = first;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < 256; ++i) EXPECT_EQ(sorted[i], i);
}

}  // namespace
}  // namespace cuda
}  // namespace cacheinf
