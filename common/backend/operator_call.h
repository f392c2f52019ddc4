#ifndef CACHEINF_COMMON_BACKEND_OPERATOR_CALL_H_
#define CACHEINF_COMMON_BACKEND_OPERATOR_CALL_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <variant>
#include <vector>

#include "common/model/graph/geometry.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/active_pixels.h"
#include "sparse_ops/ops.h"

// Turns the model's operators into calls of sparse_ops/ops.h, once for all families of kernels.

namespace cacheinf {

// Whether this input is a constant that belongs to the operator (weights, bias, slope, scale,
// shift), not a tensor that it works on. Such inputs are read from the graph.
bool IsParameter(const Operator& op, size_t input);

// Everything known about an operator before the first frame.
struct OperatorCall {
  OperatorCall(const Graph& graph, const Operator& op);  // both must outlive it

  const Graph* graph;
  const Operator* op;
  bool is_local;
  size_t scratch_floats = 0;
  std::vector<DetectionHead> heads;  // of DecodeBoxes and NonMaxSuppression, without the maps

  // What kernels read besides maps, in the graph's memory unless somebody puts it elsewhere.
  std::vector<const float*> parameters;  // by input; null if it is not a parameter
  const int* channel_order = nullptr;    // ScaleShift; null for none
  const int64_t* indices = nullptr;      // Gather

  struct Boxes {
    size_t count = 0;
    size_t numbers = 0;  // of each
  };
  Boxes boxes;  // NonMaxSuppression
};

// Calls the kernels that compute the active pixels of the outputs (all pixels, if the operator is
// not local): kernels(args, pixels) with a struct of ops.h and the active pixels of args.output, or
// kernels(args) for operators that are never local. Allocates nothing. Concat leaves alone parts
// that already lie in place. REQUIRES: not op::Foreign.
//
// A family provides kernels.All(output), all pixels in its own form, and kernels.CopyMeeting(input,
// output, axis, filled, pixels). `filled` is where `input` lies in the output. CopyMeeting copies
// from `input` the output's active pixels whose row (axis 2) or column lies in `filled`.
template <typename Kernels, typename Pixels>
void RunOperator(const Kernels& kernels, OperatorCall& call,
                 std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
                 const Pixels& pixels, float* scratch);

// Whether `from` already lies in place.
inline bool LiesThere(const ConstTensorView& from, const TensorView& to) {
  return from.data == to.data && from.strides == to.strides;
}

// What families with lists on the host share.
template <typename Kernels>
struct HostKernels {
  static ActivePixels All(const auto& output) { return AllPixels(output); }
  void CopyMeeting(const ConstTensorView& input, const TensorView& output, int axis, Range filled,
                   const ActivePixels& pixels) const;
};

// -------------------------------------------------------------------------------------------------

template <typename Kernels, typename Pixels>
class OperatorRunner {
 public:
  OperatorRunner(const Kernels& kernels, OperatorCall& call,
                 std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
                 const Pixels& pixels, float* scratch)
      : kernels_(kernels),
        call_(call),
        inputs_(inputs),
        output_(outputs.front()),
        pixels_(pixels),
        scratch_(scratch) {}

  void operator()(const op::Conv& conv) {
    ConvArgs args;
    args.spec = conv.spec;
    args.input = AsImage(inputs_[0]);
    args.weights = Parameter(1);
    size_t next = 2;
    if (conv.has_bias) args.bias = Parameter(next++);
    if (conv.has_residual) args.residual = AsImage(inputs_[next++]);
    args.activation = ActivationOf(conv.activation, next);
    args.activation_before_residual = conv.activation_before_residual;
    args.output = AsImage(output_);
    Run(args);
  }

  void operator()(const op::Linear& linear) {
    kernels_(LinearArgs{Parameter(1), Parameter(2, linear.has_bias), linear.activation, inputs_[0],
                        output_});
  }

  void operator()(const op::MatMul&) { kernels_(MatMulArgs{inputs_[0], inputs_[1], output_}); }

  void operator()(const op::ScaleShift& scale_shift) {
    Run(ScaleShiftArgs{Parameter(1), Parameter(2), call_.channel_order,
                       ActivationOf(scale_shift.activation, 3), inputs_[0], output_});
  }

