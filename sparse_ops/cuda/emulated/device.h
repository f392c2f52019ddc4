#ifndef CACHEINF_SPARSE_OPS_CUDA_EMULATED_DEVICE_H_
#define CACHEINF_SPARSE_OPS_CUDA_EMULATED_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/emulated/memory.h"
#include "sparse_ops/cuda/emulated/processor.h"
#include "sparse_ops/cuda/emulated/thread.h"
#include "sparse_ops/cuda/recording.h"

namespace cacheinf::cuda {

// The stand-in for a GPU (device.h): slow and strict. Work waits in its stream until something is
// synchronized, and then streams take turns at random; processor.h says how kernels run and what
// it finds in them. After a KernelFault all work that waited is gone. For one thread of the host.
class EmulatedDevice {
 public:
  static constexpr size_t kBlockBytes = size_t{1} << 19;
  static constexpr bool kHasWarpgroupKernels = true;

  struct Options {
    unsigned seed = 1;
    size_t memory_bytes = size_t{1} << 30;
    size_t shared_bytes = 99 * 1024;  // of a block
    int compute_major = 8;            // compute capability; 9: with instructions of warpgroups
    int lost_after = -1;              // so many synchronizations, for good; below 0: never
    int forgets_wait = -1;  // for an event: the one with this count (event_waits), for tests
  };

  // What the host has asked for so far.
  struct Counts {
    int allocations = 0;  // of the device's memory, and of the host's for copies
    int synchronizations = 0;
    int launches = 0;  // but for those of graphs
    int graphs = 0;    // made
    int replays = 0;
    int kernels = 0;            // that have run, those of graphs too
    int64_t blocks = 0;         // of them
    int warpgroup_kernels = 0;  // kernels that used instructions of warpgroups
    int event_waits = 0;        // of streams and of the host, for events that were recorded
  };

  class Event {
   private:
    friend class EmulatedDevice;
    struct State {
      uint64_t recorded = 0;  // by the host
      uint64_t done = 0;      // by streams
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
  };

 private:
  struct Work {
    std::function<void()> run;
    std::shared_ptr<Event::State> awaited;  // null, or not before this event
    uint64_t count = 0;                     // has been done so often
  };
  struct StreamState {
    std::deque<Work> work;
    bool records = false;
    Recording recording;
  };

 public:
  class Stream {
   private:
    friend class EmulatedDevice;
    std::shared_ptr<StreamState> state_ = std::make_shared<StreamState>();
  };
  class Graph {
   private:
    friend class EmulatedDevice;
    Recording recording_;
  };

  EmulatedDevice() : EmulatedDevice(Options()) {}
  explicit EmulatedDevice(const Options& options);

  const Counts& counts() const { return counts_; }

  Stream MakeStream();
  Stream MakeRecorder();
  Event MakeEvent() { return {}; }
  DeviceFacts facts() const;

  void* Allocate(size_t bytes);
  void Free(void* memory);
  void Retire(void* memory, size_t bytes);
  void Renew(void* memory, size_t bytes);
  void* AllocateHost(size_t bytes);
  void FreeHost(void* memory);

  void CopyToDevice(Stream& stream, void* to, const void* from, size_t bytes);
  void CopyToHost(Stream& stream, void* to, const void* from, size_t bytes);
  void CopyOnDevice(Stream& stream, void* to, const void* from, size_t bytes);
  void Fill(Stream& stream, void* to, unsigned char byte, size_t bytes);
  void* Reach(void* memory, size_t bytes);

  template <class Kernel>
  void Launch(Stream& stream, const Blocks& blocks, const Kernel& kernel, size_t shared_bytes = 0) {
    static_assert(std::is_trivially_copyable_v<Kernel>, "arguments are copied to the device");
    static_assert(Kernel::kThreads >= 1 && Kernel::kThreads <= 1024, "as devices have it");
    if (!CheckLaunch(Kernel::kName, blocks, shared_bytes)) return;
    if (stream.state_->records) {
      return stream.state_->recording.Note(
          [](void* device, void* to, const Blocks& all, size_t bytes, const void* arguments) {
            static_cast<EmulatedDevice*>(device)->Launch(
                *static_cast<Stream*>(to), all, *static_cast<const Kernel*>(arguments), bytes);
          },
          kernel, blocks, shared_bytes);
    }
    ++counts_.launches;
    Add(stream, [this, blocks, kernel, shared_bytes] {
      ++counts_.kernels;
      counts_.blocks += int64_t{blocks.x} * blocks.y * blocks.z;
      processor_.Run({Kernel::kName, blocks, Kernel::kThreads, shared_bytes,
                      [](const void* arguments, Processor& processor, int thread) {
                        (*static_cast<const Kernel*>(arguments))(EmulatedThread(processor, thread));
                      },
                      &kernel});
      if (processor_.used_warpgroups()) ++counts_.warpgroup_kernels;
    });
  }

  void Record(Stream& stream, Event& event);
  void Wait(Stream& stream, Event& event);
  void Synchronize(Stream& stream);
  void Synchronize(Event& event);
  float MillisecondsBetween(Event& begin, Event& end);

  Recording& recording(Stream& recorder) { return recorder.state_->recording; }
  Graph MakeGraph(const Recording& recording);
  void Replay(Stream& stream, Graph& graph);

 private:
  bool CheckLaunch(const char* kernel_name, const Blocks& blocks, size_t shared_bytes) const;
  void Add(Stream& stream, std::function<void()> run);
  bool IsLost() const {
    return options_.lost_after >= 0 && counts_.synchronizations > options_.lost_after;
  }
  bool ForgetsThisWait() { return counts_.event_waits++ == options_.forgets_wait; }
  // Until is_done().
  void RunUntil(const std::function<bool()>& is_done);
  void RunAll();

  Options options_;
  Memory memory_;
  std::mt19937 random_;
  Processor processor_;
  std::vector<std::weak_ptr<StreamState>> streams_;
  Counts counts_;
  std::exception_ptr fault_;  // not yet reported
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_EMULATED_DEVICE_H_
