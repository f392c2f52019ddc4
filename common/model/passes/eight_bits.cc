#include "sparse_ops/eight_bits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/model/passes/passes.h"
#include "common/model/passes/rewriter.h"
#include "sparse_ops/function.h"

namespace cacheinf {
namespace {

constexpr int kBytes = 256;

int ByteNumber(int byte, const Steps& steps) {
  return steps.is_signed ? static_cast<int>(static_cast<int8_t>(byte)) : byte;
}

// A function of the 8-bit numbers of one map.
struct OfOneMap {
  ValueId map = kNone;
  std::array<float, kBytes> numbers = {};  // by stored byte: the floats that it gives
};

// The value as a function of the 8-bit numbers of one map, however it is written; none if it is
// not one.
class OneMapFinder {
 public:
  explicit OneMapFinder(const Graph& graph) : graph_(graph) {}

  std::optional<OfOneMap> Find(ValueId id) const {
    const Value& value = graph_.value(id);
    if (value.is_eight_bit()) return OfEightBit(id);
    if (value.producer == kNone) return std::nullopt;
    const Operator& op = graph_.operators[static_cast<size_t>(value.producer)];
    if (op.As<op::Dequantise>()) return OfEightBit(op.inputs[0]);
    if (const auto* activation = op.As<op::Activation>()) {
      if (activation->function.kind == Function::Kind::kPRelu) return std::nullopt;
      return After(Find(op.inputs[0]), [&](float x) { return Apply(activation->function, x); });
    }
    if (const auto* affine = op.As<op::ScaleShift>()) return OfAffine(op, *affine);
    return std::nullopt;
  }

 private:
  // Through tables, to the first map.
  OfOneMap OfEightBit(ValueId id) const {
    const Value& value = graph_.value(id);
    const Operator* op = nullptr;
    if (value.producer != kNone) op = &graph_.operators[static_cast<size_t>(value.producer)];
    const auto* table = op == nullptr ? nullptr : op->As<op::Table>();
    OfOneMap found;
    found.map = table == nullptr ? id : op->inputs[0];
    for (int byte = 0; byte < kBytes; ++byte) {
      const auto index = static_cast<size_t>(byte);
      const int q = table == nullptr ? ByteNumber(byte, value.steps) : table->entries[index];
      found.numbers[index] = FromSteps(q, value.steps);
    }
    return found;
  }

  static std::optional<OfOneMap> After(std::optional<OfOneMap> x, const auto& function) {
    if (!x) return x;
    for (float& number : x->numbers) number = function(number);
    return x;
  }

  std::optional<OfOneMap> OfAffine(const Operator& op, const op::ScaleShift& affine) const {
    const auto scale = Uniform(graph_.value(op.inputs[1]).constant);
    const auto shift = Uniform(graph_.value(op.inputs[2]).constant);
    const bool is_one = scale && shift && affine.channel_order.empty() &&
                        affine.activation.kind != Function::Kind::kPRelu;
    if (!is_one) return std::nullopt;
    return After(Find(op.inputs[0]),
                 [&](float x) { return Apply(affine.activation, std::fma(x, *scale, *shift)); });
  }

  static std::optional<float> Uniform(const Tensor& numbers) {
    const float first = *numbers.data();
    for (int64_t i = 1; i < numbers.count(); ++i) {
      if (numbers.data()[i] != first) return std::nullopt;
    }
    return first;
  }

