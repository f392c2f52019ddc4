#include "sparse_ops/cuda/device.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "sparse_ops/cuda/arena.h"
#include "sparse_ops/cuda/set_program.h"
#include "sparse_ops/cuda/walk.h"
#include "tests/sparse_ops/cuda/devices.h"

namespace cacheinf {
namespace cuda {
namespace {

using Words = std::vector<uint64_t>;

template <class Device>
class DeviceTest : public OnDevice<Device> {
 protected:
  using Stream = typename Device::Stream;
  using Memory = Buffer<Device, uint64_t>;

  // out = a | b, on a kernel of the library.
  void Unite(Stream& stream, const Memory& a, const Memory& b, const Memory& out) {
    const auto mask_of = [](const Memory& memory) {
      return MaskView(memory.data(), static_cast<int>(memory.size()), 64);
    };
    SetProgram program;
    program.count = 2;
    program.steps[0].kind = SetStep::Kind::kCopy;
    program.steps[0].from = mask_of(a);
    program.steps[1].kind = SetStep::Kind::kAdd;
    program.steps[1].from = mask_of(b);
    program.steps[0].to = program.steps[1].to = mask_of(out);
    this->device().Launch(stream, {1}, program, SetProgram::kSharedBytes);
  }
};

TYPED_TEST_SUITE(DeviceTest, Devices);

TYPED_TEST(DeviceTest, AStreamsWorkRunsInOrder) {
  auto& device = this->device();
  auto stream = device.MakeStream();
  const auto a = ToDevice(device, stream, Words{1, 2, 4});
  const auto b = ToDevice(device, stream, Words{8, 8, 8});
  const Buffer<TypeParam, uint64_t> out(device, 3);
  this->Unite(stream, a, b, out);
  device.CopyOnDevice(stream, a.data(), out.data(), sizeof(uint64_t));
  device.Fill(stream, b.data() + 1, 0, sizeof(uint64_t));
  this->Unite(stream, a, b, out);
  EXPECT_EQ(ToHost(device, stream, out.data(), 3), (Words{9, 2, 12}));
}

TYPED_TEST(DeviceTest, AStreamWaitsForAnotherByAnEvent) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    this->UseSeed(seed);
    auto& device = this->device();
    auto first = device.MakeStream();
    auto second = device.MakeStream();
    auto event = device.MakeEvent();
    const auto a = ToDevice(device, first, Words{1});
    const auto b = ToDevice(device, first, Words{2});
    const Buffer<TypeParam, uint64_t> both(device, 1);
    const Buffer<TypeParam, uint64_t> copy(device, 1);
    device.Wait(second, event);  // of nothing
    this->Unite(first, a, b, both);
    device.Record(first, event);
    device.Wait(second, event);
    device.CopyOnDevice(second, copy.data(), both.data(), sizeof(uint64_t));
    EXPECT_EQ(ToHost(device, second, copy.data(), 1), Words{3}) << "seed " << seed;
    device.Synchronize(event);
    EXPECT_GE(device.MillisecondsBetween(event, event), 0.0f);
  }
}

TYPED_TEST(DeviceTest, AGraphDoesAgainWhatWasRecorded) {
  auto& device = this->device();
  auto stream = device.MakeStream();
  const auto a = ToDevice(device, stream, Words{1, 1});
  const auto b = ToDevice(device, stream, Words{2, 2});
  const Buffer<TypeParam, uint64_t> out(device, 2);
  device.Fill(stream, out.data(), 0, out.bytes());
  auto recorder = device.MakeRecorder();
  this->Unite(recorder, a, b, out);
  device.CopyOnDevice(recorder, b.data(), out.data(), sizeof(uint64_t));
  device.Fill(recorder, b.data() + 1, 8, 1);
  auto graph = device.MakeGraph(device.recording(recorder));
  EXPECT_EQ(ToHost(device, stream, out.data(), 2), (Words{0, 0})) << "recording does nothing yet";
  device.Replay(stream, graph);
  EXPECT_EQ(ToHost(device, stream, out.data(), 2), (Words{3, 3}));
  device.Fill(stream, a.data(), 4, 1);
  device.Replay(stream, graph);
  EXPECT_EQ(ToHost(device, stream, out.data(), 2), (Words{7, 9}));
}

TYPED_TEST(DeviceTest, RecordingsAreEqualThatDoTheSame) {
  auto& device = this->device();
  auto stream = device.MakeStream();
  const auto a = ToDevice(device, stream, Words{1});
  const auto b = ToDevice(device, stream, Words{2});
  auto first = device.MakeRecorder();
  auto second = device.MakeRecorder();
  for (auto* recorder : {&first, &second}) {
    this->Unite(*recorder, a, b, a);
    device.Fill(*recorder, a.data(), 0, 4);
  }
#if __has_builtin(__builtin_clear_padding)
  EXPECT_TRUE(device.recording(first) == device.recording(second));
#endif  // else they may differ in what lies between arguments
  this->Unite(first, a, b, a);
  EXPECT_FALSE(device.recording(first) == device.recording(second)) << "one more";
  this->Unite(second, a, b, b);
  EXPECT_FALSE(device.recording(first) == device.recording(second)) << "other memory";
  device.recording(first).Clear();
  device.recording(second).Clear();
  device.Fill(first, a.data(), 0, 4);
  device.Fill(second, a.data(), 0, 8);
  EXPECT_FALSE(device.recording(first) == device.recording(second)) << "more bytes";
}

TEST(RecordingTest, WhatLiesBetweenArgumentsDoesNotTellRecordingsApart) {
#if !__has_builtin(__builtin_clear_padding)
  GTEST_SKIP() << "this compiler cannot clear padding: such recordings differ, and take two graphs";
#endif
  struct Padded {
    char first;
    int64_t second;
    Strides<3> strides;
    char third;
  };
  Recording recordings[2];
  for (Recording& recording : recordings) {
    Padded padded;
    std::memset(static_cast<void*>(&padded), &recording == recordings ? 0 : 255, sizeof(padded));
    padded.first = padded.third = 1;
    padded.second = 2;
    padded.strides = {};
    padded.strides.inner[1] = 3;
    recording.Note(
        [](void*, void*, const Blocks&, size_t, const void* arguments) {
          const auto& kept = *static_cast<const Padded*>(arguments);
          EXPECT_EQ(kept.first + kept.second + kept.strides.inner[1] + kept.third, 7);
        },
        padded);
    recording.DoAll(nullptr, nullptr);
  }
  EXPECT_TRUE(recordings[0] == recordings[1]);
}

TYPED_TEST(DeviceTest, AnArenaMakesOneAllocationOfManyPieces) {
  using Pieces = Arena<TypeParam>;
  auto& device = this->device();
  auto stream = device.MakeStream();
  Pieces arena(device);
  std::vector<Buffer<Pieces, uint64_t>> pieces;
  for (uint64_t i = 1; i <= 5; ++i) {
    pieces.emplace_back(arena, 40 * i);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pieces.back().data()) % 256, 0u);
    device.Fill(stream, pieces.back().data(), static_cast<unsigned char>(i), 320 * i);
  }
  for (uint64_t i = 0; i < 5; ++i) {
    const uint64_t expected = (i + 1) * 0x0101010101010101;
    EXPECT_EQ(ToHost(device, stream, pieces[i].data(), 40 * (i + 1)),
              Words(40 * (i + 1), expected));
  }
  // What is given back joins its neighbours, whichever comes first.
  uint64_t* const first = pieces[1].data();
  pieces.erase(pieces.begin() + 3);
  pieces.erase(pieces.begin() + 1);
  pieces.erase(pieces.begin() + 1);
  EXPECT_EQ((Buffer<Pieces, uint64_t>(arena, 40 * 9).data()), first);
}

