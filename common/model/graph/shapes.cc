#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "common/base/error.h"
#include "common/model/graph/eight_bit_shapes.h"
#include "common/model/graph/fields.h"
#include "common/model/graph/graph.h"
#include "common/model/graph/moves.h"
#include "common/model/graph/words.h"
#include "sparse_ops/eight_bits.h"

namespace cacheinf {
namespace {

// The type of a function's result for numbers of type `of`.
DataType TypeAfter(const Function& function, DataType of = DataType::kFloat32) {
  switch (function.kind) {
    case Function::Kind::kIdentity:
      return of;
    case Function::Kind::kTruncate:
    case Function::Kind::kIsZero:
      return DataType::kInt64;
    default:
      return DataType::kFloat32;
  }
}

// Checks one operator at a time.
class Inference : private EightBitShapes {
 public:
  using EightBitShapes::EightBitShapes;

  std::vector<InferredOutput> Run() {
    for (ValueId input : op_.inputs) {
      if (input < 0 || static_cast<size_t>(input) >= graph_.values.size()) {
        Refuse("an input that does not exist");
      }
    }
    CheckTypes();
    std::vector<InferredOutput> outputs =
        std::visit([this](const auto& attributes) { return Outputs(attributes); }, op_.attributes);
    for (const InferredOutput& output : outputs) CheckShape(op_, output.shape);
    return outputs;
  }

 private:
  using EightBitShapes::Outputs;

  std::vector<InferredOutput> Outputs(const op::Conv& conv) {
    const ConvSpec& spec = conv.spec;
    NeedInputs(2 + conv.has_bias + conv.has_residual + conv.has_slope);
    CheckFunction(conv.activation);
    if (conv.has_slope != (conv.activation.kind == Function::Kind::kPRelu)) {
      Refuse("a slope operand goes with PReLU and only with it");
    }
    const Shape& in = Map(0);
    const Shape& weights = ConstantInput(1, 4);
    if (spec.groups < 1) Refuse("a group count of ", spec.groups);
    if (weights[2] != spec.rows.kernel || weights[3] != spec.columns.kernel) {
      Refuse("weights of shape ", ToString(weights), " for a kernel of ", spec.rows.kernel, "x",
             spec.columns.kernel);
    }
    const int64_t in_channels = spec.transposed ? weights[0] : weights[1] * spec.groups;
    const int64_t out_channels = spec.transposed ? weights[1] * spec.groups : weights[0];
    if (in[1] != in_channels || in_channels % spec.groups != 0 || out_channels % spec.groups != 0) {
      Refuse("weights of shape ", ToString(weights), " in ", spec.groups,
             " group(s) do not fit an input of shape ", ToString(in));
    }
    Shape out = {in[0], out_channels, 0, 0};
    if (spec.transposed) {
      out[2] = TransposedOutput(spec.rows, in[2], spec.output_padding_rows);
      out[3] = TransposedOutput(spec.columns, in[3], spec.output_padding_columns);
    } else {
      if (spec.output_padding_rows != 0 || spec.output_padding_columns != 0) {
        Refuse("output padding without a transposed convolution");
      }
      out[2] = SlidingOutput(spec.rows, in[2], false);
      out[3] = SlidingOutput(spec.columns, in[3], false);
    }
    int next = 2;
    if (conv.has_bias) NeedShape(next++, {out_channels}, /*constant=*/true);
    if (conv.has_residual) NeedShape(next++, out, /*constant=*/false);
    if (conv.has_slope) NeedSlope(next, out_channels);
    return One(std::move(out), TypeAfter(conv.activation));
  }

  std::vector<InferredOutput> Outputs(const op::Linear& linear) {
    NeedInputs(2 + linear.has_bias);
    CheckFunction(linear.activation);
    NeedNoSlope(linear.activation);
    const Shape& in = Input(0);
    const Shape& weights = ConstantInput(1, 2);
    if (in.empty() || in.back() != weights[1]) {
      Refuse("weights of shape ", ToString(weights), " do not fit an input of shape ",
             ToString(in));
    }
    if (linear.has_bias) NeedShape(2, {weights[0]}, /*constant=*/true);
    Shape out = in;
    out.back() = weights[0];
    return One(std::move(out), TypeAfter(linear.activation));
  }