  const Graph& graph_;
};

op::Table TableOf(const OfOneMap& function, const Steps& steps) {
  op::Table table;
  table.steps = steps;
  for (const float number : function.numbers) table.entries.push_back(ToSteps(number, steps));
  return table;
}

// The 8-bit map of which a value is the float form; kNone if it is not one.
ValueId MapBehind(const Graph& graph, ValueId id) {
  const OpId producer = graph.value(id).producer;
  if (producer == kNone) return kNone;
  const Operator& op = graph.operators[static_cast<size_t>(producer)];
  return op.As<op::Dequantise>() ? op.inputs[0] : kNone;
}

// The steps that a value is rounded to; none if it is not.
std::optional<Steps> StepsBehind(const Graph& graph, ValueId id) {
  if (const ValueId map = MapBehind(graph, id); map != kNone) return graph.value(map).steps;
  const OpId producer = graph.value(id).producer;
  if (producer == kNone) return std::nullopt;
  const auto* fake = graph.operators[static_cast<size_t>(producer)].As<op::FakeQuantise>();
  return fake == nullptr ? std::nullopt : std::optional(fake->steps);
}

// --- Weights ---------------------------------------------------------------------------------

// Weights and bias of a convolution or linear operator as whole numbers.
struct WholeWeights {
  std::vector<float> words;  // as QuantConvArgs has them
  std::vector<int> bias;
  std::vector<float> scales;
  std::vector<int> zeros;
  const char* why_not = nullptr;
};

// Reads weights: outputs × inputs, and perhaps rows × columns.
class WeightReader {
 public:
  // `bias`: kNone for none.
  WeightReader(const Graph& graph, const Steps& input_steps, ValueId weights, ValueId bias)
      : input_steps_(input_steps),
        weights_(graph.value(weights)),
        bias_(bias == kNone ? nullptr : &graph.value(bias).constant) {}

  WholeWeights Read() {
    if (weights_.step_sizes.empty()) return Refuse("its weights are not 8-bit numbers");
    const int64_t outputs = weights_.shape[0];
    out_.words.assign(static_cast<size_t>(outputs * words_of_input() * area()), 0.0f);
    out_.zeros.assign(static_cast<size_t>(outputs), 0);
    for (int64_t channel = 0; channel < outputs; ++channel) {
      if (const char* why = ReadChannel(channel); why != nullptr) return Refuse(why);
    }
    if (std::ranges::all_of(out_.zeros, [](int zero) { return zero == 0; })) out_.zeros.clear();
    return std::move(out_);
  }

 private:
  static WholeWeights Refuse(const char* why) {
    WholeWeights refused;
    refused.why_not = why;
    return refused;
  }

  int64_t words_of_input() const { return WordCount(static_cast<int>(weights_.shape[1])); }
  int64_t area() const {
    return weights_.constant.count() / (weights_.shape[0] * weights_.shape[1]);
  }

  const char* ReadChannel(int64_t channel) {
    const std::vector<float>& sizes = weights_.step_sizes;
    const float size = sizes[sizes.size() == 1 ? 0 : static_cast<size_t>(channel)];
    const float scale = input_steps_.scale * size;
    if (!std::isfinite(scale) || scale < std::numeric_limits<float>::min()) {
      return "its scales are too large or too small to multiply";
    }
    const char* why = FindWhole(channel, size);
    if (why != nullptr) return why;
    const Steps& steps = input_steps_;
    const int64_t farthest =
        std::max(steps.high() - steps.zero_point, steps.zero_point - steps.low());
    int64_t largest_sum = 0;
    for (const int number : whole_) largest_sum += std::abs(number) * farthest;
    const double bias = (bias_ == nullptr ? 0.0 : double{bias_->data()[channel]}) / double{scale};
    if (!(std::fabs(bias) + static_cast<double>(largest_sum) <
          static_cast<double>(std::numeric_limits<int32_t>::max()))) {
      return "its sums do not fit 32 bits";
    }
    out_.bias.push_back(static_cast<int>(std::nearbyint(bias)));
    out_.scales.push_back(scale);
    return Store(channel);
  }

  // Finds the channel's weights in steps.
  const char* FindWhole(int64_t channel, float size) {
    constexpr float kMost = 255.0f;
    const int64_t count = weights_.constant.count() / weights_.shape[0];
    const float* const numbers = weights_.constant.data() + channel * count;
    whole_.clear();
    for (int64_t i = 0; i < count; ++i) {
      const float whole = std::nearbyint(numbers[i] / size);
      if (!(std::fabs(whole) <= kMost) || whole * size != numbers[i]) {
        return "its weights are not whole steps";
      }
      whole_.push_back(static_cast<int>(whole));
    }
    return nullptr;
  }