TYPED_TEST(DeviceTest, MoreMemoryThanThereIsIsRefusedAndLeavesTheRest) {
  auto& device = this->device();
  EXPECT_THROW((Buffer<TypeParam, char>(device, size_t{1} << 50)), OutOfDeviceMemory);
  auto stream = device.MakeStream();
  const auto memory = ToDevice(device, stream, Words{5});
  EXPECT_EQ(ToHost(device, stream, memory.data(), 1), Words{5});
}

TYPED_TEST(DeviceTest, ALaunchOfNoBlocksDoesNothing) {
  auto& device = this->device();
  auto stream = device.MakeStream();
  SetProgram faulty;
  faulty.count = 1;
  faulty.steps[0].to = MaskView(nullptr, 1, 64);
  device.Launch(stream, {0}, faulty);
  EXPECT_NO_THROW(device.Synchronize(stream));
}

TYPED_TEST(DeviceTest, TooMuchSharedMemoryIsRefused) {
  auto& device = this->device();
  auto stream = device.MakeStream();
  const size_t too_much = device.facts().shared_bytes + 1;
  EXPECT_THROW(device.Launch(stream, {1}, SetProgram(), too_much), DeviceError);
}

TYPED_TEST(DeviceTest, HostMemoryForCopies) {
  auto& device = this->device();
  auto stream = device.MakeStream();
  auto* const host = static_cast<uint64_t*>(device.AllocateHost(16));
  host[0] = 3;
  host[1] = 4;
  const Buffer<TypeParam, uint64_t> memory(device, 2);
  device.CopyToDevice(stream, memory.data(), host, 16);
  device.Synchronize(stream);
  device.FreeHost(host);
  EXPECT_EQ(ToHost(device, stream, memory.data(), 2), (Words{3, 4}));
}

