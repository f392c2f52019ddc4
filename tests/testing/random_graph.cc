#include "tests/testing/random_graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

namespace cacheinf {
namespace {

class Generator {
 public:
  Generator(uint32_t seed, const RandomGraphOptions& options) : random_(seed), options_(options) {
    graph_.name = "random " + std::to_string(seed);
  }

  Graph Make() {
    AddInputs();
    while (Count() < options_.operator_count) AddSomething();
    ChooseOutputs();
    graph_.Validate();
    return std::move(graph_);
  }

 private:
  using Builder = void (Generator::*)();

  int Count() const { return static_cast<int>(graph_.operators.size()); }
  int Draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool Chance(int percent) { return Draw(1, 100) <= percent; }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(Draw(0, static_cast<int>(from.size()) - 1))];
  }
  const Shape& ShapeOf(ValueId id) const { return graph_.value(id).shape; }

  void AddInputs() {
    const int batch = Chance(20) ? 2 : 1;
    const int count = Chance(30) ? 2 : 1;
    const Shape shape = {batch, Draw(1, 9), Draw(4, 14), Draw(4, 14)};
    for (int i = 0; i < count; ++i) {
      graph_.AddInput("input" + std::to_string(i), shape);
      values_.push_back(static_cast<ValueId>(graph_.values.size()) - 1);
    }
  }

  void AddSomething() {
    static const std::vector<Builder> kLocal = {
        &Generator::AddConv,           &Generator::AddConv,       &Generator::AddConv,
        &Generator::AddTransposed,     &Generator::AddActivation, &Generator::AddScaleShift,
        &Generator::AddChannelNorm,    &Generator::AddSum,        &Generator::AddSum,
        &Generator::AddBinaryConstant, &Generator::AddConcat,     &Generator::AddConcat,
        &Generator::AddConcat,         &Generator::AddSlice,      &Generator::AddSplit,
        &Generator::AddGather,         &Generator::AddPool,       &Generator::AddPool,
        &Generator::AddResize,         &Generator::AddResize,     &Generator::AddShuffle,
        &Generator::AddUnshuffle,      &Generator::AddPad,        &Generator::AddChannelReduction};
    static const std::vector<Builder> kOther = {
        &Generator::AddGate,    &Generator::AddGate,         &Generator::AddGlobalPool,
        &Generator::AddReshape, &Generator::AddReshape,      &Generator::AddFlatten,
        &Generator::AddPermute, &Generator::AddSoftmax,      &Generator::AddArgMax,
        &Generator::AddReduce,  &Generator::AddGroupNorm,    &Generator::AddLayerNorm,
        &Generator::AddLinear,  &Generator::AddLinear,       &Generator::AddMatMul,
        &Generator::AddExpand,  &Generator::AddAdaptivePool, &Generator::AddAnyGather};
    static const std::vector<Builder> kChoices = {&Generator::AddChoice, &Generator::AddTopK,
                                                  &Generator::AddGatherElements};
    if (options_.has_choices && !options_.only_local && Chance(10)) {
      return (this->*Pick(kChoices))();
    }
    const bool is_local = options_.only_local || Chance(60);
    (this->*Pick(is_local ? kLocal : kOther))();
  }

  // Appends the operator unless its result would be too large.
  ValueId TryAdd(Attributes attributes, std::vector<ValueId> inputs) {
    const std::string name = "op" + std::to_string(Count());
    const Operator op{name, attributes, inputs, {}};
    const std::vector<InferredOutput> inferred = InferShapes(graph_, op);
    if (ElementCount(inferred[0].shape) > options_.largest_value) return kNone;
    values_.push_back(graph_.AddOne(name, std::move(attributes), std::move(inputs)));
    return values_.back();
  }

  ValueId Constant(Shape shape, float low = -1.0f, float high = 1.0f) {
    return graph_.AddConstant("constant" + std::to_string(graph_.values.size()),
                              RandomTensor(std::move(shape), random_, low, high));
  }