  // Stores them as signed bytes less a zero.
  const char* Store(int64_t channel) {
    constexpr int kLow = -128;
    constexpr int kHigh = 127;
    const auto [least, most] = std::ranges::minmax(whole_);
    const int zero = least >= kLow && most <= kHigh ? 0 : kLow - least;
    if (most + zero > kHigh) return "its weights do not fit 8 bits";
    out_.zeros[static_cast<size_t>(channel)] = zero;
    for (int64_t i = 0; i < static_cast<int64_t>(whole_.size()); ++i) {
      const int64_t in = i / area();
      const int64_t word = (channel * words_of_input() + in / kBytesOfWord) * area() + i % area();
      SetByte(&out_.words[static_cast<size_t>(word)], static_cast<int>(in % kBytesOfWord),
              whole_[static_cast<size_t>(i)] + zero);
    }
    return nullptr;
  }

  Steps input_steps_;
  const Value& weights_;
  const Tensor* bias_;
  WholeWeights out_;
  std::vector<int> whole_;  // of one channel
};

WholeWeights Refused(const char* why) {
  WholeWeights refused;
  refused.why_not = why;
  return refused;
}

// Reads the weights of an operator on floats: op::Conv.
WholeWeights WeightsOfConv(const Graph& graph, const Operator& op) {
  const auto& conv = *op.As<op::Conv>();
  const std::optional<Steps> steps = StepsBehind(graph, op.inputs[0]);
  if (!steps) return Refused("its input is not quantised");
  if (conv.spec.transposed) return Refused("transposed convolutions have no 8-bit form yet");
  if (conv.has_slope) return Refused("PReLU has no 8-bit form in a convolution");
  return WeightReader(graph, *steps, op.inputs[1], conv.has_bias ? op.inputs[2] : kNone).Read();
}

// What a linear operator reads.
struct RoundedInput {
  Steps steps;
  ValueId value = kNone;  // rounded to these steps, it is what the operator reads
};

// What a value was before it was rounded; none if it is not rounded. Only order and shape may have
// changed since.
std::optional<RoundedInput> RoundedBefore(const Graph& graph, ValueId id) {
  for (ValueId x = id; graph.value(x).producer != kNone;) {
    const Operator& op = graph.operators[static_cast<size_t>(graph.value(x).producer)];
    if (const auto* fake = op.As<op::FakeQuantise>()) {
      return RoundedInput{fake->steps, x == id ? op.inputs[0] : id};
    }
    if (op.As<op::Dequantise>()) return RoundedInput{graph.value(op.inputs[0]).steps, id};
    if (const auto* conv = op.As<op::QuantConv>()) {
      if (!conv->rounds_sums || conv->has_residual) return std::nullopt;
      return RoundedInput{conv->table.empty() ? conv->sum_steps : conv->table_steps, id};
    }
    if (const auto* linear = op.As<op::QuantLinear>()) {
      if (!linear->rounds_sums) return std::nullopt;
      return RoundedInput{linear->steps, id};
    }
    if (!op.As<op::Reshape>() && !op.As<op::Permute>()) return std::nullopt;
    x = op.inputs[0];
  }
  return std::nullopt;
}

// Likewise for op::Linear.
WholeWeights WeightsOfLinear(const Graph& graph, const Operator& op) {
  const auto input = RoundedBefore(graph, op.inputs[0]);
  if (!input) return Refused("its input is not quantised");
  const bool has_bias = op.As<op::Linear>()->has_bias;
  return WeightReader(graph, input->steps, op.inputs[1], has_bias ? op.inputs[2] : kNone).Read();
}

// Lets a product of 8-bit numbers round its sums to these steps if only a bound lies between.
// Rounding keeps the order, so bounds can be taken after it.
bool RoundSums(auto& product, const Steps& steps) {
  const Function function = product.activation;
  const bool is_bound = function.kind == Function::Kind::kIdentity ||
                        function.kind == Function::Kind::kRelu ||
                        function.kind == Function::Kind::kClip;
  const bool fits = std::ranges::all_of(product.scales, [&](float scale) {
    const float multiplier = scale / steps.scale;
    return std::isfinite(multiplier) && multiplier >= std::numeric_limits<float>::min();
  });
  if (!is_bound || !fits) return false;
  product.rounds_sums = true;
  product.activation = Function();
  product.low = steps.low();
  product.high = steps.high();
  if (function.kind == Function::Kind::kRelu) product.low = steps.zero_point;
  if (function.kind == Function::Kind::kClip) {
    product.high = ToSteps(function.beta, steps);
    product.low = std::min(ToSteps(function.alpha, steps), product.high);
  }
  return true;
}

bool ComeInFours(const Graph& graph, const std::vector<ValueId>& maps) {
  for (size_t i = 0; i + 1 < maps.size(); ++i) {
    const Value& map = graph.value(maps[i]);
    const int64_t channels = map.is_eight_bit() ? map.channels : map.shape[1];
    if (channels % kBytesOfWord != 0) return false;
  }
  return true;
}

// A slice of channels as one of words; none if it cuts a word.
std::optional<op::Slice> OfWords(const op::Slice& slice, int64_t channels) {
  const bool ends_whole =
      slice.starts[1] + slice.sizes[1] == channels || slice.sizes[1] % kBytesOfWord == 0;
  if (slice.steps[1] != 1 || slice.starts[1] % kBytesOfWord != 0 || !ends_whole) {
    return std::nullopt;
  }
  op::Slice words = slice;
  words.starts[1] /= kBytesOfWord;
  words.sizes[1] = WordCount(static_cast<int>(slice.sizes[1]));
  return words;
}

// An operator that only moves pixels, as an operator on 8-bit maps; none if it has no such form. A
// maximum has one, since rounding keeps the order. `steps` are the maps'.
std::optional<Attributes> AsMove(const Graph& graph, const Operator& op, const Steps& steps) {
  const Value& output = graph.value(op.outputs[0]);
  if (!output.is_map() || output.is_eight_bit()) return std::nullopt;
  if (const auto* concat = op.As<op::Concat>()) {
    const bool fits = concat->axis == 1 ? ComeInFours(graph, op.inputs) : concat->axis > 1;
    if (fits) return *concat;
  } else if (const auto* resize = op.As<op::Resize>()) {
    if (resize->spec.kind == ResizeSpec::Kind::kNearest) return *resize;
  } else if (const auto* slice = op.As<op::Slice>()) {
    if (const auto words = OfWords(*slice, graph.value(op.inputs[0]).shape[1])) return *words;
  } else if (const auto* pool = op.As<op::Pool>()) {
    if (pool->spec.kind == PoolSpec::Kind::kMax) return op::QuantPool{pool->spec, steps};
  }
  return std::nullopt;
}

// --- The pass --------------------------------------------------------------------------------

// Turns operators that round maps into pairs that make 8-bit maps and read them again.
bool SplitFakes(Graph& graph) {
  return RewriteEach(graph, [](Rewriter& rewriter, OpId id) {
    const Operator op = rewriter.op(id);
    const auto* fake = op.As<op::FakeQuantise>();
    if (fake == nullptr || !rewriter.value(op.outputs[0]).is_map()) return;
    if (rewriter.value(op.inputs[0]).is_constant()) return;
    const ValueId map =
        rewriter.InsertBefore(id, op.name, op::Quantise{fake->steps}, {op.inputs[0]});
    rewriter.Replace(id, op.name + ".floats", op::Dequantise{}, {map});
  });
}

// Undoes that where only the floats are read.
bool JoinFakes(Graph& graph) {
  return RewriteEach(graph, [](Rewriter& rewriter, OpId id) {
    const Operator op = rewriter.op(id);
    if (!op.As<op::Dequantise>() || !rewriter.IsReadOnce(op.inputs[0])) return;
    const auto* quantise = rewriter.ProducedBy<op::Quantise>(op.inputs[0]);
    if (quantise == nullptr) return;
    const Operator before = *rewriter.Producer(op.inputs[0]);
    rewriter.Replace(id, before.name, op::FakeQuantise{quantise->steps}, before.inputs);
  });
}

// Rewrites one operator.
class EightBitFolder {
 public:
  EightBitFolder(const Graph& graph, Rewriter& rewriter, OpId id)
      : graph_(graph), rewriter_(rewriter), id_(id), op_(rewriter.op(id)) {}

