#ifndef CACHEINF_COMMON_MODEL_GRAPH_GRAPH_H_
#define CACHEINF_COMMON_MODEL_GRAPH_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/model/graph/head.h"
#include "common/model/graph/notes.h"
#include "sparse_ops/specs.h"
#include "sparse_ops/views.h"

// A CNN as all parts of CacheInf see it: a directed acyclic graph of operators from one small set,
// over values with known shapes. Importers produce it, passes rewrite it, the executor runs it, and
// the native model file (pack.h) stores it.
//
// Every number at run time is a 32-bit float, except in 8-bit maps. A value of four dimensions is a
// feature map: its logical shape is batch, channels, height, width, and it lies in memory
// channels-last. Values of other ranks lie in memory in the order of their dimensions.
//
// An 8-bit map lies in memory as a map of 32-bit words of four channels (sparse_ops/eight_bits.h),
// and its shape counts words. So code that moves pixels, keeps them or compares their bits treats
// it like any map. Only the operators marked "8-bit map" below read one.

namespace cacheinf {

using Shape = std::vector<int64_t>;
using ValueId = int;
using OpId = int;
inline constexpr int kNone = -1;
inline constexpr int kLevels = 256;  // that a picture's channel can have

int64_t ElementCount(const Shape& shape);
std::string ToString(const Shape& shape);  // "1x3x384x640"

// What a value's numbers mean outside. kInt64 (class indices and truth values, say) only decides
// the type written to files: memory holds floats, exact up to 2^24. kEightBit: an 8-bit map.
enum class DataType : uint8_t { kFloat32, kInt64, kEightBit };

// Immutable numbers with a shape, in the order of the dimensions. Copies share the storage, which
// may be a part of a memory-mapped file.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Shape shape, std::vector<float> values);  // REQUIRES: as many values as the shape has
  // `data` is kept alive by its owner (aliasing shared_ptr).
  Tensor(Shape shape, std::shared_ptr<const float> data);

  bool empty() const { return data_ == nullptr; }
  const Shape& shape() const { return shape_; }
  int64_t count() const { return count_; }
  const float* data() const { return data_.get(); }
  ConstTensorView view() const;

 private:
  Shape shape_;
  int64_t count_ = 0;
  std::shared_ptr<const float> data_;
};

// How a convolution is computed. Set for a run (schemes.h), never stored with a model. It
// lives here because it decides what a pixel's bits depend on, which geometry.h must know. LibTorch
// ignores it; the reference computes kWinograd directly.
enum class Scheme : uint8_t {
  kDirect,    // as ops.h defines it, to the bit
  kWinograd,  // F(4x4, 3x3): rounds differently; bits depend on all that a 4x4 tile reads
};