  std::vector<InferredOutput> Outputs(const op::MatMul&) {
    NeedInputs(2);
    const Shape& a = Input(0);
    const Shape& b = Input(1);
    if (a.size() < 2 || b.size() < 2 || a[a.size() - 1] != b[b.size() - 2]) {
      Refuse("matrices of shapes ", ToString(a), " and ", ToString(b));
    }
    Shape out = Broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
    out.push_back(a[a.size() - 2]);
    out.push_back(b.back());
    return One(std::move(out));
  }

  std::vector<InferredOutput> Outputs(const op::ScaleShift& scale_shift) {
    const bool has_slope = scale_shift.activation.kind == Function::Kind::kPRelu;
    NeedInputs(3 + has_slope);
    CheckFunction(scale_shift.activation);
    Shape out = Input(0);
    if (out.size() < 2) Refuse("an input of shape ", ToString(out), " has no channels");
    if (!scale_shift.channel_order.empty()) {
      for (int channel : scale_shift.channel_order) {
        if (channel < 0 || channel >= out[1]) {
          Refuse("a channel order that names channel ", channel);
        }
      }
      out[1] = static_cast<int64_t>(scale_shift.channel_order.size());
    }
    NeedShape(1, {out[1]}, /*constant=*/true);
    NeedShape(2, {out[1]}, /*constant=*/true);
    if (has_slope) NeedSlope(3, out[1]);
    return One(std::move(out), TypeAfter(scale_shift.activation));
  }

  std::vector<InferredOutput> Outputs(const op::LayerNorm& norm) {
    NeedInputs(norm.has_affine ? 3 : 1);
    const Shape& in = Input(0);
    if (norm.axis_count < 1 || norm.axis_count > TensorView::kMaxRank)
      Refuse("no axis to normalise");
    CheckAxis(norm.first_axis, in);
    CheckAxis(norm.first_axis + norm.axis_count - 1, in);
    CheckEpsilon(norm.epsilon);
    const auto first = in.begin() + norm.first_axis;
    return Normalised(norm.has_affine, Shape(first, first + norm.axis_count));
  }

  std::vector<InferredOutput> Outputs(const op::GroupNorm& norm) {
    NeedInputs(norm.has_affine ? 3 : 1);
    const Shape& in = Input(0);
    CheckEpsilon(norm.epsilon);
    if (in.size() < 2 || norm.groups < 1 || in[1] % norm.groups != 0) {
      Refuse(norm.groups, " group(s) do not fit an input of shape ", ToString(in));
    }
    return Normalised(norm.has_affine, {in[1]});
  }

  std::vector<InferredOutput> Normalised(bool has_affine, const Shape& affine) {
    for (size_t i = 1; has_affine && i <= 2; ++i) NeedShape(i, affine, /*constant=*/true);
    return One(Input(0));
  }

  std::vector<InferredOutput> Outputs(const op::Activation& activation) {
    CheckFunction(activation.function);
    if (activation.function.kind == Function::Kind::kPRelu) {
      NeedInputs(2);
      const Shape& in = Input(0);
      NeedSlope(1, in.size() < 2 ? 1 : in[1]);
    } else {
      NeedInputs(1);
    }
    return One(Input(0), TypeAfter(activation.function, graph_.value(op_.inputs[0]).type));
  }

  std::vector<InferredOutput> Outputs(const op::Binary& binary) {
    NeedInputs(2);
    CheckFunction(binary.activation);
    NeedNoSlope(binary.activation);
    const bool compares = binary.kind == BinaryKind::kEqual || binary.kind == BinaryKind::kLess ||
                          binary.kind == BinaryKind::kLessOrEqual;
    return One(Broadcast(Input(0), Input(1)),
               TypeAfter(binary.activation, compares ? DataType::kInt64 : DataType::kFloat32));
  }

  std::vector<InferredOutput> Outputs(const op::Concat& concat) {
    if (op_.inputs.empty()) Refuse("nothing to concatenate");
    Shape out = Input(0);
    CheckAxis(concat.axis, out);
    for (size_t i = 1; i < op_.inputs.size(); ++i) {
      const Shape& in = Input(i);
      bool fits = in.size() == out.size();
      for (size_t d = 0; fits && d < in.size(); ++d) {
        fits = d == static_cast<size_t>(concat.axis) || in[d] == out[d];
      }
      if (!fits) Refuse("shapes ", ToString(out), " and ", ToString(in), " do not line up");
      out[concat.axis] += in[concat.axis];
      CheckShape(op_, out);
    }
    if (IsEightBit(0)) return EightBit(std::move(out), ConcatChannels(concat), ValueOf(0).steps);
    return One(std::move(out));
  }