  // A value to read: mostly a late one, so that graphs grow deep; sometimes any.
  ValueId AnyValue() {
    const int last = static_cast<int>(values_.size()) - 1;
    return values_[static_cast<size_t>(Chance(50) ? Draw(std::max(0, last - 3), last)
                                                  : Draw(0, last))];
  }
  ValueId AnyMap() {
    for (int attempt = 0; attempt < 20; ++attempt) {
      const ValueId value = AnyValue();
      if (ShapeOf(value).size() == 4) return value;
    }
    return values_.front();
  }
  // Values, `value` possibly among them, for which `fits` holds.
  template <typename Fits>
  std::vector<ValueId> AllThat(Fits fits) const {
    std::vector<ValueId> found;
    for (ValueId value : values_) {
      if (fits(value)) found.push_back(value);
    }
    return found;
  }

  Function AnyFunction() {
    using Kind = Function::Kind;
    static const std::vector<Function> kFunctions = {
        {Kind::kRelu, 0, 0},     {Kind::kLeakyRelu, 0.1f, 0}, {Kind::kElu, 1, 0},
        {Kind::kClip, 0, 6},     {Kind::kSigmoid, 0, 0},      {Kind::kHardSigmoid, 0.2f, 0.5f},
        {Kind::kSilu, 0, 0},     {Kind::kHardSwish, 0, 0},    {Kind::kGelu, 0, 0},
        {Kind::kGeluTanh, 0, 0}, {Kind::kMish, 0, 0},         {Kind::kTanh, 0, 0},
        {Kind::kSoftplus, 0, 0}, {Kind::kErf, 0, 0},          {Kind::kAbs, 0, 0},
        {Kind::kNegate, 0, 0},   {Kind::kFloor, 0, 0},        {Kind::kCeil, 0, 0},
        {Kind::kRound, 0, 0},    {Kind::kSin, 0, 0},          {Kind::kCos, 0, 0}};
    return Pick(kFunctions);
  }
  Function MaybeFunction() { return Chance(50) ? AnyFunction() : Function{}; }

  // Any window that fits an axis of this size.
  WindowAxis AnyWindow(int64_t size, int largest_stride) {
    WindowAxis window;
    window.kernel = Draw(1, 4);
    window.dilation = Chance(25) ? 2 : 1;
    window.stride = Chance(60) ? 1 : Draw(1, largest_stride);
    const int extent = (window.kernel - 1) * window.dilation + 1;
    window.pad_begin = Draw(0, extent / 2);
    window.pad_end = Draw(0, extent / 2);
    if (size > extent + 3 && Chance(10)) window.pad_begin = -Draw(1, 2);
    while (size + window.pad_begin + window.pad_end < extent) ++window.pad_end;
    return window;
  }

  // A plain window of three with that window's padding, if this leaves an output.
  static WindowAxis PlainThree(int64_t size, const WindowAxis& window) {
    WindowAxis three = {3, 1, window.pad_begin, window.pad_end, 1};
    while (size + three.pad_begin + three.pad_end < 3) ++three.pad_end;
    return three;
  }

  void AddConv() {
    const ValueId input = AnyMap();
    const Shape in = ShapeOf(input);
    op::Conv conv;
    conv.spec.rows = AnyWindow(in[2], 3);
    conv.spec.columns = AnyWindow(in[3], 3);
    int64_t out_channels = Chance(10) ? Draw(30, 80) : Draw(1, 20);
    if (options_.mostly_plain_threes && Chance(75)) {
      conv.spec.rows = PlainThree(in[2], conv.spec.rows);
      conv.spec.columns = PlainThree(in[3], conv.spec.columns);
    } else if (Chance(25)) {  // depthwise, sometimes with a multiplier
      conv.spec.groups = static_cast<int>(in[1]);
      out_channels = in[1] * (Chance(20) ? 2 : 1);
    } else if (in[1] % 2 == 0 && Chance(25)) {
      conv.spec.groups = 2;
      out_channels += out_channels % 2;
    } else if (Chance(25)) {
      conv.spec.rows = conv.spec.columns = WindowAxis{};
    }
    const int64_t in_channels = in[1] / conv.spec.groups;
    AddConvOf(conv, input, out_channels,
              {out_channels, in_channels, conv.spec.rows.kernel, conv.spec.columns.kernel});
  }

