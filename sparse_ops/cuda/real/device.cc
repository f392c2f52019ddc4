#include "sparse_ops/cuda/real/device.h"

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

namespace cacheinf::cuda {
namespace {

void Check(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return;
  const std::string text = what + ": " + cudaGetErrorString(error);
  cudaGetLastError();  // forgets it, if it can be forgotten
  if (error == cudaErrorMemoryAllocation) throw OutOfDeviceMemory(text);
  throw DeviceError(text);
}

cudaStream_t StreamOf(void* pointer) { return static_cast<cudaStream_t>(pointer); }
cudaEvent_t EventOf(void* pointer) { return static_cast<cudaEvent_t>(pointer); }

int Attribute(cudaDeviceAttr attribute, int device) {
  int value = 0;
  Check(cudaDeviceGetAttribute(&value, attribute, device), "asking a CUDA device what it can do");
  return value;
}

}  // namespace

void RealDevice::DestroyStream(void* stream) { cudaStreamDestroy(StreamOf(stream)); }
void RealDevice::DestroyEvent(void* event) { cudaEventDestroy(EventOf(event)); }
void RealDevice::DestroyGraph(void* graph) {
  cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
}

int RealDevice::Count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

RealDevice::RealDevice(int index) : index_(index) {
  const std::string name = "CUDA device " + std::to_string(index);
  cudaDeviceProp properties;
  Check(cudaGetDeviceProperties(&properties, index), name);
  facts_.name = properties.name;
  facts_.compute_major = properties.major;
  facts_.compute_minor = properties.minor;
  facts_.multiprocessors = properties.multiProcessorCount;
  facts_.has_warpgroups = kHasWarpgroupKernels && properties.major == 9 && properties.minor == 0;
  facts_.shared_bytes =
      static_cast<size_t>(Attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, index));
  Check(cudaSetDevice(index), name);
}

void RealDevice::Select() const { Check(cudaSetDevice(index_), facts_.name); }

RealDevice::Stream RealDevice::MakeStream() {
  Select();
  cudaStream_t stream = nullptr;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  Stream made;
  made.handle_ = Handle<DestroyStream>(stream);
  return made;
}

RealDevice::Stream RealDevice::MakeRecorder() {
  Stream made;
  made.recording_ = std::make_unique<Recording>();
  return made;
}

RealDevice::Event RealDevice::MakeEvent() {
  Select();
  cudaEvent_t event = nullptr;
  Check(cudaEventCreate(&event), "making an event");
  return Event(event);
}

void* RealDevice::Allocate(size_t bytes) {
  Select();
  void* memory = nullptr;
  Check(cudaMalloc(&memory, bytes),
        "allocating " + std::to_string(bytes) + " bytes of " + facts_.name);
  return memory;
}

void RealDevice::Free(void* memory) {
  // Errors here come from earlier work, and Synchronize throws them.
  cudaFree(memory);
}

void* RealDevice::AllocateHost(size_t bytes) {
  Select();
  void* memory = nullptr;
  Check(cudaMallocHost(&memory, bytes),
        "allocating " + std::to_string(bytes) + " bytes of pinned memory");
  return memory;
}

void RealDevice::FreeHost(void* memory) { cudaFreeHost(memory); }

void RealDevice::CopyToDevice(Stream& stream, void* to, const void* from, size_t bytes) {
  if (stream.recording_ != nullptr) throw DeviceError("a recorder takes no copies of the host's");
  Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, StreamOf(stream.handle_.pointer_)),
        "copying to " + facts_.name);
}

void RealDevice::CopyToHost(Stream& stream, void* to, const void* from, size_t bytes) {
  if (stream.recording_ != nullptr) throw DeviceError("a recorder takes no copies of the host's");
  Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, StreamOf(stream.handle_.pointer_)),
        "copying from " + facts_.name);
}

void RealDevice::CopyOnDevice(Stream& stream, void* to, const void* from, size_t bytes) {
  if (stream.recording_ != nullptr)
    return NoteCopy<RealDevice>(*stream.recording_, to, from, bytes);
  Check(
      cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, StreamOf(stream.handle_.pointer_)),
      "copying on " + facts_.name);
}

void RealDevice::Fill(Stream& stream, void* to, unsigned char byte, size_t bytes) {
  if (stream.recording_ != nullptr)
    return NoteFill<RealDevice>(*stream.recording_, to, byte, bytes);
  Check(cudaMemsetAsync(to, byte, bytes, StreamOf(stream.handle_.pointer_)),
        "filling on " + facts_.name);
}

void RealDevice::CheckLaunch(const char* kernel_name, const Stream& stream) const {
  Check(cudaGetLastError(), std::string("launching kernel ") + kernel_name);
#ifndef NDEBUG
  Check(cudaStreamSynchronize(StreamOf(stream.handle_.pointer_)),
        std::string("kernel ") + kernel_name);
#else
  static_cast<void>(stream);
#endif
}

void RealDevice::Record(Stream& stream, Event& event) {
  if (stream.recording_ != nullptr) throw DeviceError("a recorder takes no events");
  Check(cudaEventRecord(EventOf(event.pointer_), StreamOf(stream.handle_.pointer_)),
        "recording an event");
}

void RealDevice::Wait(Stream& stream, Event& event) {
  if (stream.recording_ != nullptr) throw DeviceError("a recorder takes no events");
  Check(cudaStreamWaitEvent(StreamOf(stream.handle_.pointer_), EventOf(event.pointer_), 0),
        "waiting for an event");
}

void RealDevice::Synchronize(Stream& stream) {
  if (stream.recording_ != nullptr) throw DeviceError("a recorder cannot be waited for");
  Check(cudaStreamSynchronize(StreamOf(stream.handle_.pointer_)), facts_.name);
}

void RealDevice::Synchronize(Event& event) {
  Check(cudaEventSynchronize(EventOf(event.pointer_)), facts_.name);
}

float RealDevice::MillisecondsBetween(Event& begin, Event& end) {
  float milliseconds = 0.0f;
  Check(cudaEventElapsedTime(&milliseconds, EventOf(begin.pointer_), EventOf(end.pointer_)),
        "the time between events");
  return milliseconds;
}

RealDevice::Graph RealDevice::MakeGraph(const Recording& recording) {
  Graph made;
#ifndef NDEBUG
  made.recording_ = recording;
#else
  Stream stream = MakeStream();
  CUstream_st* const own = StreamOf(stream.handle_.pointer_);
  Check(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal), "capturing a graph");
  cudaGraph_t graph = nullptr;
  try {
    recording.DoAll(this, &stream);
  } catch (...) {
    if (cudaStreamEndCapture(own, &graph) == cudaSuccess) cudaGraphDestroy(graph);
    throw;
  }
  Check(cudaStreamEndCapture(own, &graph), "capturing a graph");
  cudaGraphExec_t ready = nullptr;
  const cudaError_t error = cudaGraphInstantiateWithFlags(&ready, graph, 0);
  cudaGraphDestroy(graph);
  Check(error, "making a graph ready");
  made.ready_ = Handle<DestroyGraph>(ready);
#endif
  return made;
}

void RealDevice::Replay(Stream& stream, Graph& graph) {
#ifndef NDEBUG
  graph.recording_.DoAll(this, &stream);
#else
  Check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph.ready_.pointer_),
                        StreamOf(stream.handle_.pointer_)),
        "replaying a graph");
#endif
}

}  // namespace cacheinf::cuda
