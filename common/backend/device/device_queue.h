#ifndef CACHEINF_COMMON_BACKEND_DEVICE_DEVICE_QUEUE_H_
#define CACHEINF_COMMON_BACKEND_DEVICE_DEVICE_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "sparse_ops/cuda/arena.h"
#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/recording.h"
#include "sparse_ops/cuda/set_program.h"

namespace cacheinf {

template <class Device>
class DeviceQueue;

// A device with its memory and the stream for all work of a backend, except copies of slices
// (device_slices.h).
//
// Launches wait in queues, one per state, until somebody needs their results. Then a queue's
// launches go to the stream as a graph, which is recorded when a sequence of launches first comes
// and replayed whenever it comes again. So nobody has to say how a plan, a policy or a flag changes
// a frame: another sequence of launches is another graph. Values that change from frame to frame
// must not be launch arguments (DeviceQueue::Bring).
template <class Device>
class DeviceStream {
 public:
  explicit DeviceStream(std::shared_ptr<Device> device);
  ~DeviceStream();

  Device& device() { return *device_; }
  cuda::Arena<Device>& arena() { return arena_; }

  // For work on this memory that goes through no queue, or through another one: work that waits in
  // queues and touches this memory goes first.
  typename Device::Stream& After(const void* memory, size_t bytes);
  // All waiting work goes first.
  typename Device::Stream& AfterAll();
  // The stream itself, after the work that it already has.
  typename Device::Stream& kernels() { return stream_; }

  // Copies. The bytes pass through host memory that this holds, so the host need not wait.
  void CopyToDevice(void* to, const void* from, size_t bytes);
  // Memory to write to, for Send. Valid until then.
  void* Stage(size_t bytes);
  void Send(void* to, const void* staged, size_t bytes);
  // Where these bytes will be after the next Wait, until something is staged after that.
  const void* Fetch(const void* from, size_t bytes);
  // Counts how often fetched bytes have been overwritten.
  uint64_t fetched_until() const { return times_reused_; }

  // The host waits for all that has gone to the stream.
  void Wait();
  uint64_t waits() const { return waits_; }

 private:
  friend class DeviceQueue<Device>;

  struct KnownGraph {
    cuda::Recording recording;
    typename Device::Graph graph;
    uint64_t last_use;
  };
  // Host memory that the device copies fast from and to.
  struct HostBlock {
    unsigned char* memory;
    size_t bytes;
  };

  void Do(const cuda::Recording& recording);
  typename Device::Graph& GraphOf(const cuda::Recording& recording);
  void FreeHostBlocks();

  std::shared_ptr<Device> device_;
  cuda::Arena<Device> arena_;
  typename Device::Stream stream_;
  std::vector<DeviceQueue<Device>*> queues_;
  std::vector<KnownGraph> graphs_;
  uint64_t uses_ = 0;
  std::vector<HostBlock> host_blocks_;  // the last one is being filled
  size_t host_used_ = 0;                // of the last
  bool host_is_free_ = false;           // nothing under way reads or writes any
  uint64_t times_reused_ = 0;
  uint64_t waits_ = 0;
};

// The launches of one state that have not gone to the device.
template <class Device>
class DeviceQueue {
 public:
  explicit DeviceQueue(std::shared_ptr<DeviceStream<Device>> stream);
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;
  ~DeviceQueue();  // drops what waits

  // The stream to launch on. Noted steps come before.
  typename Device::Stream& recorder();

  // Notes a step, which is done in one launch with its neighbours.
  void Note(const cuda::SetStep& step);

  // Brings values to the device for later launches. Where they lie depends on what was brought
  // since the last Flush, not on the values.
  template <typename T>
  const T* Bring(const T* values, size_t count) {
    return reinterpret_cast<const T*>(BringBytes(values, count * sizeof(T)));
  }
  // Call before the first frame: makes room for at most so many bytes.
  void ReserveToBring(size_t bytes);

  // Notes that the launches read or write this memory; other queues' work on it goes first.
  void Touch(const void* memory, size_t bytes);

  // Sends everything to the stream.
  void Flush();

  // Makes room for steps that need scratch words. Call before the first frame.
  void ReserveScratch(size_t words);

  DeviceStream<Device>& stream() { return *stream_; }

 private:
  friend class DeviceStream<Device>;
  template <typename T>
  using Buffer = cuda::Buffer<cuda::Arena<Device>, T>;

  const void* BringBytes(const void* values, size_t bytes);
  void Drop();
  bool Touches(uintptr_t begin, uintptr_t end) const { return begin < end_ && begin_ < end; }

  std::shared_ptr<DeviceStream<Device>> stream_;
  typename Device::Stream recorder_;
  cuda::SetProgram program_;
  Buffer<uint64_t> scratch_;
  std::vector<unsigned char> brought_;
  Buffer<unsigned char> brought_to_;
  // All memory that the launches touch lies in here.
  uintptr_t begin_ = UINTPTR_MAX;
  uintptr_t end_ = 0;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_DEVICE_DEVICE_QUEUE_H_
