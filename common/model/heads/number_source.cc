#include "common/model/heads/number_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

#include "common/model/heads/head_outputs.h"

namespace cacheinf {
namespace {

// Some numbers along one dimension of a value, and what later operators make of them.
struct Numbers {
  ValueId value;
  size_t axis;
  int64_t begin;
  int64_t size;
  // Their factors: one for all, or one for each place of the other dimensions. Empty: not known. 0:
  // a function follows, so that nothing is added to the place directly.
  std::vector<float> factors;

  bool AreParts() const { return factors != kNoPart; }
  Numbers With(std::vector<float> new_factors) const {
    return {value, axis, begin, size, std::move(new_factors)};
  }
  Numbers Behind() const { return With(kNoPart); }

  static const std::vector<float> kNoPart;
};
const std::vector<float> Numbers::kNoPart = {0.0f};

int64_t Product(const Shape& shape, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t i = begin; i < end; ++i) product *= shape[i];
  return product;
}

// The numbers at `index` along `axis`, in the order of the other dimensions.
std::vector<float> Along(const Tensor& tensor, size_t axis, int64_t index) {
  const Shape& shape = tensor.shape();
  const int64_t outer = Product(shape, 0, axis);
  const int64_t inner = Product(shape, axis + 1, shape.size());
  std::vector<float> numbers;
  for (int64_t o = 0; o < outer; ++o) {
    const float* const row = tensor.data() + (o * shape[axis] + index) * inner;
    numbers.insert(numbers.end(), row, row + inner);
  }
  return numbers;
}

// Elementwise, where either may be one number for all; empty if they do not fit.
std::vector<float> Times(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.empty() || b.empty()) return {};
  if (a.size() == 1 && b.size() > 1) return Times(b, a);
  if (b.size() != 1 && b.size() != a.size()) return {};
  std::vector<float> product = a;
  for (size_t i = 0; i < a.size(); ++i) product[i] *= b[b.size() == 1 ? 0 : i];
  return product;
}

std::vector<float> Negated(std::vector<float> numbers) {
  for (float& number : numbers) number = -number;
  return numbers;
}

class Search {
 public:
  explicit Search(const Graph& graph) : graph_(graph) {}

  NumberSource Run(const Numbers& first) {
    Follow(first);
    found_.is_known = !has_unknown_ && !found_.channels.empty();
    if (!has_places_ || !found_.is_known) found_.places.clear();
    return std::move(found_);
  }

