#include "common/backend/device/device_queue.h"

#include <gtest/gtest.h>

#include <memory>

#include "sparse_ops/cuda/arena.h"
#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/emulated/device.h"

namespace cacheinf {
namespace {

using cuda::EmulatedDevice;

// Launches wait in their state's queue, so another state's must not overtake them where both touch
// the same memory.
TEST(DeviceQueueTest, WhatWaitsInAnotherQueueAndTouchesTheSameMemoryGoesFirst) {
  constexpr size_t kBytes = 64;
  const auto device = std::make_shared<EmulatedDevice>(EmulatedDevice::Options());
  const auto stream = std::make_shared<DeviceStream<EmulatedDevice>>(device);
  const cuda::Buffer<cuda::Arena<EmulatedDevice>, unsigned char> map(stream->arena(), kBytes);
  DeviceQueue<EmulatedDevice> first(stream);
  DeviceQueue<EmulatedDevice> second(stream);
  const auto fill = [&](DeviceQueue<EmulatedDevice>& queue, unsigned char byte) {
    queue.Touch(map.data(), kBytes);
    device->Fill(queue.recorder(), map.data(), byte, kBytes);
  };
  fill(first, 1);
  fill(second, 2);
  second.Flush();
  first.Flush();
  const void* const fetched = stream->Fetch(map.data(), kBytes);
  stream->Wait();
  EXPECT_EQ(*static_cast<const unsigned char*>(fetched), 2);
}

}  // namespace
}  // namespace cacheinf