  void Run() {
    if (const auto* quantise = op_.As<op::Quantise>()) {
      FoldQuantise(quantise->steps);
    } else if (op_.As<op::Conv>()) {
      FoldConv();
    } else if (op_.As<op::QuantBinary>()) {
      FoldBinaryOfOne();
    } else if (op_.As<op::Table>()) {
      FoldTable();
    } else {
      SinkDequantise();
    }
  }

 private:
  ValueId Behind(ValueId id) const { return MapBehind(graph_, id); }

  // Folds Quantise(x), depending on the operator that gives x.
  void FoldQuantise(const Steps& steps) {
    const ValueId x = op_.inputs[0];
    const Operator* producer = rewriter_.Producer(x);
    if (producer == nullptr) return;
    if (const ValueId map = Behind(x); map != kNone && graph_.value(map).steps == steps) {
      rewriter_.ReplaceByValue(id_, map);
      return;
    }
    if (const auto function = OneMapFinder(graph_).Find(x)) {
      return rewriter_.Replace(id_, TableOf(*function, steps), {function->map});
    }
    const Operator before = *producer;
    if (const auto* conv = before.As<op::QuantConv>()) {
      if (rewriter_.IsReadOnce(x)) FuseConv(before, *conv, steps);
    } else if (const auto* binary = before.As<op::Binary>()) {
      FuseBinary(before, *binary, steps);
    } else if (const auto* pool = before.As<op::Pool>();
               pool != nullptr && pool->spec.kind == PoolSpec::Kind::kAverage) {
      const ValueId map = Behind(before.inputs[0]);
      if (map == kNone) return;
      rewriter_.Replace(id_, before.name, op::QuantPool{pool->spec, steps}, {map});
    } else if (const auto move = AsMove(graph_, before, steps)) {
      if (rewriter_.IsReadOnce(x)) RaiseQuantise(before, *move, steps);
    }
  }