 private:
  void Follow(const Numbers& own) {
    constexpr int kMostSteps = 1000;
    const OpId producer = graph_.value(own.value).producer;
    if (++steps_ > kMostSteps || producer == kNone) {
      has_unknown_ = true;
      return;
    }
    const Operator& made_by = graph_.operators[static_cast<size_t>(producer)];
    const Shape& out = graph_.value(own.value).shape;
    const auto from = [&](size_t input) {
      Numbers before = own;
      before.value = made_by.inputs[input];
      return before;
    };
    if (const auto* conv = made_by.As<op::Conv>()) {
      // A distribution's mean is a convolution along a dimension that is not the channels'.
      const bool is_mean = own.axis >= 2 && out[own.axis] > 1 && out[1] == 1 &&
                           graph_.value(made_by.inputs[0]).shape[own.axis] == out[own.axis] &&
                           conv->activation.kind == Function::Kind::kIdentity;
      return is_mean ? Follow(from(0).Behind()) : End(own);
    }
    if (made_by.As<op::Linear>() != nullptr) {
      return own.axis + 1 < out.size() ? Follow(from(0).Behind()) : End(own);
    }
    if (made_by.As<op::MatMul>() != nullptr) {
      const bool is_row =
          own.axis + 2 == out.size() && graph_.value(made_by.inputs[0]).shape.size() == out.size();
      return is_row ? Follow(from(0).Behind()) : Stop();
    }
    if (const auto* softmax = made_by.As<op::Softmax>()) {
      found_.has_distribution = true;
      Numbers before = from(0);
      if (static_cast<size_t>(softmax->axis) == own.axis) {
        before.begin = 0;
        before.size = out[own.axis];
      }
      return Follow(before.Behind());
    }
    if (const auto* activation = made_by.As<op::Activation>()) {
      const Function::Kind function = activation->function.kind;
      found_.has_power |= function == Function::Kind::kExp;
      const bool keeps = function == Function::Kind::kIdentity || function == Function::Kind::kClip;
      return Follow(keeps ? from(0) : from(0).Behind());
    }
    if (const auto* binary = made_by.As<op::Binary>()) return FollowBinary(own, made_by, *binary);
    if (const auto* concat = made_by.As<op::Concat>()) return FollowConcat(own, made_by, *concat);
    if (const auto* slice = made_by.As<op::Slice>()) {
      Numbers before = from(0);
      before.begin = slice->starts[own.axis] + own.begin * slice->steps[own.axis];
      before.size = (own.size - 1) * slice->steps[own.axis] + 1;
      for (size_t i = 0; i < out.size(); ++i) {
        const bool cuts = i != own.axis && out[i] != graph_.value(before.value).shape[i];
        if (cuts && own.factors.size() > 1) before.factors.clear();
      }
      return Follow(before);
    }
    if (const auto* gather = made_by.As<op::Gather>()) {
      const auto axis = static_cast<size_t>(gather->axis);
      Numbers before = from(0);
      if (gather->scalar && axis <= own.axis) {
        ++before.axis;
      } else if (axis == own.axis) {
        if (own.size != 1) return Stop();
        before.begin = gather->indices[static_cast<size_t>(own.begin)];
      }
      if (axis != own.axis && own.factors.size() > 1) before.factors.clear();
      return Follow(before);
    }
    if (const auto* gather = made_by.As<op::GatherElements>()) {
      if (static_cast<size_t>(gather->axis) == own.axis) return Stop();
      Numbers before = from(0);
      if (own.factors.size() > 1) before.factors.clear();
      return Follow(before);
    }
    if (made_by.As<op::Reshape>() != nullptr) return FollowReshape(own, from(0), out);
    if (const auto* permute = made_by.As<op::Permute>()) {
      Numbers before = from(0);
      before.axis = static_cast<size_t>(permute->order[own.axis]);
      int last = -1;
      for (size_t i = 0; i < out.size(); ++i) {
        if (i == own.axis || out[i] == 1) continue;
        if (permute->order[i] < last && own.factors.size() > 1) before.factors.clear();
        last = permute->order[i];
      }
      return Follow(before);
    }
    if (made_by.As<op::ScaleShift>() != nullptr) return Follow(from(0).Behind());
    Stop();
  }

  void Stop() { has_unknown_ = true; }

  void End(const Numbers& own) {
    for (int64_t i = 0; i < own.size; ++i) found_.channels.emplace(own.value, own.begin + i);
  }

