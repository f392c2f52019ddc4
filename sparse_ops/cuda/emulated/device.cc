#include "sparse_ops/cuda/emulated/device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace cacheinf {
namespace cuda {
namespace {

uintptr_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

EmulatedDevice::EmulatedDevice(const Options& options)
    : options_(options),
      memory_(options.memory_bytes),
      random_(options.seed),
      processor_(memory_, options.seed) {}

EmulatedDevice::Stream EmulatedDevice::MakeStream() {
  Stream stream;
  streams_.erase(std::remove_if(streams_.begin(), streams_.end(),
                                [](const auto& other) { return other.expired(); }),
                 streams_.end());
  streams_.push_back(stream.state_);
  return stream;
}

DeviceFacts EmulatedDevice::facts() const {
  DeviceFacts facts;
  facts.name = "emulated";
  facts.compute_major = 8;
  facts.compute_minor = 0;
  facts.multiprocessors = 4;
  facts.shared_bytes = options_.shared_bytes;
  return facts;
}

void* EmulatedDevice::Allocate(size_t bytes) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the stand-in's, which is no pointer
  return reinterpret_cast<void*>(memory_.Allocate(bytes));
}

void EmulatedDevice::Free(void* memory) {
  if (memory == nullptr) return;
  RunUntil([] { return false; });
  memory_.Free(AddressOf(memory));
}

void* EmulatedDevice::AllocateHost(size_t bytes) {
  void* const memory = std::malloc(std::max<size_t>(bytes, 1));
  if (memory == nullptr) throw std::bad_alloc();
  FillWithGarbage(static_cast<std::byte*>(memory), bytes);
  return memory;
}

void EmulatedDevice::FreeHost(void* memory) { std::free(memory); }

void EmulatedDevice::CopyToDevice(Stream& stream, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  Add(stream, [this, to, from, bytes] {
    const Allocation& allocation = memory_.Holding(to, bytes, "a copy to the device");
    std::memcpy(allocation.At(AddressOf(to)), from, bytes);
    Processor::NoteHostWrite(allocation, AddressOf(to), bytes);
  });
}

void EmulatedDevice::CopyToHost(Stream& stream, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  Add(stream, [this, to, from, bytes] {
    const Allocation& allocation = memory_.Holding(from, bytes, "a copy to the host");
    std::memcpy(to, allocation.At(AddressOf(from)), bytes);
  });
}

void EmulatedDevice::CopyOnDevice(Stream& stream, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  Add(stream, [this, to, from, bytes] {
    const Allocation& source = memory_.Holding(from, bytes, "a copy on the device");
    const Allocation& target = memory_.Holding(to, bytes, "a copy on the device");
    std::memmove(target.At(AddressOf(to)), source.At(AddressOf(from)), bytes);
    Processor::NoteHostWrite(target, AddressOf(to), bytes);
  });
}

void EmulatedDevice::Fill(Stream& stream, void* to, unsigned char byte, size_t bytes) {
  if (bytes == 0) return;
  Add(stream, [this, to, byte, bytes] {
    const Allocation& allocation = memory_.Holding(to, bytes, "a fill");
    std::memset(allocation.At(AddressOf(to)), byte, bytes);
    Processor::NoteHostWrite(allocation, AddressOf(to), bytes);
  });
}

bool EmulatedDevice::CheckLaunch(const char* kernel_name, const Blocks& blocks,
                                 size_t shared_bytes) const {
  if (shared_bytes > options_.shared_bytes) {
    throw DeviceError(std::string("kernel ") + kernel_name + " asks for " +
                      std::to_string(shared_bytes) + " bytes of shared memory of " +
                      std::to_string(options_.shared_bytes));
  }
  if (blocks.x < 0 || blocks.y < 0 || blocks.z < 0 || blocks.y > 65535 || blocks.z > 65535) {
    throw DeviceError(std::string("kernel ") + kernel_name + " asks for too many blocks");
  }
  return blocks.x > 0 && blocks.y > 0 && blocks.z > 0;
}

void EmulatedDevice::Add(Stream& stream, std::function<void()> run) {
  StreamState& state = *stream.state_;
  Work work;
  work.run = std::move(run);
  if (state.captures) {
    state.captured.push_back(std::move(work));
  } else {
    state.work.push_back(std::move(work));
  }
}

void EmulatedDevice::Record(Stream& stream, Event& event) {
  if (stream.state_->captures) throw DeviceError("events do not come into a graph");
  const uint64_t count = ++event.state_->recorded;
  Add(stream, [state = event.state_, count] { state->done = count; });
}

void EmulatedDevice::Wait(Stream& stream, Event& event) {
  if (stream.state_->captures) throw DeviceError("events do not come into a graph");
  if (event.state_->recorded == 0) return;
  stream.state_->work.push_back({[] {}, event.state_, event.state_->recorded});
}

void EmulatedDevice::RunUntil(const std::function<bool()>& is_done) {
  std::vector<std::shared_ptr<StreamState>> able;
  try {
    while (!is_done()) {
      able.clear();
      for (const auto& weak : streams_) {
        const std::shared_ptr<StreamState> stream = weak.lock();
        if (stream == nullptr || stream->work.empty()) continue;
        const Work& next = stream->work.front();
        if (next.awaited == nullptr || next.awaited->done >= next.count) able.push_back(stream);
      }
      if (able.empty()) return;
      StreamState& stream = *able[random_() % able.size()];
      const Work work = std::move(stream.work.front());
      stream.work.pop_front();
      work.run();
    }
  } catch (...) {
    for (const auto& weak : streams_) {
      if (const auto stream = weak.lock()) stream->work.clear();
    }
    throw;
  }
}

void EmulatedDevice::Synchronize(Stream& stream) {
  if (stream.state_->captures) throw DeviceError("a stream that captures cannot be waited for");
  RunUntil([&] { return stream.state_->work.empty(); });
}

void EmulatedDevice::Synchronize(Event& event) {
  const uint64_t count = event.state_->recorded;
  RunUntil([&] { return event.state_->done >= count; });
}

float EmulatedDevice::MillisecondsBetween(Event& begin, Event& end) {
  for (const Event* event : {&begin, &end}) {
    if (event->state_->recorded == 0 || event->state_->done < event->state_->recorded) {
      throw DeviceError("an event is not done");
    }
  }
  return 0.0f;
}

void EmulatedDevice::BeginCapture(Stream& stream) {
  if (stream.state_->captures) throw DeviceError("the stream captures already");
  stream.state_->captures = true;
}

EmulatedDevice::Graph EmulatedDevice::EndCapture(Stream& stream) {
  if (!stream.state_->captures) throw DeviceError("the stream does not capture");
  stream.state_->captures = false;
  Graph graph;
  graph.work_ = std::exchange(stream.state_->captured, {});
  return graph;
}

void EmulatedDevice::Replay(Stream& stream, Graph& graph) {
  if (stream.state_->captures) throw DeviceError("graphs do not come into a graph");
  stream.state_->work.insert(stream.state_->work.end(), graph.work_.begin(), graph.work_.end());
}

}  // namespace cuda
}  // namespace cacheinf
