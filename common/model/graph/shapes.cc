#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "common/base/error.h"
#include "common/model/graph/fields.h"
#include "common/model/graph/graph.h"
#include "common/model/graph/moves.h"
#include "common/model/graph/words.h"
#include "sparse_ops/eight_bits.h"

namespace cacheinf {
namespace {

template <typename... Parts>
[[noreturn]] void Refuse(const Operator& op, const Parts&... why) {
  throw InputError("operator '", op.name, "' (", KindName(op), "): ", why...);
}

// Limits for shapes, windows and attributes. They keep all later arithmetic within 64 bits, and
// most of it within 32.
constexpr int64_t kMaxDimension = int64_t{1} << 24;
constexpr int kMaxWindow = 1 << 16;

void CheckShape(const Operator& op, const Shape& shape) {
  if (shape.size() > TensorView::kMaxRank) {
    Refuse(op, "a result of ", shape.size(), " dimensions; at most ", TensorView::kMaxRank,
           " are supported");
  }
  int64_t count = 1;
  for (int64_t dim : shape) {
    if (dim < 1 || dim > kMaxElements) Refuse(op, "a result with a dimension of ", dim);
    count *= dim;  // both below 2^31: no overflow
    if (count > kMaxElements) Refuse(op, "a result of shape ", ToString(shape), " is too large");
  }
}

void CheckWindow(const Operator& op, const WindowAxis& axis) {
  const bool positive = axis.kernel >= 1 && axis.stride >= 1 && axis.dilation >= 1;
  const bool bounded = axis.kernel <= kMaxWindow && axis.stride <= kMaxWindow &&
                       axis.dilation <= kMaxWindow && std::abs(axis.pad_begin) <= kMaxWindow &&
                       std::abs(axis.pad_end) <= kMaxWindow;
  if (!positive || !bounded) {
    Refuse(op, "a window with kernel ", axis.kernel, ", stride ", axis.stride, ", dilation ",
           axis.dilation, " and padding ", axis.pad_begin, ", ", axis.pad_end);
  }
}

int64_t WindowExtent(const WindowAxis& axis) {
  return int64_t{axis.kernel - 1} * axis.dilation + 1;
}

int64_t SlidingOutput(const Operator& op, const WindowAxis& axis, int64_t in, bool ceil_mode) {
  CheckWindow(op, axis);
  const int64_t room = in + axis.pad_begin + axis.pad_end - WindowExtent(axis);
  // With ceil_mode a single window may reach beyond the end.
  if (room < 0 && ceil_mode && room > -axis.stride) return 1;
  if (room < 0) {
    Refuse(op, "a window of ", WindowExtent(axis), " does not fit the padded input of ",
           room + WindowExtent(axis));
  }
  int64_t out = room / axis.stride + 1;
  if (ceil_mode && room % axis.stride != 0) {
    // A last window that would start in the end padding does not count.
    if (out * axis.stride < in + axis.pad_begin) ++out;
  }
  return out;
}

int64_t TransposedOutput(const Operator& op, const WindowAxis& axis, int64_t in,
                         int output_padding) {
  CheckWindow(op, axis);
  if (output_padding < 0 || output_padding >= std::max(axis.stride, axis.dilation)) {
    Refuse(op, "an output padding of ", output_padding,
           " that is not smaller than the stride or dilation");
  }
  return (in - 1) * axis.stride + WindowExtent(axis) - axis.pad_begin - axis.pad_end +
         output_padding;
}

// The type of what a function gives for numbers of type `of`.
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

void CheckFunction(const Operator& op, const Function& function) {
  if (std::isnan(function.alpha) || std::isnan(function.beta)) {
    Refuse(op, "a function with a parameter that is not a number");
  }
}

// Checks one operator at a time, with its inputs at hand.
class Inference {
 public:
  Inference(const Graph& graph, const Operator& op) : graph_(graph), op_(op) {}

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
  template <typename... Parts>
  [[noreturn]] void Refuse(const Parts&... why) const {
    cacheinf::Refuse(op_, why...);
  }

