#ifndef CACHEINF_COMMON_MODEL_GRAPH_FIELDS_H_
#define CACHEINF_COMMON_MODEL_GRAPH_FIELDS_H_

#include <array>
#include <string_view>
#include <variant>

#include "common/base/fields.h"
#include "common/model/graph/graph.h"
#include "common/model/graph/notes.h"

// The fields of every struct of attributes, in one place: attributes are stored, compared and
// printed through these. (op::Conv::scheme and small_tiles_up_to belong to a run, not to the model,
// so they are missing here.)

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
    "top_k",
    "fake_quantise",
    "quantise",
    "dequantise",
    "quant_conv",
    "table",
    "quant_binary",
    "quant_pool",
    "quant_linear"};

CACHEINF_FIELDS(Function, kind, alpha, beta)
CACHEINF_FIELDS(Steps, scale, zero_point, is_signed)
CACHEINF_FIELDS(WindowAxis, kernel, stride, pad_begin, pad_end, dilation)
CACHEINF_FIELDS(ConvSpec, rows, columns, groups, transposed, output_padding_rows,
                output_padding_columns)
CACHEINF_FIELDS(PoolSpec, kind, rows, columns, ceil_mode, count_padding, divisor)
CACHEINF_FIELDS(ResizeSpec, kind, coordinates, rounding, cubic_a, out_height, out_width, scale_rows,
                scale_columns)
CACHEINF_FIELDS(Head, kind, classes, keypoints, keypoint_numbers, mask_coefficients, has_angle,
                is_normalised)
CACHEINF_FIELDS(PictureSpec, width, height, fit, channels, border, resize, resize_to)
CACHEINF_FIELDS(ModelNotes, task, class_names, stride, image_size, keypoint_shape, has_byte_picture,
                has_suppression, description)
CACHEINF_FIELDS(op::Conv, spec, has_bias, has_residual, activation, activation_before_residual,
                has_slope)
CACHEINF_FIELDS(op::Linear, has_bias, activation)
CACHEINF_FIELDS(op::ScaleShift, activation, channel_order)
CACHEINF_FIELDS(op::LayerNorm, first_axis, axis_count, epsilon, has_affine)
CACHEINF_FIELDS(op::GroupNorm, groups, epsilon, has_affine)
CACHEINF_FIELDS(op::Activation, function)
CACHEINF_FIELDS(op::Binary, kind, activation)
CACHEINF_FIELDS(op::Concat, axis)
CACHEINF_FIELDS(op::Slice, starts, sizes, steps)
CACHEINF_FIELDS(op::Gather, axis, indices, scalar)
CACHEINF_FIELDS(op::GatherElements, axis)
CACHEINF_FIELDS(op::TopK, axis, count)
CACHEINF_FIELDS(op::Pool, spec)
CACHEINF_FIELDS(op::Resize, spec)
CACHEINF_FIELDS(op::AdaptivePool, kind, out_height, out_width)
CACHEINF_FIELDS(op::DepthToSpace, block, order)
CACHEINF_FIELDS(op::SpaceToDepth, block, order)
CACHEINF_FIELDS(op::Pad, mode, value, begins, ends)
CACHEINF_FIELDS(op::Reshape, shape)
CACHEINF_FIELDS(op::Expand, shape)
CACHEINF_FIELDS(op::Permute, order)
CACHEINF_FIELDS(op::Softmax, axis, logarithm)
CACHEINF_FIELDS(op::ArgMax, axis, keep_dimension)
CACHEINF_FIELDS(op::Reduce, kind, axes, keep_dimensions)
CACHEINF_FIELDS(op::DecodeBoxes::Scale, stride, anchors)
CACHEINF_FIELDS(op::DecodeBoxes, scales, apply_sigmoid)
CACHEINF_FIELDS(op::NonMaxSuppression, score_threshold, overlap_threshold, max_boxes,
                has_objectness, extras, scales)
CACHEINF_FIELDS(op::Foreign, type, archive, output_shapes, output_types)
CACHEINF_FIELDS(op::MatMul)
CACHEINF_FIELDS(op::FakeQuantise, steps)
CACHEINF_FIELDS(op::Quantise, steps)
CACHEINF_FIELDS(op::Dequantise)
CACHEINF_FIELDS(op::QuantConv, spec, bias, scales, weight_zeros, has_residual, activation,
                activation_before_residual, rounds_sums, sum_steps, table, table_steps,
                gives_floats, steps, low, high)
CACHEINF_FIELDS(op::Table, entries, steps)
CACHEINF_FIELDS(op::QuantBinary, kind, activation, steps)
CACHEINF_FIELDS(op::QuantPool, spec, steps)
CACHEINF_FIELDS(op::QuantLinear, input_steps, bias, scales, weight_zeros, activation, rounds_sums,
                steps, low, high)

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_FIELDS_H_
