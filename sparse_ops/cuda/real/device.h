#ifndef CACHEINF_SPARSE_OPS_CUDA_REAL_DEVICE_H_
#define CACHEINF_SPARSE_OPS_CUDA_REAL_DEVICE_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/recording.h"

namespace cacheinf::cuda {

// A GPU through the CUDA runtime (device.h). No header of CUDA is needed to use it; LaunchNow is
// compiled for the kernels that .cu files list. Any thread of the host may call.
//
// A launch that cannot begin throws at once, what goes wrong in one from Synchronize, or at once in
// builds without NDEBUG, which launch what a graph has one by one.
class RealDevice {
 public:
  static constexpr size_t kBlockBytes = size_t{64} << 20;
#ifdef CACHEINF_HAS_SM90A
  static constexpr bool kHasWarpgroupKernels = true;
#else
  static constexpr bool kHasWarpgroupKernels = false;
#endif

  // Owns an object that the runtime names by a pointer.
  template <void (*destroy)(void*)>
  class Handle {
   public:
    Handle() = default;
    Handle(Handle&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
    Handle& operator=(Handle&& other) noexcept {
      std::swap(pointer_, other.pointer_);
      return *this;
    }
    ~Handle() {
      if (pointer_ != nullptr) destroy(pointer_);
    }

   private:
    friend class RealDevice;
    explicit Handle(void* pointer) : pointer_(pointer) {}
    void* pointer_ = nullptr;
  };

 private:
  static void DestroyStream(void* stream);
  static void DestroyEvent(void* event);
  static void DestroyGraph(void* graph);

 public:
  using Event = Handle<DestroyEvent>;
  class Stream {
   private:
    friend class RealDevice;
    Handle<DestroyStream> handle_;
    std::unique_ptr<Recording> recording_;  // a recorder's
  };
  class Graph {
   private:
    friend class RealDevice;
    Handle<DestroyGraph> ready_;
    Recording recording_;  // in builds without NDEBUG
  };

  // How many there are; 0 without a driver.
  static int Count();

  // Throws DeviceError if there is no such device.
  explicit RealDevice(int index = 0);

  Stream MakeStream();
  Stream MakeRecorder();
  Event MakeEvent();
  DeviceFacts facts() const { return facts_; }

  void* Allocate(size_t bytes);
  void Free(void* memory);
  void Retire(void*, size_t) {}
  void Renew(void*, size_t) {}
  void* AllocateHost(size_t bytes);
  void FreeHost(void* memory);

  void CopyToDevice(Stream& stream, void* to, const void* from, size_t bytes);
  void CopyToHost(Stream& stream, void* to, const void* from, size_t bytes);
  void CopyOnDevice(Stream& stream, void* to, const void* from, size_t bytes);
  void Fill(Stream& stream, void* to, unsigned char byte, size_t bytes);
  void* Reach(void* memory, size_t) { return memory; }

  template <class Kernel>
  void Launch(Stream& stream, const Blocks& blocks, const Kernel& kernel, size_t shared_bytes = 0) {
    if (stream.recording_ == nullptr) return LaunchNow(stream, blocks, kernel, shared_bytes);
    if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) return;
    stream.recording_->Note(
        [](void* device, void* to, const Blocks& all, size_t bytes, const void* arguments) {
          static_cast<RealDevice*>(device)->LaunchNow(
              *static_cast<Stream*>(to), all, *static_cast<const Kernel*>(arguments), bytes);
        },
        kernel, blocks, shared_bytes);
  }

  void Record(Stream& stream, Event& event);
  void Wait(Stream& stream, Event& event);
  void Synchronize(Stream& stream);
  void Synchronize(Event& event);
  float MillisecondsBetween(Event& begin, Event& end);

  Recording& recording(Stream& recorder) { return *recorder.recording_; }
  Graph MakeGraph(const Recording& recording);
  void Replay(Stream& stream, Graph& graph);

 private:
  template <class Kernel>
  void LaunchNow(Stream& stream, const Blocks& blocks, const Kernel& kernel, size_t shared_bytes);
  // Sends the calling thread's calls to this device.
  void Select() const;
  void CheckLaunch(const char* kernel_name, const Stream& stream) const;

  int index_;
  DeviceFacts facts_;
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_REAL_DEVICE_H_
