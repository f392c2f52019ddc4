#ifndef CACHEINF_COMMON_EXEC_OPERATOR_CALL_H_
#define CACHEINF_COMMON_EXEC_OPERATOR_CALL_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <variant>
#include <vector>

#include "common/model/geometry.h"
#include "common/model/graph.h"
#include "sparse_ops/ops.h"

// From the model's operators to the calls of sparse_ops/ops.h, once for all families of kernels.

namespace cacheinf {

// Whether this input is a constant that belongs to the operator (weights, bias, slope, scale,
// shift) and not one of the tensors that it works on. Such inputs are read from the graph.
bool IsParameter(const Operator& op, size_t input);

// What can be found out about an operator before the first frame.
struct OperatorCall {
  OperatorCall(const Graph& graph, const Operator& op);  // both outlive it

  const Graph* graph;
  const Operator* op;
  bool is_local;
  size_t scratch_floats = 0;
  std::vector<DetectionHead> heads;  // DecodeBoxes: all but the maps
};

// Calls the kernels that compute `rows` of the outputs (all of them, if the operator is not local).
// `Kernels` has a member function for every function of reference/reference.h, with the same
// arguments. Allocates nothing. Concat leaves alone what lies in its place already.
// REQUIRES: not op::Foreign.
template <typename Kernels>
void RunOperator(Kernels& kernels, OperatorCall& call, std::span<const ConstTensorView> inputs,
                 std::span<const TensorView> outputs, Range rows, float* scratch);

// -------------------------------------------------------------------------------------------------

template <typename Kernels>
class OperatorRunner {
 public:
  OperatorRunner(Kernels& kernels, OperatorCall& call, std::span<const ConstTensorView> inputs,
                 std::span<const TensorView> outputs, Range rows, float* scratch)
      : kernels_(kernels),
        call_(call),
        inputs_(inputs),
        output_(outputs.front()),
        rows_(call.is_local ? rows : AllRowsOf(outputs.front())),
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
    kernels_.Conv(args, rows_);
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
    args.input = OwnRows(inputs_[0]);
    args.output = OwnRows(output_);
    kernels_.ScaleShift(args);
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
    args.input = OwnRows(inputs_[0]);
    args.output = OwnRows(output_);
    kernels_.LayerNorm(args);
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
    args.input = OwnRows(inputs_[0]);
    args.output = OwnRows(output_);
    kernels_.Activation(args);
  }

  void operator()(const op::Binary& binary) {
    const BinaryArgs args = {binary.kind, binary.activation, inputs_[0], inputs_[1], output_};
    kernels_.Binary(call_.is_local ? CutRows(args, rows_) : args);
  }

  void operator()(const op::Concat& concat) {
    int64_t begin = 0;
    for (const ConstTensorView& input : inputs_) {
      const int64_t size = input.dims[concat.axis];
      if (call_.is_local && concat.axis == 2) {
        CopyMeetingRows(input, static_cast<int>(begin));
      } else {
        Copy(OwnRows(input), OwnRows(SliceAxis(output_, concat.axis, begin, size)));
      }
      begin += size;
    }
  }

  void operator()(const op::Slice& slice) {
    ConstTensorView input = inputs_[0];
    for (int axis = 0; axis < input.rank; ++axis) {
      input = SliceAxis(input, axis, slice.starts[axis], slice.sizes[axis], slice.steps[axis]);
    }
    Copy(OwnRows(input), OwnRows(output_));
  }

  void operator()(const op::Gather& gather) {
    const TensorView output = gather.scalar ? InsertAxis(output_, gather.axis) : output_;
    kernels_.Gather({gather.axis, gather.indices.data(), OwnRows(inputs_[0]), OwnRows(output)});
  }

  void operator()(const op::Pool& pool) {
    kernels_.Pool({pool.spec, AsImage(inputs_[0]), AsImage(output_)}, rows_);
  }

  void operator()(const op::AdaptivePool& pool) {
    kernels_.AdaptivePool({pool.kind, AsImage(inputs_[0]), AsImage(output_)}, rows_);
  }

  void operator()(const op::Resize& resize) {
    kernels_.Resize({resize.spec, AsImage(inputs_[0]), AsImage(output_)}, rows_);
  }