// The operator set. Each struct holds an operator's attributes; the comment lists its inputs.
// "Constant" inputs are values with a constant tensor.
namespace op {

// map, weights (constant), [bias: out channels (constant)], [residual: map of the output's shape].
// out = activation(conv + bias + residual), or activation(conv + bias) + residual.
struct Conv {
  ConvSpec spec;
  bool has_bias = false;
  bool has_residual = false;
  Function activation;
  bool activation_before_residual = false;
  bool has_slope = false;  // kPRelu: a last constant input, one slope per channel or one for all
  Scheme scheme = Scheme::kDirect;
  // On a GPU at most so many active pixels use small tiles, more use large ones; below 0: the
  // convolution's size decides. Set for a run like the scheme, but no bit depends on it.
  int small_tiles_up_to = -1;
};

// x, weights: out × in (constant), [bias: out (constant)]. Over the last dimension.
struct Linear {
  bool has_bias = false;
  Function activation;
};

// a, b: matrix product over the last two dimensions, the others broadcast.
struct MatMul {};

// x, scale: C (constant), shift: C (constant), [slope: as Activation]. x scale + shift over
// channels (dimension 1): a batch norm that could not be folded, or the normalisation of the
// picture. Input channel `channel_order[c]` feeds output channel c; empty: in order.
struct ScaleShift {
  Function activation;
  std::vector<int> channel_order;
};

// x, [scale, shift: shape of the normalised dimensions (constant)].
// Over dimensions [first_axis, first_axis + axis_count).
struct LayerNorm {
  int first_axis = 1;
  int axis_count = 1;
  float epsilon = 1e-5f;
  bool has_affine = false;
};

// x, [scale, shift: C (constant)]. Instance norm has as many groups as channels.
struct GroupNorm {
  int groups = 1;
  float epsilon = 1e-5f;
  bool has_affine = false;
};

// x, [slope: C or 1 (constant; kPRelu)].
struct Activation {
  Function function;
};

// a, b: broadcast against each other by NumPy's rules.
struct Binary {
  BinaryKind kind = BinaryKind::kAdd;
  Function activation;
};

// Two or more values; or 8-bit maps of the same steps: along axis 1, where all but the last have a
// multiple of four channels, or with the same channels along axis 2 or 3.
struct Concat {
  int axis = 1;
};

// x. One entry per dimension of x: starts, sizes, steps (> 0). From an 8-bit map it takes words.
struct Slice {
  std::vector<int64_t> starts;
  std::vector<int64_t> sizes;
  std::vector<int64_t> steps;
};

// x. Takes the entries `indices` along `axis`; drops the dimension if `scalar`.
struct Gather {
  int axis = 0;
  std::vector<int64_t> indices;
  bool scalar = false;
};

// x, indices. Element i of the result along `axis` is x's at indices[…, i, …] along it, as
// GatherElementsArgs says. The indices broadcast to x's shape except along the axis.
struct GatherElements {
  int axis = 0;
};

// map.
struct Pool {
  PoolSpec spec;
};

// map. Each output cell pools its share of the input (PyTorch's adaptive pooling).
struct AdaptivePool {
  PoolSpec::Kind kind = PoolSpec::Kind::kAverage;
  int out_height = 1;
  int out_width = 1;
};

// map; or 8-bit map, if kNearest.
struct Resize {
  ResizeSpec spec;
};

// map. Channel order: kRowsFirst is ONNX's DCR, kChannelsFirst is CRD and PyTorch's pixel shuffle.
struct DepthToSpace {
  enum class Order : uint8_t { kRowsFirst, kChannelsFirst };
  int block = 2;
  Order order = Order::kChannelsFirst;
};

// map. The inverse of DepthToSpace.
struct SpaceToDepth {
  int block = 2;
  DepthToSpace::Order order = DepthToSpace::Order::kRowsFirst;
};

// x. One entry per dimension of x; not negative (negative padding is a Slice).
struct Pad {
  PadMode mode = PadMode::kConstant;
  float value = 0.0f;
  std::vector<int64_t> begins;
  std::vector<int64_t> ends;
};

// x. The same numbers in logical order under another shape: flatten, squeeze, unsqueeze, view.
struct Reshape {
  Shape shape;  // fully resolved
};

// x. Output dimension i is input dimension order[i].
struct Permute {
  std::vector<int> order;
};

// x. Repeats size-one dimensions up to `shape`.
struct Expand {
  Shape shape;
};

// x.
struct Softmax {
  int axis = 1;
  bool logarithm = false;
};

// x. Index of the largest value along the axis; the first of equals. The result is kInt64.
struct ArgMax {
  int axis = 1;
  bool keep_dimension = true;
};

// x. The indices of the `count` largest numbers along the axis, largest first; of equals the lower
// index first. The result is kInt64.
struct TopK {
  int axis = 1;
  int64_t count = 1;
};

// x. Over all `axes`.
struct Reduce {
  ReduceKind kind = ReduceKind::kMean;
  std::vector<int> axes;
  bool keep_dimensions = true;
};

// Raw detector heads, one map per scale: anchors × (5 + classes) channels at height × width. Gives
// boxes × (4 + 1 + classes): centre x, centre y, width, height in input pixels, objectness, class
// scores.
struct DecodeBoxes {
  struct Scale {
    int stride = 8;
    std::vector<float> anchors;  // width, height, width, height, … in input pixels
  };
  std::vector<Scale> scales;  // one per input
  bool apply_sigmoid = true;
};

// boxes × (4 + 1 + classes) as DecodeBoxes gives them, or without objectness, or with `extras` more
// numbers a box; with scales, raw heads, one per scale, some perhaps 8-bit maps, read as
// DecodeBoxes with apply_sigmoid would. Gives max_boxes × (6 + extras): left, top, right, bottom,
// score, class, the extra numbers; best first, unused rows all zero. Suppresses non-maxima within a
// class; ties keep the lower index.
struct NonMaxSuppression {
  float score_threshold = 0.25f;
  float overlap_threshold = 0.45f;
  int max_boxes = 100;
  std::vector<DecodeBoxes::Scale> scales;
  bool has_objectness = true;
  int extras = 0;
};

// Any inputs. An operator outside the set, from a TorchScript file, that LibTorch runs on
// contiguous tensors: `archive` is a TorchScript archive in memory whose forward() takes the
// inputs.
struct Foreign {
  std::string type;  // as LibTorch names it: "aten::cumsum"
  std::shared_ptr<const std::string> archive;
  std::vector<Shape> output_shapes;
  std::vector<DataType> output_types;
};

// x. Rounds as 8-bit numbers are rounded, and gives floats: a quantiser put it around a value that
// stays float.
struct FakeQuantise {
  Steps steps;
};

// map. Gives an 8-bit map.
struct Quantise {
  Steps steps;
};

// 8-bit map. Gives floats.
struct Dequantise {};

// 8-bit map, weights (constant), [residual: map or 8-bit map as large as the output].
// QuantConvArgs of ops.h says what it computes, and how the weights' words lie.
struct QuantConv {
  ConvSpec spec;
  std::vector<int> bias;          // one per output channel
  std::vector<float> scales;      // likewise
  std::vector<int> weight_zeros;  // likewise, or empty: zeros
  bool has_residual = false;
  Function activation;
  bool activation_before_residual = false;
  bool rounds_sums = false;
  Steps sum_steps;         // of rounded sums; likewise the table
  std::vector<int> table;  // [256], by stored byte, or empty
  Steps table_steps;
  bool gives_floats = false;
  Steps steps;  // of the output
  int low = 0;
  int high = 255;
};

// 8-bit map.
struct Table {
  std::vector<int> entries;  // [256], by stored byte
  Steps steps;               // of the output
};

// Two 8-bit maps of one shape.
struct QuantBinary {
  BinaryKind kind = BinaryKind::kAdd;
  Function activation;
  Steps steps;  // of the output
};

// 8-bit map. A maximum has the input's steps.
struct QuantPool {
  PoolSpec spec;
  Steps steps;  // of the output
};

// x, weights: out × words (constant). Rounds x, multiplies 8-bit numbers over its last dimension
// and gives floats. QuantLinearArgs of ops.h says what it computes, and how the weights' words lie.
struct QuantLinear {
  Steps input_steps;
  std::vector<int> bias;          // one per output
  std::vector<float> scales;      // likewise
  std::vector<int> weight_zeros;  // likewise, or empty: zeros
  Function activation;
  bool rounds_sums = false;
  Steps steps;  // of rounded sums
  int low = 0;
  int high = 255;
};

}  // namespace op

