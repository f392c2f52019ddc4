#include "common/backend/device/device_backend.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/backend/device/cuda_backend.h"
#include "common/base/error.h"
#include "common/model/graph/geometry.h"
#include "sparse_ops/cuda/emulated/device.h"
#include "sparse_ops/cuda/operators.h"
#include "sparse_ops/cuda/real/device.h"
#include "sparse_ops/cuda/real/device_query.h"
#include "sparse_ops/reference/reference.h"
#include "sparse_ops/view_transforms.h"
#include "sparse_ops/winograd.h"

namespace cacheinf {
namespace {

// The same dims without gaps: maps channels-last, other tensors in logical order.
template <typename T, typename U>
BasicTensorView<T> PackedLike(const BasicTensorView<U>& view, T* data) {
  return PackedView(data, view, view.rank == 4 ? 1 : view.rank - 1);
}

// The same dims without gaps, in logical order.
template <typename T, typename U>
BasicTensorView<T> InOrder(const BasicTensorView<U>& view, T* data) {
  return PackedView(data, view, view.rank - 1);
}

// REQUIRES: two views of the same dims.
template <typename T, typename U>
bool AreLaidOutAlike(const BasicTensorView<T>& a, const BasicTensorView<U>& b) {
  for (int i = 0; i < a.rank; ++i) {
    const auto axis = static_cast<size_t>(i);
    if (a.dims[axis] > 1 && a.strides[axis] != b.strides[axis]) return false;
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
int PixelsOf(const ConstTensorView& output) {
  return output.rank == 4 ? static_cast<int>(output.dims[2] * output.dims[3]) : 1;
}

cuda::Pixels PixelsOf(const TensorView& output, Range rows) {
  const int width = output.rank == 4 ? static_cast<int>(output.dims[3]) : 1;
  return {nullptr, nullptr, rows.begin * width, rows.size() * width};
}

// From the first number to the last.
size_t FloatsFrom(const ConstTensorView& view) {
  int64_t floats = view.Count() == 0 ? 0 : 1;
  for (int i = 0; i < view.rank && floats != 0; ++i) {
    const auto axis = static_cast<size_t>(i);
    floats += (view.dims[axis] - 1) * view.strides[axis];
  }
  return static_cast<size_t>(floats);
}

size_t FloatsFrom(const ConstImageView& map) {
  return static_cast<size_t>((map.batch - 1) * map.batch_stride +
                             (map.height - 1) * map.row_stride +
                             (map.width - 1) * map.pixel_stride + map.channels);
}

std::string NameOf(std::string_view family, cuda::Precision precision) {
  std::string name(family);
  switch (precision) {
    case cuda::Precision::kExact:
      return name;
    case cuda::Precision::kTf32:
      return name + "-tf32";
    case cuda::Precision::kHalf:
      return name + "-fp16";
    case cuda::Precision::kBfloat16:
      return name + "-bf16";
  }
  return name;
}

std::string CapabilityOf(const cuda::DeviceFacts& facts) {
  return "compute capability " + std::to_string(facts.compute_major) + "." +
         std::to_string(facts.compute_minor);
}

// Catches a convolution's arguments, for packing.
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
    if (call.winograd) {
      call.winograd->Run(queue.recorder(), args.input, args.residual, args.output, pixels, scratch);
    } else {
      call.conv->Run(queue.recorder(), args.input, args.residual, args.output, pixels, test);
    }
  }
  void operator()(const auto& args, const cuda::Pixels& pixels) const {
    if constexpr (requires { args.steps; }) {
      throw std::logic_error("Prepare refuses 8-bit operators");
    } else {
      cuda::Compute(device, queue.recorder(), args, pixels);
    }
  }
  void operator()(const QuantLinearArgs&) const {
    throw std::logic_error("Prepare refuses 8-bit operators");
  }
  void operator()(const auto& args) const {
    const cuda::Pixels all = All(args.output);
    cuda::Compute(device, queue.recorder(), args, all);
  }

  cuda::Pixels All(const auto& output) const {
    if (sets == nullptr) return {nullptr, nullptr, 0, PixelsOf(output)};
    return sets->AllIfAny(active, PixelsOf(output));
  }

  void operator()(const DecodeBoxesArgs& args) const {
    DecodeBoxesArgs own = args;
    own.heads = HeadsOnDevice();
    (*this).template operator()<DecodeBoxesArgs>(own);
  }
  void operator()(const NonMaxSuppressionArgs& args) const {
    NonMaxSuppressionArgs own = args;
    if (own.heads != nullptr) own.heads = HeadsOnDevice();
    (*this).template operator()<NonMaxSuppressionArgs>(own);
  }
  // The heads, with the current places of their maps.
  const DetectionHead* HeadsOnDevice() const {
    return queue.Bring(call.call.heads.data(), call.call.heads.size());
  }

  void CopyMeeting(const ConstTensorView& input, const TensorView& output, int axis, Range filled,
                   const cuda::Pixels& pixels) const {
    if (LiesThere(input, SliceAxis(output, axis, filled.begin, filled.size()))) return;
    cuda::CopyPiece(device, queue.recorder(), input, axis, filled.begin, output, pixels);
  }

  Device& device;
  Queue& queue;
  const Call& call;
  float* scratch;
  // For sparse runs.
  Sets* sets = nullptr;
  PixelSet active = {};
  cuda::SettleArgs test = {};  // for a convolution
};

template <class Device>
DeviceBackend<Device>::DeviceBackend(std::string_view family, std::shared_ptr<Device> device,
                                     const cuda::ConvOptions& options)
    : name_(NameOf(family, options.precision)),
      options_(options),
      stream_(std::make_shared<DeviceStream<Device>>(std::move(device))),
      slices_(stream_),
      whole_(stream_) {
  const cuda::DeviceFacts facts = stream_->device().facts();
  if (cuda::Conv<Device>::Has(facts, options.precision)) return;
  throw InputError("backend \"" + name_ +
                   "\" cannot be used: it needs compute capability 8.0, and " + facts.name +
                   " has " + CapabilityOf(facts));
}

// The order in which matrix instructions sum is unspecified, so their numbers depend on the device.
template <class Device>
std::string DeviceBackend<Device>::Arithmetic() const {
  if (options_.precision == cuda::Precision::kExact) return Backend::Arithmetic();
  const cuda::DeviceFacts facts = stream_->device().facts();
  return name_ + " of " + CapabilityOf(facts) + (facts.has_warpgroups ? " by warpgroups" : "") +
         ", arithmetic " + std::to_string(kArithmetic);
}

template <class Device>
DeviceBackend<Device>::~DeviceBackend() = default;

template <class Device>
Backend::Memory DeviceBackend<Device>::Allocate(size_t floats) {
  const size_t bytes = std::max<size_t>(floats, 1) * sizeof(float);
  Memory memory(static_cast<float*>(stream_->arena().Allocate(bytes)),
                [stream = stream_, bytes](float* pointer) {
                  try {
                    stream->After(pointer, bytes);
                  } catch (const cuda::DeviceError&) {
                    // The work left to do is lost with the device.
                  }
                  stream->arena().Free(pointer);
                });
  stream_->device().Fill(stream_->After(memory.get(), bytes), memory.get(), 0, bytes);
  return memory;
}

template <class Device>
std::unique_ptr<PixelSets> DeviceBackend<Device>::MakeSets() {
  return std::make_unique<Sets>(stream_);
}

// Preparing.

template <class Device>
template <typename T>
const T* DeviceBackend<Device>::Upload(const T* values, size_t count, Call& call) {
  const size_t bytes = std::max<size_t>(count, 1) * sizeof(T);
  Buffer<unsigned char>& memory = call.memory.emplace_back(stream_->arena(), bytes);
  stream_->CopyToDevice(memory.data(), values, count * sizeof(T));
  return reinterpret_cast<const T*>(memory.data());
}

template <class Device>
int DeviceBackend<Device>::Prepare(const Graph& graph, const Operator& op) {
  if (const auto* conv = op.As<op::Conv>();
      conv != nullptr && conv->scheme == Scheme::kWinograd && !CanBeWinograd(conv->spec)) {
    throw InputError("operator '" + op.name + "' (" + KindName(op) +
                     ") cannot be computed by Winograd");
  }
  if (HasEightBits(graph, op)) {
    throw InputError("operator '" + op.name + "' (" + KindName(op) +
                     ") computes 8-bit numbers, which GPUs cannot do here yet: take the CPU "
                     "(--backend cpu), or the model as it was before it was quantised");
  }
  Call& call = calls_.emplace_back(Call{OperatorCall(graph, op), {}, {}, {}, {}});
  if (op.As<op::Conv>()) {
    PackConv(graph, op, call);
  } else if (op.As<op::Foreign>()) {
    call.foreign.emplace(op);
  } else {
    UploadParameters(graph, op, call);
  }
  for (const ValueId input : op.inputs) {
    if (!graph.value(input).is_constant()) MakeRoom(ShapeOf(graph.value(input)), 0);
  }
  size_t output_floats = 0;
  for (const ValueId output : op.outputs) {
    const TensorView shape = ShapeOf(graph.value(output));
    MakeRoom(shape, call.call.scratch_floats);
    output_floats += static_cast<size_t>(shape.Count());
  }
  if (call.foreign && output_floats > host_outputs_.size()) host_outputs_.resize(output_floats);
  return static_cast<int>(calls_.size()) - 1;
}

// Scratch for a value that will be tested or is on its way from or to the host, for an operator's
// own work, and for a list or a mask of pixels.
template <class Device>
void DeviceBackend<Device>::MakeRoom(const ConstTensorView& value, size_t scratch_floats) {
  const size_t floats = static_cast<size_t>(value.Count()) + scratch_floats;
  const auto pixels = static_cast<size_t>(PixelsOf(value));
  const size_t words =
      value.rank == 4 ? MaskWords(static_cast<int>(value.dims[2]), static_cast<int>(value.dims[3]))
                      : 1;
  slices_.Reserve(Slices::Aligned(std::max(pixels * sizeof(int), words * sizeof(uint64_t))) +
                  Slices::Aligned(static_cast<size_t>(value.Count()) * sizeof(float)));
  if (floats <= scratch_.size() && pixels <= listed_.size()) return;
  stream_->AfterAll();
  if (floats > scratch_.size()) scratch_ = Buffer<float>(stream_->arena(), floats);
  if (pixels > listed_.size()) listed_ = Buffer<int>(stream_->arena(), pixels);
}

template <class Device>
void DeviceBackend<Device>::PackConv(const Graph& graph, const Operator& op, Call& call) {
  std::vector<ConstTensorView> inputs;
  for (const ValueId input : op.inputs) inputs.push_back(ShapeOf(graph.value(input)));
  const TensorView output = ShapeOf(graph.value(op.outputs[0]));
  ConvArgs args;
  RunOperator(ConvCatcher{&args}, call.call, inputs, {&output, 1}, cuda::Pixels{}, nullptr);
  // Packing runs beside the stream, into memory that work under way may still use.
  stream_->Wait();
  const auto& conv = *op.As<op::Conv>();
  if (conv.scheme == Scheme::kWinograd) {
    call.call.scratch_floats = cuda::Winograd<Device>::ScratchFloats(args.input, args.output);
    call.winograd.emplace(stream_->device(), stream_->arena(), args);
    return;
  }
  cuda::ConvOptions options = options_;
  if (conv.small_tiles_up_to >= 0) options.small_tiles_up_to = conv.small_tiles_up_to;
  call.conv.emplace(stream_->device(), stream_->arena(), args, options);
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
  for (DetectionHead& head : own.heads) {
    head.anchors = Upload(head.anchors, 2 * static_cast<size_t>(head.anchor_count), call);
  }
}

// Running.

// What is launched for a call reads and writes its operands. Parameters lie on the host.
template <class Device>
void DeviceBackend<Device>::TouchAll(const Call& call, std::span<const ConstTensorView> inputs,
                                     std::span<const TensorView> outputs, Queue& queue) {
  ++runs_;
  const auto touch = [&queue](const ConstTensorView& view) {
    queue.Touch(view.data, FloatsFrom(view) * sizeof(float));
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_parameter = i < call.call.parameters.size() && call.call.parameters[i] != nullptr;
    if (!is_parameter) touch(inputs[i]);
  }
  for (const TensorView& output : outputs) touch(output);
}

template <class Device>
void DeviceBackend<Device>::Run(int handle, std::span<const ConstTensorView> inputs,
                                std::span<const TensorView> outputs, Range rows) {
  if (rows.empty()) return;
  Call& call = calls_[static_cast<size_t>(handle)];
  if (call.foreign) return RunForeign(*call.foreign, inputs, outputs, nullptr, {});
  TouchAll(call, inputs, outputs, whole_);
  RunOperator(Kernels{stream_->device(), whole_, call, scratch_.data()}, call.call, inputs, outputs,
              PixelsOf(outputs[0], rows), scratch_.data());
}

template <class Device>
void DeviceBackend<Device>::Run(int handle, std::span<const ConstTensorView> inputs,
                                std::span<const TensorView> outputs, PixelSets& sets,
                                const PixelRunArgs& args) {
  auto& own = static_cast<Sets&>(sets);
  if (own.IsKnownEmpty(args.active)) return;
  Call& call = calls_[static_cast<size_t>(handle)];
  if (call.foreign) return RunForeign(*call.foreign, inputs, outputs, &own, args.active);
  // Do this first: new spreads flush the queue, which then forgets what it touches.
  const bool is_tested = args.has_test && call.call.is_local;
  const cuda::SettleArgs test = is_tested ? TestOf(args, outputs[0], own) : cuda::SettleArgs();
  TouchAll(call, inputs, outputs, own.queue());
  Kernels kernels = {stream_->device(), own.queue(), call, scratch_.data(), &own, args.active};
  own.Count(args.active, args.weight);
  const cuda::Pixels pixels = call.call.is_local ? own.List(args.active) : cuda::Pixels();
  if (!is_tested) {
    RunOperator(kernels, call.call, inputs, outputs, pixels, scratch_.data());
    return;
  }
  if (call.conv && call.conv->CanTest()) {
    kernels.test = test;
    RunOperator(kernels, call.call, inputs, outputs, pixels, scratch_.data());
  } else {
    const TensorView fresh = PackedLike(outputs[0], scratch_.data());
    kernels.scratch = scratch_.data() + outputs[0].Count();
    RunOperator(kernels, call.call, inputs, {&fresh, 1}, pixels, kernels.scratch);
    cuda::Settle(stream_->device(), own.queue().recorder(), AsImage(ConstTensorView(fresh)),
                 AsImage(outputs[0]), test, pixels);
  }
  own.NoteChange(args.active);
}

// With sets, runs only if any pixel is active; the host learns that together with the inputs, in
// one wait.
template <class Device>
void DeviceBackend<Device>::RunForeign(const TorchCall& foreign,
                                       std::span<const ConstTensorView> inputs,
                                       std::span<const TensorView> outputs, Sets* sets,
                                       PixelSet active) {
  ConstMaskView mask;
  if (sets != nullptr) {
    sets->queue().Flush();
    mask = sets->mask(active);
    mask.words = static_cast<const uint64_t*>(
        stream_->Fetch(mask.words, mask.word_count() * sizeof(uint64_t)));
  }
  std::vector<ConstTensorView> on_host;
  for (const ConstTensorView& input : inputs) {
    on_host.push_back(Fetch(input, PackedLike<float>(input, nullptr)));
  }
  stream_->Wait();
  if (sets != nullptr && IsEmpty(mask)) return;
  std::vector<TensorView> results;
  float* result = host_outputs_.data();
  for (const TensorView& output : outputs) {
    results.push_back(PackedLike(output, result));
    result += output.Count();
  }
  foreign.Run(on_host, results);
  for (size_t i = 0; i < outputs.size(); ++i) CopyIn(results[i], outputs[i]);
}

template <class Device>
cuda::SettleArgs DeviceBackend<Device>::TestOf(const PixelRunArgs& args, const TensorView& output,
                                               const Sets& sets) {
  const auto mask_of = [&](PixelSet set) {
    return set.exists() && !sets.IsKnownEmpty(set) ? ConstMaskView(sets.mask(set))
                                                   : ConstMaskView();
  };
  cuda::SettleArgs test;
  test.threshold = args.threshold;
  if (args.threshold > 0.0f) {
    test.inverse_spread = SpreadOnDevice(args.inverse_spread, static_cast<int>(output.dims[1]));
    test.forced = mask_of(args.forced);
  }
  test.untested = mask_of(args.untested);
  test.active = sets.mask(args.active);
  return test;
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
    // Waiting work may use the old ones.
    if (spread.device.size() > 0) stream_->AfterAll();
    if (spread.device.size() < count) spread.device = Buffer<float>(stream_->arena(), count);
    stream_->CopyToDevice(spread.device.data(), inverse_spread, count * sizeof(float));
  }
  return spread.device.data();
}

template <class Device>
void DeviceBackend<Device>::Shift(const TensorView& map, int rows, int columns) {
  ++runs_;
  cuda::Shift(stream_->device(), stream_->After(map.data, FloatsFrom(map) * sizeof(float)), map,
              rows, columns, scratch_.data());
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
  ++runs_;
  for (const ConstImageView& map : {args.from, ConstImageView(args.to)}) {
    if (map.data != nullptr) own.queue().Touch(map.data, FloatsFrom(map) * sizeof(float));
  }
  const Homography* const from_of_to = own.queue().Bring(&args.from_of_to, 1);
  cuda::Warp(stream_->device(), own.queue().recorder(), masked, from_of_to);
}

// Numbers from and to the host.

// If the host's numbers have no gaps, they cross as they are, and the device lays them out: on the
// host that takes longer than a network.
template <class Device>
void DeviceBackend<Device>::CopyIn(const ConstTensorView& host, const TensorView& device) {
  ++runs_;
  const size_t bytes = static_cast<size_t>(device.Count()) * sizeof(float);
  auto& stream = stream_->After(device.data, FloatsFrom(device) * sizeof(float));
  auto* const staged = static_cast<float*>(stream_->Stage(bytes));
  TensorView sent = PackedLike(device, staged);
  if (!AreLaidOutAlike(host, sent)) sent = InOrder(device, staged);
  if (AreLaidOutAlike(host, sent)) {
    std::memcpy(staged, host.data, bytes);
  } else {
    reference::Compute(CopyArgs{host, sent}, AllPixels(sent));
  }
  const bool goes_straight = AreLaidOutAlike(device, sent);
  sent.data = goes_straight ? device.data : scratch_.data();
  stream_->Send(sent.data, staged, bytes);
  if (goes_straight) return;
  cuda::Compute(stream_->device(), stream, CopyArgs{sent, device},
                cuda::Pixels{nullptr, nullptr, 0, PixelsOf(device)});
}

// Laid out like `packed`, after the next Wait.
template <class Device>
ConstTensorView DeviceBackend<Device>::Fetch(const ConstTensorView& device, TensorView packed) {
  auto& stream = stream_->After(device.data, FloatsFrom(device) * sizeof(float));
  const bool goes_straight = AreLaidOutAlike(device, packed);
  packed.data = scratch_.data();
  if (!goes_straight) {
    cuda::Compute(stream_->device(), stream, CopyArgs{device, packed},
                  cuda::Pixels{nullptr, nullptr, 0, PixelsOf(device)});
  }
  ConstTensorView fetched = packed;
  fetched.data = static_cast<const float*>(
      stream_->Fetch(goes_straight ? device.data : packed.data,
                     static_cast<size_t>(device.Count()) * sizeof(float)));
  return fetched;
}

template <class Device>
void DeviceBackend<Device>::Finish() {
  whole_.Flush();
  stream_->Wait();
}

template <class Device>
void DeviceBackend<Device>::ExpectCopyOut(const ConstTensorView& device) {
  const ConstTensorView fetched = Fetch(device, InOrder<float>(device, nullptr));
  const auto is_old = [this](const Expected& expected) {
    return expected.fetched_until != stream_->fetched_until() || expected.runs != runs_;
  };
  expected_.erase(std::remove_if(expected_.begin(), expected_.end(), is_old), expected_.end());
  expected_.push_back({device, fetched, stream_->fetched_until(), stream_->waits(), runs_});
}

// Its numbers that ExpectCopyOut has fetched, or null.
template <class Device>
const ConstTensorView* DeviceBackend<Device>::FetchedBefore(const ConstTensorView& device) {
  for (const Expected& expected : expected_) {
    const bool is_it = expected.view.data == device.data && expected.view.rank == device.rank &&
                       expected.view.dims == device.dims && expected.view.strides == device.strides;
    const bool is_there =
        expected.fetched_until == stream_->fetched_until() && expected.runs == runs_;
    if (!is_it || !is_there) continue;
    if (expected.waits == stream_->waits()) stream_->Wait();
    return &expected.fetched;
  }
  return nullptr;
}

template <class Device>
void DeviceBackend<Device>::CopyOut(const ConstTensorView& device, const TensorView& host) {
  ConstTensorView numbers;
  if (const ConstTensorView* const before = FetchedBefore(device)) {
    numbers = *before;
  } else {
    TensorView packed = PackedLike<float>(device, nullptr);
    if (!AreLaidOutAlike(host, packed)) packed = InOrder<float>(device, nullptr);
    numbers = Fetch(device, packed);
    stream_->Wait();
  }
  if (AreLaidOutAlike(host, numbers)) {
    std::memcpy(host.data, numbers.data, static_cast<size_t>(device.Count()) * sizeof(float));
  } else {
    reference::Compute(CopyArgs{numbers, host}, AllPixels(host));
  }
}

template <class Device>
void DeviceBackend<Device>::ListOnHost(ConstMaskView pixels) {
  host_list_.clear();
  for (int y = 0; y < pixels.height; ++y) {
    for (int x = 0; x < pixels.width; ++x) {
      if (pixels.Test(y, x)) host_list_.push_back(y * pixels.width + x);
    }
  }
}

template <class Device>
void DeviceBackend<Device>::Gather(const ConstTensorView& map, ConstMaskView pixels,
                                   std::span<float> numbers) {
  ListOnHost(pixels);
  if (host_list_.empty()) return;
  stream_->CopyToDevice(listed_.data(), host_list_.data(), host_list_.size() * sizeof(int));
  const cuda::Pixels list = {listed_.data(), nullptr, 0, static_cast<int>(host_list_.size())};
  float* const staged = scratch_.data();
  cuda::GatherPixels(stream_->device(), stream_->After(map.data, FloatsFrom(map) * sizeof(float)),
                     AsImage(map), list, staged);
  const void* const fetched = stream_->Fetch(staged, numbers.size_bytes());
  stream_->Wait();
  std::memcpy(numbers.data(), fetched, numbers.size_bytes());
}

template <class Device>
void DeviceBackend<Device>::Scatter(std::span<const float> numbers, ConstMaskView pixels,
                                    const TensorView& map) {
  ++runs_;
  // Also if there is none: launches should go in the same groups in every frame.
  auto& stream = stream_->After(map.data, FloatsFrom(map) * sizeof(float));
  ListOnHost(pixels);
  if (host_list_.empty()) return;
  const size_t list_bytes = host_list_.size() * sizeof(int);
  const std::array<typename Slices::Part, 2> parts = {
      {{host_list_.data(), list_bytes}, {numbers.data(), numbers.size_bytes()}}};
  const unsigned char* const arrived = slices_.Arrive(parts);
  const cuda::Pixels list = {reinterpret_cast<const int*>(arrived), nullptr, 0,
                             static_cast<int>(host_list_.size())};
  cuda::ScatterPixels(stream_->device(), stream,
                      reinterpret_cast<const float*>(arrived + Slices::Aligned(list_bytes)), list,
                      AsImage(map));
  slices_.NoteTaken();
}

template <class Device>
void DeviceBackend<Device>::Gather(const ConstTensorView& map, PixelSets& sets, PixelSet pixels,
                                   Range rows, MaskView mask, std::vector<float>* numbers) {
  StartGather(map, static_cast<Sets&>(sets), pixels, rows)(mask, numbers);
}

// With foreign operators a slice might wait until LibTorch has run the next stage's.
template <class Device>
Backend::Gathered DeviceBackend<Device>::BeginGather(const ConstTensorView& map, PixelSets& sets,
                                                     PixelSet pixels, Range rows) {
  const bool has_foreign = !host_outputs_.empty();
  return has_foreign ? nullptr : StartGather(map, static_cast<Sets&>(sets), pixels, rows);
}

// As many numbers cross as there can be pixels, so that the host need not wait for their count.
template <class Device>
Backend::Gathered DeviceBackend<Device>::StartGather(const ConstTensorView& map, Sets& sets,
                                                     PixelSet pixels, Range rows) {
  if (sets.IsKnownEmpty(pixels)) {
    return [](MaskView mask, std::vector<float>* numbers) {
      ClearAll(mask);
      numbers->clear();
    };
  }
  Queue& queue = sets.queue();
  float* const packed = scratch_.data();
  queue.Touch(map.data, FloatsFrom(map) * sizeof(float));
  const cuda::Pixels list = sets.ListRows(pixels, rows);
  cuda::GatherPixels(stream_->device(), queue.recorder(), AsImage(map), list, packed);
  queue.Flush();
  const MaskView words = sets.mask(pixels);
  const size_t mask_bytes = words.word_count() * sizeof(uint64_t);
  const auto most = static_cast<size_t>(map.dims[0] * map.dims[1] * rows.size() * words.width);
  const std::array<typename Slices::Part, 2> parts = {
      {{words.words, mask_bytes}, {packed, most * sizeof(float)}}};
  return [this, map, rows, mask_bytes, &queue, leaving = slices_.Leave(parts)](
             MaskView mask, std::vector<float>* numbers) {
    // Work that was asked for meanwhile begins before the host waits.
    queue.Flush();
    const unsigned char* const landed = slices_.Land(*leaving);
    std::memcpy(mask.words, landed, mask_bytes);
    const auto* const first = reinterpret_cast<const float*>(landed + Slices::Aligned(mask_bytes));
    numbers->assign(first, first + Backend::NumbersOf(map, CutRows(ConstMaskView(mask), rows)));
  };
}

std::unique_ptr<Backend> MakeEmulatedCudaBackend(unsigned seed, const cuda::ConvOptions& options) {
  cuda::EmulatedDevice::Options of_device;
  of_device.seed = seed;
  return MakeEmulatedCudaBackend(std::make_shared<cuda::EmulatedDevice>(of_device), options);
}

std::unique_ptr<Backend> MakeEmulatedCudaBackend(std::shared_ptr<cuda::EmulatedDevice> device,
                                                 const cuda::ConvOptions& options) {
  return std::make_unique<DeviceBackend<cuda::EmulatedDevice>>("cuda-emulated", std::move(device),
                                                               options);
}

std::unique_ptr<Backend> MakeCudaBackend(const cuda::ConvOptions& options) {
  constexpr std::string_view kFamily = "cuda";
  const auto refuse = [&](const std::string& why) {
    throw InputError("backend \"" + NameOf(kFamily, options.precision) +
                     "\" cannot be used: " + why);
  };
  const CudaReport report = QueryCuda();
  if (report.devices.empty()) refuse(report.why_no_device);
#ifdef CACHEINF_HAS_CUDA
  return std::make_unique<DeviceBackend<cuda::RealDevice>>(
      kFamily, std::make_shared<cuda::RealDevice>(), options);
#else
  refuse("this build has no CUDA");
  return nullptr;
#endif
}

}  // namespace cacheinf