  void AddTransposed() {
    const ValueId input = AnyMap();
    const Shape in = ShapeOf(input);
    op::Conv conv;
    conv.spec.transposed = true;
    for (WindowAxis* window : {&conv.spec.rows, &conv.spec.columns}) {
      window->kernel = Draw(1, 4);
      window->stride = Draw(1, 3);
      window->dilation = Chance(20) ? 2 : 1;
      window->pad_begin = Draw(0, (window->kernel - 1) * window->dilation / 2);
      window->pad_end = Draw(0, (window->kernel - 1) * window->dilation / 2);
    }
    conv.spec.output_padding_rows = Draw(0, conv.spec.rows.stride - 1);
    conv.spec.output_padding_columns = Draw(0, conv.spec.columns.stride - 1);
    if (in[1] % 2 == 0 && Chance(30)) conv.spec.groups = 2;
    const int64_t out_channels = int64_t{Draw(1, 8)} * conv.spec.groups;
    AddConvOf(
        conv, input, out_channels,
        {in[1], out_channels / conv.spec.groups, conv.spec.rows.kernel, conv.spec.columns.kernel});
  }

  void AddConvOf(op::Conv conv, ValueId input, int64_t out_channels, Shape weights_shape) {
    const float spread = 1.5f / std::sqrt(static_cast<float>(ElementCount(weights_shape)) /
                                          static_cast<float>(weights_shape[0]));
    std::vector<ValueId> inputs = {input, Constant(std::move(weights_shape), -spread, spread)};
    conv.has_bias = Chance(60);
    if (conv.has_bias) inputs.push_back(Constant({out_channels}));
    const std::vector<InferredOutput> plain = InferShapes(
        graph_, {"plain", op::Conv{conv.spec, conv.has_bias, false, {}, false, false}, inputs, {}});
    const std::vector<ValueId> residuals =
        AllThat([&](ValueId value) { return ShapeOf(value) == plain[0].shape; });
    if (!residuals.empty() && Chance(70)) {
      conv.has_residual = true;
      conv.activation_before_residual = Chance(40);
      inputs.push_back(Pick(residuals));
    }
    conv.activation = MaybeFunction();
    if (Chance(10)) {
      conv.activation = {Function::Kind::kPRelu, 0, 0};
      conv.has_slope = true;
      inputs.push_back(Constant({Chance(50) ? 1 : out_channels}));
    }
    TryAdd(conv, std::move(inputs));
  }

  void AddActivation() {
    const ValueId input = AnyValue();
    if (Chance(15) && ShapeOf(input).size() >= 2) {
      const int64_t slopes = Chance(30) ? 1 : ShapeOf(input)[1];
      TryAdd(op::Activation{{Function::Kind::kPRelu, 0, 0}}, {input, Constant({slopes})});
    } else {
      TryAdd(op::Activation{AnyFunction()}, {input});
    }
  }

  void AddScaleShift() {
    const ValueId input = AnyMap();
    const auto channels = static_cast<int>(ShapeOf(input)[1]);
    op::ScaleShift scale_shift;
    int out_channels = channels;
    if (Chance(30)) {
      out_channels = Draw(1, channels + 1);
      for (int c = 0; c < out_channels; ++c) {
        scale_shift.channel_order.push_back(Draw(0, channels - 1));
      }
    }
    scale_shift.activation = MaybeFunction();
    std::vector<ValueId> inputs = {input, Constant({out_channels}), Constant({out_channels})};
    if (Chance(15)) {
      scale_shift.activation = {Function::Kind::kPRelu, 0, 0};
      inputs.push_back(Constant({Chance(50) ? 1 : out_channels}));
    }
    TryAdd(scale_shift, std::move(inputs));
  }

