#ifndef CACHEINF_SPARSE_OPS_OPS_H_
#define CACHEINF_SPARSE_OPS_OPS_H_

#include <array>
#include <cstdint>

#include "sparse_ops/host_device.h"
#include "sparse_ops/specs.h"
#include "sparse_ops/view_transforms.h"
#include "sparse_ops/views.h"

// The one interface of every family of kernels: what an operator takes, and what it computes, to
// the last bit. reference/reference.h computes each struct here and so defines its arithmetic;
// every other family must give the same bits.
//
// Shapes
//   Operators with a window see feature maps as images; all others see tensors of any rank, and
//   tensors of rank 4 are maps. Views may have any strides, except that the channels of an
//   ImageView are contiguous.
//   Outputs have the rank of the input: a dimension that the model drops has size 1 here
//   (InsertAxis).
//
// Active pixels
//   An operator whose output pixel depends on a bounded window of its inputs' pixels computes the
//   active pixels of its output map (active_pixels.h), in every image of the batch, and writes
//   nothing else: the same bits as if all were active. Tensors that are not maps are computed
//   whole. So are maps by GroupNorm, Linear, MatMul, LayerNorm and Reduce over several axes, the
//   operators of detection, and all others that mix pixels of the whole picture: ask them for
//   AllPixels.
//
// Aliasing
//   Element-wise operators (Activation, ScaleShift without channel order, Binary; the residual of a
//   convolution) may write over an operand with the same view as the output, but not with a change
//   test. Nothing else may overlap.
//
// Arithmetic
//   All of it is IEEE single precision, rounded to nearest even, denormals kept. fma(x, y, z) is
//   x y + z rounded once; every other product, sum and quotient is rounded separately.
//   Functions of one number are those of function.h.
//
//   dot product (convolution, Linear, MatMul): one accumulator per output element, from +0, with
//     acc = fma(x, w, acc) in the stated order.
//   sum over one axis: 16 lanes from +0; element i is added to lane i % 16, i ascending; then
//     lane j += lane j + 8 (j < 8), j + 4 (j < 4), j + 2 (j < 2), j + 1: lane 0 is the sum.
//     A sum of squares takes lane = fma(d, d, lane) instead.
//   sum over several axes: over the last first, then those sums over the one before, ….
//   maximum and minimum over axes: in the same lanes from -inf (+inf), combined by Maximum
//     (Minimum) with the lower index, or the accumulator, as first argument:
//     Maximum(a, b) = a < b or b is NaN ? b : a;  Minimum(a, b) = b < a or b is NaN ? b : a.
//     So NaN wins, and of -0 and +0 the first.