  std::vector<InferredOutput> Outputs(const op::Slice& slice) {
    const Shape& in = OnlyInput();
    if (slice.starts.size() != in.size() || slice.sizes.size() != in.size() ||
        slice.steps.size() != in.size()) {
      Refuse("needs a start, a size and a step for each dimension of ", ToString(in));
    }
    for (size_t d = 0; d < in.size(); ++d) {
      const int64_t start = slice.starts[d];
      const int64_t size = slice.sizes[d];
      const int64_t step = slice.steps[d];
      const bool fits = start >= 0 && size >= 1 && size <= in[d] && step >= 1 && step <= in[d] &&
                        start < in[d] && start + (size - 1) * step < in[d];
      if (!fits) {
        Refuse("start ", start, ", size ", size, ", step ", step, " leave dimension ", d, " of ",
               ToString(in));
      }
    }
    if (IsEightBit(0)) return EightBit(slice.sizes, SlicedChannels(slice), ValueOf(0).steps);
    return One(slice.sizes, graph_.value(op_.inputs[0]).type);
  }

  std::vector<InferredOutput> Outputs(const op::Gather& gather) {
    Shape out = OnlyInput();
    CheckAxis(gather.axis, out);
    if (gather.indices.empty() || (gather.scalar && gather.indices.size() != 1)) {
      Refuse(gather.indices.size(), " indices");
    }
    for (int64_t index : gather.indices) {
      if (index < 0 || index >= out[gather.axis]) {
        Refuse("index ", index, " outside dimension ", gather.axis, " of ", ToString(out));
      }
    }
    out[gather.axis] = static_cast<int64_t>(gather.indices.size());
    if (gather.scalar) out.erase(out.begin() + gather.axis);
    return One(std::move(out), graph_.value(op_.inputs[0]).type);
  }

  std::vector<InferredOutput> Outputs(const op::GatherElements& gather) {
    NeedInputs(2);
    const Shape& in = Input(0);
    const Shape& indices = Input(1);
    CheckAxis(gather.axis, in);
    if (in[gather.axis] > kMaxDimension) Refuse("an index above 2^24 has no exact float");
    Shape out = in;
    bool fits = indices.size() == in.size();
    if (fits) out[gather.axis] = indices[gather.axis];
    fits = fits && Broadcast(indices, out) == out;
    if (!fits) Refuse("indices of shape ", ToString(indices), " for ", ToString(in));
    return One(std::move(out), graph_.value(op_.inputs[0]).type);
  }

  std::vector<InferredOutput> Outputs(const op::Pool& pool) {
    const Shape& in = OnlyMap();
    return One(PooledShape(pool.spec, in));
  }

  std::vector<InferredOutput> Outputs(const op::AdaptivePool& pool) {
    const Shape& in = OnlyMap();
    return One({in[0], in[1], pool.out_height, pool.out_width});
  }

  std::vector<InferredOutput> Outputs(const op::Resize& resize) {
    const Shape& in = OnlyMap();
    const ResizeSpec& spec = resize.spec;
    const bool finite = std::isfinite(spec.scale_rows) && std::isfinite(spec.scale_columns) &&
                        std::isfinite(spec.cubic_a);
    if (!finite || spec.scale_rows < 0 || spec.scale_columns < 0) {
      Refuse("scales of ", spec.scale_rows, " and ", spec.scale_columns);
    }
    Shape out = {in[0], in[1], spec.out_height, spec.out_width};
    if (IsEightBit(0)) return EightBit(std::move(out), ValueOf(0).channels, ValueOf(0).steps);
    return One(std::move(out));
  }

  std::vector<InferredOutput> Outputs(const op::DepthToSpace& shuffle) {
    const Shape& in = OnlyMap();
    const int64_t block = CheckBlock(shuffle.block);
    if (in[1] % (block * block) != 0) {
      Refuse("blocks of ", block, " do not divide the channels of ", ToString(in));
    }
    return One({in[0], in[1] / (block * block), in[2] * block, in[3] * block});
  }

  std::vector<InferredOutput> Outputs(const op::SpaceToDepth& shuffle) {
    const Shape& in = OnlyMap();
    const int64_t block = CheckBlock(shuffle.block);
    if (in[2] % block != 0 || in[3] % block != 0) {
      Refuse("blocks of ", block, " do not divide the picture of ", ToString(in));
    }
    return One({in[0], in[1] * block * block, in[2] / block, in[3] / block});
  }