  void AddChannelNorm() {
    const ValueId input = AnyMap();
    op::LayerNorm norm;
    norm.has_affine = Chance(70);
    std::vector<ValueId> inputs = {input};
    const Shape channels = {ShapeOf(input)[1]};
    if (norm.has_affine) inputs.insert(inputs.end(), {Constant(channels), Constant(channels)});
    TryAdd(norm, std::move(inputs));
  }

  void AddSum() {
    const ValueId a = AnyValue();
    const std::vector<ValueId> others =
        AllThat([&](ValueId value) { return ShapeOf(value) == ShapeOf(a); });
    TryAdd(op::Binary{AnyBinary(), MaybeFunction()}, {a, Pick(others)});
  }

  BinaryKind AnyBinary() {
    static const std::vector<BinaryKind> kKinds = {BinaryKind::kAdd,      BinaryKind::kAdd,
                                                   BinaryKind::kSubtract, BinaryKind::kMultiply,
                                                   BinaryKind::kMinimum,  BinaryKind::kMaximum};
    return Pick(kKinds);
  }

  void AddBinaryConstant() {
    const ValueId input = AnyMap();
    const Shape in = ShapeOf(input);
    const std::vector<Shape> shapes = {{},
                                       {1},
                                       {in[3]},
                                       {in[1], 1, 1},
                                       {1, in[1], 1, 1},
                                       {1, 1, in[2], in[3]},
                                       {1, in[1], in[2], 1},
                                       in};
    std::vector<ValueId> inputs = {input, Constant(Pick(shapes), 0.5f, 2.0f)};
    const BinaryKind kind = Chance(30) ? BinaryKind::kDivide : AnyBinary();
    if (kind != BinaryKind::kDivide && Chance(30)) std::swap(inputs[0], inputs[1]);
    TryAdd(op::Binary{kind, MaybeFunction()}, std::move(inputs));
  }

  void AddConcat() {
    const ValueId first = AnyMap();
    const int axis = Chance(75) ? 1 : Draw(0, 3);
    const std::vector<ValueId> others = AllThat([&](ValueId value) {
      Shape shape = ShapeOf(value);
      if (shape.size() != 4) return false;
      shape[axis] = ShapeOf(first)[axis];
      return shape == ShapeOf(first);
    });
    std::vector<ValueId> inputs = {first};
    const int count = Draw(2, 4);
    while (static_cast<int>(inputs.size()) < count) inputs.push_back(Pick(others));
    if (Chance(10) && axis == 1) {
      Shape shape = ShapeOf(first);
      shape[1] = 2;
      inputs.push_back(Constant(shape));
    }
    std::shuffle(inputs.begin(), inputs.end(), random_);
    TryAdd(op::Concat{axis}, std::move(inputs));
  }

  void AddSlice() {
    const ValueId input = AnyValue();
    op::Slice slice;
    for (int64_t size : ShapeOf(input)) {
      const bool whole = Chance(40);
      const int64_t step =
          whole || Chance(60) ? 1 : Draw(1, static_cast<int>(std::min<int64_t>(size, 3)));
      const int64_t start = whole ? 0 : Draw(0, static_cast<int>(size) - 1);
      const int64_t room = (size - start - 1) / step + 1;
      slice.starts.push_back(start);
      slice.sizes.push_back(whole ? size : Draw(1, static_cast<int>(room)));
      slice.steps.push_back(step);
    }
    TryAdd(slice, {input});
  }

  void AddSplit() {
    const ValueId input = AnyMap();
    const Shape in = ShapeOf(input);
    if (in[1] < 2) return;
    const int64_t first = Draw(1, static_cast<int>(in[1]) - 1);
    TryAdd(op::Slice{{0, 0, 0, 0}, {in[0], first, in[2], in[3]}, {1, 1, 1, 1}}, {input});
    TryAdd(op::Slice{{0, first, 0, 0}, {in[0], in[1] - first, in[2], in[3]}, {1, 1, 1, 1}},
           {input});
  }

