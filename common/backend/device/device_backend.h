#ifndef CACHEINF_COMMON_BACKEND_DEVICE_DEVICE_BACKEND_H_
#define CACHEINF_COMMON_BACKEND_DEVICE_DEVICE_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/backend/backend.h"
#include "common/backend/device/device_pixel_sets.h"
#include "common/backend/device/device_queue.h"
#include "common/backend/device/device_slices.h"
#include "common/backend/operator_call.h"
#include "common/backend/torch_call.h"
#include "sparse_ops/cuda/conv.h"
#include "sparse_ops/cuda/conv_options.h"
#include "sparse_ops/cuda/pixels.h"
#include "sparse_ops/cuda/settle.h"
#include "sparse_ops/cuda/winograd.h"

namespace cacheinf {

// Runs operators by the kernels of sparse_ops/cuda, on a GPU or on the stand-in for one: with the
// bits of the reference, except for convolutions of a lower precision. The host waits only where
// the contract of Backend and PixelSets gives it numbers; up to there a frame's launches are one
// graph (device_queue.h). Slices are copied beside the kernels (device_slices.h). After the first
// frames nothing is allocated, and all memory of the device comes from one arena.
//
// With a change test a convolution whose kernel sees whole pixels (conv.h) stores only changes. Any
// other operator computes into scratch memory, from which a second kernel stores the changes. That
// an operator that is not local has nothing active may show only on the device.
//
// LibTorch runs foreign operators on the host, which waits for the device at each of them: it
// fetches their inputs, and then sends their outputs.
template <class Device>
class DeviceBackend final : public Backend {
 public:
  // Its name is the family's, "cuda", with the precision: "cuda-tf32". Throws InputError if the
  // device lacks that.
  DeviceBackend(std::string_view family, std::shared_ptr<Device> device,
                const cuda::ConvOptions& options);
  ~DeviceBackend() override;

  std::string_view Name() const override { return name_; }
  std::string Arithmetic() const override;
  // The most memory of the device that it and all its states have had so far.
  size_t device_bytes() const { return stream_->arena().bytes(); }
  Memory Allocate(size_t floats) override;
  int Prepare(const Graph& graph, const Operator& op) override;
  size_t scratch_bytes() const override { return scratch_.bytes(); }
  void Run(int handle, std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           Range rows) override;
  bool RunsLater() const override { return true; }
  std::unique_ptr<PixelSets> MakeSets() override;
  void Run(int handle, std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           PixelSets& sets, const PixelRunArgs& args) override;
  void Shift(const TensorView& map, int rows, int columns) override;
  void Warp(const WarpArgs& args, PixelSets& sets, PixelSet wanted, PixelSet out_of_view) override;
  void CopyIn(const ConstTensorView& host, const TensorView& device) override;
  void CopyOut(const ConstTensorView& device, const TensorView& host) override;
  void Finish() override;
  void ExpectCopyOut(const ConstTensorView& device) override;
  void Gather(const ConstTensorView& map, ConstMaskView pixels, std::span<float> numbers) override;
  void Scatter(std::span<const float> numbers, ConstMaskView pixels,
               const TensorView& map) override;
  void Gather(const ConstTensorView& map, PixelSets& sets, PixelSet pixels, Range rows,
              MaskView mask, std::vector<float>* numbers) override;
  Gathered BeginGather(const ConstTensorView& map, PixelSets& sets, PixelSet pixels,
                       Range rows) override;

 private:
  using Sets = DevicePixelSets<Device>;
  using Queue = DeviceQueue<Device>;
  using Slices = DeviceSlices<Device>;
  template <typename T>
  using Buffer = cuda::Buffer<cuda::Arena<Device>, T>;
  struct Kernels;

  struct Call {
    OperatorCall call;
    std::optional<cuda::Conv<Device>> conv;
    std::optional<cuda::Winograd<Device>> winograd;
    std::optional<TorchCall> foreign;
    std::vector<Buffer<unsigned char>> memory;  // what the kernels read besides maps
  };

  // Numbers that ExpectCopyOut has fetched.
  struct Expected {
    ConstTensorView view;
    ConstTensorView fetched;
    uint64_t fetched_until;
    uint64_t waits;
    uint64_t runs;
  };

  template <typename T>
  const T* Upload(const T* values, size_t count, Call& call);
  void UploadParameters(const Graph& graph, const Operator& op, Call& call);
  void MakeRoom(const ConstTensorView& value, size_t scratch_floats);
  void RunForeign(const TorchCall& foreign, std::span<const ConstTensorView> inputs,
                  std::span<const TensorView> outputs, Sets* sets, PixelSet active);
  void PackConv(const Graph& graph, const Operator& op, Call& call);
  cuda::SettleArgs TestOf(const PixelRunArgs& args, const TensorView& output, const Sets& sets);
  const float* SpreadOnDevice(const float* inverse_spread, int channels);
  void ListOnHost(ConstMaskView pixels);
  Gathered StartGather(const ConstTensorView& map, Sets& sets, PixelSet pixels, Range rows);
  void TouchAll(const Call& call, std::span<const ConstTensorView> inputs,
                std::span<const TensorView> outputs, Queue& queue);
  ConstTensorView Fetch(const ConstTensorView& device, TensorView packed);
  const ConstTensorView* FetchedBefore(const ConstTensorView& device);

  std::string name_;
  cuda::ConvOptions options_;
  std::shared_ptr<DeviceStream<Device>> stream_;
  Slices slices_;
  Queue whole_;  // of runs without sets
  std::vector<Call> calls_;
  Buffer<float> scratch_;
  Buffer<int> listed_;  // pixels that the host chose
  std::vector<int> host_list_;
  std::vector<Expected> expected_;
  std::vector<float> host_outputs_;  // of a foreign operator
  uint64_t runs_ = 0;                // that may have written to maps

  struct Spread {
    std::vector<float> host;
    Buffer<float> device;
  };
  std::map<const float*, Spread> spreads_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_DEVICE_DEVICE_BACKEND_H_