namespace cacheinf {

// The number of the arithmetic below and in function.h. Raise it when any operator's bits change:
// robots and servers with different numbers share no rows under the policy exact.
inline constexpr int kArithmetic = 1;

// A function of one number; kPRelu's depends on the channel as well.
struct ChannelFunction {
  Function function;
  const float* slopes = nullptr;  // kPRelu
  bool one_slope = false;         // kPRelu: slopes[0] for all channels
};

// ---------------------------------------------------------------------------------------------
// Windows.

// acc = sum over kernel row ky, kernel column kx, channel ci of the group, each ascending, ky
// outermost, of x w. A tap outside the picture counts as x = +0 (its fma takes place). A transposed
// convolution has only the taps ky for which a whole y, in the picture or not, gives
// y stride - pad_begin + ky dilation = output row; kx likewise.
// Then v = acc + bias if there is one, and
//   activation(v), activation(v + residual), or activation(v) + residual.
struct ConvArgs {
  ConvSpec spec;
  ConstImageView input;
  const float* weights = nullptr;  // as ConvSpec says, contiguous
  const float* bias = nullptr;     // one per output channel, or none
  ConstImageView residual;         // as large as the output; none if data is null
  ChannelFunction activation;
  bool activation_before_residual = false;
  ImageView output;
};

// Maximum: over the taps inside the picture in window order (ky outermost), from -inf by Maximum.
// Average: s = +0, s = s + x in that order; s / count as float, where count is `divisor` if not 0,
// else with count_padding the taps inside the padded picture (rows < height + pad_end, as PyTorch),
// else the taps inside the picture. No tap inside: -inf, or 0 / count with 0 / 0 taken as 0.
struct PoolArgs {
  PoolSpec spec;
  ConstImageView input;
  ImageView output;
};

// Output row o pools the input rows [floor(o height / out), ceil((o + 1) height / out)); columns
// likewise. Average: the sum over rows and columns as over axes (columns first), divided by count.
// Maximum: as PoolArgs.
struct AdaptivePoolArgs {
  PoolSpec::Kind kind = PoolSpec::Kind::kAverage;
  ConstImageView input;
  ImageView output;
};

// Taps and weights are those of resize_taps.h. For each row tap ascending, acc_r = fma(x, wx,
// acc_r) over the column taps from +0; acc = fma(acc_r, wy, acc) from +0. Nearest copies.
struct ResizeArgs {
  ResizeSpec spec;
  ConstImageView input;
  ImageView output;
};

// Which coordinates of the block vary slowest in the deep map's channels.
// kRowsFirst:     channel = (by block + bx) C + c   (ONNX: DCR)
// kChannelsFirst: channel = (c block + by) block + bx   (ONNX: CRD; PyTorch's pixel shuffle)
enum class BlockOrder : uint8_t { kRowsFirst, kChannelsFirst };

struct BlockArgs {
  int block = 2;
  BlockOrder order = BlockOrder::kChannelsFirst;
  ConstImageView input;
  ImageView output;
};

// Output (y block + by, x block + bx, c) is input (y, x, channel).
struct DepthToSpaceArgs : BlockArgs {};

// Output (y, x, channel) is input (y block + by, x block + bx, c).
struct SpaceToDepthArgs : BlockArgs {};

// ---------------------------------------------------------------------------------------------
// Element-wise.

// Channels are dimension 1.
struct ActivationArgs {
  ChannelFunction activation;
  ConstTensorView input;
  TensorView output;
};

// activation(fma(x, scale[c], shift[c])); c is the output channel (dimension 1), x comes from input
// channel channel_order[c], or from c if it is null.
struct ScaleShiftArgs {
  const float* scale = nullptr;
  const float* shift = nullptr;
  const int* channel_order = nullptr;
  ChannelFunction activation;
  ConstTensorView input;
  TensorView output;
};

// activation(a op b). BroadcastTo repeats the operands to the output's dims. kPower is Power of
// function.h; kMinimum and kMaximum are defined at the top of this file. kModulo fuses its product;
// of integers below 2^24 it and kQuotient are exact.
struct BinaryArgs {
  BinaryKind kind = BinaryKind::kAdd;
  Function activation;  // not kPRelu
  ConstTensorView a;
  ConstTensorView b;
  TensorView output;
};

// ---------------------------------------------------------------------------------------------
// Moving numbers.

// Copies element by element; the dims are the same. With `in_logical_order` only the count must be
// the same: the i-th element in logical order (last dimension fastest) goes to the i-th (reshape).
struct CopyArgs {
  ConstTensorView input;
  TensorView output;
  bool in_logical_order = false;
};

// Entry i of the output along `axis` is entry indices[i] of the input.
struct GatherArgs {
  int axis = 0;
  const int64_t* indices = nullptr;  // as many as the output has entries; within the input
  ConstTensorView input;
  TensorView output;
};

// Element i of the output along `axis` is the input's at PlaceOf(indices[…, i, …]) along it, and at
// the same index along all others. The indices broadcast to the output's dims. REQUIRES: the
// input's dims are the output's except for `axis`.
struct GatherElementsArgs {
  int axis = 0;
  ConstTensorView input;
  ConstTensorView indices;
  TensorView output;
};

// The entry of a dimension of this size that an index stands for: -1 is the last, fractions are
// ignored, an index outside is taken to the nearest entry, and NaN to the first.
CACHEINF_HOST_DEVICE inline int64_t PlaceOf(float index, int64_t size) {
  const float from_start = index < 0.0f ? index + static_cast<float>(size) : index;
  if (!(from_start > 0.0f)) return 0;
  return from_start < static_cast<float>(size - 1) ? static_cast<int64_t>(from_start) : size - 1;
}

// Output index o of a dimension is input index o - begin. Outside the input it is `value`, the
// reflection (without repeating the border; repeated as often as needed), or the nearest border.
// Any begin and output size is valid: CutPixels below shifts them.
struct PadArgs {
  PadMode mode = PadMode::kConstant;
  float value = 0.0f;
  std::array<int64_t, TensorView::kMaxRank> begins = {};
  ConstTensorView input;
  TensorView output;
};

// The input index that a padded index stands for; -1 if none (kConstant outside the input).
constexpr int64_t PaddedIndex(PadMode mode, int64_t index, int64_t size) {
  if (index >= 0 && index < size) return index;
  if (mode == PadMode::kConstant) return -1;
  if (mode == PadMode::kEdge || size == 1) return index < 0 ? 0 : size - 1;
  const int64_t period = 2 * (size - 1);
  const int64_t phase = (index % period + period) % period;
  return phase < size ? phase : period - phase;
}

// ---------------------------------------------------------------------------------------------
// Products.

// activation(acc + bias), acc = sum over k ascending of x[…, k] w[o, k].
struct LinearArgs {
  const float* weights = nullptr;  // out × in, contiguous
  const float* bias = nullptr;     // one per output, or none
  Function activation;             // not kPRelu
  ConstTensorView input;
  TensorView output;
};

// Over the last two dimensions: sum over k ascending of a[m, k] b[k, n]. BroadcastTo repeats the
// others. REQUIRES: rank of a and b at least 2.
struct MatMulArgs {
  ConstTensorView a;
  ConstTensorView b;
  TensorView output;
};

// ---------------------------------------------------------------------------------------------
// Along axes.

// Over the axes [first_axis, first_axis + axis_count): mean = sum(x) / n; variance = (sum over d =
// x - mean of d squared) / n; r = 1 / sqrt(variance + epsilon); y = (x - mean) r; with affine
// fma(y, scale, shift). Scale and shift are contiguous in the shape of the normalised axes.
struct LayerNormArgs {
  int first_axis = 1;
  int axis_count = 1;
  float epsilon = 1e-5f;
  const float* scale = nullptr;
  const float* shift = nullptr;
  ConstTensorView input;
  TensorView output;
};

// The same within each group of adjacent channels (dimension 1), over them and all later axes;
// scale and shift have one entry per channel.
struct GroupNormArgs {
  int groups = 1;
  float epsilon = 1e-5f;
  const float* scale = nullptr;
  const float* shift = nullptr;
  ConstTensorView input;
  TensorView output;
};

// m = maximum; e = exp(x - m); s = sum of e; e / s, or with `logarithm` (x - m) - log(s).
struct SoftmaxArgs {
  int axis = 1;
  bool logarithm = false;
  ConstTensorView input;
  TensorView output;
};

// The index of the first largest value, as a float; the first NaN if there is one.
// The output's dimension `axis` has size 1.
struct ArgMaxArgs {
  int axis = 1;
  ConstTensorView input;
  TensorView output;
};

// The indices, as floats, of the first elements along the axis, as many as the output has entries:
// the largest come first, equals by lower index, and NaNs last. REQUIRES: the input has as many.
struct TopKArgs {
  int axis = 1;
  ConstTensorView input;
  TensorView output;
};

// Whether element a with its index comes before element b.
CACHEINF_HOST_DEVICE inline bool ComesFirst(float a, int64_t index_a, float b, int64_t index_b) {
  if (a > b || b > a) return a > b;
  const bool a_is_nan = a != a;
  const bool b_is_nan = b != b;
  return a_is_nan == b_is_nan ? index_a < index_b : b_is_nan;
}

// Over all axes with reduced[axis]; they have size 1 in the output. Mean: sum / count.
struct ReduceArgs {
  ReduceKind kind = ReduceKind::kMean;
  std::array<bool, TensorView::kMaxRank> reduced = {};
  ConstTensorView input;
  TensorView output;
};

// ---------------------------------------------------------------------------------------------
// Detection.

// Boxes of one head, which has anchor_count × (5 + classes) channels, anchor slowest.
struct DetectionHead {
  ConstImageView map;
  bool is_eight_bit = false;  // and means the numbers of these steps
  Steps steps;
  int stride = 8;
  const float* anchors = nullptr;  // width, height of each, in input pixels
  int anchor_count = 0;
};

// YOLOv5's decoding. With s the sigmoid (or the number itself, without apply_sigmoid), at cell
// (y, x): centre x ((fma(2, s, -0.5) + x) stride, centre y likewise, width (2 s)(2 s) anchor width,
// height likewise; then s of objectness and classes. Boxes lie head by head, anchor by anchor, row
// by row; the output is boxes × (5 + classes). REQUIRES: a batch of one, and heads of floats.
struct DecodeBoxesArgs {
  const DetectionHead* heads = nullptr;
  int head_count = 0;
  bool apply_sigmoid = true;
  TensorView output;
};

// A row per box: centre x, centre y, width, height; objectness, unless !has_objectness; class
// scores; `extras` more numbers. A box scores its objectness (else 1) times its largest class score
// (ArgMax). Boxes with a score >= score_threshold are taken best first, the lower index first of
// equals, and kept unless they overlap a kept box of the same class by more than overlap_threshold
// (common area > threshold times united area). NaN scores are never taken. The output is max_boxes
// × (6 + extras): left, top, right, bottom, score, class, and the box's extra numbers; unused rows
// are zero. With heads, which may be 8-bit maps, the boxes are those that DecodeBoxes would give,
// with apply_sigmoid. REQUIRES: with heads, objectness and no extras.
struct NonMaxSuppressionArgs {
  struct Candidate {
    float score;
    int box;
    int label;
    float left, top, right, bottom;
  };
  const DetectionHead* heads = nullptr;  // null: `input` instead
  int head_count = 0;
  float score_threshold = 0.25f;
  float overlap_threshold = 0.45f;
  Candidate* scratch = nullptr;  // room for as many as there are boxes
  float* row = nullptr;          // with heads: room for 5 + classes numbers
  int classes = 0;               // with heads
  bool has_objectness = true;
  int extras = 0;
  ConstTensorView input;
  TensorView output;