using Attributes =
    std::variant<op::Conv, op::Linear, op::MatMul, op::ScaleShift, op::LayerNorm, op::GroupNorm,
                 op::Activation, op::Binary, op::Concat, op::Slice, op::Gather, op::Pool,
                 op::AdaptivePool, op::Resize, op::DepthToSpace, op::SpaceToDepth, op::Pad,
                 op::Reshape, op::Permute, op::Expand, op::Softmax, op::ArgMax, op::Reduce,
                 op::DecodeBoxes, op::NonMaxSuppression, op::Foreign, op::GatherElements, op::TopK,
                 op::FakeQuantise, op::Quantise, op::Dequantise, op::QuantConv, op::Table,
                 op::QuantBinary, op::QuantPool, op::QuantLinear>;

struct Value {
  std::string name;
  Shape shape;
  DataType type = DataType::kFloat32;
  OpId producer = kNone;  // kNone for inputs and constants
  Tensor constant;        // empty unless constant
  // For an 8-bit map: its channels (`shape` counts their words), and what its numbers mean.
  int channels = 0;
  Steps steps = {};
  // For a constant that the model holds as 8-bit numbers: they are whole multiples of this, one for
  // all, or one per entry of dimension 0. Not stored with a model.
  std::vector<float> step_sizes = {};

