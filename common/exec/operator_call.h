#ifndef CACHEINF_COMMON_EXEC_OPERATOR_CALL_H_
#define CACHEINF_COMMON_EXEC_OPERATOR_CALL_H_

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

// From the model's operators to the calls of sparse_ops/ops.h, once for all families of kernels.

namespace cacheinf {

// Whether this input is a constant that belongs to the operator (weights, bias, slope, scale,
// shift) and not one of the tensors that it works on. Such inputs are read from the graph.
bool IsParameter(const Operator& op, size_t input);

// What is known about an operator before the first frame.
struct OperatorCall {
  OperatorCall(const Graph& graph, const Operator& op);  // both outlive it

  const Graph* graph;
  const Operator* op;
  bool is_local;
  size_t scratch_floats = 0;
  std::vector<DetectionHead> heads;  // DecodeBoxes, NonMaxSuppression: all but the maps

  struct Boxes {
    size_t count = 0;
    size_t numbers = 0;  // of each
  };
  Boxes boxes;  // NonMaxSuppression
};

// Calls the kernels that compute the active pixels of the outputs (all of them, if the operator is
// not local). `Kernels` has a member function for every function of reference/reference.h, with the
// same struct and, unless the operator is never local, the active pixels of args.output. Allocates
// nothing. Concat leaves alone what lies in its place already.
// REQUIRES: not op::Foreign.
template <typename Kernels>
void RunOperator(Kernels& kernels, OperatorCall& call, std::span<const ConstTensorView> inputs,
                 std::span<const TensorView> outputs, const ActivePixels& pixels, float* scratch);

// -------------------------------------------------------------------------------------------------

template <typename Kernels>
class OperatorRunner {
 public:
  OperatorRunner(Kernels& kernels, OperatorCall& call, std::span<const ConstTensorView> inputs,
                 std::span<const TensorView> outputs, const ActivePixels& pixels, float* scratch)
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
    args.activation.function = conv.activation;
    if (conv.has_slope) SetSlopes(args.activation, next);
    args.activation_before_residual = conv.activation_before_residual;
    args.output = AsImage(output_);
    kernels_.Conv(args, Pixels());
  }

  void operator()(const op::Linear& linear) {
    LinearArgs args;
    args.weights = Parameter(1);
    if (linear.has_bias) args.bias = Parameter(2);
    args.activation = linear.activation;
    args.input = inputs_[0];
    args.output = output_;
    kernels_.Linear(args);
  }

  void operator()(const op::MatMul&) { kernels_.MatMul({inputs_[0], inputs_[1], output_}); }

  void operator()(const op::ScaleShift& scale_shift) {
    ScaleShiftArgs args;
    args.scale = Parameter(1);
    args.shift = Parameter(2);
    if (!scale_shift.channel_order.empty()) args.channel_order = scale_shift.channel_order.data();
    args.activation.function = scale_shift.activation;
    if (scale_shift.activation.kind == Function::Kind::kPRelu) SetSlopes(args.activation, 3);
    args.input = inputs_[0];
    args.output = output_;
    kernels_.ScaleShift(args, Pixels(args.output));
  }

  void operator()(const op::LayerNorm& norm) {
    LayerNormArgs args;
    args.first_axis = norm.first_axis;
    args.axis_count = norm.axis_count;
    args.epsilon = norm.epsilon;
    if (norm.has_affine) {
      args.scale = Parameter(1);
      args.shift = Parameter(2);
    }
    args.input = inputs_[0];
    args.output = output_;
    kernels_.LayerNorm(args, Pixels(args.output));
  }

  void operator()(const op::GroupNorm& norm) {
    GroupNormArgs args;
    args.groups = norm.groups;
    args.epsilon = norm.epsilon;
    if (norm.has_affine) {
      args.scale = Parameter(1);
      args.shift = Parameter(2);
    }
    args.input = inputs_[0];
    args.output = output_;
    kernels_.GroupNorm(args);
  }

  void operator()(const op::Activation& activation) {
    ActivationArgs args;
    args.activation.function = activation.function;
    if (activation.function.kind == Function::Kind::kPRelu) SetSlopes(args.activation, 1);
    args.input = inputs_[0];
    args.output = output_;
    kernels_.Activation(args, Pixels(args.output));
  }

  void operator()(const op::Binary& binary) {
    const BinaryArgs args = {binary.kind, binary.activation, inputs_[0], inputs_[1], output_};
    kernels_.Binary(args, Pixels());
  }

