#ifndef CACHEINF_COMMON_MODEL_GRAPH_FIELDS_H_
#define CACHEINF_COMMON_MODEL_GRAPH_FIELDS_H_

#include <array>
#include <string_view>
#include <type_traits>
#include <variant>

#include "common/base/fields.h"
#include "common/model/graph/graph.h"
#include "common/model/graph/notes.h"
#include "common/model/graph/words.h"

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

// The last enumerator of an enumeration that attributes use.
template <typename Enum>
constexpr Enum LastOf(Enum value) {
  return static_cast<Enum>(WordsOf(value).size() - 1);
}

// A may be const.
template <typename A, typename Visit>
void VisitFields(A& a, Visit& visit) {
  using T = std::remove_const_t<A>;
  if constexpr (std::is_same_v<T, Function>) {
    VisitEach<"kind alpha beta">(visit, a.kind, a.alpha, a.beta);
  } else if constexpr (std::is_same_v<T, WindowAxis>) {
    VisitEach<"kernel stride pad_begin pad_end dilation">(visit, a.kernel, a.stride, a.pad_begin,
                                                          a.pad_end, a.dilation);
  } else if constexpr (std::is_same_v<T, ConvSpec>) {
    VisitEach<"rows columns groups transposed output_padding_rows output_padding_columns">(
        visit, a.rows, a.columns, a.groups, a.transposed, a.output_padding_rows,
        a.output_padding_columns);
  } else if constexpr (std::is_same_v<T, PoolSpec>) {
    VisitEach<"kind rows columns ceil_mode count_padding divisor">(
        visit, a.kind, a.rows, a.columns, a.ceil_mode, a.count_padding, a.divisor);
  } else if constexpr (std::is_same_v<T, ResizeSpec>) {
    VisitEach<"kind coordinates rounding cubic_a out_height out_width scale_rows scale_columns">(
        visit, a.kind, a.coordinates, a.rounding, a.cubic_a, a.out_height, a.out_width,
        a.scale_rows, a.scale_columns);
  } else if constexpr (std::is_same_v<T, Head>) {
    VisitEach<"kind classes keypoints keypoint_numbers mask_coefficients has_angle is_normalised">(
        visit, a.kind, a.classes, a.keypoints, a.keypoint_numbers, a.mask_coefficients, a.has_angle,
        a.is_normalised);
  } else if constexpr (std::is_same_v<T, PictureSpec>) {
    VisitEach<"width height fit channels border resize resize_to">(
        visit, a.width, a.height, a.fit, a.channels, a.border, a.resize, a.resize_to);
  } else if constexpr (std::is_same_v<T, ModelNotes>) {
    VisitEach<
        "task class_names stride image_size keypoint_shape has_byte_picture has_suppression "
        "description">(visit, a.task, a.class_names, a.stride, a.image_size, a.keypoint_shape,
                       a.has_byte_picture, a.has_suppression, a.description);
  } else if constexpr (std::is_same_v<T, op::Conv>) {
    VisitEach<"spec has_bias has_residual activation activation_before_residual has_slope">(
        visit, a.spec, a.has_bias, a.has_residual, a.activation, a.activation_before_residual,
        a.has_slope);
  } else if constexpr (std::is_same_v<T, op::Linear>) {
    VisitEach<"has_bias activation">(visit, a.has_bias, a.activation);
  } else if constexpr (std::is_same_v<T, op::ScaleShift>) {
    VisitEach<"activation channel_order">(visit, a.activation, a.channel_order);
  } else if constexpr (std::is_same_v<T, op::LayerNorm>) {
    VisitEach<"first_axis axis_count epsilon has_affine">(visit, a.first_axis, a.axis_count,
                                                          a.epsilon, a.has_affine);
  } else if constexpr (std::is_same_v<T, op::GroupNorm>) {
    VisitEach<"groups epsilon has_affine">(visit, a.groups, a.epsilon, a.has_affine);
  } else if constexpr (std::is_same_v<T, op::Activation>) {
    visit("function", a.function);
  } else if constexpr (std::is_same_v<T, op::Binary>) {
    VisitEach<"kind activation">(visit, a.kind, a.activation);
  } else if constexpr (std::is_same_v<T, op::Concat>) {
    visit("axis", a.axis);
  } else if constexpr (std::is_same_v<T, op::Slice>) {
    VisitEach<"starts sizes steps">(visit, a.starts, a.sizes, a.steps);
  } else if constexpr (std::is_same_v<T, op::Gather>) {
    VisitEach<"axis indices scalar">(visit, a.axis, a.indices, a.scalar);
  } else if constexpr (std::is_same_v<T, op::GatherElements>) {
    visit("axis", a.axis);
  } else if constexpr (std::is_same_v<T, op::TopK>) {
    VisitEach<"axis count">(visit, a.axis, a.count);
  } else if constexpr (std::is_same_v<T, op::Pool> || std::is_same_v<T, op::Resize>) {
    visit("spec", a.spec);
  } else if constexpr (std::is_same_v<T, op::AdaptivePool>) {
    VisitEach<"kind out_height out_width">(visit, a.kind, a.out_height, a.out_width);
  } else if constexpr (std::is_same_v<T, op::DepthToSpace> || std::is_same_v<T, op::SpaceToDepth>) {
    VisitEach<"block order">(visit, a.block, a.order);
  } else if constexpr (std::is_same_v<T, op::Pad>) {
    VisitEach<"mode value begins ends">(visit, a.mode, a.value, a.begins, a.ends);
  } else if constexpr (std::is_same_v<T, op::Reshape> || std::is_same_v<T, op::Expand>) {
    visit("shape", a.shape);
  } else if constexpr (std::is_same_v<T, op::Permute>) {
    visit("order", a.order);
  } else if constexpr (std::is_same_v<T, op::Softmax>) {
    VisitEach<"axis logarithm">(visit, a.axis, a.logarithm);
  } else if constexpr (std::is_same_v<T, op::ArgMax>) {
    VisitEach<"axis keep_dimension">(visit, a.axis, a.keep_dimension);
  } else if constexpr (std::is_same_v<T, op::Reduce>) {
    VisitEach<"kind axes keep_dimensions">(visit, a.kind, a.axes, a.keep_dimensions);
  } else if constexpr (std::is_same_v<T, op::DecodeBoxes::Scale>) {
    VisitEach<"stride anchors">(visit, a.stride, a.anchors);
  } else if constexpr (std::is_same_v<T, op::DecodeBoxes>) {
    VisitEach<"scales apply_sigmoid">(visit, a.scales, a.apply_sigmoid);
  } else if constexpr (std::is_same_v<T, op::NonMaxSuppression>) {
    VisitEach<"score_threshold overlap_threshold max_boxes has_objectness extras scales">(
        visit, a.score_threshold, a.overlap_threshold, a.max_boxes, a.has_objectness, a.extras,
        a.scales);
  } else if constexpr (std::is_same_v<T, op::Foreign>) {
    VisitEach<"type archive output_shapes output_types">(visit, a.type, a.archive, a.output_shapes,
                                                         a.output_types);
  } else {
    static_assert(std::is_same_v<T, op::MatMul>, "a struct whose fields are not listed");
  }
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_FIELDS_H_
