#include "tests/testing/random_eight_bits.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace cacheinf {
namespace {

class EightBitNetwork {
 public:
  explicit EightBitNetwork(uint32_t seed) : random_(seed) {}

  Graph Make() {
    graph_.name = "eight bits";
    const int64_t channels = 1 + Below(9);
    const ValueId picture = graph_.AddInput("picture", {1, channels, 5 + Below(14), 5 + Below(80)});
    maps_.push_back(Round(picture, 2.0f));
    const int count = 4 + Below(9);
    for (int i = 0; i < count; ++i) AddSomething();
    graph_.outputs = {maps_.back()};
    if (maps_.size() > 2 && maps_[maps_.size() - 2] != maps_.back()) {
      graph_.outputs.push_back(maps_[maps_.size() - 2]);
    }
    if (OneIn(2)) AddHead();
    return std::move(graph_);
  }

 private:
  int Below(int end) { return static_cast<int>(random_() % static_cast<uint32_t>(end)); }
  bool OneIn(int count) { return Below(count) == 0; }
  float Uniform(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }
  std::string Name(const std::string& stem) { return stem + std::to_string(count_++); }
  const Shape& ShapeOf(ValueId id) const { return graph_.value(id).shape; }
  ValueId Some() { return maps_[static_cast<size_t>(Below(static_cast<int>(maps_.size())))]; }
  ValueId Add(const std::string& stem, Attributes attributes, std::vector<ValueId> inputs) {
    return graph_.AddOne(Name(stem), std::move(attributes), std::move(inputs));
  }

  // Steps for numbers of about [-reach, reach].
  Steps SomeSteps(float reach) {
    Steps steps;
    steps.is_signed = OneIn(2);
    steps.scale = reach * Uniform(0.004f, 0.012f);
    steps.zero_point = OneIn(4) ? steps.low() : steps.low() + 100 + Below(56);
    return steps;
  }
  ValueId Round(ValueId x, float reach) {
    return Add("round", op::FakeQuantise{SomeSteps(reach)}, {x});
  }

  // Some map of this map's shape; the map itself if there is no other.
  ValueId Alike(ValueId map) {
    std::vector<ValueId> alike;
    for (const ValueId id : maps_) {
      if (ShapeOf(id) == ShapeOf(map)) alike.push_back(id);
    }
    return alike[static_cast<size_t>(Below(static_cast<int>(alike.size())))];
  }

  Function SomeFunction() {
    static constexpr Function::Kind kKinds[] = {Function::Kind::kIdentity,
                                                Function::Kind::kIdentity, Function::Kind::kRelu,
                                                Function::Kind::kSilu, Function::Kind::kHardSwish};
    const int kind = Below(6);
    if (kind == 5) return {Function::Kind::kClip, -0.5f, 1.5f};
    return {kKinds[kind], 0.0f, 0.0f};
  }

  void AddSomething() {
    switch (Below(9)) {
      case 0:
        return AddSiluInSteps();
      case 1:
        return AddFunction();
      case 2:
        return AddSum();
      case 3:
        return AddConcat();
      case 4:
        return AddPool();
      case 5:
        return OneIn(2) ? AddResize() : AddSlice();
      default:
        return AddConv();
    }
  }

  void AddConv() {
    const ValueId x = Some();
    const Shape in = ShapeOf(x);
    op::Conv conv;
    const int kernel = 1 + 2 * Below(2);
    const int dilation = 1 + Below(2);
    conv.spec.rows = {kernel, 1 + (in[2] > 4 ? Below(2) : 0), kernel / 2 * dilation,
                      kernel / 2 * dilation, dilation};
    conv.spec.columns = {kernel, 1 + (in[3] > 4 ? Below(2) : 0), kernel / 2 * dilation,
                         kernel / 2 * dilation, dilation};
    int64_t outputs = 1 + Below(40);
    if (OneIn(4)) {
      conv.spec.groups = static_cast<int>(in[1]);
      outputs = in[1] * (1 + Below(2));
    } else if (in[1] % 2 == 0 && OneIn(4)) {
      conv.spec.groups = 2;
      outputs = 2 * (1 + Below(9));
    }
    conv.activation = SomeFunction();
    std::vector<ValueId> inputs = {x, Weights({outputs, in[1] / conv.spec.groups, kernel, kernel})};
    conv.has_bias = !OneIn(3);
    if (conv.has_bias) {
      std::vector<float> bias;
      for (int64_t c = 0; c < outputs; ++c) bias.push_back(Uniform(-0.5f, 0.5f));
      inputs.push_back(graph_.AddConstant(Name("bias"), Tensor({outputs}, std::move(bias))));
    }
    ValueId sum = Add("conv", conv, inputs);
    const ValueId residual = Residual(ShapeOf(sum));
    if (residual != kNone) {
      conv.has_residual = true;
      conv.activation_before_residual = OneIn(2);
      inputs.push_back(residual);
      sum = Add("conv", conv, inputs);
    }
    maps_.push_back(OneIn(8) ? sum : Round(sum, 2.0f));
  }

  // Two linear operators, as a classifier ends with.
  void AddHead() {
    const ValueId x = Some();
    const Shape in = ShapeOf(x);
    const Shape flat = OneIn(2) ? Shape{1, in[1] * in[2] * in[3]} : Shape{in[1], in[2], in[3]};
    const ValueId first = AddLinear(Round(Add("flat", op::Reshape{flat}, {x}), 2.0f));
    graph_.outputs.push_back(AddLinear(Round(first, 2.0f)));
    if (OneIn(2)) graph_.outputs.back() = Round(graph_.outputs.back(), 2.0f);
  }