  void FollowBinary(const Numbers& own, const Operator& made_by, const op::Binary& binary) {
    const Shape& out = graph_.value(own.value).shape;
    const bool is_sum = binary.kind == BinaryKind::kAdd || binary.kind == BinaryKind::kSubtract;
    const bool is_linear = binary.activation.kind == Function::Kind::kIdentity;
    found_.has_power |= binary.kind == BinaryKind::kPower;
    // What constants do to the other operand.
    const bool keeps =
        is_sum || binary.kind == BinaryKind::kMinimum || binary.kind == BinaryKind::kMaximum;
    std::vector<float> factors = is_linear && keeps ? own.factors : Numbers::kNoPart;
    for (size_t i = 0; i < made_by.inputs.size(); ++i) {
      const Value& input = graph_.value(made_by.inputs[i]);
      if (!input.is_constant()) continue;
      const std::vector<float> numbers = ConstantAt(input.constant, own, out.size());
      const bool is_taken_off = i == 1 && binary.kind == BinaryKind::kSubtract;
      if (!own.AreParts() || !is_linear) continue;
      if (is_sum) {
        AddPlaces(Times(numbers, is_taken_off ? Negated(own.factors) : own.factors));
      } else if (binary.kind == BinaryKind::kMultiply) {
        factors = Times(own.factors, numbers);
      } else if (binary.kind == BinaryKind::kDivide && i == 1) {
        std::vector<float> inverse = numbers;
        for (float& number : inverse) number = 1 / number;
        factors = Times(own.factors, inverse);
      }
    }
    for (size_t i = 0; i < made_by.inputs.size(); ++i) {
      const Value& input = graph_.value(made_by.inputs[i]);
      if (input.is_constant()) continue;
      if (input.shape.size() + own.axis < out.size()) return Stop();
      Numbers before = own;
      before.value = made_by.inputs[i];
      before.axis = own.axis + input.shape.size() - out.size();
      if (input.shape[before.axis] != out[own.axis]) {
        before.begin = 0;
        before.size = 1;
      }
      const bool is_taken_off = i == 1 && binary.kind == BinaryKind::kSubtract;
      Follow(before.With(is_taken_off ? Negated(factors) : factors));
    }
  }

  // The constant's numbers for these; empty if they are not the same for all.
  static std::vector<float> ConstantAt(const Tensor& constant, const Numbers& own, size_t rank) {
    const size_t own_rank = constant.shape().size();
    if (constant.count() == 1) return {constant.data()[0]};
    if (own.size != 1) return {};
    if (own_rank + own.axis < rank) return {constant.data(), constant.data() + constant.count()};
    const size_t axis = own.axis + own_rank - rank;
    return Along(constant, axis, constant.shape()[axis] == 1 ? 0 : own.begin);
  }

  void AddPlaces(const std::vector<float>& numbers) {
    std::vector<float>& places = found_.places;
    if (numbers.empty()) {
      has_places_ = false;
    } else if (places.size() <= 1) {
      const float shift = places.empty() ? 0 : places[0];
      places = numbers;
      for (float& place : places) place += shift;
    } else if (numbers.size() == 1 || numbers.size() == places.size()) {
      for (size_t i = 0; i < places.size(); ++i) places[i] += numbers[numbers.size() == 1 ? 0 : i];
    } else {
      has_places_ = false;
    }
  }

  void FollowConcat(const Numbers& own, const Operator& made_by, const op::Concat& concat) {
    const auto axis = static_cast<size_t>(concat.axis);
    if (axis != own.axis) {  // of the first of several grids
      const Shape& out = graph_.value(own.value).shape;
      Numbers before = own;
      before.value = made_by.inputs[0];
      const auto count = static_cast<size_t>(graph_.value(before.value).shape[axis]);
      if (own.factors.size() == static_cast<size_t>(out[axis])) {
        before.factors.resize(count);
      } else if (own.factors.size() > 1) {
        before.factors.clear();
      }
      return Follow(before);
    }
    int64_t begin = 0;
    for (const ValueId input : made_by.inputs) {
      const int64_t size = graph_.value(input).shape[axis];
      const int64_t first = std::max(own.begin, begin);
      const int64_t end = std::min(own.begin + own.size, begin + size);
      if (first < end) Follow({input, own.axis, first - begin, end - first, own.factors});
      begin += size;
    }
  }