  void CheckTypes() const {
    const auto* resize = op_.As<op::Resize>();
    const bool moves = op_.As<op::Concat>() != nullptr || op_.As<op::Slice>() != nullptr ||
                       (resize != nullptr && resize->spec.kind == ResizeSpec::Kind::kNearest);
    const bool takes_all = moves || op_.As<op::Dequantise>() != nullptr ||
                           op_.As<op::QuantConv>() != nullptr || op_.As<op::Table>() != nullptr ||
                           op_.As<op::QuantBinary>() != nullptr ||
                           op_.As<op::QuantPool>() != nullptr;
    for (const ValueId input : op_.inputs) {
      const Value& value = graph_.value(input);
      if (value.is_eight_bit() && !takes_all) {
        Refuse("input '", value.name, "' is an 8-bit map, and it takes floats only");
      }
    }
  }

  std::vector<InferredOutput> Outputs(const op::Conv& conv) {
    const ConvSpec& spec = conv.spec;
    NeedInputs(2 + conv.has_bias + conv.has_residual + conv.has_slope);
    CheckFunction(op_, conv.activation);
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
      out[2] = TransposedOutput(op_, spec.rows, in[2], spec.output_padding_rows);
      out[3] = TransposedOutput(op_, spec.columns, in[3], spec.output_padding_columns);
    } else {
      if (spec.output_padding_rows != 0 || spec.output_padding_columns != 0) {
        Refuse("output padding without a transposed convolution");
      }
      out[2] = SlidingOutput(op_, spec.rows, in[2], false);
      out[3] = SlidingOutput(op_, spec.columns, in[3], false);
    }
    int next = 2;
    if (conv.has_bias) NeedShape(next++, {out_channels}, /*constant=*/true);
    if (conv.has_residual) NeedShape(next++, out, /*constant=*/false);
    if (conv.has_slope) NeedSlope(next, out_channels);
    return One(std::move(out), TypeAfter(conv.activation));
  }

