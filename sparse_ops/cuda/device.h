#ifndef CACHEINF_SPARSE_OPS_CUDA_DEVICE_H_
#define CACHEINF_SPARSE_OPS_CUDA_DEVICE_H_

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "sparse_ops/host_device.h"

// The seam between kernels and what runs them: RealDevice (real/device.h), a GPU through the CUDA
// runtime, and EmulatedDevice (emulated/device.h), a strict stand-in on the host. What is written
// for either takes the device as a template parameter, and is instantiated for both.
//
// Devices
//   Stream, Event, Graph            handles; move-only; they live shorter than their device
//   Stream MakeStream()             work of a stream runs in order, after the host has gone on
//   Event MakeEvent()
//   DeviceFacts facts()
//   void* Allocate(size_t bytes)    aligned to 256; throws OutOfDeviceMemory; Buffer owns such
//   void Free(void*)                after all work is done; null is fine
//   void Retire(void*, size_t), void Renew(void*, size_t)   part of what is allocated: nobody uses
//                                   it; and then it is garbage, as if just allocated
//   void* AllocateHost(size_t), void FreeHost(void*)     host memory that copies are fast from
//   void CopyToDevice(Stream&, void* to, const void* from, size_t bytes)
//   void CopyToHost(Stream&, void* to, const void* from, size_t bytes)
//   void CopyOnDevice(Stream&, void* to, const void* from, size_t bytes)
//                                   the host's memory must stay until the stream has come to it
//   void Fill(Stream&, void* to, unsigned char byte, size_t bytes)
//   void* Reach(void*, size_t)      where a library that knows devices' memory, such as an MPI,
//                                   reads and writes it while no work is under way
//   void Launch(Stream&, Blocks, const Kernel&, size_t shared_bytes = 0)
//   void Record(Stream&, Event&)    the event is done when the stream has come to here
//   void Wait(Stream&, Event&)      later work of the stream follows what was recorded last
//   void Synchronize(Stream&), Synchronize(Event&)       the host waits
//   float MillisecondsBetween(Event&, Event&)            of two events that are done
//   Stream MakeRecorder()           does nothing, but keeps what it is given; copies from and to
//   Recording& recording(Stream&)   the host and events it cannot be given
//   Graph MakeGraph(const Recording&)
//   void Replay(Stream&, Graph&)    does it all, with the arguments of then
//   static constexpr size_t kBlockBytes                  what an Arena allocates at least
//   static constexpr bool kHasWarpgroupKernels           whether this build has any
//
// What goes wrong throws DeviceError, of a launch or copy at the latest from Synchronize.
//
// Kernels
//   A kernel is a struct, in an ordinary header, of its arguments, trivially copyable, with
//     static constexpr const char* kName;
//     static constexpr int kThreads;   of a block, in one dimension
//     static constexpr int kBlocksAtOnce;   may be left out: so many blocks find registers on one
//                                           multiprocessor, and what is left over may be used
//     template <class Thread> CACHEINF_KERNEL void operator()(const Thread& thread) const;
//   a .cu file lists it for the real device (CACHEINF_INSTANTIATE). Pointers among the arguments
//   are the device's. An array of structs stands last (recording.h).
//
//   Everything that is not computing goes through `thread`; memory, too: nothing is read or written
//   but by these.
//
//   int ThreadIndex(), Lane(), Warp()         of the block; Lane = ThreadIndex % 32
//   int BlockX(), BlockY(), BlockZ(), BlocksX(), BlocksY(), BlocksZ()
//   T* Shared<T>(size_t byte_offset = 0)      the block's shared memory, aligned to 16; garbage
//   T Load(const T*), void Store(T*, T)       T of 1 to 16 bytes, naturally aligned
//   T LoadReadOnly(const T*)                  of what nobody writes during the launch
//   T AtomicAdd(T*, T), AtomicOr, AtomicAnd, AtomicMax, AtomicMin   the old value; int, unsigned,
//                                             uint64_t; AtomicAdd of float, whose order is open
//   void Barrier()                            all threads of the block, all at the same place
//   bool BarrierAny(bool); int BarrierCount(bool)   of all threads
//   Of a warp, by all its lanes at the same place. Only SyncWarp orders memory.
//   void SyncWarp()
//   T Shuffle(T, int lane), ShuffleUp(T, int by), ShuffleDown(T, int by), ShuffleXor(T, int mask)
//                                             T of 4 or 8 bytes; past the warp's end: one's own
//   unsigned Ballot(bool); bool Any(bool), All(bool); int Sum(int)
//   void MultiplyTf32(float (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2])
//   void MultiplyHalf(…), MultiplyBfloat16(…) matrix instructions; numbers.h has what they compute
//   Of a block that is a warpgroup, by all its 128 threads at the same places, where DeviceFacts
//   says that there are such:
//   void ShowToWarpgroup()                    the instructions below see what this thread wrote to
//                                             shared memory, copies that are done too, after a
//                                             barrier that follows
//   void FenceWarpgroup(sums, a)              before instructions that take these registers, arrays
//                                             of arrays, as they now are
//   uint64_t WarpgroupMatrix(const T* shared, int leading_bytes, int stride_bytes)   b (numbers.h)
//   void MultiplyWarpgroupTf32(float (&sums)[n][4], const unsigned (&a)[4], uint64_t b)
//   void MultiplyWarpgroupHalf(…), MultiplyWarpgroupBfloat16(…)   n is 4 or 8. In the background:
//                                             until they are waited for, sums are garbage and what
//                                             b says stays; instructions on the same sums are in
//                                             order
//   void CommitWarpgroup()                    closes a group of them
//   void WaitForWarpgroup<n>(sums)            all groups but the last n are done
//   Copies from global to shared memory in the background:
//   void CopyAsync(T* shared, const T* global)      T of 4, 8 or 16 bytes, aligned
//   void CopyAsyncOrZero(T* shared, const T* global, bool copies)   else zeros; `global` unread
//   void CommitCopies()                       closes a group of this thread's copies
//   void WaitForCopies<n>()                   all its groups but the last n are done; others see
//                                             them after a barrier
//
//   Threads of different blocks see each other's writes only in the next launch, but for atomics.
//   Kernels may not wait for other blocks.