  void FuseConv(const Operator& before, op::QuantConv conv, const Steps& steps) {
    conv.gives_floats = false;
    conv.steps = steps;
    conv.low = steps.low();
    conv.high = steps.high();
    if (!conv.has_residual && RoundSums(conv, steps)) conv.sum_steps = steps;
    rewriter_.Replace(id_, before.name, std::move(conv), before.inputs);
  }

  void FuseBinary(const Operator& before, const op::Binary& binary, const Steps& steps) {
    const ValueId a = Behind(before.inputs[0]);
    const ValueId b = Behind(before.inputs[1]);
    if (a == kNone || b == kNone || graph_.value(a).shape != graph_.value(b).shape ||
        graph_.value(a).channels != graph_.value(b).channels) {
      return;
    }
    rewriter_.Replace(id_, before.name, op::QuantBinary{binary.kind, binary.activation, steps},
                      {a, b});
  }

  // Quantise(move(x, …)) becomes move(Quantise(x), …), where that meets 8-bit numbers.
  void RaiseQuantise(const Operator& before, const Attributes& move, const Steps& steps) {
    const auto meets = [&](ValueId x) {
      return Behind(x) != kNone || rewriter_.ProducedBy<op::QuantConv>(x) != nullptr;
    };
    if (!std::ranges::any_of(before.inputs, meets)) return;
    if (std::ranges::any_of(before.inputs,
                            [&](ValueId x) { return rewriter_.value(x).is_constant(); })) {
      return;
    }
    std::vector<ValueId> maps;
    for (const ValueId x : before.inputs) {
      maps.push_back(rewriter_.InsertBefore(id_, rewriter_.value(x).name + ".steps",
                                            op::Quantise{steps}, {x}));
    }
    rewriter_.Replace(id_, before.name, move, std::move(maps));
  }