  bool is_constant() const { return !constant.empty(); }
  bool is_map() const { return shape.size() == 4; }
  bool is_eight_bit() const { return type == DataType::kEightBit; }
  // Counts numbers, also for an 8-bit map.
  Shape shape_of_numbers() const;
};

struct Operator {
  std::string name;  // as the model file has it, for messages
  Attributes attributes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;

  template <typename T>
  const T* As() const {
    return std::get_if<T>(&attributes);
  }
  template <typename T>
  T* As() {
    return std::get_if<T>(&attributes);
  }
};

// "conv", "max_pool", "silu", …: the operator's usual name.
std::string KindName(const Operator& op);

struct Graph;

// Whether the operator reads, gives or imitates 8-bit numbers.
bool HasEightBits(const Graph& graph, const Operator& op);
bool HasEightBitMaps(const Graph& graph);

// Whether any operator is foreign. Such an operator brings code, which LibTorch runs unchecked.
bool HasForeign(const Graph& graph);

// How a camera's frame becomes the graph's input: sizes here, numbers in a ScaleShift at the
// graph's head. See common/model/picture.h.
struct PictureSpec {
  enum class Fit : uint8_t { kStretch, kLetterbox, kCrop, kCorner };
  enum class Channels : uint8_t { kRgb, kBgr, kGray };
  enum class Resize : uint8_t { kBilinear, kArea, kAntialias, kAverage };
  int width = 0;  // 0: the graph's first input is not a picture
  int height = 0;
  Fit fit = Fit::kStretch;
  Channels channels = Channels::kRgb;
  uint8_t border = 114;  // letterbox
  Resize resize = Resize::kBilinear;
  int resize_to = 0;  // crop: the frame's shorter side before its middle is cut out; 0: no margin

  int channel_count() const { return channels == Channels::kGray ? 1 : 3; }
};

// A model. Operators are in topological order: every input is a graph input, a constant, or an
// output of an earlier operator.
struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Operator> operators;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  PictureSpec picture;
  // If the graph's input is a picture as an 8-bit map: the number that each level of each channel
  // becomes there, 256 per channel. Empty: the input is the levels, as floats.
  std::vector<int> levels;
  Head head;
  ModelNotes notes;

  const Value& value(ValueId id) const { return values[static_cast<size_t>(id)]; }

  ValueId AddInput(std::string name, Shape shape);
  ValueId AddConstant(std::string name, Tensor tensor);

  // Appends an operator, infers its output shapes and adds a value for each output.
  // Throws InputError, naming the operator, when the inputs do not fit the attributes.
  std::vector<ValueId> Add(std::string name, Attributes attributes, std::vector<ValueId> inputs,
                           std::vector<std::string> output_names = {});
  ValueId AddOne(std::string name, Attributes attributes, std::vector<ValueId> inputs);

  // The operators that read each value, in order; one that reads it twice is listed twice.
  std::vector<std::vector<OpId>> Consumers() const;

  // Throws InputError unless everything that the rest of the program relies on holds: ids in range,
  // topological order, shapes as InferShapes gives them, sizes within limits.
  void Validate() const;
};

// The most elements that a value of a model may have.
inline constexpr int64_t kMaxElements = int64_t{1} << 31;

struct InferredOutput {
  Shape shape;
  DataType type = DataType::kFloat32;
  int channels = 0;  // this and the next of an 8-bit map
  Steps steps = {};
};

// Shapes of an operator's outputs from its inputs (`graph.value(op.inputs[i])`).
// Throws InputError, naming the operator, when they do not fit.
std::vector<InferredOutput> InferShapes(const Graph& graph, const Operator& op);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_GRAPH_H_