#ifdef __CUDACC__
#define CACHEINF_KERNEL __device__ __forceinline__
#define CACHEINF_UNROLL _Pragma("unroll")
#define CACHEINF_NO_UNROLL _Pragma("unroll 1")
#else
#define CACHEINF_KERNEL
#define CACHEINF_UNROLL
#define CACHEINF_NO_UNROLL
#endif

namespace cacheinf::cuda {

class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class OutOfDeviceMemory : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

// What only the stand-in finds: a kernel does what is not allowed. The text names the kernel, the
// block, the thread, file and line.
class KernelFault : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

// How many blocks a launch has. None are run if one of the numbers is 0.
struct Blocks {
  int x = 1;
  int y = 1;
  int z = 1;
};

// A warp's lanes.
constexpr int kWarp = 32;

struct DeviceFacts {
  std::string name;
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;
  size_t shared_bytes = 0;      // that a block can have
  bool has_warpgroups = false;  // instructions of warpgroups, and kernels with them in this build
};

// Memory on a device for `count` values, which are garbage at first.
template <class Device, typename T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, size_t count)
      : device_(&device),
        data_(static_cast<T*>(device.Allocate(count * sizeof(T)))),
        count_(count) {}
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~Buffer() {
    if (device_ != nullptr) device_->Free(data_);
  }

  T* data() const { return data_; }
  size_t size() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }

 private:
  Device* device_ = nullptr;
  T* data_ = nullptr;
  size_t count_ = 0;
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_DEVICE_H_
