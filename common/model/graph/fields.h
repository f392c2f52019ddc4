#ifndef CACHEINF_COMMON_MODEL_GRAPH_FIELDS_H_
#define CACHEINF_COMMON_MODEL_GRAPH_FIELDS_H_

#include <array>
#include <string_view>
#include <type_traits>
#include <variant>

#include "common/model/graph/graph.h"
#include "common/model/graph/notes.h"

// The fields of every struct of attributes, by name, in one place: attributes are stored, compared
// and printed through these. VisitFields(attributes, visit) calls visit(name, field) for each.
// (op::Conv::scheme belongs to a run, not to the model, so it is missing here.)

namespace cacheinf {

// Kinds as they stand in files: index i names alternative i of Attributes.
inline constexpr std::array<std::string_view, std::variant_size_v<Attributes>> kAttributeNames = {
    "conv",
    "linear",
    "matmul",
    "scale_shift",
    "layer_norm",
    "group_norm",
    "activation",
    "binary",
    "concat",
    "slice",
    "gather",
    "pool",
    "adaptive_pool",
    "resize",
    "depth_to_space",
    "space_to_depth",
    "pad",
    "reshape",
    "permute",
    "expand",
    "softmax",
    "argmax",
    "reduce",
    "decode_boxes",
    "non_max_suppression",
    "foreign",
    "gather_elements",
    "top_k"};

// The last enumerator of each enumeration that attributes use.
constexpr DataType LastOf(DataType) { return DataType::kInt64; }
constexpr Function::Kind LastOf(Function::Kind) { return Function::Kind::kIsZero; }
constexpr BinaryKind LastOf(BinaryKind) { return BinaryKind::kModulo; }
constexpr PoolSpec::Kind LastOf(PoolSpec::Kind) { return PoolSpec::Kind::kAverage; }
constexpr ResizeSpec::Kind LastOf(ResizeSpec::Kind) { return ResizeSpec::Kind::kCubic; }
constexpr ResizeSpec::Coordinates LastOf(ResizeSpec::Coordinates) {
  return ResizeSpec::Coordinates::kHalfPixelSymmetric;
}
constexpr ResizeSpec::Rounding LastOf(ResizeSpec::Rounding) { return ResizeSpec::Rounding::kCeil; }
constexpr op::DepthToSpace::Order LastOf(op::DepthToSpace::Order) {
  return op::DepthToSpace::Order::kChannelsFirst;
}
constexpr PadMode LastOf(PadMode) { return PadMode::kEdge; }
constexpr ReduceKind LastOf(ReduceKind) { return ReduceKind::kMin; }
constexpr HeadKind LastOf(HeadKind) { return HeadKind::kRtDetr; }
constexpr PictureSpec::Fit LastOf(PictureSpec::Fit) { return PictureSpec::Fit::kCorner; }
constexpr PictureSpec::Channels LastOf(PictureSpec::Channels) {
  return PictureSpec::Channels::kGray;
}
constexpr PictureSpec::Resize LastOf(PictureSpec::Resize) { return PictureSpec::Resize::kAverage; }

// A may be const.
template <typename A, typename Visit>
void VisitFields(A& a, Visit& visit) {
  using T = std::remove_const_t<A>;
  if constexpr (std::is_same_v<T, Function>) {
    visit("kind", a.kind);
    visit("alpha", a.alpha);
    visit("beta", a.beta);
  } else if constexpr (std::is_same_v<T, WindowAxis>) {
    visit("kernel", a.kernel);
    visit("stride", a.stride);
    visit("pad_begin", a.pad_begin);
    visit("pad_end", a.pad_end);
    visit("dilation", a.dilation);
  } else if constexpr (std::is_same_v<T, ConvSpec>) {
    visit("rows", a.rows);
    visit("columns", a.columns);
    visit("groups", a.groups);
    visit("transposed", a.transposed);
    visit("output_padding_rows", a.output_padding_rows);
    visit("output_padding_columns", a.output_padding_columns);
  } else if constexpr (std::is_same_v<T, PoolSpec>) {
    visit("kind", a.kind);
    visit("rows", a.rows);
    visit("columns", a.columns);
    visit("ceil_mode", a.ceil_mode);
    visit("count_padding", a.count_padding);
    visit("divisor", a.divisor);
  } else if constexpr (std::is_same_v<T, ResizeSpec>) {
    visit("kind", a.kind);
    visit("coordinates", a.coordinates);
    visit("rounding", a.rounding);
    visit("cubic_a", a.cubic_a);
    visit("out_height", a.out_height);
    visit("out_width", a.out_width);
    visit("scale_rows", a.scale_rows);
    visit("scale_columns", a.scale_columns);
  } else if constexpr (std::is_same_v<T, Head>) {
    visit("kind", a.kind);
    visit("classes", a.classes);
    visit("keypoints", a.keypoints);
    visit("keypoint_numbers", a.keypoint_numbers);
    visit("mask_coefficients", a.mask_coefficients);
    visit("has_angle", a.has_angle);
    visit("is_normalised", a.is_normalised);
  } else if constexpr (std::is_same_v<T, PictureSpec>) {
    visit("width", a.width);
    visit("height", a.height);
    visit("fit", a.fit);
    visit("channels", a.channels);
    visit("border", a.border);
    visit("resize", a.resize);
    visit("resize_to", a.resize_to);
  } else if constexpr (std::is_same_v<T, ModelNotes>) {
    visit("task", a.task);
    visit("class_names", a.class_names);
    visit("stride", a.stride);
    visit("image_size", a.image_size);
    visit("keypoint_shape", a.keypoint_shape);
    visit("has_byte_picture", a.has_byte_picture);
    visit("has_suppression", a.has_suppression);
    visit("description", a.description);
  } else if constexpr (std::is_same_v<T, op::Conv>) {
    visit("spec", a.spec);
    visit("has_bias", a.has_bias);
    visit("has_residual", a.has_residual);
    visit("activation", a.activation);
    visit("activation_before_residual", a.activation_before_residual);
    visit("has_slope", a.has_slope);
  } else if constexpr (std::is_same_v<T, op::Linear>) {
    visit("has_bias", a.has_bias);
    visit("activation", a.activation);
  } else if constexpr (std::is_same_v<T, op::ScaleShift>) {
    visit("activation", a.activation);
    visit("channel_order", a.channel_order);
  } else if constexpr (std::is_same_v<T, op::LayerNorm>) {
    visit("first_axis", a.first_axis);
    visit("axis_count", a.axis_count);
    visit("epsilon", a.epsilon);
    visit("has_affine", a.has_affine);
  } else if constexpr (std::is_same_v<T, op::GroupNorm>) {
    visit("groups", a.groups);
    visit("epsilon", a.epsilon);
    visit("has_affine", a.has_affine);
  } else if constexpr (std::is_same_v<T, op::Activation>) {
    visit("function", a.function);
  } else if constexpr (std::is_same_v<T, op::Binary>) {
    visit("kind", a.kind);
    visit("activation", a.activation);
  } else if constexpr (std::is_same_v<T, op::Concat>) {
    visit("axis", a.axis);
  } else if constexpr (std::is_same_v<T, op::Slice>) {
    visit("starts", a.starts);
    visit("sizes", a.sizes);
    visit("steps", a.steps);
  } else if constexpr (std::is_same_v<T, op::Gather>) {
    visit("axis", a.axis);
    visit("indices", a.indices);
    visit("scalar", a.scalar);
  } else if constexpr (std::is_same_v<T, op::GatherElements>) {
    visit("axis", a.axis);
  } else if constexpr (std::is_same_v<T, op::TopK>) {
    visit("axis", a.axis);
    visit("count", a.count);
  } else if constexpr (std::is_same_v<T, op::Pool> || std::is_same_v<T, op::Resize>) {
    visit("spec", a.spec);
  } else if constexpr (std::is_same_v<T, op::AdaptivePool>) {
    visit("kind", a.kind);
    visit("out_height", a.out_height);
    visit("out_width", a.out_width);
  } else if constexpr (std::is_same_v<T, op::DepthToSpace> || std::is_same_v<T, op::SpaceToDepth>) {
    visit("block", a.block);
    visit("order", a.order);
  } else if constexpr (std::is_same_v<T, op::Pad>) {
    visit("mode", a.mode);
    visit("value", a.value);
    visit("begins", a.begins);
    visit("ends", a.ends);
  } else if constexpr (std::is_same_v<T, op::Reshape> || std::is_same_v<T, op::Expand>) {
    visit("shape", a.shape);
  } else if constexpr (std::is_same_v<T, op::Permute>) {
    visit("order", a.order);
  } else if constexpr (std::is_same_v<T, op::Softmax>) {
    visit("axis", a.axis);
    visit("logarithm", a.logarithm);
  } else if constexpr (std::is_same_v<T, op::ArgMax>) {
    visit("axis", a.axis);
    visit("keep_dimension", a.keep_dimension);
  } else if constexpr (std::is_same_v<T, op::Reduce>) {
    visit("kind", a.kind);
    visit("axes", a.axes);
    visit("keep_dimensions", a.keep_dimensions);
  } else if constexpr (std::is_same_v<T, op::DecodeBoxes::Scale>) {
    visit("stride", a.stride);
    visit("anchors", a.anchors);
  } else if constexpr (std::is_same_v<T, op::DecodeBoxes>) {
    visit("scales", a.scales);
    visit("apply_sigmoid", a.apply_sigmoid);
  } else if constexpr (std::is_same_v<T, op::NonMaxSuppression>) {
    visit("score_threshold", a.score_threshold);
    visit("overlap_threshold", a.overlap_threshold);
    visit("max_boxes", a.max_boxes);
    visit("has_objectness", a.has_objectness);
    visit("extras", a.extras);
    visit("scales", a.scales);
  } else if constexpr (std::is_same_v<T, op::Foreign>) {
    visit("type", a.type);
    visit("archive", a.archive);
    visit("output_shapes", a.output_shapes);
    visit("output_types", a.output_types);
  } else {
    static_assert(std::is_same_v<T, op::MatMul>, "a struct whose fields are not listed");
  }
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_FIELDS_H_