// What only the stand-in shows.

TEST(EmulatedDeviceTest, WorkWaitsUntilTheHostDoes) {
  EmulatedDevice device;
  auto stream = device.MakeStream();
  const auto memory = ToDevice(device, stream, Words{1});
  Words host = {0};
  device.CopyToHost(stream, host.data(), memory.data(), sizeof(uint64_t));
  EXPECT_EQ(host[0], 0u) << "a host that does not wait reads what was there";
  device.Synchronize(stream);
  EXPECT_EQ(host[0], 1u);
}

TEST(EmulatedDeviceTest, StreamsThatDoNotWaitTakeTurnsAtRandom) {
  int early = 0;
  for (unsigned seed = 1; seed <= 32; ++seed) {
    EmulatedDevice::Options options;
    options.seed = seed;
    EmulatedDevice device(options);
    auto first = device.MakeStream();
    auto second = device.MakeStream();
    const auto memory = ToDevice(device, first, Words{1});
    device.Fill(first, memory.data(), 0, memory.bytes());
    Words host = {7};
    device.CopyToHost(second, host.data(), memory.data(), sizeof(uint64_t));
    device.Synchronize(second);
    if (host[0] == 1) ++early;
  }
  EXPECT_GT(early, 0);
  EXPECT_LT(early, 32);
}

TEST(EmulatedDeviceTest, WrongUseIsFound) {
  EmulatedDevice device;
  auto stream = device.MakeStream();
  const auto memory = ToDevice(device, stream, Words{1, 2});
  uint64_t host[3] = {};
  device.CopyToHost(stream, host, memory.data(), sizeof(host));
  EXPECT_THROW(device.Synchronize(stream), DeviceError) << "a copy past the end";
  device.CopyToDevice(stream, host, memory.data(), 8);
  EXPECT_THROW(device.Synchronize(stream), DeviceError) << "to the host by CopyToDevice";
  auto* const freed = device.Allocate(8);
  device.Free(freed);
  EXPECT_THROW(device.Free(freed), DeviceError);
  device.Fill(stream, freed, 0, 8);
  EXPECT_THROW(device.Synchronize(stream), DeviceError) << "what is free already";
  auto recorder = device.MakeRecorder();
  EmulatedDevice::Event event;
  EXPECT_THROW(device.Synchronize(recorder), DeviceError);
  EXPECT_THROW(device.Record(recorder, event), DeviceError);
  EXPECT_THROW(device.CopyToDevice(recorder, memory.data(), host, 8), DeviceError);
  EXPECT_THROW(static_cast<void>(device.MillisecondsBetween(event, event)), DeviceError);
}

