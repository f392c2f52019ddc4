#include "common/model/heads/head_outputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace cacheinf {
namespace {

constexpr double kAlike = 0.9;  // sizes may have been rounded on the way

constexpr int kMostMaskCoefficients = 64;

// The output with one of the words in its name and these dimensions, apart from ones in front.
std::optional<size_t> Named(const Outputs& outputs, std::initializer_list<std::string_view> words,
                            size_t rank) {
  for (size_t i = 0; i < outputs.count(); ++i) {
    const Shape& shape = outputs.shape(i);
    if (shape.size() == rank && shape[0] == 1 && Says(outputs.value(i), words)) return i;
  }
  return std::nullopt;
}

}  // namespace

std::string OfOutput(const Value& output) {
  return fmt::format("output '{}' is {}", output.name, ToString(output.shape));
}

bool IsClassMap(const Value& output) {
  const size_t rank = output.shape.size();
  return output.type == DataType::kInt64 && rank >= 2 && ElementCount(output.shape) > 1 &&
         ElementCount(output.shape) == output.shape[rank - 2] * output.shape[rank - 1];
}

bool IsClassMapWithChannel(const Value& output) {
  const Shape& shape = output.shape;
  return output.type == DataType::kInt64 && shape.size() == 4 && shape[0] == 1 && shape[1] > 1 &&
         shape[2] > 1 && shape[3] == 1;
}

bool HasForm(const PictureSize& picture, int64_t height, int64_t width) {
  const auto rows = static_cast<double>(picture.height) / static_cast<double>(height);
  const auto columns = static_cast<double>(picture.width) / static_cast<double>(width);
  return rows > kAlike * columns && columns > kAlike * rows;
}

bool IsPictureMap(const Outputs& outputs, size_t i, bool has_channels_last) {
  const Shape& shape = outputs.shape(i);
  const PictureSize& picture = outputs.picture;
  if (shape.size() != 4 || shape[0] != 1 || picture.width == 0) return false;
  const int64_t height = shape[has_channels_last ? 1 : 2];
  const int64_t width = shape[has_channels_last ? 2 : 3];
  return static_cast<double>(picture.height) >= kAlike * static_cast<double>(height) &&
         static_cast<double>(picture.width) >= kAlike * static_cast<double>(width) &&
         HasForm(picture, height, width);
}

int64_t MapStride(const Outputs& outputs, size_t i) {
  const Shape& shape = outputs.shape(i);
  if (shape.size() != 4 || shape[0] != 1 || shape[2] < 1 || shape[3] < 1) return 0;
  const int64_t stride = outputs.picture.height / shape[2];
  const bool fits = stride > 0 && outputs.picture.height == stride * shape[2] &&
                    outputs.picture.width == stride * shape[3];
  return fits ? stride : 0;
}

bool IsScores(const Value& output) {
  return output.shape.size() >= 2 && ElementCount(output.shape) == output.shape[1];
}

bool Says(const Value& output, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return output.name.find(word) != std::string::npos;
  });
}

int64_t AnchorsOf(const Outputs& outputs, size_t head) {
  const auto& scales = outputs.spec.scales;
  return head < scales.size() ? static_cast<int64_t>(scales[head].anchors.size() / 2) : 3;
}

int64_t RawStride(const Outputs& outputs, size_t head) {
  const Shape& shape = outputs.shape(head);
  const bool is_split = shape.size() == 5 && shape[0] == 1 && shape[1] == AnchorsOf(outputs, head);
  if (!is_split && (shape.size() != 4 || shape[0] != 1)) return 0;
  const int64_t rows = shape[2];
  const int64_t columns = shape[3];
  if (rows < 1 || columns < 1 || outputs.picture.height % rows != 0) return 0;
  const int64_t stride = outputs.picture.height / rows;
  const bool is_known = stride == 4 || stride == 8 || stride == 16 || stride == 32 || stride == 64;
  return is_known && outputs.picture.width == columns * stride ? stride : 0;
}

int64_t RawNumbers(const Outputs& outputs, size_t head) {
  const Shape& shape = outputs.shape(head);
  if (shape.size() == 5) return shape[4];
  const int64_t anchors = AnchorsOf(outputs, head);
  return shape[1] % anchors == 0 ? shape[1] / anchors : 0;
}

bool IsRaw(const Outputs& outputs) {
  return !outputs.spec.scales.empty() || outputs.shape(0).size() > 3;
}

bool IsRawYolov5(const Outputs& outputs) {
  const ModelNotes& notes = outputs.graph.notes;
  if (notes.stride == 0 || notes.class_names.empty()) return false;
  for (size_t i = 0; i < outputs.count(); ++i) {
    if (outputs.shape(i).size() != 5 || RawStride(outputs, i) == 0) return false;
  }
  return true;
}

std::pair<int, int> KeypointsOf(const Outputs& outputs) {
  const std::vector<int>& noted = outputs.graph.notes.keypoint_shape;
  if (noted.size() == 2 && noted[0] > 0 && (noted[1] == 2 || noted[1] == 3)) {
    return {noted[0], noted[1]};
  }
  if (!outputs.rows) return {0, 0};
  const int classes = std::max(1, outputs.spec.class_count);
  const auto numbers = static_cast<int>(outputs.rows->numbers) - kPixelNumbers - classes;
  if (numbers > 0 && numbers % 3 == 0) return {numbers / 3, 3};
  if (numbers > 0 && numbers % 2 == 0) return {numbers / 2, 2};
  return {0, 0};
}