  // The dimension stays, becomes a part of one, or is split into several.
  void FollowReshape(const Numbers& own, Numbers before, const Shape& out) {
    const Shape& in = graph_.value(before.value).shape;
    const int64_t outer = Product(out, 0, own.axis);
    for (size_t axis = 0; axis < in.size(); ++axis) {
      if (Product(in, 0, axis) != outer || (in[axis] == 1 && out[own.axis] > 1)) continue;
      before.axis = axis;
      if (in[axis] % out[own.axis] == 0) {
        const int64_t times = in[axis] / out[own.axis];
        before.begin = own.begin * times;
        before.size = own.size * times;
        if (times > 1) before.factors.clear();
        return Follow(before);
      }
      if (out[own.axis] % in[axis] == 0) {
        const int64_t times = out[own.axis] / in[axis];
        before.begin = own.begin / times;
        before.size = (own.begin + own.size - 1) / times - before.begin + 1;
        before.factors.clear();
        return Follow(before);
      }
    }
    Stop();
  }

  const Graph& graph_;
  NumberSource found_;
  bool has_unknown_ = false;
  bool has_places_ = true;
  int steps_ = 0;
};

// Where the four numbers of boxes are.
struct BoxNumbers {
  ValueId output;
  bool is_transposed = false;
  int64_t first = 0;
  bool has_y_first = false;
};

std::optional<BoxNumbers> BoxNumbersOf(const Outputs& outputs) {
  const ValueId output = outputs.graph.outputs[0];
  switch (outputs.spec.kind) {
    case HeadKind::kYolov8:
    case HeadKind::kYolov8Pose:
    case HeadKind::kYolov8Segment:
    case HeadKind::kYolov8Obb:
    case HeadKind::kYolox:
    case HeadKind::kBoxes:
    case HeadKind::kYolov7:
    case HeadKind::kEndToEnd:
      if (!outputs.rows) return std::nullopt;
      return BoxNumbers{output, outputs.rows->is_transposed};
    case HeadKind::kEndToEndBatch:
      return BoxNumbers{output, false, 1};
    case HeadKind::kNmsOutputs:
    case HeadKind::kTfDetection:
      return BoxNumbers{outputs.graph.outputs[SuppressedOf(outputs)->boxes], false, 0,
                        outputs.spec.kind == HeadKind::kTfDetection};
    default:
      return std::nullopt;
  }
}

bool HasObjectness(HeadKind kind) {
  return kind == HeadKind::kYolox || kind == HeadKind::kBoxes || kind == HeadKind::kYolov7;
}

bool IsYolov8Row(HeadKind kind) {
  return kind == HeadKind::kYolov8 || kind == HeadKind::kYolov8Pose ||
         kind == HeadKind::kYolov8Segment || kind == HeadKind::kYolov8Obb;
}

using BoxSources = std::array<NumberSource, 4>;

// Whether the last two numbers lie in another order than the first two, or the middle two are
// swapped: a box's width comes from the channel of its x, or from a channel behind y's.
bool AreMixed(const BoxSources& box) {
  const auto& [x, y, width, height] = box;
  if (x.Shares(y)) return !x.Shares(width) && !y.Shares(height);
  if (x.Shares(height) && y.Shares(width)) return !x.Shares(width) && !y.Shares(height);
  std::array<int64_t, 4> channels = {};
  for (size_t i = 0; i < 4; ++i) {
    if (box[i].channels.begin()->first != x.channels.begin()->first) return false;
    channels[i] = box[i].channels.begin()->second;
  }
  const bool are_apart = !x.Shares(width) && !y.Shares(height) && !width.Shares(height);
  return are_apart && (channels[0] < channels[1]) != (channels[2] < channels[3]);
}

