#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "common/model/onnx/operators.h"

// Converters of operators on pictures. Signals of one dimension (batch, channels, length) become
// pictures of one row; volumes are refused.

namespace cacheinf {
namespace {

constexpr int64_t kMaxWindow = 1 << 16;

// A node whose input is a picture, or a signal taken as one.
class PictureNode {
 public:
  explicit PictureNode(OnnxNode& node) : node_(node), shape_(node.InputShape(0)) {
    if (shape_.size() != 3 && shape_.size() != 4) {
      node.Fail("an input of shape ", ToString(shape_),
                ": only pictures (4 dimensions) and signals (3 dimensions) are supported");
    }
    input_ = node.Input(0);
    if (is_signal()) {
      shape_.insert(shape_.begin() + 2, 1);
      input_ = node.Add(op::Reshape{shape_}, {input_});
    }
  }

  bool is_signal() const { return node_.InputShape(0).size() == 3; }
  ValueId input() const { return input_; }
  const Shape& shape() const { return shape_; }
  int64_t height() const { return shape_[2]; }
  int64_t width() const { return shape_[3]; }

  // Two numbers, for rows and columns, from an attribute with one per spatial dimension.
  std::vector<int64_t> Pair(const char* attribute, int64_t otherwise) const {
    return Spatial(attribute, node_.Ints(attribute), otherwise);
  }

  // Checks numbers that are given per spatial dimension; `otherwise` stands for missing ones.
  std::vector<int64_t> Spatial(const std::string& what, std::vector<int64_t> given,
                               int64_t otherwise) const {
    if (given.empty()) return {otherwise, otherwise};
    if (given.size() != (is_signal() ? 1u : 2u)) {
      node_.Fail(given.size(), " numbers in '", what, "' for an input of shape ",
                 ToString(node_.InputShape(0)));
    }
    if (is_signal()) given.insert(given.begin(), otherwise);
    return given;
  }

  void SetOutput(ValueId id) const {
    if (is_signal()) {
      Shape out = node_.ShapeOf(id);
      out.erase(out.begin() + 2);
      id = node_.Add(op::Reshape{std::move(out)}, {id});
    }
    node_.SetOutput(0, id);
  }