  std::vector<InferredOutput> Outputs(const op::Pad& pad) {
    Shape out = OnlyInput();
    if (pad.begins.size() != out.size() || pad.ends.size() != out.size()) {
      Refuse("needs padding for each dimension of ", ToString(out));
    }
    for (size_t d = 0; d < out.size(); ++d) {
      for (int64_t amount : {pad.begins[d], pad.ends[d]}) {
        if (amount < 0 || amount > kMaxWindow) Refuse("padding of ", amount);
        if (pad.mode == PadMode::kReflect && amount >= out[d]) {
          Refuse("reflected padding of ", amount, " is not smaller than ", out[d]);
        }
      }
      out[d] += pad.begins[d] + pad.ends[d];
    }
    return One(std::move(out));
  }

  std::vector<InferredOutput> Outputs(const op::Reshape& reshape) {
    NeedInputs(1);
    CheckShape(op_, reshape.shape);
    if (ElementCount(reshape.shape) != ElementCount(Input(0))) {
      Refuse("shape ", ToString(Input(0)), " cannot become ", ToString(reshape.shape));
    }
    return One(reshape.shape, graph_.value(op_.inputs[0]).type);
  }

  std::vector<InferredOutput> Outputs(const op::Permute& permute) {
    const Shape& in = OnlyInput();
    std::vector<int> sorted = permute.order;
    std::ranges::sort(sorted);
    std::vector<int> all(in.size());
    std::iota(all.begin(), all.end(), 0);
    if (sorted != all)
      Refuse("an order that is not a permutation of the dimensions of ", ToString(in));
    Shape out;
    for (int axis : permute.order) out.push_back(in[axis]);
    return One(std::move(out), graph_.value(op_.inputs[0]).type);
  }

  std::vector<InferredOutput> Outputs(const op::Expand& expand) {
    NeedInputs(1);
    CheckShape(op_, expand.shape);
    if (Broadcast(Input(0), expand.shape) != expand.shape) {
      Refuse("shape ", ToString(Input(0)), " cannot expand to ", ToString(expand.shape));
    }
    return One(expand.shape, graph_.value(op_.inputs[0]).type);
  }

  std::vector<InferredOutput> Outputs(const op::Softmax& softmax) {
    CheckAxis(softmax.axis, OnlyInput());
    return One(Input(0));
  }

  std::vector<InferredOutput> Outputs(const op::ArgMax& arg_max) {
    Shape out = OnlyInput();
    CheckAxis(arg_max.axis, out);
    if (out[arg_max.axis] > kMaxDimension) Refuse("an index above 2^24 has no exact float");
    if (arg_max.keep_dimension) {
      out[arg_max.axis] = 1;
    } else {
      out.erase(out.begin() + arg_max.axis);
    }
    return One(std::move(out), DataType::kInt64);
  }

  std::vector<InferredOutput> Outputs(const op::TopK& top) {
    Shape out = OnlyInput();
    CheckAxis(top.axis, out);
    if (out[top.axis] > kMaxDimension) Refuse("an index above 2^24 has no exact float");
    if (top.count < 1 || top.count > out[top.axis]) {
      Refuse("the ", top.count, " largest of ", out[top.axis]);
    }
    out[top.axis] = top.count;
    return One(std::move(out), DataType::kInt64);
  }

  std::vector<InferredOutput> Outputs(const op::Reduce& reduce) {
    const Shape& in = OnlyInput();
    const std::set<int> axes(reduce.axes.begin(), reduce.axes.end());
    if (axes.empty() || axes.size() != reduce.axes.size()) Refuse("axes missing or named twice");
    for (int axis : axes) CheckAxis(axis, in);
    Shape out;
    for (size_t d = 0; d < in.size(); ++d) {
      if (!axes.count(static_cast<int>(d))) {
        out.push_back(in[d]);
      } else if (reduce.keep_dimensions) {
        out.push_back(1);
      }
    }
    return One(std::move(out));
  }

  std::vector<InferredOutput> Outputs(const op::DecodeBoxes& decode) {
    if (decode.scales.empty()) Refuse("no heads");
    return One(Boxes(decode.scales));
  }

  // The boxes of raw heads, and the numbers of each box.
  // For a map that may be an 8-bit one.
  Shape HeadShape(size_t index) const {
    Map(index);
    return ValueOf(index).shape_of_numbers();
  }