  ValueId AddLinear(ValueId x) {
    op::Linear linear;
    linear.activation = SomeFunction();
    const int64_t outputs = 1 + Below(40);
    std::vector<ValueId> inputs = {x, Weights({outputs, ShapeOf(x).back()})};
    linear.has_bias = OneIn(2);
    if (linear.has_bias) {
      std::vector<float> bias;
      for (int64_t c = 0; c < outputs; ++c) bias.push_back(Uniform(-0.5f, 0.5f));
      inputs.push_back(graph_.AddConstant(Name("bias"), Tensor({outputs}, std::move(bias))));
    }
    return Add("linear", linear, std::move(inputs));
  }

  ValueId Residual(const Shape& shape) {
    for (const ValueId id : maps_) {
      if (ShapeOf(id) == shape && OneIn(2)) return id;
    }
    return kNone;
  }

  // Whole steps, one size for all or one per output channel, around zero or not.
  ValueId Weights(const Shape& shape) {
    const int64_t row = ElementCount(shape) / shape[0];
    const bool by_channel = OneIn(2);
    const int low = OneIn(3) ? -80 : -127;
    const int high = low == -80 ? 175 : 127;
    const float spread = 1.0f / std::sqrt(static_cast<float>(row));
    std::vector<float> sizes(by_channel ? static_cast<size_t>(shape[0]) : 1);
    for (float& size : sizes) size = spread * Uniform(0.5f, 1.5f) / 64.0f;
    std::vector<float> numbers;
    for (int64_t i = 0; i < shape[0] * row; ++i) {
      const float size = sizes[by_channel ? static_cast<size_t>(i / row) : 0];
      numbers.push_back(size * static_cast<float>(low + Below(high - low + 1)));
    }
    const ValueId id = graph_.AddConstant(Name("weights"), Tensor(shape, std::move(numbers)));
    graph_.values[static_cast<size_t>(id)].step_sizes = std::move(sizes);
    return id;
  }

  // x sigmoid(x), both rounded.
  void AddSiluInSteps() {
    const ValueId x = Some();
    const Function sigmoid = {Function::Kind::kSigmoid, 0.0f, 0.0f};
    const ValueId gate = Round(Add("sigmoid", op::Activation{sigmoid}, {x}), 1.0f);
    maps_.push_back(Round(Add("product", op::Binary{BinaryKind::kMultiply, {}}, {x, gate}), 2.0f));
  }

  void AddFunction() {
    const Function tanh = {Function::Kind::kTanh, 0.0f, 0.0f};
    maps_.push_back(Round(Add("function", op::Activation{tanh}, {Some()}), 1.0f));
  }

  void AddSum() {
    const ValueId a = Some();
    const BinaryKind kind = OneIn(3) ? BinaryKind::kMultiply : BinaryKind::kAdd;
    const Function relu = {OneIn(2) ? Function::Kind::kRelu : Function::Kind::kIdentity, 0.0f,
                           0.0f};
    maps_.push_back(Round(Add("sum", op::Binary{kind, relu}, {a, Alike(a)}), 3.0f));
  }

  void AddConcat() {
    const ValueId a = Some();
    for (const ValueId b : maps_) {
      const bool fits = ShapeOf(b)[2] == ShapeOf(a)[2] && ShapeOf(b)[3] == ShapeOf(a)[3];
      if (!fits || ShapeOf(a)[1] + ShapeOf(b)[1] > 80 || OneIn(3)) continue;
      const ValueId both = Add("concat", op::Concat{1}, {a, b});
      return maps_.push_back(OneIn(4) ? both : Round(both, 2.0f));
    }
  }

  void AddPool() {
    const ValueId x = Some();
    op::Pool pool;
    pool.spec.kind = OneIn(2) ? PoolSpec::Kind::kMax : PoolSpec::Kind::kAverage;
    const int stride = ShapeOf(x)[2] > 4 && ShapeOf(x)[3] > 4 ? 1 + Below(2) : 1;
    pool.spec.rows = pool.spec.columns = {3, stride, 1, 1, 1};
    pool.spec.count_padding = OneIn(2);
    const ValueId pooled = Add("pool", pool, {x});
    maps_.push_back(OneIn(3) ? pooled : Round(pooled, 2.0f));
  }

  void AddResize() {
    const ValueId x = Some();
    const Shape& in = ShapeOf(x);
    if (in[2] * in[3] > 400) return;
    op::Resize resize;
    resize.spec.coordinates = ResizeSpec::Coordinates::kAsymmetric;
    resize.spec.out_height = static_cast<int>(2 * in[2]);
    resize.spec.out_width = static_cast<int>(2 * in[3]);
    maps_.push_back(Round(Add("resize", resize, {x}), 2.0f));
  }

  void AddSlice() {
    const ValueId x = Some();
    const Shape in = ShapeOf(x);
    op::Slice slice{{0, 0, 0, 0}, in, {1, 1, 1, 1}};
    slice.starts[1] = in[1] > 4 ? 4 * Below(static_cast<int>((in[1] - 1) / 4) + 1) : 0;
    slice.sizes[1] = in[1] - slice.starts[1];
    maps_.push_back(Add("slice", slice, {x}));
  }

  Graph graph_;
  std::mt19937 random_;
  std::vector<ValueId> maps_;
  int count_ = 0;
};

}  // namespace

Graph RandomEightBitGraph(uint32_t seed) { return EightBitNetwork(seed).Make(); }

}  // namespace cacheinf