TEST(EmulatedDeviceTest, AFaultThatShowsWhenMemoryIsFreedIsThrownWhenSomebodyWaits) {
  EmulatedDevice device;
  auto stream = device.MakeStream();
  Arena<EmulatedDevice> arena(device);
  const auto launch_wrong = [&](uint64_t* from) {
    SetProgram program;
    program.count = 1;
    program.steps[0].kind = SetStep::Kind::kCopy;
    program.steps[0].from = program.steps[0].to = MaskView(from, 1, 64);
    device.Launch(stream, {1}, program, SetProgram::kSharedBytes);
  };
  {
    const Buffer<EmulatedDevice, uint64_t> never_written(device, 1);
    launch_wrong(never_written.data());
  }
  EXPECT_THROW(device.Synchronize(stream), KernelFault);
  {
    const Buffer<Arena<EmulatedDevice>, uint64_t> never_written(arena, 1);
    const Buffer<Arena<EmulatedDevice>, uint64_t> other(arena, 1);
    launch_wrong(never_written.data());
  }
  EXPECT_THROW(device.Synchronize(stream), KernelFault);
  EXPECT_NO_THROW(device.Synchronize(stream));
}

TEST(EmulatedDeviceTest, BetweenThePiecesOfAnArenaIsNobodysMemory) {
  EmulatedDevice device;
  auto stream = device.MakeStream();
  Arena<EmulatedDevice> arena(device);
  const auto fails = [&](uint64_t* from, uint64_t* to) {
    SetProgram program;
    program.count = 1;
    program.steps[0].kind = SetStep::Kind::kCopy;
    program.steps[0].from = MaskView(from, 1, 64);
    program.steps[0].to = MaskView(to, 1, 64);
    device.Launch(stream, {1}, program, SetProgram::kSharedBytes);
    try {
      device.Synchronize(stream);
    } catch (const KernelFault&) {
      return true;
    }
    return false;
  };
  auto* const memory = static_cast<uint64_t*>(arena.Allocate(16));
  EXPECT_TRUE(fails(memory, memory + 1)) << "reads what was never written";
  device.Fill(stream, memory, 1, 16);
  EXPECT_FALSE(fails(memory, memory + 1));
  EXPECT_TRUE(fails(memory + 2, memory));
  EXPECT_TRUE(fails(memory, memory + 2));
  device.Fill(stream, memory + 2, 0, 8);
  EXPECT_THROW(device.Synchronize(stream), DeviceError);
  arena.Free(memory);
  EXPECT_TRUE(fails(memory, memory + 1)) << "reads what was given back";
  EXPECT_EQ(arena.Allocate(16), memory);
  EXPECT_TRUE(fails(memory, memory + 1)) << "reads what is new again";
}

TEST(EmulatedDeviceTest, MemoryComesBackWhenItIsFreed) {
  EmulatedDevice::Options options;
  options.memory_bytes = 1000;
  EmulatedDevice device(options);
  for (int i = 0; i < 10; ++i) {
    const Buffer<EmulatedDevice, char> memory(device, 1000);
    EXPECT_THROW((Buffer<EmulatedDevice, char>(device, 1)), OutOfDeviceMemory);
  }
}

}  // namespace
}  // namespace cuda
}  // namespace cacheinf