  Shape Boxes(const std::vector<op::DecodeBoxes::Scale>& scales) {
    NeedInputs(scales.size());
    int64_t boxes = 0;
    int64_t width = 0;
    for (size_t i = 0; i < scales.size(); ++i) {
      const op::DecodeBoxes::Scale& scale = scales[i];
      const Shape in = HeadShape(i);
      const auto anchors = static_cast<int64_t>(scale.anchors.size() / 2);
      if (scale.stride < 1 || anchors < 1 || scale.anchors.size() % 2 != 0 || in[0] != 1 ||
          in[1] % anchors != 0 || in[1] / anchors < 6) {
        Refuse(anchors, " anchors do not fit a head of shape ", ToString(in));
      }
      if (width != 0 && in[1] / anchors != width) Refuse("heads with different numbers of classes");
      width = in[1] / anchors;
      boxes += anchors * in[2] * in[3];
    }
    return {boxes, width};
  }

  std::vector<InferredOutput> Outputs(const op::NonMaxSuppression& suppression) {
    if (suppression.scales.empty()) {
      NeedInputs(1);
      const Shape& in = Input(0);
      const int64_t extras = suppression.extras;
      const int64_t least = (suppression.has_objectness ? 6 : 5) + extras;
      if (in.size() != 2 || extras < 0 || in[1] < least) {
        Refuse("boxes of shape ", ToString(in), " with ", extras, " extra numbers");
      }
    } else {
      if (!suppression.has_objectness || suppression.extras != 0) {
        Refuse("raw heads without objectness or with extra numbers");
      }
      Boxes(suppression.scales);
    }
    const auto is_share = [](float x) { return x >= 0.0f && x <= 1.0f; };
    if (!is_share(suppression.score_threshold) || !is_share(suppression.overlap_threshold)) {
      Refuse("thresholds must lie between 0 and 1");
    }
    return One({suppression.max_boxes, 6 + int64_t{suppression.extras}});
  }

  std::vector<InferredOutput> Outputs(const op::Foreign& foreign) {
    if (foreign.archive == nullptr) Refuse("no archive to run");
    if (foreign.output_shapes.empty() ||
        foreign.output_types.size() != foreign.output_shapes.size()) {
      Refuse("needs a shape and a type for each output");
    }
    std::vector<InferredOutput> outputs;
    for (size_t i = 0; i < foreign.output_shapes.size(); ++i) {
      outputs.push_back({foreign.output_shapes[i], foreign.output_types[i]});
    }
    return outputs;
  }

  void CheckEpsilon(float epsilon) const {
    if (!(epsilon >= 0.0f) || std::isinf(epsilon)) Refuse("an epsilon of ", epsilon);
  }

  int64_t CheckBlock(int block) const {
    if (block < 1 || block > 4096) Refuse("blocks of ", block);
    return block;
  }

  Shape Broadcast(const Shape& a, const Shape& b) const {
    const std::optional<Shape> common = CommonShape(a, b);
    if (!common) Refuse("shapes ", ToString(a), " and ", ToString(b), " do not broadcast");
    return *common;
  }
};

// "conv", say, or what an operator computes if that says more.
class KindNamer {
 public:
  explicit KindNamer(const Operator& op) : kind_(kAttributeNames[op.attributes.index()]) {}

  template <typename T>
  std::string operator()(const T&) const {
    return kind_;
  }
  std::string operator()(const op::Conv& conv) const {
    return conv.spec.transposed ? "transposed_conv" : kind_;
  }
  std::string operator()(const op::Activation& activation) const {
    return NameOf(activation.function.kind);
  }
  std::string operator()(const op::Binary& binary) const { return NameOf(binary.kind); }
  std::string operator()(const op::Pool& pool) const { return PoolName(pool.spec.kind); }
  std::string operator()(const op::QuantPool& pool) const {
    return "quant_" + PoolName(pool.spec.kind);
  }
  std::string operator()(const op::QuantBinary& binary) const {
    return std::string("quant_") + NameOf(binary.kind);
  }
  std::string operator()(const op::AdaptivePool& pool) const {
    return "adaptive_" + PoolName(pool.kind);
  }
  std::string operator()(const op::Resize& resize) const {
    return kind_ + "_" + NameOf(resize.spec.kind);
  }
  std::string operator()(const op::Softmax& softmax) const {
    return softmax.logarithm ? "log_softmax" : kind_;
  }
  std::string operator()(const op::Reduce& reduce) const {
    return kind_ + "_" + NameOf(reduce.kind);
  }
  std::string operator()(const op::Foreign& foreign) const { return foreign.type; }