  void AddGather() { AddGatherOn(AnyMap(), 1, false); }
  void AddAnyGather() {
    const ValueId input = AnyValue();
    if (ShapeOf(input).empty()) return;
    AddGatherOn(input, Draw(0, static_cast<int>(ShapeOf(input).size()) - 1), Chance(30));
  }
  void AddGatherOn(ValueId input, int axis, bool scalar) {
    op::Gather gather;
    gather.axis = axis;
    gather.scalar = scalar;
    const int count = scalar ? 1 : Draw(1, 8);
    for (int i = 0; i < count; ++i) {
      gather.indices.push_back(Draw(0, static_cast<int>(ShapeOf(input)[axis]) - 1));
    }
    TryAdd(gather, {input});
  }

  void AddPool() {
    const ValueId input = AnyMap();
    op::Pool pool;
    pool.spec.kind = Chance(50) ? PoolSpec::Kind::kMax : PoolSpec::Kind::kAverage;
    pool.spec.rows = PoolWindow(ShapeOf(input)[2]);
    pool.spec.columns = PoolWindow(ShapeOf(input)[3]);
    pool.spec.ceil_mode = Chance(40);
    if (pool.spec.kind == PoolSpec::Kind::kAverage) {
      pool.spec.rows.dilation = pool.spec.columns.dilation = 1;
      pool.spec.count_padding = Chance(50);
      pool.spec.divisor = Chance(20) ? 5 : 0;
    }
    TryAdd(pool, {input});
  }
  WindowAxis PoolWindow(int64_t size) {
    WindowAxis window;
    window.kernel = Draw(1, static_cast<int>(std::min<int64_t>(size, 3)));
    window.stride = Draw(1, 3);
    window.pad_begin = Draw(0, window.kernel / 2);
    window.pad_end = Draw(0, window.kernel / 2);
    return window;
  }

  void AddResize() {
    const ValueId input = AnyMap();
    const Shape in = ShapeOf(input);
    op::Resize resize;
    ResizeSpec& spec = resize.spec;
    spec.kind = Pick<ResizeSpec::Kind>({ResizeSpec::Kind::kNearest, ResizeSpec::Kind::kNearest,
                                        ResizeSpec::Kind::kLinear, ResizeSpec::Kind::kLinear,
                                        ResizeSpec::Kind::kCubic});
    spec.coordinates = static_cast<ResizeSpec::Coordinates>(Draw(0, 4));
    spec.rounding = static_cast<ResizeSpec::Rounding>(Draw(0, 3));
    const Shape like = ShapeOf(AnyMap());  // sometimes fits another map
    spec.out_height = Chance(40) ? static_cast<int>(like[2]) : Draw(1, 2 * static_cast<int>(in[2]));
    spec.out_width = Chance(40) ? static_cast<int>(like[3]) : Draw(1, 2 * static_cast<int>(in[3]));
    if (Chance(30)) {
      spec.scale_rows = spec.scale_columns = 2.0f;
      spec.out_height = 2 * static_cast<int>(in[2]);
      spec.out_width = 2 * static_cast<int>(in[3]);
    }
    TryAdd(resize, {input});
  }

  void AddShuffle() {
    const std::vector<ValueId> deep = AllThat(
        [&](ValueId value) { return ShapeOf(value).size() == 4 && ShapeOf(value)[1] % 4 == 0; });
    if (!deep.empty()) TryAdd(op::DepthToSpace{2, AnyOrder()}, {Pick(deep)});
  }
  void AddUnshuffle() {
    const std::vector<ValueId> even = AllThat([&](ValueId value) {
      const Shape& shape = ShapeOf(value);
      return shape.size() == 4 && shape[2] % 2 == 0 && shape[3] % 2 == 0;
    });
    if (!even.empty()) TryAdd(op::SpaceToDepth{2, AnyOrder()}, {Pick(even)});
  }
  op::DepthToSpace::Order AnyOrder() {
    return Chance(50) ? op::DepthToSpace::Order::kRowsFirst
                      : op::DepthToSpace::Order::kChannelsFirst;
  }

