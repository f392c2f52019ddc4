#include "sparse_ops/cuda/emulated/device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>

namespace cacheinf::cuda {
namespace {

uintptr_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

EmulatedDevice::EmulatedDevice(const Options& options)
    : options_(options),
      memory_(options.memory_bytes),
      random_(options.seed),
      processor_(memory_, options.seed, options.compute_major == 9) {}

EmulatedDevice::Stream EmulatedDevice::MakeStream() {
  Stream stream;
  streams_.erase(std::remove_if(streams_.begin(), streams_.end(),
                                [](const auto& other) { return other.expired(); }),
                 streams_.end());
  streams_.push_back(stream.state_);
  return stream;
}

EmulatedDevice::Stream EmulatedDevice::MakeRecorder() {
  Stream stream;
  stream.state_->records = true;
  return stream;
}

DeviceFacts EmulatedDevice::facts() const {
  DeviceFacts facts;
  facts.name = "emulated";
  facts.compute_major = options_.compute_major;
  facts.compute_minor = 0;
  facts.multiprocessors = 4;
  facts.shared_bytes = options_.shared_bytes;
  facts.has_warpgroups = options_.compute_major == 9;
  return facts;
}

void* EmulatedDevice::Allocate(size_t bytes) {
  ++counts_.allocations;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the stand-in's, which is no pointer
  return reinterpret_cast<void*>(memory_.Allocate(bytes));
}

void EmulatedDevice::Free(void* memory) {
  if (memory == nullptr) return;
  RunAll();
  memory_.Free(AddressOf(memory));
}

void EmulatedDevice::Retire(void* memory, size_t bytes) {
  if (bytes == 0) return;
  RunAll();
  const Allocation& allocation = memory_.Holding(memory, bytes, "what is retired,");
  Processor::NoteRetired(allocation, AddressOf(memory), bytes);
}

void EmulatedDevice::Renew(void* memory, size_t bytes) {
  if (bytes == 0) return;
  const Allocation& allocation = memory_.Holding(memory, bytes, "what is renewed,");
  FillWithGarbage(allocation.At(AddressOf(memory)), bytes);
  Processor::NoteRenewed(allocation, AddressOf(memory), bytes);
}

void* EmulatedDevice::AllocateHost(size_t bytes) {
  ++counts_.allocations;
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
  if (stream.state_->records)
    return NoteCopy<EmulatedDevice>(stream.state_->recording, to, from, bytes);
  Add(stream, [this, to, from, bytes] {
    const Allocation& source = memory_.Holding(from, bytes, "a copy on the device");
    const Allocation& target = memory_.Holding(to, bytes, "a copy on the device");
    std::memmove(target.At(AddressOf(to)), source.At(AddressOf(from)), bytes);
    Processor::NoteHostWrite(target, AddressOf(to), bytes);
  });
}

void EmulatedDevice::Fill(Stream& stream, void* to, unsigned char byte, size_t bytes) {
  if (bytes == 0) return;
  if (stream.state_->records)
    return NoteFill<EmulatedDevice>(stream.state_->recording, to, byte, bytes);
  Add(stream, [this, to, byte, bytes] {
    const Allocation& allocation = memory_.Holding(to, bytes, "a fill");
    std::memset(allocation.At(AddressOf(to)), byte, bytes);
    Processor::NoteHostWrite(allocation, AddressOf(to), bytes);
  });
}

void* EmulatedDevice::Reach(void* memory, size_t bytes) {
  const Allocation& allocation = memory_.Holding(memory, bytes, "what is reached,");
  return allocation.At(AddressOf(memory));
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
  if (stream.state_->records) throw DeviceError("a recorder takes no copies of the host's");
  stream.state_->work.push_back({std::move(run), nullptr, 0});
}

void EmulatedDevice::Record(Stream& stream, Event& event) {
  if (stream.state_->records) throw DeviceError("a recorder takes no events");
  const uint64_t count = ++event.state_->recorded;
  Add(stream, [state = event.state_, count] { state->done = count; });
}

void EmulatedDevice::Wait(Stream& stream, Event& event) {
  if (stream.state_->records) throw DeviceError("a recorder takes no events");
  if (event.state_->recorded == 0 || ForgetsThisWait()) return;
  stream.state_->work.push_back({[] {}, event.state_, event.state_->recorded});
}

void EmulatedDevice::RunUntil(const std::function<bool()>& is_done) {
  std::vector<std::shared_ptr<StreamState>> able;
  try {
    if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
    if (IsLost()) throw DeviceError("the emulated device is lost");
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

// Errors are thrown when somebody waits.
void EmulatedDevice::RunAll() {
  try {
    RunUntil([] { return false; });
  } catch (const DeviceError&) {
    fault_ = std::current_exception();
  }
}

void EmulatedDevice::Synchronize(Stream& stream) {
  if (stream.state_->records) throw DeviceError("a recorder cannot be waited for");
  ++counts_.synchronizations;
  RunUntil([&] { return stream.state_->work.empty(); });
}

void EmulatedDevice::Synchronize(Event& event) {
  ++counts_.synchronizations;
  const uint64_t count = event.state_->recorded;
  if (count > 0 && ForgetsThisWait()) return;
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

EmulatedDevice::Graph EmulatedDevice::MakeGraph(const Recording& recording) {
  ++counts_.graphs;
  Graph graph;
  graph.recording_ = recording;
  return graph;
}

void EmulatedDevice::Replay(Stream& stream, Graph& graph) {
  if (stream.state_->records) throw DeviceError("a recorder takes no graphs");
  ++counts_.replays;
  const int launches = counts_.launches;
  graph.recording_.DoAll(this, &stream);
  counts_.launches = launches;
}

}  // namespace cacheinf::cuda