  void FoldConv() {
    if (Behind(op_.inputs[0]) == kNone) return;
    WholeWeights whole = WeightsOfConv(graph_, op_);
    if (whole.why_not != nullptr) return;
    std::vector<ValueId> inputs = {Behind(op_.inputs[0])};
    const auto& conv = *op_.As<op::Conv>();
    const std::string name = graph_.value(op_.inputs[1]).name;
    Shape shape = graph_.value(op_.inputs[1]).shape;
    shape[1] = WordCount(static_cast<int>(shape[1]));
    inputs.push_back(rewriter_.AddConstant(name, shape, std::move(whole.words)));
    if (conv.has_residual) {
      const ValueId residual = op_.inputs[conv.has_bias ? 3 : 2];
      const ValueId map = Behind(residual);
      inputs.push_back(map == kNone ? residual : map);
    }
    op::QuantConv made;
    made.spec = conv.spec;
    made.bias = std::move(whole.bias);
    made.scales = std::move(whole.scales);
    made.weight_zeros = std::move(whole.zeros);
    made.has_residual = conv.has_residual;
    made.activation = conv.activation;
    made.activation_before_residual = conv.activation_before_residual;
    made.gives_floats = true;
    rewriter_.Replace(id_, std::move(made), std::move(inputs));
  }

  // A sum, say, of two functions of the same numbers is a function of them.
  void FoldBinaryOfOne() {
    const auto& binary = *op_.As<op::QuantBinary>();
    const OneMapFinder finder(graph_);
    std::optional<OfOneMap> a = finder.Find(op_.inputs[0]);
    const std::optional<OfOneMap> b = finder.Find(op_.inputs[1]);
    if (a->map != b->map) return;
    for (size_t i = 0; i < a->numbers.size(); ++i) {
      a->numbers[i] = Apply(binary.activation, Combine(binary.kind, a->numbers[i], b->numbers[i]));
    }
    rewriter_.Replace(id_, TableOf(*a, binary.steps), {a->map});
  }

  // A table of a table.
  void FoldTable() {
    const ValueId x = op_.inputs[0];
    const auto* first = rewriter_.ProducedBy<op::Table>(x);
    if (first == nullptr) return;
    op::Table both = *op_.As<op::Table>();
    for (size_t byte = 0; byte < kBytes; ++byte) {
      const auto between = static_cast<uint8_t>(first->entries[byte]);
      both.entries[byte] = op_.As<op::Table>()->entries[between];
    }
    const ValueId map = rewriter_.Producer(x)->inputs[0];
    rewriter_.Replace(id_, std::move(both), {map});
  }

  // move(Dequantise(x), …) becomes Dequantise(move(x, …)).
  void SinkDequantise() {
    if (op_.inputs.empty() || op_.outputs.size() != 1) return;
    std::vector<ValueId> maps;
    for (const ValueId x : op_.inputs) {
      const ValueId map = Behind(x);
      if (map == kNone || !(graph_.value(map).steps == graph_.value(Behind(op_.inputs[0])).steps)) {
        return;
      }
      maps.push_back(map);
    }
    const auto move = AsMove(graph_, op_, graph_.value(maps[0]).steps);
    if (!move) return;
    const ValueId moved = rewriter_.InsertBefore(id_, op_.name, *move, std::move(maps));
    rewriter_.Replace(id_, op_.name + ".floats", op::Dequantise{}, {moved});
  }