  void operator()(const op::Concat& concat) {
    int begin = 0;
    for (const ConstTensorView& input : inputs_) {
      const int end = begin + static_cast<int>(input.dims[concat.axis]);
      if (call_.is_local && concat.axis >= 2) {
        CopyMeeting(input, concat.axis, {begin, end});
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
    kernels_.Gather({gather.axis, gather.indices.data(), inputs_[0], output}, Pixels(output));
  }

  void operator()(const op::Pool& pool) {
    kernels_.Pool({pool.spec, AsImage(inputs_[0]), AsImage(output_)}, Pixels());
  }

  void operator()(const op::AdaptivePool& pool) {
    kernels_.AdaptivePool({pool.kind, AsImage(inputs_[0]), AsImage(output_)}, Pixels());
  }

  void operator()(const op::Resize& resize) {
    kernels_.Resize({resize.spec, AsImage(inputs_[0]), AsImage(output_)}, Pixels());
  }

  void operator()(const op::DepthToSpace& shuffle) {
    kernels_.DepthToSpace(Blocks(shuffle.block, shuffle.order), Pixels());
  }

  void operator()(const op::SpaceToDepth& shuffle) {
    kernels_.SpaceToDepth(Blocks(shuffle.block, shuffle.order), Pixels());
  }

  void operator()(const op::Pad& pad) {
    PadArgs args;
    args.mode = pad.mode;
    args.value = pad.value;
    std::copy(pad.begins.begin(), pad.begins.end(), args.begins.begin());
    args.input = inputs_[0];
    args.output = output_;
    kernels_.Pad(args, Pixels());
  }

  void operator()(const op::Reshape&) {
    if (call_.is_local) {
      Copy(inputs_[0], output_);
    } else {
      kernels_.Copy({/*in_logical_order=*/true, inputs_[0], output_}, Pixels());
    }
  }

  void operator()(const op::Permute& permute) {
    Copy(PermuteAxes(inputs_[0], permute.order.data()), output_);
  }

  void operator()(const op::Expand&) { Copy(BroadcastTo(inputs_[0], output_), output_); }

  void operator()(const op::Softmax& softmax) {
    kernels_.Softmax({softmax.axis, softmax.logarithm, inputs_[0], output_}, Pixels());
  }

  void operator()(const op::ArgMax& arg_max) {
    const TensorView output = arg_max.keep_dimension ? output_ : InsertAxis(output_, arg_max.axis);
    kernels_.ArgMax({arg_max.axis, inputs_[0], output}, Pixels(output));
  }

  void operator()(const op::Reduce& reduce) {
    ReduceArgs args;
    args.kind = reduce.kind;
    for (int axis : reduce.axes) args.reduced[axis] = true;
    TensorView output = output_;
    for (int axis = 0; axis < inputs_[0].rank && !reduce.keep_dimensions; ++axis) {
      if (args.reduced[axis]) output = InsertAxis(output, axis);
    }
    args.input = inputs_[0];
    args.output = output;
    kernels_.Reduce(args, Pixels(args.output));
  }

  void operator()(const op::DecodeBoxes& decode) {
    LayHeads();
    DecodeBoxesArgs args;
    args.heads = call_.heads.data();
    args.head_count = static_cast<int>(call_.heads.size());
    args.apply_sigmoid = decode.apply_sigmoid;
    args.output = output_;
    kernels_.DecodeBoxes(args);
  }

  void operator()(const op::NonMaxSuppression& suppression) {
    using Candidate = NonMaxSuppressionArgs::Candidate;
    NonMaxSuppressionArgs args;
    args.score_threshold = suppression.score_threshold;
    args.overlap_threshold = suppression.overlap_threshold;
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
    kernels_.NonMaxSuppression(args);
  }

  void operator()(const op::Foreign&) {
    throw std::logic_error("operator '" + call_.op->name + "' has no kernel");
  }

 private:
  void LayHeads() {
    for (size_t i = 0; i < call_.heads.size(); ++i) call_.heads[i].map = AsImage(inputs_[i]);
  }

  // Those of a view of the output to compute.
  ActivePixels Pixels(const TensorView& output) const {
    return call_.is_local ? pixels_ : ActivePixels(AllPixels(output));
  }
  ActivePixels Pixels() const { return Pixels(output_); }

  void Copy(const ConstTensorView& from, const TensorView& to) {
    CopyUnlessThere(from, to, Pixels(to));
  }

  void CopyUnlessThere(const ConstTensorView& from, const TensorView& to,
                       const ActivePixels& pixels) {
    const bool lies_there = from.data == to.data && from.strides == to.strides;
    if (!lies_there) kernels_.Copy({/*in_logical_order=*/false, from, to}, pixels);
  }

  // `input` fills these rows (axis 2) or columns of the output.
  void CopyMeeting(const ConstTensorView& input, int axis, Range filled) {
    const auto copy = [&](Range rows, Range columns) {
      Range& along = axis == 2 ? rows : columns;
      along = {std::max(along.begin, filled.begin), std::min(along.end, filled.end)};
      if (along.empty()) return;
      const TensorView to = CutPixels(output_, rows, columns);
      along = {along.begin - filled.begin, along.end - filled.begin};
      CopyUnlessThere(CutPixels(input, rows, columns), to, AllPixels(to));
    };
    if (!pixels_.is_sparse) return copy(pixels_.rows, {0, static_cast<int>(output_.dims[3])});
    for (int i = 0; i < pixels_.run_count; ++i) {
      const PixelRun& run = pixels_.runs[i];
      copy({run.row, run.row + 1}, {run.begin, run.end});
    }
  }

  const float* Parameter(size_t input) const {
    return call_.graph->value(call_.op->inputs[input]).constant.data();
  }

  void SetSlopes(ChannelFunction& function, size_t input) const {
    const Tensor& slopes = call_.graph->value(call_.op->inputs[input]).constant;
    function.slopes = slopes.data();
    function.one_slope = slopes.count() == 1;
  }

  BlockArgs Blocks(int block, op::DepthToSpace::Order order) const {
    const BlockOrder block_order = order == op::DepthToSpace::Order::kRowsFirst
                                       ? BlockOrder::kRowsFirst
                                       : BlockOrder::kChannelsFirst;
    return {block, block_order, AsImage(inputs_[0]), AsImage(output_)};
  }

  Kernels& kernels_;
  OperatorCall& call_;
  std::span<const ConstTensorView> inputs_;
  TensorView output_;
  ActivePixels pixels_;
  float* scratch_;
};

template <typename Kernels>
void RunOperator(Kernels& kernels, OperatorCall& call, std::span<const ConstTensorView> inputs,
                 std::span<const TensorView> outputs, const ActivePixels& pixels, float* scratch) {
  std::visit(OperatorRunner<Kernels>(kernels, call, inputs, outputs, pixels, scratch),
             call.op->attributes);
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_OPERATOR_CALL_H_