  std::vector<InferredOutput> Outputs(const op::Linear& linear) {
    NeedInputs(2 + linear.has_bias);
    CheckFunction(op_, linear.activation);
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
    CheckFunction(op_, scale_shift.activation);
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
    CheckFunction(op_, activation.function);
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
    CheckFunction(op_, binary.activation);
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

  int ConcatChannels(const op::Concat& concat) {
    int64_t channels = 0;
    for (size_t i = 0; i < op_.inputs.size(); ++i) {
      const Value& part = EightBitMap(i);
      if (!(part.steps == ValueOf(0).steps)) Refuse("8-bit maps of different steps");
      if (concat.axis != 1) {
        channels = part.channels;
        if (concat.axis == 0 || channels != ValueOf(0).channels) Refuse("8-bit maps that differ");
        continue;
      }
      if (channels % kBytesOfWord != 0) {
        Refuse("8-bit maps whose channels do not come in fours");
      }
      channels += part.channels;
    }
    return static_cast<int>(channels);
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

  int SlicedChannels(const op::Slice& slice) {
    const Value& map = EightBitMap(0);
    if (slice.steps[1] != 1) Refuse("some words of an 8-bit map, by steps");
    const int64_t begin = slice.starts[1] * kBytesOfWord;
    const int64_t end = begin + slice.sizes[1] * kBytesOfWord;
    return static_cast<int>(std::min<int64_t>(end, map.channels) - begin);
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

  Shape PooledShape(const PoolSpec& spec, const Shape& in) {
    for (const WindowAxis* axis : {&spec.rows, &spec.columns}) {
      CheckWindow(op_, *axis);
      // A window that lies only in the padding has no largest pixel and no average.
      if (axis->pad_begin < 0 || axis->pad_end < 0 || axis->pad_begin >= WindowExtent(*axis) ||
          axis->pad_end >= WindowExtent(*axis)) {
        Refuse("padding as large as the window");
      }
    }
    if (spec.divisor < 0) Refuse("a divisor of ", spec.divisor);
    return {in[0], in[1], SlidingOutput(op_, spec.rows, in[2], spec.ceil_mode),
            SlidingOutput(op_, spec.columns, in[3], spec.ceil_mode)};
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
  Shape Boxes(const std::vector<op::DecodeBoxes::Scale>& scales) {
    NeedInputs(scales.size());
    int64_t boxes = 0;
    int64_t width = 0;
    for (size_t i = 0; i < scales.size(); ++i) {
      const op::DecodeBoxes::Scale& scale = scales[i];
      const Shape& in = Map(i);
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

  std::vector<InferredOutput> Outputs(const op::FakeQuantise& quantise) {
    NeedInputs(1);
    CheckSteps(quantise.steps);
    return One(Input(0));
  }

  std::vector<InferredOutput> Outputs(const op::Quantise& quantise) {
    const Shape& in = OnlyMap();
    CheckSteps(quantise.steps);
    return EightBitOf(in, in[1], quantise.steps);
  }

  std::vector<InferredOutput> Outputs(const op::Dequantise&) {
    NeedInputs(1);
    const Value& map = EightBitMap(0);
    Shape out = map.shape;
    out[1] = map.channels;
    return One(std::move(out));
  }

  std::vector<InferredOutput> Outputs(const op::QuantConv& conv) {
    NeedInputs(2 + conv.has_residual);
    const Value& map = EightBitMap(0);
    const ConvSpec& spec = conv.spec;
    const Shape& weights = ConstantInput(1, 4);
    const int64_t outputs = weights[0];
    const bool fits = !spec.transposed && spec.groups >= 1 && map.channels % spec.groups == 0 &&
                      outputs % spec.groups == 0 && outputs <= kMaxDimension &&
                      weights[1] == WordCount(map.channels / spec.groups) &&
                      weights[2] == spec.rows.kernel && weights[3] == spec.columns.kernel;
    if (!fits) {
      Refuse("8-bit weights of shape ", ToString(weights), " in ", spec.groups,
             " group(s) do not fit ", map.channels, " channels");
    }
    const auto count = static_cast<size_t>(outputs);
    const bool has_zeros = !conv.weight_zeros.empty();
    if (conv.bias.size() != count || conv.scales.size() != count ||
        (has_zeros && conv.weight_zeros.size() != count)) {
      Refuse("needs a bias and a scale for each of ", outputs, " channels");
    }
    for (const float scale : conv.scales) {
      if (!std::isfinite(scale)) Refuse("a scale of ", scale);
    }
    CheckFunction(op_, conv.activation);
    NeedNoSlope(conv.activation);
    CheckSteps(conv.steps);
    const bool is_plain = !conv.has_residual && !conv.gives_floats && conv.activation == Function();
    if (conv.low < conv.steps.low() || conv.high > conv.steps.high() || conv.low > conv.high ||
        (conv.rounds_sums && !is_plain)) {
      Refuse("bounds or rounding that its output does not have");
    }
    const Shape out = {map.shape[0], outputs, SlidingOutput(op_, spec.rows, map.shape[2], false),
                       SlidingOutput(op_, spec.columns, map.shape[3], false)};
    CheckShape(op_, out);
    if (conv.has_residual) NeedResidual(ValueOf(2), out);
    if (conv.gives_floats) return One(out);
    return EightBitOf(out, outputs, conv.steps);
  }

  void NeedResidual(const Value& residual, const Shape& out) const {
    Shape shape = residual.shape;
    if (residual.is_eight_bit()) shape[1] = residual.channels;
    if (shape != out || residual.is_constant()) {
      Refuse("input '", residual.name, "' is not as large as the output");
    }
  }

  std::vector<InferredOutput> Outputs(const op::Table& table) {
    NeedInputs(1);
    const Value& map = EightBitMap(0);
    CheckSteps(table.steps);
    constexpr size_t kBytes = 256;
    if (table.entries.size() != kBytes) Refuse("a table of ", table.entries.size(), " entries");
    for (const int entry : table.entries) {
      if (entry < table.steps.low() || entry > table.steps.high()) Refuse("an entry of ", entry);
    }
    return EightBit(map.shape, map.channels, table.steps);
  }

  std::vector<InferredOutput> Outputs(const op::QuantBinary& binary) {
    NeedInputs(2);
    CheckFunction(op_, binary.activation);
    NeedNoSlope(binary.activation);
    CheckSteps(binary.steps);
    const Value& a = EightBitMap(0);
    const Value& b = EightBitMap(1);
    if (a.shape != b.shape || a.channels != b.channels) Refuse("8-bit maps of different shapes");
    return EightBit(a.shape, a.channels, binary.steps);
  }

  std::vector<InferredOutput> Outputs(const op::QuantPool& pool) {
    NeedInputs(1);
    const Value& map = EightBitMap(0);
    CheckSteps(pool.steps);
    if (pool.spec.kind == PoolSpec::Kind::kMax && !(pool.steps == map.steps)) {
      Refuse("a maximum in other steps than its input's");
    }
    return EightBit(PooledShape(pool.spec, map.shape), map.channels, pool.steps);
  }

  void CheckSteps(const Steps& steps) const {
    if (!std::isfinite(steps.scale) || !(steps.scale > 0.0f) || steps.zero_point < steps.low() ||
        steps.zero_point > steps.high()) {
      Refuse("steps of ", steps.scale, " around ", steps.zero_point);
    }
  }

  const Value& ValueOf(size_t index) const { return graph_.value(op_.inputs[index]); }
  bool IsEightBit(size_t index) const { return ValueOf(index).is_eight_bit(); }
  const Value& EightBitMap(size_t index) const {
    const Value& value = ValueOf(index);
    if (!value.is_eight_bit() || !value.is_map()) {
      Refuse("input '", value.name, "' is not an 8-bit map");
    }
    return value;
  }

  static std::vector<InferredOutput> EightBit(Shape words, int channels, const Steps& steps) {
    return {{std::move(words), DataType::kEightBit, channels, steps}};
  }
  // `shape` counts channels.
  std::vector<InferredOutput> EightBitOf(Shape shape, int64_t channels, const Steps& steps) const {
    if (channels > kMaxDimension) Refuse("an 8-bit map of ", channels, " channels");
    shape[1] = WordCount(static_cast<int>(channels));
    return EightBit(std::move(shape), static_cast<int>(channels), steps);
  }

  static std::vector<InferredOutput> One(Shape shape, DataType type = DataType::kFloat32) {
    return {{std::move(shape), type}};
  }

  void NeedInputs(size_t count) const {
    if (op_.inputs.size() != count) Refuse("needs ", count, " input(s), has ", op_.inputs.size());
  }

  const Shape& OnlyInput() const {
    NeedInputs(1);
    return Input(0);
  }

  const Shape& OnlyMap() const {
    NeedInputs(1);
    return Map(0);
  }

  const Shape& Input(size_t index) const { return graph_.value(op_.inputs[index]).shape; }

  const Shape& Map(size_t index) const {
    const Shape& shape = Input(index);
    if (shape.size() != 4) Refuse("needs a feature map, has shape ", ToString(shape));
    return shape;
  }

  const Shape& ConstantInput(size_t index, size_t rank) const {
    const Value& value = graph_.value(op_.inputs[index]);
    if (!value.is_constant()) Refuse("input '", value.name, "' must be a constant");
    if (value.shape.size() != rank) {
      Refuse("constant '", value.name, "' has shape ", ToString(value.shape));
    }
    return value.shape;
  }

  void NeedShape(size_t index, const Shape& shape, bool constant) const {
    const Value& value = graph_.value(op_.inputs[index]);
    if (constant && !value.is_constant()) Refuse("input '", value.name, "' must be a constant");
    if (value.shape != shape) {
      Refuse("input '", value.name, "' has shape ", ToString(value.shape), ", needs ",
             ToString(shape));
    }
  }

  void NeedSlope(size_t index, int64_t channels) const {
    const Shape& slope = ConstantInput(index, 1);
    if (slope[0] != 1 && slope[0] != channels) {
      Refuse(slope[0], " slopes for ", channels, " channels");
    }
  }

  void NeedNoSlope(const Function& function) const {
    if (function.kind == Function::Kind::kPRelu) Refuse("PReLU needs a slope operand");
  }

  void CheckAxis(int axis, const Shape& shape) const {
    if (axis < 0 || static_cast<size_t>(axis) >= shape.size()) {
      Refuse("axis ", axis, " outside shape ", ToString(shape));
    }
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

  const Graph& graph_;
  const Operator& op_;
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
    if (values[id].is_eight_bit()) throw InputError(model, "an input is an 8-bit map");
    is_defined[id] = true;
  }
  for (size_t i = 0; i < operators.size(); ++i) {
    const Operator& op = operators[i];
    for (ValueId id : op.inputs) {
      if (!exists(id) || !is_defined[id]) Refuse(op, "reads a value before anything computes it");
    }
    const std::vector<InferredOutput> inferred = InferShapes(*this, op);
    if (inferred.size() != op.outputs.size()) Refuse(op, "has the wrong number of outputs");
    for (size_t k = 0; k < inferred.size(); ++k) {
      const ValueId id = op.outputs[k];
      if (!exists(id) || is_defined[id] || values[id].producer != static_cast<OpId>(i) ||
          values[id].shape != inferred[k].shape || values[id].type != inferred[k].type ||
          values[id].channels != inferred[k].channels || !(values[id].steps == inferred[k].steps)) {
        Refuse(op, "its output contradicts what it computes");
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