  const Graph& graph_;
  Rewriter& rewriter_;
  OpId id_;
  Operator op_;  // a copy: adding operators moves them
};

bool FoldEightBits(Graph& graph) {
  return RewriteEach(
      graph, [&graph](Rewriter& rewriter, OpId id) { EightBitFolder(graph, rewriter, id).Run(); });
}

// The table that turns results of `first` into those of `of`; none if equal results of `first`
// would have to differ.
std::optional<op::Table> TableBetween(const op::Table& first, const op::Table& of) {
  op::Table between;
  between.steps = of.steps;
  between.entries.assign(kBytes, of.steps.zero_point);
  std::array<bool, kBytes> is_known = {};
  for (size_t byte = 0; byte < kBytes; ++byte) {
    const auto index = static_cast<uint8_t>(first.entries[byte]);
    int& entry = between.entries[index];
    if (is_known[index] && entry != of.entries[byte]) return std::nullopt;
    entry = of.entries[byte];
    is_known[index] = true;
  }
  return between;
}

// If several tables read one map, makes the later ones read the first table where possible: then
// only that reads the map, and can join a convolution.
bool ChainTables(Graph& graph) {
  return RewriteEach(graph, [](Rewriter& rewriter, OpId id) {
    const Operator op = rewriter.op(id);
    const auto* table = op.As<op::Table>();
    if (table == nullptr || rewriter.ProducedBy<op::QuantConv>(op.inputs[0]) == nullptr) return;
    for (OpId earlier = 0; earlier < id; ++earlier) {
      if (!rewriter.is_alive(earlier)) continue;
      const Operator& other = rewriter.op(earlier);
      const auto* first = other.As<op::Table>();
      if (first == nullptr || other.inputs[0] != op.inputs[0]) continue;
      auto between = TableBetween(*first, *table);
      if (!between) continue;
      const ValueId map = other.outputs[0];
      return rewriter.Replace(id, std::move(*between), {map});
    }
  });
}

// The convolution that gives a map, if the map has no other reader and the next operator can be
// computed before storing.
const op::QuantConv* OpenConv(const Rewriter& rewriter, ValueId map) {
  const auto* conv = rewriter.ProducedBy<op::QuantConv>(map);
  const bool is_open =
      conv != nullptr && conv->rounds_sums && !conv->has_residual && !conv->gives_floats;
  return is_open && rewriter.IsReadOnce(map) ? conv : nullptr;
}

// Moves a table into the convolution before it.
void FuseTable(Rewriter& rewriter, OpId id) {
  const Operator op = rewriter.op(id);
  const auto* open = OpenConv(rewriter, op.inputs[0]);
  if (open == nullptr || !open->table.empty()) return;
  op::QuantConv conv = *open;
  const auto& table = *op.As<op::Table>();
  conv.table = table.entries;
  conv.table_steps = conv.steps = table.steps;
  const Operator before = *rewriter.Producer(op.inputs[0]);
  rewriter.Replace(id, before.name, std::move(conv), before.inputs);
}

// Lets a convolution give the floats that its rounded sums stand for.
void FuseDequantise(Rewriter& rewriter, OpId id) {
  const Operator op = rewriter.op(id);
  const auto* open = OpenConv(rewriter, op.inputs[0]);
  if (open == nullptr) return;
  op::QuantConv conv = *open;
  conv.gives_floats = true;
  const Operator before = *rewriter.Producer(op.inputs[0]);
  rewriter.Replace(id, before.name, std::move(conv), before.inputs);
}

// Moves a sum into the convolution that gives one of the two.
void FuseSum(Rewriter& rewriter, OpId id) {
  const Operator op = rewriter.op(id);
  const auto& sum = *op.As<op::QuantBinary>();
  if (sum.kind != BinaryKind::kAdd) return;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const ValueId other = op.inputs[1 - i];
    const auto* open = OpenConv(rewriter, op.inputs[i]);
    if (open == nullptr || rewriter.value(other).is_constant()) continue;
    op::QuantConv conv = *open;
    conv.has_residual = true;
    conv.activation = sum.activation;
    conv.steps = sum.steps;
    const Operator before = *rewriter.Producer(op.inputs[i]);
    std::vector<ValueId> inputs = before.inputs;
    inputs.push_back(other);
    return rewriter.Replace(id, before.name, std::move(conv), std::move(inputs));
  }
}

// Moves the operators that follow convolutions into them, so that only their result is stored.
bool FuseIntoConvs(Graph& graph) {
  return RewriteEach(graph, [](Rewriter& rewriter, OpId id) {
    if (rewriter.op(id).As<op::Table>()) {
      FuseTable(rewriter, id);
    } else if (rewriter.op(id).As<op::QuantBinary>()) {
      FuseSum(rewriter, id);
    } else if (rewriter.op(id).As<op::Dequantise>()) {
      FuseDequantise(rewriter, id);
    }
  });
}

void FoldLinear(const Graph& graph, Rewriter& rewriter, OpId id) {
  const Operator op = rewriter.op(id);
  WholeWeights whole = WeightsOfLinear(graph, op);
  if (whole.why_not != nullptr) return;
  const RoundedInput input = *RoundedBefore(graph, op.inputs[0]);
  op::QuantLinear made;
  made.input_steps = input.steps;
  made.bias = std::move(whole.bias);
  made.scales = std::move(whole.scales);
  made.weight_zeros = std::move(whole.zeros);
  made.activation = op.As<op::Linear>()->activation;
  const Value& weights = graph.value(op.inputs[1]);
  const std::string name = weights.name;
  const Shape shape = {weights.shape[0], WordCount(static_cast<int>(weights.shape[1]))};
  const ValueId words = rewriter.AddConstant(name, shape, std::move(whole.words));
  rewriter.Replace(id, std::move(made), {input.value, words});
}

// Turns linear operators between rounded values into products of 8-bit numbers, which round their
// results if only the rounded ones are read.
bool FoldLinears(Graph& graph) {
  return RewriteEach(graph, [&graph](Rewriter& rewriter, OpId id) {
    if (rewriter.op(id).As<op::Linear>()) return FoldLinear(graph, rewriter, id);
    const auto* fake = rewriter.op(id).As<op::FakeQuantise>();
    if (fake == nullptr) return;
    const ValueId x = rewriter.op(id).inputs[0];
    const auto* linear = rewriter.ProducedBy<op::QuantLinear>(x);
    if (linear == nullptr || linear->rounds_sums || !rewriter.IsReadOnce(x)) return;
    op::QuantLinear made = *linear;
    if (!RoundSums(made, fake->steps)) return;
    made.steps = fake->steps;
    const Operator before = *rewriter.Producer(x);
    rewriter.Replace(id, before.name, std::move(made), before.inputs);
  });
}

bool RoundsMaps(const Graph& graph) {
  return std::ranges::any_of(graph.operators, [&](const Operator& op) {
    return op.As<op::FakeQuantise>() != nullptr && graph.value(op.outputs[0]).is_map();
  });
}

}  // namespace

