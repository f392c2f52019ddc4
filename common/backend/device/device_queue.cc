#include "common/backend/device/device_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sparse_ops/cuda/emulated/device.h"
#include "sparse_ops/cuda/real/device.h"

namespace cacheinf {
namespace {

// So few launches are faster without a graph.
constexpr size_t kFewLaunches = 4;
constexpr size_t kMostGraphs = 64;

constexpr size_t kAlignment = 16;
constexpr size_t kLeastHostBlock = size_t{1} << 16;

size_t Aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

uintptr_t AddressOf(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

}  // namespace

template <class Device>
DeviceStream<Device>::DeviceStream(std::shared_ptr<Device> device)
    : device_(std::move(device)), arena_(*device_), stream_(device_->MakeStream()) {}

template <class Device>
DeviceStream<Device>::~DeviceStream() {
  FreeHostBlocks();
}

template <class Device>
typename Device::Stream& DeviceStream<Device>::After(const void* memory, size_t bytes) {
  for (DeviceQueue<Device>* queue : queues_) {
    if (queue->Touches(AddressOf(memory), AddressOf(memory) + bytes)) queue->Flush();
  }
  return stream_;
}

template <class Device>
typename Device::Stream& DeviceStream<Device>::AfterAll() {
  for (DeviceQueue<Device>* queue : queues_) queue->Flush();
  return stream_;
}

template <class Device>
void DeviceStream<Device>::FreeHostBlocks() {
  for (const HostBlock& block : host_blocks_) device_->FreeHost(block.memory);
  host_blocks_.clear();
}

template <class Device>
void* DeviceStream<Device>::Stage(size_t bytes) {
  bytes = Aligned(bytes);
  if (std::exchange(host_is_free_, false)) {
    ++times_reused_;
    // From the next frame on, all that a frame needs lies in one block.
    size_t all = 0;
    for (const HostBlock& block : host_blocks_) all += block.bytes;
    if (host_blocks_.size() > 1) {
      FreeHostBlocks();
      host_blocks_.push_back({static_cast<unsigned char*>(device_->AllocateHost(all)), all});
    }
    host_used_ = 0;
  }
  if (host_blocks_.empty() || bytes > host_blocks_.back().bytes - host_used_) {
    const size_t size = std::max(bytes, kLeastHostBlock);
    host_blocks_.push_back({static_cast<unsigned char*>(device_->AllocateHost(size)), size});
    host_used_ = 0;
  }
  return host_blocks_.back().memory + std::exchange(host_used_, host_used_ + bytes);
}

template <class Device>
void DeviceStream<Device>::Send(void* to, const void* staged, size_t bytes) {
  device_->CopyToDevice(stream_, to, staged, bytes);
}

template <class Device>
void DeviceStream<Device>::CopyToDevice(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  void* const staged = Stage(bytes);
  std::memcpy(staged, from, bytes);
  Send(to, staged, bytes);
}

template <class Device>
const void* DeviceStream<Device>::Fetch(const void* from, size_t bytes) {
  void* const staged = Stage(bytes);
  device_->CopyToHost(stream_, staged, from, bytes);
  return staged;
}

template <class Device>
void DeviceStream<Device>::Wait() {
  ++waits_;
  host_is_free_ = true;
  device_->Synchronize(stream_);
}

template <class Device>
void DeviceStream<Device>::Do(const cuda::Recording& recording) {
  if (recording.size() < kFewLaunches) {
    recording.DoAll(device_.get(), &stream_);
  } else {
    device_->Replay(stream_, GraphOf(recording));
  }
}

template <class Device>
typename Device::Graph& DeviceStream<Device>::GraphOf(const cuda::Recording& recording) {
  auto known = std::ranges::find_if(
      graphs_, [&](const KnownGraph& other) { return other.recording == recording; });
  if (known == graphs_.end()) {
    if (graphs_.size() == kMostGraphs) {
      // It may still be running.
      device_->Synchronize(stream_);
      graphs_.erase(std::ranges::min_element(graphs_, [](const KnownGraph& a, const KnownGraph& b) {
        return a.last_use < b.last_use;
      }));
    }
    known = graphs_.insert(graphs_.end(), {recording, device_->MakeGraph(recording), 0});
  }
  known->last_use = ++uses_;
  return known->graph;
}

template <class Device>
DeviceQueue<Device>::DeviceQueue(std::shared_ptr<DeviceStream<Device>> stream)
    : stream_(std::move(stream)), recorder_(stream_->device().MakeRecorder()) {
  stream_->queues_.push_back(this);
}

template <class Device>
DeviceQueue<Device>::~DeviceQueue() {
  auto& queues = stream_->queues_;
  queues.erase(std::ranges::find(queues, this));
}

template <class Device>
typename Device::Stream& DeviceQueue<Device>::recorder() {
  if (program_.count > 0) {
    program_.scratch = scratch_.data();
    stream_->device().Launch(recorder_, {}, program_, cuda::SetProgram::kSharedBytes);
    program_ = {};
  }
  return recorder_;
}

template <class Device>
void DeviceQueue<Device>::Note(const cuda::SetStep& step) {
  if (program_.count == cuda::SetProgram::kMostSteps) (void)recorder();
  program_.steps[program_.count++] = step;
}

template <class Device>
void DeviceQueue<Device>::ReserveScratch(size_t words) {
  if (words <= scratch_.size()) return;
  Flush();
  scratch_ = Buffer<uint64_t>(stream_->arena(), words);
}

template <class Device>
void DeviceQueue<Device>::ReserveToBring(size_t bytes) {
  if (bytes <= brought_to_.size()) return;
  Flush();
  brought_to_ = Buffer<unsigned char>(stream_->arena(), bytes);
}

template <class Device>
const void* DeviceQueue<Device>::BringBytes(const void* values, size_t bytes) {
  if (brought_.size() + Aligned(bytes) > brought_to_.size()) {
    // The next launch may already have said what it touches.
    const auto touched = std::pair(begin_, end_);
    Flush();
    ReserveToBring(std::max(2 * brought_to_.size(), Aligned(bytes)));
    std::tie(begin_, end_) = touched;
  }
  const size_t at = brought_.size();
  brought_.resize(at + Aligned(bytes));
  if (bytes > 0) std::memcpy(brought_.data() + at, values, bytes);
  return brought_to_.data() + at;
}

template <class Device>
void DeviceQueue<Device>::Touch(const void* memory, size_t bytes) {
  const uintptr_t begin = AddressOf(memory);
  for (DeviceQueue<Device>* queue : stream_->queues_) {
    if (queue != this && queue->Touches(begin, begin + bytes)) queue->Flush();
  }
  begin_ = std::min(begin_, begin);
  end_ = std::max(end_, begin + bytes);
}

template <class Device>
void DeviceQueue<Device>::Drop() {
  program_ = {};
  stream_->device().recording(recorder_).Clear();
  brought_.clear();
  begin_ = UINTPTR_MAX;
  end_ = 0;
}

template <class Device>
void DeviceQueue<Device>::Flush() {
  const cuda::Recording& recording = stream_->device().recording(recorder());
  if (recording.size() == 0) return;
  try {
    stream_->CopyToDevice(brought_to_.data(), brought_.data(), brought_.size());
    stream_->Do(recording);
  } catch (...) {
    Drop();
    throw;
  }
  Drop();
}

template class DeviceStream<cuda::EmulatedDevice>;
template class DeviceQueue<cuda::EmulatedDevice>;
#ifdef CACHEINF_HAS_CUDA
template class DeviceStream<cuda::RealDevice>;
template class DeviceQueue<cuda::RealDevice>;
#endif

}  // namespace cacheinf