  void AddPad() {
    const ValueId input = AnyMap();
    op::Pad pad;
    pad.mode = static_cast<PadMode>(Draw(0, 2));
    pad.value = 0.5f;
    for (size_t d = 0; d < 4; ++d) {
      const auto size = static_cast<int>(ShapeOf(input)[d]);
      const int most = pad.mode == PadMode::kReflect ? std::min(size - 1, 3) : 3;
      pad.begins.push_back(d >= 2 || Chance(10) ? Draw(0, most) : 0);
      pad.ends.push_back(d >= 2 || Chance(10) ? Draw(0, most) : 0);
    }
    TryAdd(pad, {input});
  }

  void AddChannelReduction() {
    const ValueId input = AnyMap();
    switch (Draw(0, 2)) {
      case 0:
        TryAdd(op::Softmax{1, Chance(30)}, {input});
        break;
      case 1:
        TryAdd(op::ArgMax{1, true}, {input});
        break;
      default:
        TryAdd(op::Reduce{AnyReduction(), {1}, true}, {input});
        break;
    }
  }
  ReduceKind AnyReduction() { return static_cast<ReduceKind>(Draw(0, 3)); }

  void AddGate() {
    const ValueId input = AnyMap();
    const int64_t channels = ShapeOf(input)[1];
    const ValueId pooled = TryAdd(op::AdaptivePool{}, {input});
    if (pooled == kNone) return;
    op::Conv conv;
    conv.activation = {Function::Kind::kSigmoid, 0, 0};
    const ValueId gate = TryAdd(conv, {pooled, Constant({channels, channels, 1, 1})});
    if (gate != kNone) TryAdd(op::Binary{BinaryKind::kMultiply, {}}, {input, gate});
  }

  void AddGlobalPool() {
    TryAdd(op::AdaptivePool{Chance(50) ? PoolSpec::Kind::kMax : PoolSpec::Kind::kAverage, 1, 1},
           {AnyMap()});
  }
  void AddAdaptivePool() {
    TryAdd(op::AdaptivePool{Chance(50) ? PoolSpec::Kind::kMax : PoolSpec::Kind::kAverage,
                            Draw(1, 6), Draw(1, 6)},
           {AnyMap()});
  }

  void AddReshape() {
    const ValueId input = AnyValue();
    const int64_t count = ElementCount(ShapeOf(input));
    // Split into factors, over any number of dimensions.
    Shape shape = {};
    int64_t rest = count;
    const int rank = Draw(1, 5);
    for (int i = 0; i + 1 < rank; ++i) {
      int64_t factor = Draw(1, 8);
      while (rest % factor != 0) --factor;
      shape.push_back(factor);
      rest /= factor;
    }
    shape.push_back(rest);
    std::shuffle(shape.begin(), shape.end(), random_);
    TryAdd(op::Reshape{Chance(15) ? ShapeOf(input) : shape}, {input});
  }

  // The end of a classifier, and the way back to a map of one pixel.
  void AddFlatten() {
    const ValueId pooled = TryAdd(op::AdaptivePool{}, {AnyMap()});
    if (pooled == kNone) return;
    const Shape in = ShapeOf(pooled);
    const ValueId flat = TryAdd(op::Reshape{{in[0], in[1]}}, {pooled});
    op::Linear linear;
    linear.activation = MaybeFunction();
    const ValueId out = TryAdd(linear, {flat, Constant({in[1], in[1]})});
    if (Chance(50)) TryAdd(op::Reshape{in}, {out});
  }

  void AddPermute() {
    const ValueId input = AnyValue();
    op::Permute permute;
    permute.order.resize(ShapeOf(input).size());
    std::iota(permute.order.begin(), permute.order.end(), 0);
    if (Chance(85)) std::shuffle(permute.order.begin(), permute.order.end(), random_);
    TryAdd(permute, {input});
  }

