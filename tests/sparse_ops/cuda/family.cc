#include "tests/sparse_ops/cuda/family.h"

#include <memory>
#include <type_traits>
#include <variant>
#include <vector>

#include "sparse_ops/cuda/conv.h"
#include "sparse_ops/cuda/emulated/device.h"
#include "sparse_ops/cuda/operators.h"
#include "sparse_ops/cuda/winograd.h"
#include "tests/sparse_ops/case_table.h"
#include "tests/sparse_ops/cuda/device_copies.h"
#ifdef CACHEINF_HAS_CUDA
#include "sparse_ops/cuda/real/device.h"
#endif

namespace cacheinf {
namespace {

// Move() points a call's arguments to copies on the device: the output first, because operands may
// lie in it. `Copies` is a DeviceCopies.

template <class Copies>
ChannelFunction Moved(ChannelFunction activation, int64_t channels, Copies& copies) {
  activation.slopes = copies.Of(activation.slopes, activation.one_slope ? 1 : channels);
  return activation;
}

template <class Args, class Copies>
void MoveInputAndOutput(Args& args, Copies& copies) {
  args.output = copies.Of(args.output);
  args.input = copies.Of(args.input);
}

// A convolution whose weights are on the device.
template <class Device>
struct PackedConv : ConvArgs {
  std::shared_ptr<cuda::Arena<Device>> arena;
  std::shared_ptr<const cuda::Conv<Device>> conv;
};
template <class Device, class Copies>
void Move(PackedConv<Device>& args, Copies& copies) {
  MoveInputAndOutput(args, copies);
  args.residual = copies.Of(args.residual);
}

// The same by Winograd.
template <class Device>
struct PackedWinograd : ConvArgs {
  std::shared_ptr<cuda::Arena<Device>> arena;
  std::shared_ptr<const cuda::Winograd<Device>> winograd;
};
template <class Device, class Copies>
void Move(PackedWinograd<Device>& args, Copies& copies) {
  MoveInputAndOutput(args, copies);
  args.residual = copies.Of(args.residual);
}

// Arguments without other pointers.
template <class Args, class Copies>
void Move(Args& args, Copies& copies) {
  MoveInputAndOutput(args, copies);
}

template <class Copies>
void Move(ActivationArgs& args, Copies& copies) {
  MoveInputAndOutput(args, copies);
  args.activation = Moved(args.activation, args.output.dims[1], copies);
}

template <class Copies>
void Move(ScaleShiftArgs& args, Copies& copies) {
  MoveInputAndOutput(args, copies);
  const int64_t channels = args.output.dims[1];
  args.activation = Moved(args.activation, channels, copies);
  args.scale = copies.Of(args.scale, channels);
  args.shift = copies.Of(args.shift, channels);
  args.channel_order = copies.Of(args.channel_order, channels);
}

template <class Args, class Copies>
void MoveBothOperands(Args& args, Copies& copies) {
  args.output = copies.Of(args.output);
  args.a = copies.Of(args.a);
  args.b = copies.Of(args.b);
}
template <class Copies>
void Move(BinaryArgs& args, Copies& copies) {
  MoveBothOperands(args, copies);
}
template <class Copies>
void Move(MatMulArgs& args, Copies& copies) {
  MoveBothOperands(args, copies);
}

template <class Copies>
void Move(GatherArgs& args, Copies& copies) {
  MoveInputAndOutput(args, copies);
  args.indices = copies.Of(args.indices, args.output.dims[args.axis]);
}

template <class Copies>
void Move(GatherElementsArgs& args, Copies& copies) {
  MoveInputAndOutput(args, copies);
  args.indices = copies.Of(args.indices);
}

template <class Copies>
void Move(LinearArgs& args, Copies& copies) {
  MoveInputAndOutput(args, copies);
  const int last = args.input.rank - 1;
  const int64_t outputs = args.output.dims[last];
  args.weights = copies.Of(args.weights, outputs * args.input.dims[last]);
  args.bias = copies.Of(args.bias, outputs);
}

template <class Args, class Copies>
void MoveNorm(Args& args, int64_t parameters, Copies& copies) {
  MoveInputAndOutput(args, copies);
  args.scale = copies.Of(args.scale, parameters);
  args.shift = copies.Of(args.shift, parameters);
}
template <class Copies>
void Move(LayerNormArgs& args, Copies& copies) {
  int64_t parameters = 1;
  for (int i = 0; i < args.axis_count; ++i) parameters *= args.input.dims[args.first_axis + i];
  MoveNorm(args, parameters, copies);
}
template <class Copies>
void Move(GroupNormArgs& args, Copies& copies) {
  MoveNorm(args, args.input.dims[1], copies);
}

// Points the heads to the device in `moved`, which is copied.
template <class Copies>
const DetectionHead* MovedHeads(const DetectionHead* heads, int count,
                                std::vector<DetectionHead>& moved, Copies& copies) {
  if (heads == nullptr) return nullptr;
  moved.assign(heads, heads + count);
  for (DetectionHead& head : moved) {
    head.map = copies.Of(head.map);
    head.anchors = copies.Of(head.anchors, 2 * head.anchor_count);
  }
  return copies.Of(moved);
}

template <class Device>
class CudaCall {
 public:
  explicit CudaCall(Device& device) : copies_(device) {}