 private:
  OnnxNode& node_;
  Shape shape_;
  ValueId input_ = kNone;
};

int WindowInt(int64_t value, int64_t low, const std::string& what) {
  return CheckedInt(value, low, kMaxWindow, what);
}

struct Windows {
  WindowAxis rows;
  WindowAxis columns;
};

// Kernel, stride, dilation and explicit padding, without auto_pad.
Windows ReadWindows(OnnxNode& node, const PictureNode& picture, std::vector<int64_t> kernel) {
  const std::vector<int64_t> strides = picture.Pair("strides", 1);
  const std::vector<int64_t> dilations = picture.Pair("dilations", 1);
  std::vector<int64_t> pads = node.Ints("pads");
  if (pads.empty()) {
    pads = {0, 0, 0, 0};
  } else if (picture.is_signal() && pads.size() == 2) {
    pads = {0, pads[0], 0, pads[1]};
  }
  if (pads.size() != 4) node.Fail(pads.size(), " numbers in 'pads'");
  Windows windows;
  for (size_t i = 0; i < 2; ++i) {
    WindowAxis& axis = i == 0 ? windows.rows : windows.columns;
    axis.kernel = WindowInt(kernel[i], 1, "kernel size");
    axis.stride = WindowInt(strides[i], 1, "stride");
    axis.dilation = WindowInt(dilations[i], 1, "dilation");
    axis.pad_begin = WindowInt(pads[i], -kMaxWindow, "padding");
    axis.pad_end = WindowInt(pads[i + 2], -kMaxWindow, "padding");
  }
  return windows;
}

int64_t Extent(const WindowAxis& axis) { return int64_t{axis.kernel - 1} * axis.dilation + 1; }

enum class AutoPad : uint8_t { kNotSet, kSameUpper, kSameLower, kValid };

AutoPad ReadAutoPad(OnnxNode& node) {
  const std::string name = node.String("auto_pad", "NOTSET");
  if (name == "NOTSET" || name.empty()) return AutoPad::kNotSet;
  if (name == "SAME_UPPER") return AutoPad::kSameUpper;
  if (name == "SAME_LOWER") return AutoPad::kSameLower;
  if (name == "VALID") return AutoPad::kValid;
  node.Fail("auto_pad '", name, "' is not supported");
}

// Splits `total` between both ends; the odd one goes to the end, or to the beginning.
void SetPadding(WindowAxis& axis, int64_t total, bool odd_to_end) {
  const int64_t small = total / 2;
  axis.pad_begin = WindowInt(odd_to_end ? small : total - small, -kMaxWindow, "padding");
  axis.pad_end = WindowInt(odd_to_end ? total - small : small, -kMaxWindow, "padding");
}

// Replaces the padding of a sliding window by what auto_pad says.
void ApplyAutoPad(AutoPad auto_pad, WindowAxis& axis, int64_t in) {
  if (auto_pad == AutoPad::kNotSet) return;
  int64_t total = 0;
  if (auto_pad != AutoPad::kValid) {
    const int64_t out = (in + axis.stride - 1) / axis.stride;
    total = std::max<int64_t>((out - 1) * axis.stride + Extent(axis) - in, 0);
  }
  SetPadding(axis, total, auto_pad != AutoPad::kSameLower);
}

// Weights as a constant of four dimensions.
HostTensor Weights(OnnxNode& node, const PictureNode& picture) {
  const HostTensor& weights = node.FloatConstant(1);
  if (weights.rank() != static_cast<int>(node.InputShape(0).size())) {
    node.Fail("weights of shape ", ToString(weights.shape()), " for an input of shape ",
              ToString(node.InputShape(0)));
  }
  if (!picture.is_signal()) return weights;
  Shape shape = weights.shape();
  shape.insert(shape.begin() + 2, 1);
  return weights.Reshaped(shape);
}

void CheckKernelShape(const PictureNode& picture, OnnxNode& node, const Shape& weights) {
  const std::vector<int64_t> kernel = picture.Pair("kernel_shape", 0);
  const bool given = node.Has("kernel_shape");
  if (given && (kernel[1] != weights[3] || (!picture.is_signal() && kernel[0] != weights[2]))) {
    node.Fail("its kernel_shape does not agree with weights of shape ", ToString(weights));
  }
}

// Adds a convolution with the node's weights and optional bias.
void AddConv(OnnxNode& node, const PictureNode& picture, const HostTensor& weights, op::Conv conv) {
  conv.spec.groups = CheckedInt(node.Int("group", 1), 1, 1 << 24, "group count");
  const ValueId weights_id =
      picture.is_signal() ? node.AddConstant("weights", weights) : node.Input(1);
  std::vector<ValueId> inputs = {picture.input(), weights_id};
  if (node.HasInput(2)) {
    node.FloatConstant(2);
    conv.has_bias = true;
    inputs.push_back(node.Input(2));
  }
  picture.SetOutput(node.Add(std::move(conv), std::move(inputs)));
}

// Pads so that a transposed convolution gives an output of size `out`. Output that the window does
// not reach becomes output padding.
void PadForOutput(WindowAxis& axis, int& output_padding, int64_t in, int64_t out, bool odd_to_end) {
  const int64_t total = (in - 1) * axis.stride + output_padding + Extent(axis) - out;
  SetPadding(axis, std::max<int64_t>(total, 0), odd_to_end);
  if (total < 0) output_padding = WindowInt(output_padding - total, 0, "output padding");
}

void ConvertPool(OnnxNode& node, op::Pool pool) {
  const PictureNode picture(node);
  if (!node.Has("kernel_shape")) node.Fail("attribute 'kernel_shape' is missing");
  const AutoPad auto_pad = ReadAutoPad(node);
  Windows windows = ReadWindows(node, picture, picture.Pair("kernel_shape", 1));
  ApplyAutoPad(auto_pad, windows.rows, picture.height());
  ApplyAutoPad(auto_pad, windows.columns, picture.width());
  pool.spec.rows = windows.rows;
  pool.spec.columns = windows.columns;
  const bool ceil_mode = node.Flag("ceil_mode", false);
  const bool is_same = auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower;
  pool.spec.ceil_mode = ceil_mode && !is_same;
  picture.SetOutput(node.Add(std::move(pool), {picture.input()}));
}

ResizeSpec::Kind ReadResizeKind(OnnxNode& node) {
  const std::string mode = node.String("mode", "nearest");
  if (mode == "nearest") return ResizeSpec::Kind::kNearest;
  if (mode == "linear" || mode == "bilinear") return ResizeSpec::Kind::kLinear;
  if (mode == "cubic") return ResizeSpec::Kind::kCubic;
  node.Fail("mode '", mode, "' is not supported");
}

ResizeSpec::Coordinates ReadCoordinates(OnnxNode& node) {
  const std::string mode = node.String("coordinate_transformation_mode", "half_pixel");
  if (mode == "half_pixel") return ResizeSpec::Coordinates::kHalfPixel;
  if (mode == "pytorch_half_pixel") return ResizeSpec::Coordinates::kPytorchHalfPixel;
  if (mode == "align_corners") return ResizeSpec::Coordinates::kAlignCorners;
  if (mode == "asymmetric") return ResizeSpec::Coordinates::kAsymmetric;
  if (mode == "half_pixel_symmetric") return ResizeSpec::Coordinates::kHalfPixelSymmetric;
  node.Fail("coordinate_transformation_mode '", mode, "' is not supported");
}

ResizeSpec::Rounding ReadRounding(OnnxNode& node) {
  const std::string mode = node.String("nearest_mode", "round_prefer_floor");
  if (mode == "round_prefer_floor") return ResizeSpec::Rounding::kRoundPreferFloor;
  if (mode == "round_prefer_ceil") return ResizeSpec::Rounding::kRoundPreferCeil;
  if (mode == "floor") return ResizeSpec::Rounding::kFloor;
  if (mode == "ceil") return ResizeSpec::Rounding::kCeil;
  node.Fail("nearest_mode '", mode, "' is not supported");
}

// tf_half_pixel_for_nn is half_pixel without its final - 0.5. For these two ways of rounding,
// another way makes up for that, to the last bit.
void SetTfHalfPixel(OnnxNode& node, ResizeSpec& spec) {
  using Rounding = ResizeSpec::Rounding;
  const Rounding rounding = ReadRounding(node);
  const bool rounds_down = rounding == Rounding::kFloor || rounding == Rounding::kRoundPreferFloor;
  if (spec.kind != ResizeSpec::Kind::kNearest || !rounds_down) {
    node.Fail(
        "coordinate_transformation_mode 'tf_half_pixel_for_nn' is only supported with mode "
        "'nearest' and nearest_mode 'floor' or 'round_prefer_floor'");
  }
  spec.coordinates = ResizeSpec::Coordinates::kHalfPixel;
  spec.rounding = rounding == Rounding::kFloor ? Rounding::kRoundPreferCeil : Rounding::kCeil;
}

// One number per dimension of the input: those given, spread over the axes that the node names.
template <typename T>
std::vector<T> SpreadOverAxes(OnnxNode& node, const std::vector<T>& given,
                              const std::vector<int64_t>& axes, std::vector<T> all) {
  const size_t expected = axes.empty() ? all.size() : axes.size();
  if (given.size() != expected) {
    node.Fail(given.size(), " sizes or scales for an input of shape ",
              ToString(node.InputShape(0)));
  }
  for (size_t i = 0; i < given.size(); ++i) {
    const int rank = static_cast<int>(all.size());
    const auto axis = axes.empty() ? i : static_cast<size_t>(CheckedAxis(axes[i], rank));
    all[axis] = given[i];
  }
  return all;
}

// The output's sizes: the input's times the scales, rounded down.
Shape ScaledShape(OnnxNode& node, const Shape& in, const std::vector<float>& scales) {
  Shape out;
  for (size_t i = 0; i < in.size(); ++i) {
    const float size = std::floor(static_cast<float>(in[i]) * scales[i]);
    if (!(scales[i] > 0.0f) || !(size >= 1.0f && size < static_cast<float>(kMaxElements))) {
      node.Fail("a scale of ", scales[i], " for a dimension of ", in[i]);
    }
    out.push_back(static_cast<int64_t>(size));
  }
  return out;
}

// Adapts `spec` to resize the node's picture to these sizes, one per dimension of its input, or by
// these scales. If only sizes count, no scales are given.
ResizeSpec Sized(OnnxNode& node, const PictureNode& picture, ResizeSpec spec, const Shape& sizes,
                 const std::vector<float>& scales = {}) {
  const Shape in = node.InputShape(0);
  if (sizes[0] != in[0] || sizes[1] != in[1]) {
    node.Fail("shape ", ToString(in), " resized to ", ToString(sizes),
              ": only rows and columns of pictures can change");
  }
  spec.out_height = picture.is_signal() ? 1 : CheckedInt(sizes[2], 1, 1 << 24, "height");
  spec.out_width = CheckedInt(sizes.back(), 1, 1 << 24, "width");
  if (!scales.empty()) {
    spec.scale_rows = picture.is_signal() ? 1.0f : scales[2];
    spec.scale_columns = scales.back();
  }
  return spec;
}

// The rules before operator set 11: asymmetric coordinates; nearest rounds down along an axis that
// it enlarges, and up along one that it shrinks.
void AddOldResize(OnnxNode& node, const std::vector<float>& given) {
  using Rounding = ResizeSpec::Rounding;
  const PictureNode picture(node);
  const Shape in = node.InputShape(0);
  const std::vector<float> scales = SpreadOverAxes(node, given, {}, std::vector<float>(in.size()));
  ResizeSpec spec;
  spec.kind = ReadResizeKind(node);
  spec.coordinates = ResizeSpec::Coordinates::kAsymmetric;
  spec = Sized(node, picture, spec, ScaledShape(node, in, scales), scales);

  const bool shrinks = spec.scale_rows < 1.0f || spec.scale_columns < 1.0f;
  const bool grows = spec.scale_rows > 1.0f || spec.scale_columns > 1.0f;
  spec.rounding = shrinks ? Rounding::kCeil : Rounding::kFloor;
  ValueId x = picture.input();
  if (spec.kind == ResizeSpec::Kind::kNearest && shrinks && grows) {
    ResizeSpec rows = spec;
    rows.rounding = spec.scale_rows < 1.0f ? Rounding::kCeil : Rounding::kFloor;
    rows.out_width = CheckedInt(picture.width(), 1, 1 << 24, "width");
    rows.scale_columns = 1.0f;
    x = node.Add(op::Resize{rows}, {x});
    spec.rounding = spec.scale_columns < 1.0f ? Rounding::kCeil : Rounding::kFloor;
    spec.scale_rows = 1.0f;
  }
  picture.SetOutput(node.Add(op::Resize{spec}, {x}));
}

void ConvertConv(OnnxNode& node) {
  const PictureNode picture(node);
  const HostTensor weights = Weights(node, picture);
  CheckKernelShape(picture, node, weights.shape());
  const AutoPad auto_pad = ReadAutoPad(node);
  Windows windows = ReadWindows(node, picture, {weights.shape()[2], weights.shape()[3]});
  ApplyAutoPad(auto_pad, windows.rows, picture.height());
  ApplyAutoPad(auto_pad, windows.columns, picture.width());
  op::Conv conv;
  conv.spec.rows = windows.rows;
  conv.spec.columns = windows.columns;
  AddConv(node, picture, weights, std::move(conv));
}

void ConvertConvTranspose(OnnxNode& node) {
  const PictureNode picture(node);
  const HostTensor weights = Weights(node, picture);
  CheckKernelShape(picture, node, weights.shape());
  const AutoPad auto_pad = ReadAutoPad(node);
  const Windows windows = ReadWindows(node, picture, {weights.shape()[2], weights.shape()[3]});
  const std::vector<int64_t> output_padding = picture.Pair("output_padding", 0);
  op::Conv conv;
  conv.spec.transposed = true;
  conv.spec.rows = windows.rows;
  conv.spec.columns = windows.columns;
  conv.spec.output_padding_rows = WindowInt(output_padding[0], 0, "output padding");
  conv.spec.output_padding_columns = WindowInt(output_padding[1], 0, "output padding");

  std::vector<int64_t> output_shape = node.Ints("output_shape");
  if (output_shape.size() == node.InputShape(0).size()) {
    output_shape.erase(output_shape.begin(), output_shape.begin() + 2);
  }
  const bool is_same = auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower;
  if (!output_shape.empty() || is_same) {
    std::vector<int64_t> out = picture.Spatial("output_shape", output_shape, 1);
    if (output_shape.empty()) {
      out = {picture.height() * conv.spec.rows.stride, picture.width() * conv.spec.columns.stride};
    }
    for (int64_t size : out) CheckedInt(size, 1, 1 << 24, "output size");
    const bool odd_to_end = auto_pad == AutoPad::kSameUpper;
    PadForOutput(conv.spec.rows, conv.spec.output_padding_rows, picture.height(), out[0],
                 odd_to_end);
    PadForOutput(conv.spec.columns, conv.spec.output_padding_columns, picture.width(), out[1],
                 odd_to_end);
  } else if (auto_pad == AutoPad::kValid) {
    SetPadding(conv.spec.rows, 0, true);
    SetPadding(conv.spec.columns, 0, true);
  }
  AddConv(node, picture, weights, std::move(conv));
}

void ConvertMaxPool(OnnxNode& node) {
  node.Ignore("storage_order");  // of the indices, which are not supported
  op::Pool pool;
  pool.spec.kind = PoolSpec::Kind::kMax;
  ConvertPool(node, pool);
}

void ConvertAveragePool(OnnxNode& node) {
  op::Pool pool;
  pool.spec.kind = PoolSpec::Kind::kAverage;
  pool.spec.count_padding = node.Flag("count_include_pad", false);
  ConvertPool(node, pool);
}

void ConvertGlobalPool(OnnxNode& node, ReduceKind kind) {
  op::Reduce reduce;
  reduce.kind = kind;
  for (size_t axis = 2; axis < node.InputShape(0).size(); ++axis) {
    reduce.axes.push_back(static_cast<int>(axis));
  }
  node.SetOutput(0, node.Add(std::move(reduce), {node.Input(0)}));
}

void ConvertUpsample(OnnxNode& node) {
  AddOldResize(node, node.HasInput(1) ? node.FloatConstant(1).floats() : node.Floats("scales"));
}

void ConvertResize(OnnxNode& node) {
  if (node.opset() < 11) return AddOldResize(node, node.FloatConstant(1).floats());

  const PictureNode picture(node);
  ResizeSpec spec;
  spec.kind = ReadResizeKind(node);
  if (node.String("coordinate_transformation_mode", "") == "tf_half_pixel_for_nn") {
    SetTfHalfPixel(node, spec);
  } else {
    spec.coordinates = ReadCoordinates(node);
    spec.rounding = ReadRounding(node);
  }
  spec.cubic_a = node.Float("cubic_coeff_a", -0.75f);
  node.Ignore("extrapolation_value");  // only for regions of interest, which are refused
  if (node.Flag("antialias", false)) node.Fail("attribute 'antialias' is not supported");
  if (node.Flag("exclude_outside", false) && spec.kind == ResizeSpec::Kind::kCubic) {
    node.Fail("attribute 'exclude_outside' is not supported");
  }
  const std::string policy = node.String("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch") node.Fail("keep_aspect_ratio_policy '", policy, "' is not supported");
  const std::vector<int64_t> axes = node.Ints("axes");
  const Shape in = node.InputShape(0);
  if (node.HasInput(2) && node.FloatConstant(2).count() > 0) {
    const std::vector<float> scales = SpreadOverAxes(node, node.FloatConstant(2).floats(), axes,
                                                     std::vector<float>(in.size(), 1.0f));
    spec = Sized(node, picture, spec, ScaledShape(node, in, scales), scales);
  } else {
    spec = Sized(node, picture, spec, SpreadOverAxes(node, node.IntegerConstant(3), axes, in));
  }
  picture.SetOutput(node.Add(op::Resize{spec}, {picture.input()}));
}

void ConvertDepthToSpace(OnnxNode& node) {
  op::DepthToSpace shuffle;
  shuffle.block = CheckedInt(node.Int("blocksize"), 1, 4096, "block size");
  const std::string mode = node.String("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") node.Fail("mode '", mode, "' is not supported");
  shuffle.order =
      mode == "DCR" ? op::DepthToSpace::Order::kRowsFirst : op::DepthToSpace::Order::kChannelsFirst;
  node.SetOutput(0, node.Add(shuffle, {node.Input(0)}));
}

void ConvertSpaceToDepth(OnnxNode& node) {
  op::SpaceToDepth shuffle;
  shuffle.block = CheckedInt(node.Int("blocksize"), 1, 4096, "block size");
  shuffle.order = op::DepthToSpace::Order::kRowsFirst;
  node.SetOutput(0, node.Add(shuffle, {node.Input(0)}));
}

}  // namespace

OnnxOperators OnnxWindows() {
  return {
      {"Conv", {ConvertConv}},
      {"ConvTranspose", {ConvertConvTranspose}},
      {"MaxPool", {ConvertMaxPool}},
      {"AveragePool", {ConvertAveragePool}},
      {"GlobalAveragePool", {[](OnnxNode& node) { ConvertGlobalPool(node, ReduceKind::kMean); }}},
      {"GlobalMaxPool", {[](OnnxNode& node) { ConvertGlobalPool(node, ReduceKind::kMax); }}},
      {"Resize", {ConvertResize}},
      {"Upsample", {ConvertUpsample}},
      {"DepthToSpace", {ConvertDepthToSpace}},
      {"SpaceToDepth", {ConvertSpaceToDepth}},
  };
}

}  // namespace cacheinf