  ValueId AnyWithAxes() {
    const std::vector<ValueId> found =
        AllThat([&](ValueId value) { return !ShapeOf(value).empty(); });
    return Pick(found);
  }
  int AnyAxis(ValueId value) { return Draw(0, static_cast<int>(ShapeOf(value).size()) - 1); }

  void AddSoftmax() {
    const ValueId input = AnyWithAxes();
    TryAdd(op::Softmax{AnyAxis(input), Chance(30)}, {input});
  }
  void AddArgMax() {
    const ValueId input = AnyWithAxes();
    TryAdd(op::ArgMax{AnyAxis(input), Chance(50)}, {input});
  }
  void AddTopK() {
    const ValueId input = AnyWithAxes();
    const int axis = AnyAxis(input);
    const auto size = static_cast<int>(ShapeOf(input)[static_cast<size_t>(axis)]);
    const ValueId top = TryAdd(op::TopK{axis, Draw(1, std::min(size, 12))}, {input});
    if (top != kNone && Chance(70)) TryAdd(op::GatherElements{axis}, {input, top});
  }
  void AddGatherElements() {
    const ValueId input = AnyWithAxes();
    const int axis = AnyAxis(input);
    Shape shape = ShapeOf(input);
    for (int64_t& size : shape) size = Chance(50) ? 1 : size;
    shape[static_cast<size_t>(axis)] = Draw(1, 9);
    TryAdd(op::GatherElements{axis}, {input, Constant(shape, -12.0f, 12.0f)});
  }
  // A comparison, and what follows from it.
  void AddChoice() {
    const ValueId input = AnyValue();
    const auto kind =
        Pick<BinaryKind>({BinaryKind::kEqual, BinaryKind::kLess, BinaryKind::kLessOrEqual,
                          BinaryKind::kQuotient, BinaryKind::kModulo});
    const ValueId choice = TryAdd(op::Binary{kind, {}}, {input, Constant({}, 0.3f, 0.6f)});
    if (choice == kNone) return;
    TryAdd(op::Binary{BinaryKind::kWhere, {}}, {choice, input});
    const auto function = Chance(50) ? Function::Kind::kTruncate : Function::Kind::kIsZero;
    TryAdd(op::Activation{{function, 0, 0}}, {Chance(50) ? choice : input});
  }
  void AddReduce() {
    const ValueId input = AnyWithAxes();
    op::Reduce reduce;
    reduce.kind = AnyReduction();
    reduce.keep_dimensions = Chance(50);
    for (int axis = 0; axis < static_cast<int>(ShapeOf(input).size()); ++axis) {
      if (Chance(40)) reduce.axes.push_back(axis);
    }
    if (!reduce.axes.empty()) TryAdd(reduce, {input});
  }

  void AddGroupNorm() {
    const ValueId input = AnyMap();
    const int64_t channels = ShapeOf(input)[1];
    op::GroupNorm norm;
    norm.groups = static_cast<int>(channels % 2 == 0 && Chance(50) ? channels / 2
                                   : Chance(50)                    ? channels
                                                                   : 1);
    norm.has_affine = Chance(50);
    std::vector<ValueId> inputs = {input};
    if (norm.has_affine) inputs.insert(inputs.end(), {Constant({channels}), Constant({channels})});
    TryAdd(norm, std::move(inputs));
  }

  void AddLayerNorm() {
    const ValueId input = AnyWithAxes();
    const Shape in = ShapeOf(input);
    op::LayerNorm norm;
    norm.first_axis = AnyAxis(input);
    norm.axis_count = Draw(1, static_cast<int>(in.size()) - norm.first_axis);
    TryAdd(norm, {input});
  }

  void AddLinear() {
    const ValueId input = AnyWithAxes();
    const int64_t in = ShapeOf(input).back();
    const int64_t out = Draw(1, 20);
    op::Linear linear;
    linear.has_bias = Chance(50);
    linear.activation = MaybeFunction();
    const float spread = 1.5f / std::sqrt(static_cast<float>(in));
    std::vector<ValueId> inputs = {input, Constant({out, in}, -spread, spread)};
    if (linear.has_bias) inputs.push_back(Constant({out}));
    TryAdd(linear, std::move(inputs));
  }