  template <typename Args>
  void Prepare(Args& args) {
    if constexpr (std::is_same_v<Args, DecodeBoxesArgs>) {
      args.output = copies_.Of(args.output);
      args.heads = MovedHeads(args.heads, args.head_count, heads_, copies_);
    } else if constexpr (std::is_same_v<Args, NonMaxSuppressionArgs>) {
      int64_t boxes = args.heads == nullptr ? args.input.dims[0] : 0;
      for (int i = 0; i < args.head_count; ++i) {
        const DetectionHead& head = args.heads[i];
        boxes += int64_t{head.anchor_count} * head.map.height * head.map.width;
      }
      args.output = copies_.Of(args.output);
      args.input = copies_.Of(args.input);
      args.heads = MovedHeads(args.heads, args.head_count, heads_, copies_);
      args.scratch = copies_.template Garbage<NonMaxSuppressionArgs::Candidate>(boxes);
      args.row = nullptr;
    } else {
      Move(args, copies_);
    }
  }

  template <typename Args>
  void Run(const Args& args, const ActivePixels& pixels, const ChangeTest* test) {
    if constexpr (kIsNeverLocal<Args>) {
      cuda::Pixels any;
      any.count = copies_.Of(&one_, 1);
      copies_.ToDevice();
      cuda::Compute(device(), stream(), args, any);
    } else {
      copies_.ToDevice();
      const TensorView output = AsTensor(args.output);
      const int width = output.rank == 4 ? static_cast<int>(output.dims[3]) : 1;
      DeviceCopies<Device> lists(device());
      const cuda::Pixels active = Listed(pixels, width, lists);
      if (test == nullptr) {
        Compute(args, active);
      } else {
        RunWithTest(args, pixels, active, *test);
      }
      device().Synchronize(stream());
    }
    copies_.ToHost();
  }

  void Run(WarpArgs warp) {
    DeviceCopies<Device> copies(device());
    warp.to = copies.Of(warp.to);
    warp.from = copies.Of(warp.from);
    warp.wanted = copies.Of(warp.wanted);
    warp.out_of_view = copies.Of(warp.out_of_view);
    const Homography* from_of_to = copies.Of(&warp.from_of_to, 1);
    copies.ToDevice();
    cuda::Warp(device(), copies.stream(), warp, from_of_to);
    copies.ToHost();
  }

 private:
  Device& device() { return copies_.device(); }
  typename Device::Stream& stream() { return copies_.stream(); }

  template <typename Args>
  void Compute(const Args& args, const cuda::Pixels& active) {
    cuda::Compute(device(), stream(), args, active);
  }
  void Compute(const PackedConv<Device>& args, const cuda::Pixels& active,
               const cuda::SettleArgs& test = {}) {
    args.conv->Run(stream(), args.input, args.residual, args.output, active, test);
  }

  void Compute(const PackedWinograd<Device>& args, const cuda::Pixels& active) {
    DeviceCopies<Device> copies(device());
    const size_t floats = cuda::Winograd<Device>::ScratchFloats(args.input, args.output);
    args.winograd->Run(stream(), args.input, args.residual, args.output, active,
                       copies.template Garbage<float>(static_cast<int64_t>(floats)));
    device().Synchronize(stream());
  }

  // Tests within the operator's own kernel if it can.
  template <typename Args>
  void ComputeAndSettle(Args args, const cuda::Pixels& active, const cuda::SettleArgs& test) {
    if constexpr (std::is_same_v<Args, PackedConv<Device>>) {
      if (args.conv->CanTest()) return Compute(args, active, test);
    }
    const ImageView stored = AsImage(AsTensor(args.output));
    const int64_t row = int64_t{stored.width} * stored.channels;
    DeviceCopies<Device> copies(device());
    const ImageView fresh = {copies.template Garbage<float>(stored.height * row),
                             1,
                             stored.height,
                             stored.width,
                             stored.channels,
                             stored.height * row,
                             row,
                             stored.channels};
    if constexpr (std::is_same_v<decltype(args.output), ImageView>) {
      args.output = fresh;
    } else {
      args.output = AsTensor(fresh);
    }
    Compute(args, active);
    cuda::Settle(device(), stream(), fresh, stored, test, active);
    device().Synchronize(stream());
  }

  // The list may have room for more pixels than it has.
  cuda::Pixels Listed(const ActivePixels& pixels, int width, DeviceCopies<Device>& lists) {
    cuda::Pixels result;
    if (!pixels.is_sparse) {
      result.first = pixels.rows.begin * width;
      result.most = pixels.rows.size() * width;
      return result;
    }
    list_.clear();
    for (int i = 0; i < pixels.run_count; ++i) {
      const PixelRun& run = pixels.runs[i];
      for (int x = run.begin; x < run.end; ++x) list_.push_back(run.row * width + x);
    }
    count_ = static_cast<int>(list_.size());
    result.most = count_ + count_ % 3;
    list_.resize(static_cast<size_t>(result.most), -1);
    result.list = lists.Of(list_);
    result.count = lists.Of(&count_, 1);
    lists.ToDevice();
    device().Synchronize(lists.stream());
    return result;
  }

