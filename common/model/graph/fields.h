#ifndef CACHEINF_COMMON_MODEL_GRAPH_FIELDS_H_
#define CACHEINF_COMMON_MODEL_GRAPH_FIELDS_H_

#include <array>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>

#include "common/model/graph/graph.h"

// The fields of every struct of attributes, by name, in one place: storing, comparing and printing
// attributes go through here. VisitFields(attributes, visit) calls visit(name, field) for each.
// (op::Conv::scheme belongs to a run, not to the model, and is not among them.)

namespace cacheinf {

// Kinds as they stand in files: index i names alternative i of Attributes.
inline constexpr std::array<std::string_view, std::variant_size_v<Attributes>> kAttributeNames = {
    "conv",           "linear",     "matmul",        "scale_shift",  "layer_norm",
    "group_norm",     "activation", "binary",        "concat",       "slice",
    "gather",         "pool",       "adaptive_pool", "resize",       "depth_to_space",
    "space_to_depth", "pad",        "reshape",       "permute",      "expand",
    "softmax",        "argmax",     "reduce",        "decode_boxes", "non_max_suppression",
    "foreign"};

// The last enumerator of each enumeration that attributes use.
constexpr DataType LastOf(DataType) { return DataType::kInt64; }
constexpr Function::Kind LastOf(Function::Kind) { return Function::Kind::kCos; }
constexpr BinaryKind LastOf(BinaryKind) { return BinaryKind::kMaximum; }
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
constexpr PictureSpec::Fit LastOf(PictureSpec::Fit) { return PictureSpec::Fit::kCrop; }
constexpr PictureSpec::Channels LastOf(PictureSpec::Channels) {
  return PictureSpec::Channels::kGray;
}

// T or const T.
template <typename A, typename T>
concept MaybeConst = std::same_as<std::remove_const_t<A>, T>;

template <MaybeConst<Function> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("kind", a.kind);
  visit("alpha", a.alpha);
  visit("beta", a.beta);
}

template <MaybeConst<WindowAxis> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("kernel", a.kernel);
  visit("stride", a.stride);
  visit("pad_begin", a.pad_begin);
  visit("pad_end", a.pad_end);
  visit("dilation", a.dilation);
}

template <MaybeConst<ConvSpec> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("rows", a.rows);
  visit("columns", a.columns);
  visit("groups", a.groups);
  visit("transposed", a.transposed);
  visit("output_padding_rows", a.output_padding_rows);
  visit("output_padding_columns", a.output_padding_columns);
}

template <MaybeConst<PoolSpec> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("kind", a.kind);
  visit("rows", a.rows);
  visit("columns", a.columns);
  visit("ceil_mode", a.ceil_mode);
  visit("count_padding", a.count_padding);
  visit("divisor", a.divisor);
}

template <MaybeConst<ResizeSpec> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("kind", a.kind);
  visit("coordinates", a.coordinates);
  visit("rounding", a.rounding);
  visit("cubic_a", a.cubic_a);
  visit("out_height", a.out_height);
  visit("out_width", a.out_width);
  visit("scale_rows", a.scale_rows);
  visit("scale_columns", a.scale_columns);
}

template <MaybeConst<PictureSpec> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("width", a.width);
  visit("height", a.height);
  visit("fit", a.fit);
  visit("channels", a.channels);
  visit("border", a.border);
}

template <MaybeConst<op::Conv> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("spec", a.spec);
  visit("has_bias", a.has_bias);
  visit("has_residual", a.has_residual);
  visit("activation", a.activation);
  visit("activation_before_residual", a.activation_before_residual);
  visit("has_slope", a.has_slope);
}

template <MaybeConst<op::Linear> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("has_bias", a.has_bias);
  visit("activation", a.activation);
}

template <MaybeConst<op::MatMul> A, typename V>
void VisitFields(A&, V&) {}

template <MaybeConst<op::ScaleShift> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("activation", a.activation);
  visit("channel_order", a.channel_order);
}

template <MaybeConst<op::LayerNorm> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("first_axis", a.first_axis);
  visit("axis_count", a.axis_count);
  visit("epsilon", a.epsilon);
  visit("has_affine", a.has_affine);
}

template <MaybeConst<op::GroupNorm> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("groups", a.groups);
  visit("epsilon", a.epsilon);
  visit("has_affine", a.has_affine);
}

template <MaybeConst<op::Activation> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("function", a.function);
}

template <MaybeConst<op::Binary> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("kind", a.kind);
  visit("activation", a.activation);
}

template <MaybeConst<op::Concat> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("axis", a.axis);
}

template <MaybeConst<op::Slice> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("starts", a.starts);
  visit("sizes", a.sizes);
  visit("steps", a.steps);
}

template <MaybeConst<op::Gather> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("axis", a.axis);
  visit("indices", a.indices);
  visit("scalar", a.scalar);
}

template <MaybeConst<op::Pool> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("spec", a.spec);
}

template <MaybeConst<op::AdaptivePool> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("kind", a.kind);
  visit("out_height", a.out_height);
  visit("out_width", a.out_width);
}

template <MaybeConst<op::Resize> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("spec", a.spec);
}

template <MaybeConst<op::DepthToSpace> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("block", a.block);
  visit("order", a.order);
}

template <MaybeConst<op::SpaceToDepth> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("block", a.block);
  visit("order", a.order);
}

template <MaybeConst<op::Pad> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("mode", a.mode);
  visit("value", a.value);
  visit("begins", a.begins);
  visit("ends", a.ends);
}

template <MaybeConst<op::Reshape> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("shape", a.shape);
}

template <MaybeConst<op::Permute> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("order", a.order);
}

template <MaybeConst<op::Expand> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("shape", a.shape);
}

template <MaybeConst<op::Softmax> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("axis", a.axis);
  visit("logarithm", a.logarithm);
}

template <MaybeConst<op::ArgMax> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("axis", a.axis);
  visit("keep_dimension", a.keep_dimension);
}

template <MaybeConst<op::Reduce> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("kind", a.kind);
  visit("axes", a.axes);
  visit("keep_dimensions", a.keep_dimensions);
}

template <MaybeConst<op::DecodeBoxes::Scale> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("stride", a.stride);
  visit("anchors", a.anchors);
}

template <MaybeConst<op::DecodeBoxes> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("scales", a.scales);
  visit("apply_sigmoid", a.apply_sigmoid);
}

template <MaybeConst<op::NonMaxSuppression> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("score_threshold", a.score_threshold);
  visit("overlap_threshold", a.overlap_threshold);
  visit("max_boxes", a.max_boxes);
  visit("scales", a.scales);
}

template <MaybeConst<op::Foreign> A, typename V>
void VisitFields(A& a, V& visit) {
  visit("type", a.type);
  visit("archive", a.archive);
  visit("output_shapes", a.output_shapes);
  visit("output_types", a.output_types);
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_FIELDS_H_