bool pass::ToEightBits(Graph& graph) {
  if (!RoundsMaps(graph)) return FoldLinears(graph);
  SplitFakes(graph);
  while (FoldEightBits(graph)) {
  }
  MergeCommon(graph);
  ChainTables(graph);
  FuseIntoConvs(graph);
  JoinFakes(graph);
  FoldLinears(graph);
  return true;
}

std::string WhyFloat(const Graph& graph, const Operator& op) {
  if (op.As<op::Quantise>() || op.As<op::FakeQuantise>() || op.As<op::QuantConv>() ||
      op.As<op::QuantLinear>()) {
    return "";
  }
  if (op.As<op::Conv>()) {
    const bool has_steps = !graph.value(op.inputs[1]).step_sizes.empty();
    if (!has_steps && !StepsBehind(graph, op.inputs[0])) return "";
    const char* why = WeightsOfConv(graph, op).why_not;
    return why == nullptr ? "" : why;
  }
  if (op.As<op::Linear>()) {
    const bool has_steps = !graph.value(op.inputs[1]).step_sizes.empty();
    if (!has_steps && !RoundedBefore(graph, op.inputs[0])) return "";
    const char* why = WeightsOfLinear(graph, op).why_not;
    return why == nullptr ? "" : why;
  }
  const bool is_beside = std::ranges::any_of(
      op.inputs, [&](ValueId id) { return StepsBehind(graph, id).has_value(); });
  if (!is_beside) return "";
  if (op.As<op::MatMul>()) return "only products with constant matrices have an 8-bit form";
  if (!graph.value(op.outputs[0]).is_map()) {
    return "only maps of four dimensions have an 8-bit form";
  }
  if (const auto* concat = op.As<op::Concat>(); concat != nullptr && concat->axis == 1) {
    return ComeInFours(graph, op.inputs) ? "its parts are not all quantised alike"
                                         : "its parts' channels do not come in fours";
  }
  if (op.As<op::Resize>()) return "only nearest neighbours have an 8-bit form yet";
  const bool has_form = op.As<op::Activation>() || op.As<op::Binary>() || op.As<op::Pool>() ||
                        op.As<op::ScaleShift>();
  if (has_form) return "not all that it reads and gives is quantised maps of one shape";
  return "this kind of operator has no 8-bit form yet";
}

}  // namespace cacheinf