 private:
  static std::string PoolName(PoolSpec::Kind kind) { return std::string(NameOf(kind)) + "_pool"; }

  std::string kind_;
};

}  // namespace

std::string KindName(const Operator& op) { return std::visit(KindNamer(op), op.attributes); }

std::vector<InferredOutput> InferShapes(const Graph& graph, const Operator& op) {
  return Inference(graph, op).Run();
}

namespace {

// Only a picture may be an 8-bit map, and then it has levels.
void CheckLevels(const Graph& graph) {
  const auto is_eight_bit = [&](ValueId id) { return graph.value(id).is_eight_bit(); };
  const bool has_levels = std::ranges::any_of(graph.inputs, is_eight_bit);
  if (!has_levels && graph.levels.empty()) return;
  const auto refuse = [&](const char* why) {
    throw InputError("model '" + graph.name + "': ", why);
  };
  if (!has_levels) refuse("it has levels for an input of floats");
  const PictureSpec& picture = graph.picture;
  const int channels = picture.channel_count();
  const Value& input = graph.value(graph.inputs.front());
  const Shape of_picture = {1, WordCount(channels), picture.height, picture.width};
  if (graph.inputs.size() != 1 || input.shape != of_picture || input.channels != channels) {
    refuse("an input is an 8-bit map that is not its picture");
  }
  const Steps& steps = input.steps;
  if (!std::isfinite(steps.scale) || !(steps.scale > 0.0f) || !steps.Includes(steps.zero_point)) {
    refuse("its picture has steps without a size");
  }
  if (graph.levels.size() != static_cast<size_t>(channels) * kLevels ||
      !std::ranges::all_of(graph.levels, [&](int level) { return steps.Includes(level); })) {
    refuse("its levels do not fit its picture");
  }
}

}  // namespace

void Graph::Validate() const {
  const auto value_count = static_cast<ValueId>(values.size());
  const auto exists = [&](ValueId id) { return id >= 0 && id < value_count; };
  const std::string model = "model '" + name + "': ";

  std::vector<bool> is_defined(values.size(), false);
  for (size_t id = 0; id < values.size(); ++id) {
    const Value& value = values[id];
    if (value.is_constant()) {
      if (value.constant.shape() != value.shape || value.shape.size() > TensorView::kMaxRank ||
          value.constant.count() > kMaxElements || value.producer != kNone ||
          value.is_eight_bit()) {
        throw InputError(model, "constant '", value.name, "' contradicts its own description");
      }
      is_defined[id] = true;
    }
  }
  std::set<ValueId> distinct_inputs;
  for (ValueId id : inputs) {
    if (!exists(id) || values[id].is_constant() || values[id].producer != kNone ||
        !distinct_inputs.insert(id).second) {
      throw InputError(model, "an input is missing, computed, or named twice");
    }
    CheckShape(Operator{values[id].name, op::Reshape{}, {}, {}}, values[id].shape);
    is_defined[id] = true;
  }
  CheckLevels(*this);
  for (size_t i = 0; i < operators.size(); ++i) {
    const Operator& op = operators[i];
    for (ValueId id : op.inputs) {
      if (!exists(id) || !is_defined[id]) {
        RefuseOperator(op, "reads a value before anything computes it");
      }
    }
    const std::vector<InferredOutput> inferred = InferShapes(*this, op);
    if (inferred.size() != op.outputs.size()) RefuseOperator(op, "has the wrong number of outputs");
    for (size_t k = 0; k < inferred.size(); ++k) {
      const ValueId id = op.outputs[k];
      if (!exists(id) || is_defined[id] || values[id].producer != static_cast<OpId>(i) ||
          values[id].shape != inferred[k].shape || values[id].type != inferred[k].type ||
          values[id].channels != inferred[k].channels || !(values[id].steps == inferred[k].steps)) {
        RefuseOperator(op, "its output contradicts what it computes");
      }
      is_defined[id] = true;
    }
  }
  if (outputs.empty()) throw InputError(model, "it has no output");
  for (ValueId id : outputs) {
    if (!exists(id) || !is_defined[id]) throw InputError(model, "an output is never computed");
    if (values[id].is_eight_bit()) throw InputError(model, "an output is an 8-bit map");
  }
}

}  // namespace cacheinf
