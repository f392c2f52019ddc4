#include "common/exec/device_backend.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "common/base/error.h"
#include "common/exec/cuda_backend.h"
#include "common/model/graph/geometry.h"
#include "sparse_ops/cuda/emulated/device.h"
#include "sparse_ops/cuda/operators.h"
#include "sparse_ops/cuda/real/device.h"
#include "sparse_ops/cuda/real/device_query.h"
#include "sparse_ops/reference/reference.h"

namespace cacheinf {
namespace {

// The same dims without gaps: maps channels-last, other tensors in logical order.
template <typename T, typename U>
BasicTensorView<T> PackedLike(const BasicTensorView<U>& view, T* data) {
  BasicTensorView<T> packed;
  packed.data = data;
  packed.rank = view.rank;
  packed.dims = view.dims;
  constexpr std::array<int, 4> kMapOrder = {1, 3, 2, 0};
  int64_t stride = 1;
  for (int i = 0; i < view.rank; ++i) {
    const int axis = view.rank == 4 ? kMapOrder[static_cast<size_t>(i)] : view.rank - 1 - i;
    packed.strides[static_cast<size_t>(axis)] = stride;
    stride *= view.dims[static_cast<size_t>(axis)];
  }
  return packed;
}

// Whether two views of the same dims lay their numbers alike, one block of memory each.
template <typename T, typename U>
bool IsPackedLike(const BasicTensorView<T>& view, const BasicTensorView<U>& packed) {
  for (int i = 0; i < view.rank; ++i) {
    const auto axis = static_cast<size_t>(i);
    if (view.dims[axis] > 1 && view.strides[axis] != packed.strides[axis]) return false;
  }
  return true;
}

// A value's dims, without memory.
TensorView ShapeOf(const Value& value) {
  TensorView view;
  view.rank = static_cast<int>(value.shape.size());
  std::copy(value.shape.begin(), value.shape.end(), view.dims.begin());
  return view;
}

int PixelsOf(const ImageView& output) { return output.height * output.width; }
int PixelsOf(const TensorView& output) {
  return output.rank == 4 ? static_cast<int>(output.dims[2] * output.dims[3]) : 1;
}

cuda::Pixels PixelsOf(const TensorView& output, Range rows) {
  const int width = output.rank == 4 ? static_cast<int>(output.dims[3]) : 1;
  return {nullptr, nullptr, rows.begin * width, rows.size() * width};
}

// Takes a convolution as it is told of, for packing.
struct ConvCatcher {
  template <typename Args, typename Pixels>
  void operator()(const Args& args, const Pixels&) const {
    if constexpr (std::is_same_v<Args, ConvArgs>) *caught = args;
  }
  template <typename Args>
  void operator()(const Args&) const {}
  template <typename Output>
  static cuda::Pixels All(const Output&) {
    return {};
  }
  void CopyMeeting(const ConstTensorView&, const TensorView&, int, Range,
                   const cuda::Pixels&) const {}

  ConvArgs* caught;
};

}  // namespace

template <class Device>
struct DeviceBackend<Device>::Kernels {
  void operator()(const ConvArgs& args, const cuda::Pixels& pixels) const {
    call.conv->Run(stream, args.input, args.residual, args.output, pixels);
  }
  template <typename Args>
  void operator()(const Args& args, const cuda::Pixels& pixels) const {
    cuda::Compute(device, stream, args, pixels);
  }
  template <typename Args>
  void operator()(const Args& args) const {
    cuda::Compute(device, stream, args, All(args.output));
  }

  template <typename Output>
  cuda::Pixels All(const Output& output) const {
    if (sets == nullptr) return {nullptr, nullptr, 0, PixelsOf(output)};
    const cuda::Pixels pixels = sets->AllIfAny(active, PixelsOf(output));
    sets->Launch();
    return pixels;
  }

  void operator()(const DecodeBoxesArgs& args) const {
    DecodeBoxesArgs own = args;
    own.heads = HeadsOnDevice();
    cuda::Compute(device, stream, own, All(own.output));
  }
  void operator()(const NonMaxSuppressionArgs& args) const {
    NonMaxSuppressionArgs own = args;
    if (own.heads != nullptr) own.heads = HeadsOnDevice();
    cuda::Compute(device, stream, own, All(own.output));
  }
  const DetectionHead* HeadsOnDevice() const {
    device.CopyToDevice(stream, call.heads.data(), call.call.heads.data(), call.heads.bytes());
    return call.heads.data();
  }