// What is wrong with where the graph places boxes before it has seen anything.
std::string WhyNotPlaces(const Outputs& outputs, const NumberSource& x, const NumberSource& y) {
  const auto varies = [](const NumberSource& source) {
    return source.places[0] != source.places[1];
  };
  if (!varies(x) && varies(y)) return "its graph makes y before x";
  if (!varies(x) || varies(y)) return "";
  const float step = x.places[1] - x.places[0];
  const auto is_apart = [&](const NumberSource& source, int64_t side) {
    const double reach = *std::max_element(source.places.begin(), source.places.end()) + step;
    const double share = reach / (IsNormalised(outputs.spec) ? 1.0 : static_cast<double>(side));
    return share < 0.75 || share > 1.35;
  };
  if (!is_apart(x, outputs.picture.width) && !is_apart(y, outputs.picture.height)) return "";
  const auto reach = [&](const NumberSource& source) {
    return *std::max_element(source.places.begin(), source.places.end()) + step;
  };
  return fmt::format("its graph places boxes in a picture of {:.4g}x{:.4g}, but the picture is {}",
                     reach(y), reach(x),
                     IsNormalised(outputs.spec)
                         ? "1x1, for boxes are read as shares (decoder.coordinates pixels)"
                         : fmt::format("{}x{}", outputs.picture.height, outputs.picture.width));
}

}  // namespace

bool NumberSource::Shares(const NumberSource& other) const {
  return std::any_of(channels.begin(), channels.end(),
                     [&](const auto& channel) { return other.channels.contains(channel); });
}

NumberSource SourceOf(const Graph& graph, ValueId output, bool is_transposed, int64_t number) {
  const size_t rank = graph.value(output).shape.size();
  return Search(graph).Run({output, rank - (is_transposed ? 2 : 1), number, 1, {1.0f}});
}

GraphFinding JudgeGraph(const Graph& graph, const HeadSpec& spec) {
  const Outputs outputs(graph, spec);
  const std::optional<BoxNumbers> numbers = BoxNumbersOf(outputs);
  if (!numbers || outputs.picture.width == 0) return {};
  const HeadKind kind = spec.kind;
  const auto source = [&](int64_t number) {
    return SourceOf(graph, numbers->output, numbers->is_transposed, number);
  };
  BoxSources box;
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t number = numbers->has_y_first ? i ^ 1 : i;
    box[static_cast<size_t>(i)] = source(numbers->first + number);
  }
  if (!std::all_of(box.begin(), box.end(), [](const auto& own) { return own.is_known; })) return {};
  GraphFinding finding;
  const bool has_distributions =
      std::all_of(box.begin(), box.end(), [](const auto& own) { return own.has_distribution; });
  if (AreMixed(box)) {
    return {
        "its graph makes the third number of a box of what it makes the second of, not the first: "
        "y stands before x, or height before width"};
  }
  const bool has_places = box[0].places.size() > 1 && box[1].places.size() > 1;
  if (has_places) {
    finding.contradiction = WhyNotPlaces(outputs, box[0], box[1]);
    if (!finding.contradiction.empty()) return finding;
  }
  finding.confirms = has_places || (has_distributions && IsYolov8Row(kind));
  const bool is_yolov6 = kind == HeadKind::kBoxes && outputs.rows->anchors == 1;
  if (HasObjectness(kind) && has_distributions && !is_yolov6) {
    return {
        "its graph makes boxes of distributions of distances, as YOLOv8 does, which has no "
        "objectness"};
  }
  if (!IsYolov8Row(kind)) return finding;
  const NumberSource first = source(kPixelNumbers);
  const int64_t extras = ExtrasOf(outputs);
  const NumberSource last = source(outputs.rows->numbers - std::max<int64_t>(1, extras));
  if (!first.is_known || !last.is_known) return finding;
  const auto is_size = [](const NumberSource& own) {
    return own.has_power && own.channels.size() == 1;
  };
  if (is_size(box[2]) && is_size(box[3]) && first.channels.size() == 1) {
    return {
        "its graph makes sizes by powers, as YOLOX and YOLOv5 do, whose first score is an "
        "objectness"};
  }
  const bool is_of_scores = first.channels.begin()->first == last.channels.begin()->first;
  if (has_distributions && is_of_scores != (extras == 0)) {
    return {extras == 0 ? "its graph makes the last number of a row of another map than its first "
                          "class score: it is an angle, a keypoint or the like"
                        : "its graph makes what follows the class scores of the same map as these: "
                          "they are classes"};
  }
  return finding;
}

}  // namespace cacheinf