  void operator()(const op::LayerNorm& norm) {
    Run(LayerNormArgs{norm.first_axis, norm.axis_count, norm.epsilon, Parameter(1, norm.has_affine),
                      Parameter(2, norm.has_affine), inputs_[0], output_});
  }

  void operator()(const op::GroupNorm& norm) {
    kernels_(GroupNormArgs{norm.groups, norm.epsilon, Parameter(1, norm.has_affine),
                           Parameter(2, norm.has_affine), inputs_[0], output_});
  }

  void operator()(const op::Activation& activation) {
    Run(ActivationArgs{ActivationOf(activation.function, 1), inputs_[0], output_});
  }

  void operator()(const op::Binary& binary) {
    Run(BinaryArgs{binary.kind, binary.activation, inputs_[0], inputs_[1], output_});
  }

  void operator()(const op::FakeQuantise& quantise) {
    Run(FakeQuantiseArgs{quantise.steps, inputs_[0], output_});
  }

  void operator()(const op::Quantise& quantise) {
    Run(QuantiseArgs{quantise.steps, AsImage(inputs_[0]), AsImage(output_)});
  }

  void operator()(const op::Dequantise&) {
    Run(DequantiseArgs{ValueOf(0).steps, AsImage(inputs_[0]), AsImage(output_)});
  }

  void operator()(const op::QuantConv& conv) {
    QuantConvArgs args;
    args.spec = conv.spec;
    args.in_channels = ValueOf(0).channels;
    args.out_channels = static_cast<int>(conv.scales.size());
    args.input_steps = ValueOf(0).steps;
    args.input = AsImage(inputs_[0]);
    args.weights = Parameter(1);
    args.weight_zeros = conv.weight_zeros.empty() ? nullptr : conv.weight_zeros.data();
    args.bias = conv.bias.data();
    args.scales = conv.scales.data();
    if (conv.has_residual) {
      args.residual = AsImage(inputs_[2]);
      args.is_residual_float = !ValueOf(2).is_eight_bit();
      args.residual_steps = ValueOf(2).steps;
    }
    args.activation = conv.activation;
    args.activation_before_residual = conv.activation_before_residual;
    args.rounds_sums = conv.rounds_sums;
    args.sum_steps = conv.sum_steps;
    if (!conv.table.empty()) args.table = conv.table.data();
    args.table_steps = conv.table_steps;
    args.gives_floats = conv.gives_floats;
    args.steps = conv.steps;
    args.low = conv.low;
    args.high = conv.high;
    args.output = AsImage(output_);
    Run(args);
  }

  void operator()(const op::Table& table) {
    Run(TableArgs{table.entries.data(), ValueOf(0).channels, table.steps, AsImage(inputs_[0]),
                  AsImage(output_)});
  }

  void operator()(const op::QuantBinary& binary) {
    Run(QuantBinaryArgs{binary.kind, binary.activation, ValueOf(0).channels, ValueOf(0).steps,
                        ValueOf(1).steps, binary.steps, AsImage(inputs_[0]), AsImage(inputs_[1]),
                        AsImage(output_)});
  }

  void operator()(const op::QuantPool& pool) {
    Run(QuantPoolArgs{pool.spec, ValueOf(0).channels, ValueOf(0).steps, pool.steps,
                      AsImage(inputs_[0]), AsImage(output_)});
  }

  void operator()(const op::QuantLinear& linear) {
    QuantLinearArgs args;
    QuantConvArgs& product = args.product;
    product.in_channels = static_cast<int>(inputs_[0].dims[inputs_[0].rank - 1]);
    product.out_channels = static_cast<int>(linear.scales.size());
    product.input_steps = linear.input_steps;
    product.weights = Parameter(1);
    product.weight_zeros = linear.weight_zeros.empty() ? nullptr : linear.weight_zeros.data();
    product.bias = linear.bias.data();
    product.scales = linear.scales.data();
    product.activation = linear.activation;
    product.rounds_sums = linear.rounds_sums;
    product.sum_steps = linear.steps;
    product.low = linear.low;
    product.high = linear.high;
    product.gives_floats = true;
    args.input = inputs_[0];
    args.output = output_;
    kernels_(args);
  }