  int first_class() const { return has_objectness ? 5 : 4; }
  int input_classes() const { return static_cast<int>(input.dims[1]) - first_class() - extras; }
};

// ---------------------------------------------------------------------------------------------
// Eight bits. Maps are those of eight_bits.h, of a batch of any size; ToSteps, FromSteps and
// Clamped are defined there. Every operator fills the spare bytes of its output.

// ToSteps(x), for a map of floats.
struct QuantiseArgs {
  Steps steps;
  ConstImageView input;
  ImageView output;
};

// FromSteps(q), as a map of floats.
struct DequantiseArgs {
  Steps steps;
  ConstImageView input;
  ImageView output;
};

// FromSteps(ToSteps(x)): floats of any rank that are rounded as 8-bit numbers would be.
struct FakeQuantiseArgs {
  Steps steps;
  ConstTensorView input;
  TensorView output;
};

// acc = bias[c] + sum over the taps of (x - zero point of the input) (w - weight_zeros[c]), in
// 32-bit integers that wrap around, so in any order. A tap outside the picture counts as 0. Then,
// where the residual r is a float or FromSteps of its number, with `rounds_sums`
//   q = Clamped(rne(acc (scales[c] / sum_steps.scale)), zero point, low, high), of sum_steps;
//   if there is a table, q = table[the byte that q is stored as], of table_steps;
//   if there is a residual, q = ToSteps(activation(FromSteps(q) + r), steps);
//   with `gives_floats`, which goes with no residual then, FromSteps(q)
// and without, where v = acc scales[c],
//   y = activation(v), activation(v + r), or activation(v) + r
//   q = Clamped(rne(y / steps.scale), zero point, low, high), or y itself with `gives_floats`.
// acc is rounded to a float first; every product, quotient and sum is rounded separately.
struct QuantConvArgs {
  ConvSpec spec;  // not transposed
  int in_channels = 0;
  int out_channels = 0;
  Steps input_steps;
  ConstImageView input;
  // Signed bytes in words of four input channels of the group: out × words × kernel rows × kernel
  // columns. Spare bytes of the last word are not read.
  const float* weights = nullptr;
  const int* weight_zeros = nullptr;  // one per output channel; null: zeros
  const int* bias = nullptr;          // likewise
  const float* scales = nullptr;      // one per output channel
  ConstImageView residual;            // as large as the output; none if data is null
  bool is_residual_float = false;
  Steps residual_steps;
  Function activation;  // not kPRelu
  bool activation_before_residual = false;
  // REQUIRES: no activation but after a residual.
  bool rounds_sums = false;
  Steps sum_steps;
  const int* table = nullptr;  // [256], or none
  Steps table_steps;
  bool gives_floats = false;
  Steps steps;  // of the output, unless it is of floats
  int low = 0;
  int high = 255;
  ImageView output;