  void operator()(const op::DepthToSpace& shuffle) {
    kernels_.DepthToSpace(Blocks(shuffle.block, shuffle.order), rows_);
  }

  void operator()(const op::SpaceToDepth& shuffle) {
    kernels_.SpaceToDepth(Blocks(shuffle.block, shuffle.order), rows_);
  }

  void operator()(const op::Pad& pad) {
    PadArgs args;
    args.mode = pad.mode;
    args.value = pad.value;
    std::copy(pad.begins.begin(), pad.begins.end(), args.begins.begin());
    args.input = inputs_[0];
    args.output = output_;
    kernels_.Pad(call_.is_local ? CutRows(args, rows_) : args);
  }

  void operator()(const op::Reshape&) {
    if (call_.is_local) {
      Copy(OwnRows(inputs_[0]), OwnRows(output_));
    } else {
      kernels_.Copy({/*in_logical_order=*/true, inputs_[0], output_});
    }
  }

  void operator()(const op::Permute& permute) {
    Copy(OwnRows(PermuteAxes(inputs_[0], permute.order.data())), OwnRows(output_));
  }

  void operator()(const op::Expand&) {
    Copy(OwnRows(BroadcastTo(inputs_[0], output_)), OwnRows(output_));
  }

  void operator()(const op::Softmax& softmax) {
    kernels_.Softmax({softmax.axis, softmax.logarithm, OwnRows(inputs_[0]), OwnRows(output_)});
  }

  void operator()(const op::ArgMax& arg_max) {
    const TensorView output = arg_max.keep_dimension ? output_ : InsertAxis(output_, arg_max.axis);
    kernels_.ArgMax({arg_max.axis, OwnRows(inputs_[0]), OwnRows(output)});
  }

  void operator()(const op::Reduce& reduce) {
    ReduceArgs args;
    args.kind = reduce.kind;
    for (int axis : reduce.axes) args.reduced[axis] = true;
    TensorView output = output_;
    for (int axis = 0; axis < inputs_[0].rank && !reduce.keep_dimensions; ++axis) {
      if (args.reduced[axis]) output = InsertAxis(output, axis);
    }
    args.input = OwnRows(inputs_[0]);
    args.output = OwnRows(output);
    kernels_.Reduce(args);
  }

  void operator()(const op::DecodeBoxes& decode) {
    for (size_t i = 0; i < call_.heads.size(); ++i) call_.heads[i].map = AsImage(inputs_[i]);
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
    std::uninitialized_default_construct_n(args.scratch, inputs_[0].dims[0]);
    args.input = inputs_[0];
    args.output = output_;
    kernels_.NonMaxSuppression(args);
  }

  void operator()(const op::Foreign&) {
    throw std::logic_error("operator '" + call_.op->name + "' has no kernel");
  }

 private:
  static Range AllRowsOf(const TensorView& output) {
    return {0, output.rank == 4 ? static_cast<int>(output.dims[2]) : 1};
  }

  // The part of a map, whose rows are those of the output, that this call is about.
  template <typename T>
  BasicTensorView<T> OwnRows(const BasicTensorView<T>& view) const {
    return call_.is_local ? CutRows(view, rows_) : view;
  }

  void Copy(const ConstTensorView& from, const TensorView& to) {
    const bool lies_there = from.data == to.data && from.strides == to.strides;
    if (!lies_there) kernels_.Copy({/*in_logical_order=*/false, from, to});
  }

  // `input` fills the output's rows from `begin` on.
  void CopyMeetingRows(const ConstTensorView& input, int begin) {
    const Range meeting = {std::max(rows_.begin, begin),
                           std::min(rows_.end, begin + static_cast<int>(input.dims[2]))};
    if (meeting.empty()) return;
    Copy(CutRows(input, {meeting.begin - begin, meeting.end - begin}), CutRows(output_, meeting));
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
  Range rows_;
  float* scratch_;
};

template <typename Kernels>
void RunOperator(Kernels& kernels, OperatorCall& call, std::span<const ConstTensorView> inputs,
                 std::span<const TensorView> outputs, Range rows, float* scratch) {
  std::visit(OperatorRunner<Kernels>(kernels, call, inputs, outputs, rows, scratch),
             call.op->attributes);
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_OPERATOR_CALL_H_