size_t PrototypesOf(const Outputs& outputs) {
  for (size_t i = 1; i < outputs.count(); ++i) {
    const Shape& shape = outputs.shape(i);
    if (shape.size() == 4 && shape[0] == 1 && shape[1] <= kMostMaskCoefficients) return i;
  }
  return 0;
}

int64_t ExtrasOf(const Outputs& outputs) {
  switch (outputs.spec.kind) {
    case HeadKind::kYolov8Pose: {
      const auto [points, numbers] = KeypointsOf(outputs);
      return int64_t{points} * numbers;
    }
    case HeadKind::kYolov8Segment:
      return outputs.shape(PrototypesOf(outputs))[1];
    case HeadKind::kYolov8Obb:
      return 1;
    default:
      return 0;
  }
}

std::optional<Suppressed> SuppressedOf(const Outputs& outputs) {
  const auto boxes = Named(outputs, {"box", "Box", "BOX"}, 3);
  const auto scores = Named(outputs, {"score", "Score"}, 2);
  const auto classes = Named(outputs, {"class", "label", "Class"}, 2);
  if (!boxes || !scores || !classes || outputs.shape(*boxes)[2] != kPixelNumbers) {
    return std::nullopt;
  }
  const int64_t count = outputs.shape(*boxes)[1];
  if (outputs.shape(*scores)[1] != count || outputs.shape(*classes)[1] != count) {
    return std::nullopt;
  }
  return Suppressed{*boxes, *scores, *classes};
}

std::optional<std::pair<size_t, size_t>> QueriesOf(const Outputs& outputs) {
  for (size_t logits = 0; logits < outputs.count(); ++logits) {
    const Shape& scores = outputs.shape(logits);
    if (scores.size() != 3 || scores[0] != 1) continue;
    for (size_t boxes = 0; boxes < outputs.count(); ++boxes) {
      const Shape& shape = outputs.shape(boxes);
      const bool fits = boxes != logits && shape.size() == 3 && shape[0] == 1 &&
                        shape[1] == scores[1] && shape[2] == kPixelNumbers;
      if (fits && (scores[2] != kPixelNumbers || Says(outputs.value(boxes), {"box"}))) {
        return std::pair(logits, boxes);
      }
    }
  }
  return std::nullopt;
}

std::optional<std::pair<size_t, size_t>> PointsOf(const Outputs& outputs) {
  const auto named = [&](std::initializer_list<std::string_view> words) -> std::optional<size_t> {
    for (size_t i = 0; i < outputs.count(); ++i) {
      if (Says(outputs.value(i), words)) return i;
    }
    return std::nullopt;
  };
  const auto points = named({"keypoint", "kpts"});
  const auto scores = named({"score"});
  if (!points || !scores || *points == *scores) return std::nullopt;
  const Shape& shape = outputs.shape(*points);
  const size_t rank = shape.size();
  if (rank < 2 || rank > 3 || shape.back() != 2 ||
      ElementCount(shape) != 2 * ElementCount(outputs.shape(*scores))) {
    return std::nullopt;
  }
  return std::pair(*points, *scores);
}

Squashing SquashingOf(const Graph& graph, ValueId value) {
  std::vector<ValueId> open = {value};
  while (!open.empty()) {
    const OpId producer = graph.value(open.back()).producer;
    open.pop_back();
    if (producer == kNone) continue;
    const Operator& last = graph.operators[static_cast<size_t>(producer)];
    if (const auto* softmax = last.As<op::Softmax>()) {
      return softmax->logarithm ? Squashing::kNone : Squashing::kSoftmax;
    }
    const auto* activation = last.As<op::Activation>();
    const auto* conv = last.As<op::Conv>();
    const auto* linear = last.As<op::Linear>();
    const Function::Kind function = activation != nullptr ? activation->function.kind
                                    : conv != nullptr     ? conv->activation.kind
                                    : linear != nullptr   ? linear->activation.kind
                                                          : Function::Kind::kIdentity;
    if (function == Function::Kind::kSigmoid || function == Function::Kind::kHardSigmoid) {
      return Squashing::kSigmoid;
    }
    const bool passes = last.As<op::Reshape>() != nullptr || last.As<op::Permute>() != nullptr ||
                        last.As<op::Concat>() != nullptr || last.As<op::Slice>() != nullptr ||
                        last.As<op::Pool>() != nullptr || last.As<op::Resize>() != nullptr ||
                        function == Function::Kind::kClip ||
                        (activation != nullptr && function == Function::Kind::kIdentity);
    if (passes) open.insert(open.end(), last.inputs.begin(), last.inputs.end());
  }
  return Squashing::kNone;
}

bool PlacesOnGrid(const Graph& graph) {
  std::vector<ValueId> open = {graph.outputs.front()};
  std::vector<bool> seen(graph.values.size());
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (seen[static_cast<size_t>(id)]) continue;
    seen[static_cast<size_t>(id)] = true;
    const OpId producer = graph.value(id).producer;
    if (producer == kNone) continue;
    const Operator& last = graph.operators[static_cast<size_t>(producer)];
    if (last.As<op::Binary>() != nullptr) return true;
    const bool moves = last.As<op::Reshape>() != nullptr || last.As<op::Permute>() != nullptr ||
                       last.As<op::Concat>() != nullptr || last.As<op::Slice>() != nullptr;
    if (moves) open.insert(open.end(), last.inputs.begin(), last.inputs.end());
  }
  return false;
}

}  // namespace cacheinf