  void CopyMeeting(const ConstTensorView& input, const TensorView& output, int axis, Range filled,
                   const cuda::Pixels& pixels) const {
    if (LiesThere(input, SliceAxis(output, axis, filled.begin, filled.size()))) return;
    cuda::CopyPiece(device, stream, input, axis, filled.begin, output, pixels);
  }

  Device& device;
  typename Device::Stream& stream;
  const Call& call;
  // Of sparse runs.
  Sets* sets = nullptr;
  PixelSet active = {};
};

template <class Device>
DeviceBackend<Device>::DeviceBackend(std::string_view name, std::shared_ptr<Device> device)
    : name_(name), device_(std::move(device)), stream_(device_->MakeStream()) {}

template <class Device>
DeviceBackend<Device>::~DeviceBackend() = default;

template <class Device>
Backend::Memory DeviceBackend<Device>::Allocate(size_t floats) {
  const size_t bytes = std::max<size_t>(floats, 1) * sizeof(float);
  Memory memory(static_cast<float*>(device_->Allocate(bytes)),
                [device = device_](float* pointer) { device->Free(pointer); });
  device_->Fill(stream_, memory.get(), 0, bytes);
  return memory;
}

template <class Device>
std::unique_ptr<PixelSets> DeviceBackend<Device>::MakeSets() {
  return std::make_unique<Sets>(*device_, stream_);
}

// Preparing.

template <class Device>
template <typename T>
const T* DeviceBackend<Device>::Upload(const T* values, size_t count, Call& call) {
  const size_t bytes = std::max<size_t>(count, 1) * sizeof(T);
  Buffer<unsigned char>& memory = call.memory.emplace_back(*device_, bytes);
  device_->CopyToDevice(stream_, memory.data(), values, count * sizeof(T));
  device_->Synchronize(stream_);
  return reinterpret_cast<const T*>(memory.data());
}

template <class Device>
int DeviceBackend<Device>::Prepare(const Graph& graph, const Operator& op) {
  if (op.As<op::Foreign>()) {
    throw InputError("operator '" + op.name + "' (" + KindName(op) +
                     ") is run by LibTorch, which this backend does not do");
  }
  if (const auto* conv = op.As<op::Conv>(); conv != nullptr && conv->scheme != Scheme::kDirect) {
    throw InputError("operator '" + op.name + "' (" + KindName(op) +
                     ") can only be computed directly by this backend");
  }
  Call& call = calls_.emplace_back(Call{OperatorCall(graph, op), {}, {}, {}});
  if (op.As<op::Conv>()) {
    PackConv(graph, op, call);
  } else {
    UploadParameters(graph, op, call);
  }
  // For what is to be tested, and what the operator itself works in.
  const TensorView output = ShapeOf(graph.value(op.outputs[0]));
  const size_t floats = static_cast<size_t>(output.Count()) + call.call.scratch_floats;
  if (floats > scratch_.size()) scratch_ = Buffer<float>(*device_, floats);
  return static_cast<int>(calls_.size()) - 1;
}

template <class Device>
void DeviceBackend<Device>::PackConv(const Graph& graph, const Operator& op, Call& call) {
  std::vector<ConstTensorView> inputs;
  for (const ValueId input : op.inputs) inputs.push_back(ShapeOf(graph.value(input)));
  const TensorView output = ShapeOf(graph.value(op.outputs[0]));
  ConvArgs args;
  RunOperator(ConvCatcher{&args}, call.call, inputs, {&output, 1}, cuda::Pixels{}, nullptr);
  call.conv.emplace(*device_, args);
}

template <class Device>
void DeviceBackend<Device>::UploadParameters(const Graph& graph, const Operator& op, Call& call) {
  OperatorCall& own = call.call;
  for (size_t i = 0; i < own.parameters.size(); ++i) {
    if (own.parameters[i] == nullptr) continue;
    const auto count = static_cast<size_t>(graph.value(op.inputs[i]).constant.count());
    own.parameters[i] = Upload(own.parameters[i], count, call);
  }
  const auto channels = [&] { return static_cast<size_t>(graph.value(op.outputs[0]).shape[1]); };
  if (own.channel_order != nullptr) own.channel_order = Upload(own.channel_order, channels(), call);
  if (const auto* gather = op.As<op::Gather>()) {
    own.indices = Upload(own.indices, gather->indices.size(), call);
  }
  call.heads = Buffer<DetectionHead>(*device_, std::max<size_t>(own.heads.size(), 1));
  for (DetectionHead& head : own.heads) {
    head.anchors = Upload(head.anchors, 2 * static_cast<size_t>(head.anchor_count), call);
  }
}

// Running.

template <class Device>
void DeviceBackend<Device>::Run(int handle, std::span<const ConstTensorView> inputs,
                                std::span<const TensorView> outputs, Range rows) {
  if (rows.empty()) return;
  Call& call = calls_[static_cast<size_t>(handle)];
  RunOperator(Kernels{*device_, stream_, call}, call.call, inputs, outputs,
              PixelsOf(outputs[0], rows), scratch_.data());
}

template <class Device>
void DeviceBackend<Device>::Run(int handle, std::span<const ConstTensorView> inputs,
                                std::span<const TensorView> outputs, PixelSets& sets,
                                const PixelRunArgs& args) {
  auto& own = static_cast<Sets&>(sets);
  if (own.IsKnownEmpty(args.active)) return;
  Call& call = calls_[static_cast<size_t>(handle)];
  const Kernels kernels = {*device_, stream_, call, &own, args.active};
  own.Count(args.active, args.weight);
  const cuda::Pixels pixels = call.call.is_local ? own.List(args.active) : cuda::Pixels();
  own.Launch();
  if (!args.has_test || !call.call.is_local) {
    RunOperator(kernels, call.call, inputs, outputs, pixels, scratch_.data());
    return;
  }
  const TensorView fresh = PackedLike(outputs[0], scratch_.data());
  RunOperator(kernels, call.call, inputs, {&fresh, 1}, pixels,
              scratch_.data() + outputs[0].Count());
  SettlePixels(fresh, outputs[0], pixels, own, args);
}

template <class Device>
void DeviceBackend<Device>::SettlePixels(const ConstTensorView& fresh, const TensorView& stored,
                                         const cuda::Pixels& pixels, Sets& sets,
                                         const PixelRunArgs& args) {
  const auto mask_of = [&](PixelSet set) {
    return set.exists() && !sets.IsKnownEmpty(set) ? ConstMaskView(sets.mask(set))
                                                   : ConstMaskView();
  };
  cuda::SettleArgs settle;
  settle.fresh = AsImage(fresh);
  settle.stored = AsImage(stored);
  settle.threshold = args.threshold;
  if (args.threshold > 0.0f) {
    settle.inverse_spread = SpreadOnDevice(args.inverse_spread, settle.stored.channels);
    settle.forced = mask_of(args.forced);
  }
  settle.untested = mask_of(args.untested);
  settle.active = sets.mask(args.active);
  cuda::Settle(*device_, stream_, settle, pixels);
  sets.NoteChange(args.active);
}

template <class Device>
const float* DeviceBackend<Device>::SpreadOnDevice(const float* inverse_spread, int channels) {
  Spread& spread = spreads_[inverse_spread];
  const auto count = static_cast<size_t>(channels);
  const bool is_current =
      spread.host.size() == count &&
      std::memcmp(spread.host.data(), inverse_spread, count * sizeof(float)) == 0;
  if (!is_current) {
    spread.host.assign(inverse_spread, inverse_spread + channels);
    if (spread.device.size() < count) spread.device = Buffer<float>(*device_, count);
    device_->CopyToDevice(stream_, spread.device.data(), spread.host.data(), count * sizeof(float));
    device_->Synchronize(stream_);
  }
  return spread.device.data();
}

template <class Device>
void DeviceBackend<Device>::Shift(const TensorView& map, int rows, int columns) {
  cuda::Shift(*device_, stream_, map, rows, columns, Staged(map.Count() / map.dims[0]));
}

template <class Device>
void DeviceBackend<Device>::Warp(const WarpArgs& args, PixelSets& sets, PixelSet wanted,
                                 PixelSet out_of_view) {
  auto& own = static_cast<Sets&>(sets);
  if (own.IsKnownEmpty(wanted)) return;
  WarpArgs masked = args;
  masked.wanted = own.mask(wanted);
  if (out_of_view.exists()) {
    own.NoteChange(out_of_view);
    masked.out_of_view = own.mask(out_of_view);
  }
  own.Launch();
  cuda::Compute(*device_, stream_, masked);
}

// Numbers from and to the host.

template <class Device>
float* DeviceBackend<Device>::Staged(int64_t floats) {
  const auto count = static_cast<size_t>(floats);
  if (staged_.size() < count) staged_ = Buffer<float>(*device_, count);
  return staged_.data();
}

template <class Device>
void DeviceBackend<Device>::CopyIn(const ConstTensorView& host, const TensorView& device) {
  const int64_t count = device.Count();
  host_numbers_.resize(static_cast<size_t>(count));
  const TensorView packed = PackedLike(device, host_numbers_.data());
  const bool is_laid_alike = IsPackedLike(host, packed);
  if (!is_laid_alike) reference::Compute(CopyArgs{host, packed}, AllPixels(packed));
  const float* from = is_laid_alike ? host.data : packed.data;
  const bool goes_straight = IsPackedLike(device, packed);
  const TensorView staged = PackedLike(device, goes_straight ? device.data : Staged(count));
  device_->CopyToDevice(stream_, staged.data, from, static_cast<size_t>(count) * sizeof(float));
  if (!goes_straight) {
    cuda::Compute(*device_, stream_, CopyArgs{staged, device},
                  cuda::Pixels{nullptr, nullptr, 0, PixelsOf(device)});
  }
  device_->Synchronize(stream_);
}

template <class Device>
void DeviceBackend<Device>::CopyOut(const ConstTensorView& device, const TensorView& host) {
  const int64_t count = device.Count();
  host_numbers_.resize(static_cast<size_t>(count));
  const TensorView packed = PackedLike(device, host_numbers_.data());
  const float* from = device.data;
  if (!IsPackedLike(device, packed)) {
    const TensorView staged = PackedLike(device, Staged(count));
    cuda::Compute(*device_, stream_, CopyArgs{device, staged},
                  cuda::Pixels{nullptr, nullptr, 0, PixelsOf(staged)});
    from = staged.data;
  }
  const bool is_laid_alike = IsPackedLike(host, packed);
  float* to = is_laid_alike ? host.data : packed.data;
  device_->CopyToHost(stream_, to, from, static_cast<size_t>(count) * sizeof(float));
  device_->Synchronize(stream_);
  if (!is_laid_alike) reference::Compute(CopyArgs{packed, host}, AllPixels(host));
}

template <class Device>
cuda::Pixels DeviceBackend<Device>::ListOnDevice(ConstMaskView pixels) {
  host_list_.clear();
  for (int y = 0; y < pixels.height; ++y) {
    for (int x = 0; x < pixels.width; ++x) {
      if (pixels.Test(y, x)) host_list_.push_back(y * pixels.width + x);
    }
  }
  const size_t count = host_list_.size();
  if (listed_.size() < count) listed_ = Buffer<int>(*device_, count);
  device_->CopyToDevice(stream_, listed_.data(), host_list_.data(), count * sizeof(int));
  return {listed_.data(), nullptr, 0, static_cast<int>(count)};
}

template <class Device>
void DeviceBackend<Device>::Gather(const ConstTensorView& map, ConstMaskView pixels,
                                   std::span<float> numbers) {
  const cuda::Pixels list = ListOnDevice(pixels);
  if (list.most == 0) return;
  float* staged = Staged(static_cast<int64_t>(numbers.size()));
  cuda::GatherPixels(*device_, stream_, AsImage(map), list, staged);
  device_->CopyToHost(stream_, numbers.data(), staged, numbers.size_bytes());
  device_->Synchronize(stream_);
}

template <class Device>
void DeviceBackend<Device>::Scatter(std::span<const float> numbers, ConstMaskView pixels,
                                    const TensorView& map) {
  const cuda::Pixels list = ListOnDevice(pixels);
  if (list.most == 0) return;
  float* staged = Staged(static_cast<int64_t>(numbers.size()));
  device_->CopyToDevice(stream_, staged, numbers.data(), numbers.size_bytes());
  cuda::ScatterPixels(*device_, stream_, staged, list, AsImage(map));
  device_->Synchronize(stream_);
}

std::unique_ptr<Backend> MakeEmulatedCudaBackend(unsigned seed) {
  cuda::EmulatedDevice::Options options;
  options.seed = seed;
  return std::make_unique<DeviceBackend<cuda::EmulatedDevice>>(
      "cuda-emulated", std::make_shared<cuda::EmulatedDevice>(options));
}

std::unique_ptr<Backend> MakeCudaBackend() {
  const CudaReport report = QueryCuda();
  if (report.devices.empty()) {
    throw InputError("backend \"cuda\" cannot be used: " + report.why_no_device);
  }
#ifdef CACHEINF_HAS_CUDA
  return std::make_unique<DeviceBackend<cuda::RealDevice>>("cuda",
                                                           std::make_shared<cuda::RealDevice>());
#else
  throw InputError("backend \"cuda\" cannot be used: this build has no CUDA");
#endif
}

}  // namespace cacheinf