  void operator()(const op::Concat& concat) {
    int begin = 0;
    for (const ConstTensorView& input : inputs_) {
      const int end = begin + static_cast<int>(input.dims[concat.axis]);
      if (call_.is_local && concat.axis >= 2) {
        kernels_.CopyMeeting(input, output_, concat.axis, {begin, end}, pixels_);
      } else {
        Copy(input, SliceAxis(output_, concat.axis, begin, end - begin));
      }
      begin = end;
    }
  }

  void operator()(const op::Slice& slice) {
    ConstTensorView input = inputs_[0];
    for (int axis = 0; axis < input.rank; ++axis) {
      input = SliceAxis(input, axis, slice.starts[axis], slice.sizes[axis], slice.steps[axis]);
    }
    Copy(input, output_);
  }

  void operator()(const op::Gather& gather) {
    const TensorView output = gather.scalar ? InsertAxis(output_, gather.axis) : output_;
    Run(GatherArgs{gather.axis, call_.indices, inputs_[0], output});
  }

  void operator()(const op::GatherElements& gather) {
    kernels_(GatherElementsArgs{gather.axis, inputs_[0], inputs_[1], output_});
  }

  void operator()(const op::Pool& pool) {
    Run(PoolArgs{pool.spec, AsImage(inputs_[0]), AsImage(output_)});
  }

  void operator()(const op::AdaptivePool& pool) {
    Run(AdaptivePoolArgs{pool.kind, AsImage(inputs_[0]), AsImage(output_)});
  }

  void operator()(const op::Resize& resize) {
    Run(ResizeArgs{resize.spec, AsImage(inputs_[0]), AsImage(output_)});
  }

  void operator()(const op::DepthToSpace& shuffle) {
    Run(DepthToSpaceArgs{Blocks(shuffle.block, shuffle.order)});
  }

  void operator()(const op::SpaceToDepth& shuffle) {
    Run(SpaceToDepthArgs{Blocks(shuffle.block, shuffle.order)});
  }

  void operator()(const op::Pad& pad) {
    PadArgs args = {pad.mode, pad.value, {}, inputs_[0], output_};
    std::copy(pad.begins.begin(), pad.begins.end(), args.begins.begin());
    Run(args);
  }

  void operator()(const op::Reshape&) {
    if (call_.is_local) {
      Copy(inputs_[0], output_);
    } else {
      Run(CopyArgs{inputs_[0], output_, /*in_logical_order=*/true});
    }
  }

  void operator()(const op::Permute& permute) {
    Copy(PermuteAxes(inputs_[0], permute.order.data()), output_);
  }

  void operator()(const op::Expand&) { Copy(BroadcastTo(inputs_[0], output_), output_); }

  void operator()(const op::Softmax& softmax) {
    Run(SoftmaxArgs{softmax.axis, softmax.logarithm, inputs_[0], output_});
  }

  void operator()(const op::ArgMax& arg_max) {
    const TensorView output = arg_max.keep_dimension ? output_ : InsertAxis(output_, arg_max.axis);
    Run(ArgMaxArgs{arg_max.axis, inputs_[0], output});
  }

  void operator()(const op::TopK& top) { kernels_(TopKArgs{top.axis, inputs_[0], output_}); }

  void operator()(const op::Reduce& reduce) {
    ReduceArgs args = {reduce.kind, {}, inputs_[0], output_};
    for (int axis : reduce.axes) args.reduced[axis] = true;
    for (int axis = 0; axis < inputs_[0].rank && !reduce.keep_dimensions; ++axis) {
      if (args.reduced[axis]) args.output = InsertAxis(args.output, axis);
    }
    Run(args);
  }

  void operator()(const op::DecodeBoxes& decode) {
    LayHeads();
    kernels_(DecodeBoxesArgs{call_.heads.data(), static_cast<int>(call_.heads.size()),
                             decode.apply_sigmoid, output_});
  }

