// Read this first: rows of a value on a device become bytes for the other side, and back.

#include "common/backend/device/device_slices.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "sparse_ops/cuda/arena.h"
#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/emulated/device.h"

// Streams of the stand-in run in any order that events allow, and copies land when somebody waits.

namespace cacheinf {
namespace {

using cuda::EmulatedDevice;

// A device on which a slice holds one byte, again and again.
class SliceDevice {
 public:
  explicit SliceDevice(const EmulatedDevice::Options& options, size_t most_bytes = kBytes)
      : device_(std::make_shared<EmulatedDevice>(options)),
        stream_(std::make_shared<DeviceStream<EmulatedDevice>>(device_)),
        slices_(stream_),
        map_(stream_->arena(), kBytes) {
    slices_.Reserve(most_bytes);
  }

  int event_waits() const { return device_->counts().event_waits; }

  auto Leave(unsigned char byte) {
    device_->Fill(stream_->kernels(), map_.data(), byte, kBytes);
    return slices_.Leave(std::array<Part, 1>{{{map_.data(), kBytes}}});
  }
  bool Lands(DeviceSlices<EmulatedDevice>::Leaving& leaving, unsigned char byte) {
    const unsigned char* const landed = slices_.Land(leaving);
    return AllBytes({landed, kBytes}) == byte;
  }

  // A kernel moves the slice to a place of its own.
  void Arrive(unsigned char byte) {
    const std::vector<unsigned char> bytes(kBytes, byte);
    const unsigned char* const arrived =
        slices_.Arrive(std::array<Part, 1>{{{bytes.data(), bytes.size()}}});
    taken_.emplace_back(stream_->arena(), kBytes);
    device_->CopyOnDevice(stream_->kernels(), taken_.back().data(), arrived, kBytes);
    slices_.NoteTaken();
  }
  // The bytes that kernels took, one per slice; -1: several.
  std::vector<int> Taken() {
    std::vector<const void*> fetched;
    for (const auto& slice : taken_) fetched.push_back(stream_->Fetch(slice.data(), kBytes));
    stream_->Wait();
    std::vector<int> bytes;
    for (const void* slice : fetched) {
      bytes.push_back(AllBytes({static_cast<const unsigned char*>(slice), kBytes}));
    }
    return bytes;
  }

 private:
  using Part = DeviceSlices<EmulatedDevice>::Part;
  static constexpr size_t kBytes = 4096;

  static int AllBytes(std::span<const unsigned char> bytes) {
    for (const unsigned char byte : bytes) {
      if (byte != bytes.front()) return -1;
    }
    return bytes.front();
  }

  std::shared_ptr<EmulatedDevice> device_;
  std::shared_ptr<DeviceStream<EmulatedDevice>> stream_;
  DeviceSlices<EmulatedDevice> slices_;
  cuda::Buffer<cuda::Arena<EmulatedDevice>, unsigned char> map_;
  std::vector<cuda::Buffer<cuda::Arena<EmulatedDevice>, unsigned char>> taken_;
};

// Two slices leave at once, and the next one takes the memory of the first.
bool SlicesLeave(SliceDevice& slices) {
  auto first = slices.Leave(1);
  auto second = slices.Leave(2);
  bool is_right = slices.Lands(*first, 1);
  first = nullptr;
  first = slices.Leave(3);
  is_right = slices.Lands(*second, 2) && is_right;
  return slices.Lands(*first, 3) && is_right;
}

// The third and the fourth take the memory of the first two.
bool SlicesArrive(SliceDevice& slices) {
  for (const unsigned char byte : {1, 2, 3, 4}) slices.Arrive(byte);
  return slices.Taken() == std::vector<int>{1, 2, 3, 4};
}

// How many of 40 orders go right; `waits` gets how many waits for events there are.
int OrdersThatGoRight(bool (*cross)(SliceDevice&), int forgets_wait, int* waits) {
  int right = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    EmulatedDevice::Options options;
    options.seed = seed;
    options.forgets_wait = forgets_wait;
    SliceDevice slices(options);
    if (cross(slices)) ++right;
    *waits = slices.event_waits();
  }
  return right;
}

void ExpectThatEveryWaitIsNeeded(bool (*cross)(SliceDevice&), int expected_waits) {
  int waits = 0;
  EXPECT_EQ(OrdersThatGoRight(cross, -1, &waits), 40) << "with all waits";
  ASSERT_EQ(waits, expected_waits);
  for (int forgotten = 0; forgotten < expected_waits; ++forgotten) {
    EXPECT_LT(OrdersThatGoRight(cross, forgotten, &waits), 40) << "without wait " << forgotten;
  }
}

// For each slice, the copy waits for the kernels, and the host for the copy.
TEST(DeviceSlicesTest, WhatLeavesIsWhatKernelsLeftAndNoWaitCanGo) {
  ExpectThatEveryWaitIsNeeded(SlicesLeave, 3 * 2);
}

// For each slice, the kernels wait for the copy; from the third slice on, the copy waits for
// earlier kernels.
TEST(DeviceSlicesTest, KernelsReadWhatArrivedAndNoWaitCanGo) {
  ExpectThatEveryWaitIsNeeded(SlicesArrive, 4 + 2);
}

// The memory holds one of the two buffers for slices that arrive.
TEST(DeviceSlicesTest, WithoutMemorySlicesAreRefusedAgainAndAgain) {
  EmulatedDevice::Options options;
  options.memory_bytes = EmulatedDevice::kBlockBytes;
  SliceDevice slices(options, EmulatedDevice::kBlockBytes / 4 * 3);
  for (int i = 0; i < 2; ++i) EXPECT_THROW(slices.Arrive(1), cuda::OutOfDeviceMemory);
}

}  // namespace
}  // namespace cacheinf