  template <typename Args>
  void RunWithTest(const Args& args, const ActivePixels& pixels, const cuda::Pixels& active,
                   const ChangeTest& test) {
    const TensorView output = AsTensor(args.output);
    const int height = static_cast<int>(output.dims[2]);
    const int width = static_cast<int>(output.dims[3]);
    const int channels = static_cast<int>(output.dims[1]);
    DeviceCopies<Device> copies(device());
    cuda::SettleArgs settle;
    settle.threshold = test.threshold;
    if (test.threshold != 0.0f) {
      settle.inverse_spread = copies.Of(test.inverse_spread, channels);
    }
    Mask mask(height, width);
    Mask all(height, width);
    SetAll(all);
    for (int i = 0; i < pixels.run_count; ++i) {
      const PixelRun& run = pixels.runs[i];
      SetRectangle({run.row, run.row + 1}, {run.begin, run.end}, mask);
    }
    settle.active = copies.Of(mask.view());
    if (test.stores_all) settle.forced = copies.Of(ConstMaskView(all.view()));
    copies.ToDevice();
    device().Synchronize(copies.stream());

    ComputeAndSettle(args, active, settle);
    device().Synchronize(stream());
    copies.ToHost();
    uint8_t* changed = test.changed;
    for (int i = 0; i < pixels.run_count; ++i) {
      const PixelRun& run = pixels.runs[i];
      for (int x = run.begin; x < run.end; ++x) {
        *changed++ = mask.view().Test(run.row, x) ? 1 : 0;
      }
    }
  }

  DeviceCopies<Device> copies_;
  std::vector<DetectionHead> heads_;
  std::vector<int> list_;
  int count_ = 0;
  int one_ = 1;
};

int64_t ProductsOf(const ConvArgs& args) {
  const int64_t pixels = int64_t{args.output.batch} * args.output.height * args.output.width;
  return pixels * args.output.channels * args.input.channels / args.spec.groups *
         args.spec.rows.kernel * args.spec.columns.kernel;
}

template <class Device>
struct CudaPreparer {
  PreparedCall operator()(const ConvArgs& args) const {
    if (ProductsOf(args) > most_products) return {};
    const auto conv =
        std::make_shared<const cuda::Conv<Device>>(device, *arena, args, conv_options);
    return (*this)(PackedConv<Device>{args, arena, conv});
  }
  PreparedCall operator()(const WinogradArgs& args) const {
    if (ProductsOf(args) > most_products) return {};
    const auto winograd = std::make_shared<const cuda::Winograd<Device>>(device, *arena, args);
    return (*this)(PackedWinograd<Device>{args, arena, winograd});
  }
  PreparedCall operator()(const WarpCall& warp) const {
    const auto call = std::make_shared<CudaCall<Device>>(device);
    return [call, warp](const ActivePixels& pixels, const ChangeTest*) {
      call->Run(warp.Wanting(pixels));
    };
  }
  template <typename Args>
  PreparedCall operator()(Args args) const {
    const auto call = std::make_shared<CudaCall<Device>>(device);
    call->Prepare(args);
    return [call, args](const ActivePixels& pixels, const ChangeTest* test) {
      call->Run(args, pixels, test);
    };
  }

  Device& device;
  std::shared_ptr<cuda::Arena<Device>> arena;
  cuda::ConvOptions conv_options;
  int64_t most_products;
};

}  // namespace

double RoundingOf(cuda::Precision precision) {
  switch (precision) {
    case cuda::Precision::kExact:
      return 0.0;
    case cuda::Precision::kTf32:
    case cuda::Precision::kHalf:
      return 0x1p-11;
    case cuda::Precision::kBfloat16:
      return 0x1p-8;
  }
  return 0.0;
}

template <class Device>
OperatorFamily CudaFamily(Device& device, const cuda::ConvOptions& conv_options,
                          int64_t most_products) {
  const CudaPreparer<Device> preparer = {device, std::make_shared<cuda::Arena<Device>>(device),
                                         conv_options, most_products};
  return {"cuda", /*takes_only_rows=*/false,
          [preparer](const OperatorArgs& args) { return std::visit(preparer, args); },
          RoundingOf(conv_options.precision)};
}

template OperatorFamily CudaFamily(cuda::EmulatedDevice& device,
                                   const cuda::ConvOptions& conv_options, int64_t most_products);
#ifdef CACHEINF_HAS_CUDA
template OperatorFamily CudaFamily(cuda::RealDevice& device, const cuda::ConvOptions& conv_options,
                                   int64_t most_products);
#endif

}  // namespace cacheinf