  void AddMatMul() {
    const ValueId a = AnyWithAxes();
    const Shape shape = ShapeOf(a);
    if (shape.size() < 2) return;
    TryAdd(op::MatMul{}, {a, Constant({shape.back(), Draw(1, 9)}, -0.5f, 0.5f)});
    Shape transposed = shape;
    std::swap(transposed[shape.size() - 1], transposed[shape.size() - 2]);
    const std::vector<ValueId> others =
        AllThat([&](ValueId value) { return ShapeOf(value) == transposed; });
    if (!others.empty()) TryAdd(op::MatMul{}, {a, Pick(others)});
  }

  void AddExpand() {
    const ValueId input = AnyValue();
    Shape shape = ShapeOf(input);
    for (int64_t& size : shape) {
      if (size == 1) size = Draw(1, 5);
    }
    if (shape.size() < 4 && Chance(40)) shape.insert(shape.begin(), 2);
    TryAdd(op::Expand{shape}, {input});
  }

  void ChooseOutputs() {
    graph_.outputs.push_back(values_.back());
    const int more = Draw(0, 4);
    for (int i = 0; i < more; ++i) graph_.outputs.push_back(Pick(values_));
    if (Chance(5)) graph_.outputs.push_back(graph_.inputs.front());
    if (Chance(5)) graph_.outputs.push_back(Constant({1, 2, 3, 4}));
    if (Chance(10)) graph_.outputs.push_back(graph_.outputs.front());
  }

  std::mt19937 random_;
  RandomGraphOptions options_;
  Graph graph_;
  std::vector<ValueId> values_;  // all that may be read
};

// The operator in a graph of its own.
Graph Isolate(const Graph& from, OpId id) {
  Graph graph;
  const Operator& op = from.operators[id];
  graph.name = "operator '" + op.name + "' (" + KindName(op) + ") of " + from.name;
  std::vector<ValueId> inputs;
  for (ValueId input : op.inputs) {
    const Value& value = from.value(input);
    inputs.push_back(value.is_constant() ? graph.AddConstant(value.name, value.constant)
                                         : graph.AddInput(value.name, value.shape));
  }
  graph.outputs = graph.Add(op.name, op.attributes, inputs);
  graph.Validate();
  return graph;
}

}  // namespace

Graph RandomGraph(uint32_t seed, const RandomGraphOptions& options) {
  return Generator(seed, options).Make();
}

std::vector<Graph> OneOperatorGraphs(uint32_t seed, int count) {
  std::vector<Graph> graphs;
  while (static_cast<int>(graphs.size()) < count) {
    const Graph graph = RandomGraph(seed++);
    for (size_t id = 0; id < graph.operators.size(); ++id) {
      graphs.push_back(Isolate(graph, static_cast<OpId>(id)));
    }
  }
  return graphs;
}

std::vector<Tensor> RandomInputs(const Graph& graph, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> tensors;
  for (ValueId input : graph.inputs) {
    tensors.push_back(RandomTensor(graph.value(input).shape, random));
  }
  return tensors;
}

Tensor RandomTensor(Shape shape, std::mt19937& random, float low, float high) {
  std::vector<float> values(static_cast<size_t>(ElementCount(shape)));
  std::uniform_real_distribution<float> distribution(low, high);
  for (float& value : values) value = distribution(random);
  return Tensor(std::move(shape), std::move(values));
}

ValueId AddConv(Graph& graph, const std::string& name, ValueId input, int64_t channels, int kernel,
                std::mt19937& random, float spread) {
  op::Conv conv;
  conv.spec.rows = conv.spec.columns = {kernel, 1, kernel / 2, kernel / 2, 1};
  const Shape shape = {channels, graph.value(input).shape[1], kernel, kernel};
  const ValueId weights =
      graph.AddConstant(name + ".weights", RandomTensor(shape, random, -spread, spread));
  return graph.AddOne(name, conv, {input, weights});
}

}  // namespace cacheinf