  void operator()(const op::NonMaxSuppression& suppression) {
    using Candidate = NonMaxSuppressionArgs::Candidate;
    NonMaxSuppressionArgs args;
    args.score_threshold = suppression.score_threshold;
    args.overlap_threshold = suppression.overlap_threshold;
    args.has_objectness = suppression.has_objectness;
    args.extras = suppression.extras;
    args.scratch = reinterpret_cast<Candidate*>(scratch_);
    std::uninitialized_default_construct_n(args.scratch, call_.boxes.count);
    if (call_.heads.empty()) {
      args.input = inputs_[0];
    } else {
      LayHeads();
      args.heads = call_.heads.data();
      args.head_count = static_cast<int>(call_.heads.size());
      args.classes = static_cast<int>(call_.boxes.numbers) - 5;
      args.row = reinterpret_cast<float*>(args.scratch + call_.boxes.count);
    }
    args.output = output_;
    kernels_(args);
  }

  void operator()(const op::Foreign&) {
    throw std::logic_error("operator '" + call_.op->name + "' has no kernel");
  }

 private:
  const Value& ValueOf(size_t input) const { return call_.graph->value(call_.op->inputs[input]); }

  void LayHeads() {
    for (size_t i = 0; i < call_.heads.size(); ++i) call_.heads[i].map = AsImage(inputs_[i]);
  }

  void Run(const auto& args) {
    kernels_(args, call_.is_local ? pixels_ : kernels_.All(args.output));
  }

  void Copy(const ConstTensorView& from, const TensorView& to) {
    if (!LiesThere(from, to)) Run(CopyArgs{from, to});
  }

  // Null if the operator has none.
  const float* Parameter(size_t input, bool exists = true) const {
    return exists ? call_.parameters[input] : nullptr;
  }

  // `slopes_input` has the slopes of kPRelu.
  ChannelFunction ActivationOf(const Function& function, size_t slopes_input) const {
    if (function.kind != Function::Kind::kPRelu) return {function};
    const Tensor& slopes = call_.graph->value(call_.op->inputs[slopes_input]).constant;
    return {function, Parameter(slopes_input), slopes.count() == 1};
  }

  BlockArgs Blocks(int block, op::DepthToSpace::Order order) const {
    const BlockOrder block_order = order == op::DepthToSpace::Order::kRowsFirst
                                       ? BlockOrder::kRowsFirst
                                       : BlockOrder::kChannelsFirst;
    return {block, block_order, AsImage(inputs_[0]), AsImage(output_)};
  }

  const Kernels& kernels_;
  OperatorCall& call_;
  std::span<const ConstTensorView> inputs_;
  TensorView output_;
  Pixels pixels_;
  float* scratch_;
};

template <typename Kernels, typename Pixels>
void RunOperator(const Kernels& kernels, OperatorCall& call,
                 std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
                 const Pixels& pixels, float* scratch) {
  std::visit(OperatorRunner<Kernels, Pixels>(kernels, call, inputs, outputs, pixels, scratch),
             call.op->attributes);
}

template <typename Kernels>
void HostKernels<Kernels>::CopyMeeting(const ConstTensorView& input, const TensorView& output,
                                       int axis, Range filled, const ActivePixels& pixels) const {
  const auto copy = [&](Range rows, Range columns) {
    Range& along = axis == 2 ? rows : columns;
    along = {std::max(along.begin, filled.begin), std::min(along.end, filled.end)};
    if (along.empty()) return;
    const TensorView to = CutPixels(output, rows, columns);
    along = {along.begin - filled.begin, along.end - filled.begin};
    const ConstTensorView from = CutPixels(input, rows, columns);
    if (LiesThere(from, to)) return;
    static_cast<const Kernels&> (*this)(CopyArgs{from, to}, ActivePixels(AllPixels(to)));
  };
  if (!pixels.is_sparse) return copy(pixels.rows, {0, static_cast<int>(output.dims[3])});
  for (int i = 0; i < pixels.run_count; ++i) {
    const PixelRun& run = pixels.runs[i];
    copy({run.row, run.row + 1}, {run.begin, run.end});
  }
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_OPERATOR_CALL_H_