  // The steps of rounded sums, before a residual.
  const Steps& rounded_steps() const { return table == nullptr ? sum_steps : table_steps; }
};

// entries[byte], by the byte that the number is stored as: any function of one 8-bit number.
struct TableArgs {
  const int* entries = nullptr;  // [256]
  int channels = 0;
  Steps steps;  // of the output
  ConstImageView input;
  ImageView output;
};

// ToSteps(activation(a op b)) of the floats that two numbers stand for.
struct QuantBinaryArgs {
  BinaryKind kind = BinaryKind::kAdd;
  Function activation;  // not kPRelu
  int channels = 0;
  Steps a_steps;
  Steps b_steps;
  Steps steps;
  ConstImageView a;
  ConstImageView b;
  ImageView output;
};

// Maximum: of the numbers inside the picture; the lowest number if there is none. The output has
// the input's steps. Average: ToSteps((sum / count) scale) with sum of (q - zero point) and the
// count of PoolArgs, each a float before the quotient, and 0 / 0 taken as 0.
struct QuantPoolArgs {
  PoolSpec spec;
  int channels = 0;
  Steps input_steps;
  Steps steps;
  ConstImageView input;
  ImageView output;
};

// Over the last dimension: x becomes 8-bit numbers, ToSteps(x, product.input_steps), and the result
// is what `product` gives for a pixel of them. REQUIRES: a 1×1 convolution in one group that gives
// floats, without a residual or a table. Its views are not read.
struct QuantLinearArgs {
  QuantConvArgs product;
  ConstTensorView input;
  TensorView output;
};

// ---------------------------------------------------------------------------------------------

// All rows of a map; any other tensor counts as one row.
inline Range AllPixels(const TensorView& output) {
  return {0, output.rank == 4 ? static_cast<int>(output.dims[2]) : 1};
}
inline Range AllPixels(const ImageView& output) { return {0, output.height}; }

// The same operator on a rectangle of its maps. REQUIRES: an output of rank 4; an operator that is
// pointwise in rows and columns.
template <typename Args>
Args CutPixels(Args args, Range rows, Range columns) {
  args.input = CutPixels(args.input, rows, columns);
  args.output = CutPixels(args.output, rows, columns);
  return args;
}

inline BinaryArgs CutPixels(BinaryArgs args, Range rows, Range columns) {
  args.a = CutPixels(BroadcastTo(args.a, args.output), rows, columns);
  args.b = CutPixels(BroadcastTo(args.b, args.output), rows, columns);
  args.output = CutPixels(args.output, rows, columns);
  return args;
}

inline PadArgs CutPixels(PadArgs args, Range rows, Range columns) {
  args.begins[2] -= rows.begin;
  args.begins[3] -= columns.begin;
  args.output = CutPixels(args.output, rows, columns);
  return args;
}

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_OPS_H_
