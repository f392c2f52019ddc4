#include "common/model/heads/heads.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/error.h"
#include "common/model/heads/head_rows.h"

namespace cacheinf {
namespace {

constexpr int64_t kMostOfEndToEnd = 1000;  // boxes of a network that has picked them itself
constexpr int kPixelNumbers = 4;           // of a box: centre and size, or corners
constexpr int kMostMaskCoefficients = 64;

using Kind = HeadKind;

// The outputs of a graph without a decoder, and what is known about their head.
struct Outputs {
  Outputs(const Graph& graph_seen, const HeadSpec& head_spec)
      : graph(graph_seen), spec(head_spec), picture(PictureSizeOf(graph_seen)) {
    rows = BoxRowsOf(shape(0), picture);
  }

  size_t count() const { return graph.outputs.size(); }
  const Value& value(size_t i) const { return graph.value(graph.outputs[i]); }
  const Shape& shape(size_t i) const { return value(i).shape; }
  bool EndsWithSuppression() const {
    return Last() != nullptr && Last()->As<op::NonMaxSuppression>() != nullptr;
  }
  // The operator that gives the first output; null if it is an input.
  const Operator* Last() const {
    const OpId producer = value(0).producer;
    return producer == kNone ? nullptr : &graph.operators[static_cast<size_t>(producer)];
  }

  const Graph& graph;
  const HeadSpec& spec;
  PictureSize picture;
  std::optional<BoxRows> rows;  // of the first output
};

std::string OfOutput(const Value& output) {
  return fmt::format("output '{}' is {}", output.name, ToString(output.shape));
}

// ---- What the shapes must be ----

bool IsClassMap(const Value& output) {
  const size_t rank = output.shape.size();
  return output.type == DataType::kInt64 && rank >= 2 &&
         ElementCount(output.shape) == output.shape[rank - 2] * output.shape[rank - 1];
}

bool IsScores(const Value& output) {
  return output.shape.size() >= 2 && ElementCount(output.shape) == output.shape[1];
}

// Where a name holds one of the words.
bool Says(const Value& output, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return output.name.find(word) != std::string::npos;
  });
}

// The output whose name holds one of the words and has these dimensions, but for ones in front.
std::optional<size_t> Named(const Outputs& outputs, std::initializer_list<std::string_view> words,
                            size_t rank) {
  for (size_t i = 0; i < outputs.count(); ++i) {
    const Shape& shape = outputs.shape(i);
    if (shape.size() == rank && shape[0] == 1 && Says(outputs.value(i), words)) return i;
  }
  return std::nullopt;
}

std::string WhyNoRows(const Outputs& outputs, int64_t least, bool one_output = true) {
  if (outputs.EndsWithSuppression()) return "";
  if (one_output && outputs.count() != 1) {
    return fmt::format("there are {} outputs instead of one", outputs.count());
  }
  if (!outputs.rows) return OfOutput(outputs.value(0)) + ", not a row of numbers a box";
  if (outputs.rows->numbers < least) {
    return fmt::format("{}: {} numbers a box, at least {} are needed", OfOutput(outputs.value(0)),
                       outputs.rows->numbers, least);
  }
  return "";
}

std::string WhyNotSoMany(const Outputs& outputs, int64_t classes) {
  const int names = outputs.spec.class_count;
  if (names == 0 || names == classes) return "";
  return fmt::format("{}: that makes {} classes, but {} have names", OfOutput(outputs.value(0)),
                     classes, names);
}

// Of raw heads: anchors of each, from the configuration or 3.
int64_t AnchorsOf(const Outputs& outputs, size_t head) {
  const auto& scales = outputs.spec.scales;
  return head < scales.size() ? static_cast<int64_t>(scales[head].anchors.size() / 2) : 3;
}

// The stride of a raw head; 0: it is none.
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

// The numbers of each box of a raw head.
int64_t RawNumbers(const Outputs& outputs, size_t head) {
  const Shape& shape = outputs.shape(head);
  if (shape.size() == 5) return shape[4];
  const int64_t anchors = AnchorsOf(outputs, head);
  return shape[1] % anchors == 0 ? shape[1] / anchors : 0;
}

std::string WhyNotRaw(const Outputs& outputs) {
  const auto& scales = outputs.spec.scales;
  if (!scales.empty() && scales.size() != outputs.count()) {
    return fmt::format("strides for {} heads, but {} output(s)", scales.size(), outputs.count());
  }
  int64_t numbers = 0;
  for (size_t i = 0; i < outputs.count(); ++i) {
    const int64_t stride = RawStride(outputs, i);
    if (stride == 0 || (!scales.empty() && stride != scales[i].stride)) {
      return fmt::format("{}, not a raw head of a stride of {} for an input of {}x{}",
                         OfOutput(outputs.value(i)),
                         scales.empty() ? "8, 16 or 32" : std::to_string(scales[i].stride),
                         outputs.picture.height, outputs.picture.width);
    }
    const int64_t own = RawNumbers(outputs, i);
    if (own < 6 || (numbers != 0 && own != numbers)) {
      return fmt::format("{}: {} anchors of 5 numbers and at least one class do not fit",
                         OfOutput(outputs.value(i)), AnchorsOf(outputs, i));
    }
    numbers = own;
  }
  return WhyNotSoMany(outputs, numbers - 5);
}

bool IsRaw(const Outputs& outputs) {
  return !outputs.spec.scales.empty() || outputs.shape(0).size() > 3;
}

std::string WhyNotBoxes(const Outputs& outputs) {
  if (outputs.EndsWithSuppression()) return "";
  if (IsRaw(outputs)) {
    if (outputs.spec.scales.empty()) {
      return fmt::format("{}: raw heads need decoder.strides and decoder.anchors",
                         OfOutput(outputs.value(0)));
    }
    return WhyNotRaw(outputs);
  }
  std::string why = WhyNoRows(outputs, 6);
  if (!why.empty()) return why;
  return WhyNotSoMany(outputs, outputs.rows->numbers - 5);
}

std::string WhyNotYolov3(const Outputs& outputs) { return WhyNotRaw(outputs); }

std::string WhyNotYolox(const Outputs& outputs) {
  std::string why = WhyNoRows(outputs, 6);
  if (!why.empty()) return why;
  if (outputs.rows->anchors != 1) {
    return OfOutput(outputs.value(0)) + ": not one box a cell of strides 8, 16 and 32";
  }
  return WhyNotSoMany(outputs, outputs.rows->numbers - 5);
}

std::string WhyNotAnchorFree(const Outputs& outputs, int64_t extras, bool one_output = true) {
  std::string why = WhyNoRows(outputs, kPixelNumbers + 1 + extras, one_output);
  if (!why.empty()) return why;
  if (outputs.rows->anchors == 3) {
    return OfOutput(outputs.value(0)) + ": three boxes a cell, this head has one";
  }
  if (outputs.rows->anchors == 0 && outputs.picture.width != 0) {
    return OfOutput(outputs.value(0)) + ": not one box a cell of strides 8, 16 and 32";
  }
  return WhyNotSoMany(outputs, outputs.rows->numbers - kPixelNumbers - extras);
}

std::string WhyNotYolov8(const Outputs& outputs) {
  if (outputs.EndsWithSuppression()) return "";
  return WhyNotAnchorFree(outputs, 0, /*one_output=*/false);
}

// Keypoints of each box, and the numbers of each: from the model's notes, from the number of
// classes, or those that fit one class. Zeros: none fit.
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

std::string WhyNotPose(const Outputs& outputs) {
  const auto [points, numbers] = KeypointsOf(outputs);
  if (points == 0) return OfOutput(outputs.value(0)) + ": no number of keypoints fits";
  return WhyNotAnchorFree(outputs, int64_t{points} * numbers);
}

// The output that holds the prototypes of masks; 0: none does.
size_t PrototypesOf(const Outputs& outputs) {
  for (size_t i = 1; i < outputs.count(); ++i) {
    const Shape& shape = outputs.shape(i);
    if (shape.size() == 4 && shape[0] == 1 && shape[1] <= kMostMaskCoefficients) return i;
  }
  return 0;
}

std::string WhyNotSegment(const Outputs& outputs) {
  const size_t prototypes = PrototypesOf(outputs);
  if (prototypes == 0) return "no output holds the prototypes of masks, such as 1x32x160x160";
  return WhyNotAnchorFree(outputs, outputs.shape(prototypes)[1], /*one_output=*/false);
}

std::string WhyNotObb(const Outputs& outputs) { return WhyNotAnchorFree(outputs, 1); }

std::string WhyNotEndToEnd(const Outputs& outputs, int64_t numbers) {
  std::string why = WhyNoRows(outputs, numbers);
  if (!why.empty()) return why;
  const BoxRows& rows = *outputs.rows;
  if (rows.is_transposed || rows.numbers != numbers) {
    return fmt::format("{}, not {} numbers a box", OfOutput(outputs.value(0)), numbers);
  }
  return "";
}

std::string WhyNotEndToEnd6(const Outputs& outputs) { return WhyNotEndToEnd(outputs, 6); }
std::string WhyNotEndToEnd7(const Outputs& outputs) { return WhyNotEndToEnd(outputs, 7); }

// Outputs of a suppression: boxes (rank 3), scores and classes (rank 2).
struct Suppressed {
  size_t boxes;
  size_t scores;
  size_t classes;
};

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

std::string WhyNotSuppressed(const Outputs& outputs) {
  if (SuppressedOf(outputs)) return "";
  return "the outputs are not boxes (1xNx4), scores (1xN) and classes (1xN) by name and shape";
}

// Queries: logits 1×Q×C and boxes 1×Q×4; or both in one output.
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

std::string WhyNotDetr(const Outputs& outputs) {
  const auto queries = QueriesOf(outputs);
  if (!queries) return "the outputs are not logits (1xQxC) and boxes (1xQx4)";
  return WhyNotSoMany(outputs, outputs.shape(queries->first)[2] - 1);
}

std::string WhyNotRtDetr(const Outputs& outputs) {
  if (const auto queries = QueriesOf(outputs)) {
    return WhyNotSoMany(outputs, outputs.shape(queries->first)[2]);
  }
  std::string why = WhyNoRows(outputs, kPixelNumbers + 1);
  if (!why.empty()) return why;
  if (outputs.rows->is_transposed || outputs.rows->boxes > kMostOfEndToEnd) {
    return OfOutput(outputs.value(0)) + ", not one row a query";
  }
  return WhyNotSoMany(outputs, outputs.rows->numbers - kPixelNumbers);
}

std::string WhyNotClassification(const Outputs& outputs) {
  if (!IsScores(outputs.value(0))) return OfOutput(outputs.value(0)) + ", not one score per class";
  return WhyNotSoMany(outputs, outputs.shape(0)[1]);
}

std::string WhyNotSegmentation(const Outputs& outputs) {
  const Value& output = outputs.value(0);
  if (IsClassMap(output)) return "";
  if (!output.is_map() || output.shape[0] != 1 || outputs.picture.width == 0) {
    return OfOutput(output) + ", not one class a pixel: it has no class scores per pixel";
  }
  return output.shape[1] == 1 ? "" : WhyNotSoMany(outputs, output.shape[1]);
}

std::string WhyNotKeypoints(const Outputs& outputs) {
  const Value& output = outputs.value(0);
  if (!output.is_map() || output.shape[0] != 1) {
    return OfOutput(output) + ", not one heat map a keypoint";
  }
  return WhyNotSoMany(outputs, output.shape[1]);
}

std::string WhyNotEmbedding(const Outputs& outputs) {
  return IsScores(outputs.value(0)) ? "" : OfOutput(outputs.value(0)) + ", not one list of numbers";
}

std::string NoReason(const Outputs&) { return ""; }

// ---- Operators ----

void SetBoxes(Graph& graph, const HeadSpec& spec, ValueId rows, bool has_objectness, int extras) {
  op::NonMaxSuppression suppression = spec.suppression;
  suppression.has_objectness = has_objectness;
  suppression.extras = extras;
  graph.head.classes = static_cast<int>(graph.value(rows).shape[1]) - kPixelNumbers -
                       (has_objectness ? 1 : 0) - extras;
  graph.outputs = {graph.AddOne("boxes", suppression, {rows})};
}

void AppendBoxes(Graph& graph, const Outputs& outputs) {
  if (outputs.EndsWithSuppression()) return;
  const HeadSpec& spec = outputs.spec;
  RowBuilder build(&graph);
  if (!IsRaw(outputs)) {
    return SetBoxes(graph, spec, build.FromOutput(graph.outputs.front(), *outputs.rows), true, 0);
  }
  graph.head.classes = static_cast<int>(RawNumbers(outputs, 0)) - 5;
  if (outputs.shape(0).size() == 4) {
    op::NonMaxSuppression of_heads = spec.suppression;
    of_heads.scales = spec.scales;
    graph.outputs = {graph.AddOne("boxes", of_heads, graph.outputs)};
    return;
  }
  std::vector<ValueId> maps;
  for (const ValueId head : graph.outputs) {
    const Shape shape = graph.value(head).shape;
    const ValueId turned = graph.AddOne("head", op::Permute{{0, 1, 4, 2, 3}}, {head});
    maps.push_back(
        graph.AddOne("head", op::Reshape{{1, shape[1] * shape[4], shape[2], shape[3]}}, {turned}));
  }
  op::NonMaxSuppression of_heads = spec.suppression;
  of_heads.scales = spec.scales;
  graph.outputs = {graph.AddOne("boxes", of_heads, maps)};
}

// Darknet's anchors, by stride.
std::vector<float> UsualAnchors(int64_t stride) {
  if (stride == 8) return {10, 13, 16, 30, 33, 23};
  if (stride == 16) return {30, 61, 62, 45, 59, 119};
  return {116, 90, 156, 198, 373, 326};
}

// b_xy = (sigmoid(t_xy) + c_xy) stride, b_wh = anchor e^t_wh (YOLOv3, section 2.1), the rest
// sigmoid.
void AppendYolov3(Graph& graph, const Outputs& outputs) {
  RowBuilder build(&graph);
  std::vector<ValueId> boxes;
  const int64_t numbers = RawNumbers(outputs, 0);
  for (size_t i = 0; i < outputs.count(); ++i) {
    const int64_t anchors = AnchorsOf(outputs, i);
    const auto stride = static_cast<int>(RawStride(outputs, i));
    const auto& scales = outputs.spec.scales;
    const std::vector<float> sizes = scales.empty() ? UsualAnchors(stride) : scales[i].anchors;
    const ValueId rows = build.FromRawHead(outputs.graph.outputs[i], anchors);
    const int64_t cells = graph.value(rows).shape[0] / anchors;
    std::vector<float> extents;
    for (int64_t anchor = 0; anchor < anchors; ++anchor) {
      for (int64_t cell = 0; cell < cells; ++cell) {
        extents.push_back(sizes[static_cast<size_t>(2 * anchor)]);
        extents.push_back(sizes[static_cast<size_t>(2 * anchor + 1)]);
      }
    }
    const ValueId squashed = build.Apply(rows, Function::Kind::kSigmoid);
    const ValueId placed = build.With(
        build.Columns(squashed, 0, 2), BinaryKind::kAdd,
        RowBuilder::CellColumns(outputs.picture, {stride}, 0.0f, static_cast<int>(anchors)));
    const ValueId centre =
        build.With(placed, BinaryKind::kMultiply, Tensor({1, 1}, {static_cast<float>(stride)}));
    const ValueId extent =
        build.With(build.Apply(build.Columns(rows, 2, 2), Function::Kind::kExp),
                   BinaryKind::kMultiply, Tensor({cells * anchors, 2}, std::move(extents)));
    boxes.push_back(build.Joined({centre, extent, build.Columns(squashed, 4, numbers - 4)}));
  }
  SetBoxes(graph, outputs.spec, build.Stacked(std::move(boxes)), true, 0);
}

void AppendYolov8(Graph& graph, const Outputs& outputs) {
  if (outputs.EndsWithSuppression()) return;
  RowBuilder build(&graph);
  SetBoxes(graph, outputs.spec, build.FromOutput(graph.outputs.front(), *outputs.rows), false, 0);
}

void AppendPose(Graph& graph, const Outputs& outputs) {
  const auto [points, numbers] = KeypointsOf(outputs);
  graph.head.keypoints = points;
  graph.head.keypoint_numbers = numbers;
  RowBuilder build(&graph);
  SetBoxes(graph, outputs.spec, build.FromOutput(graph.outputs.front(), *outputs.rows), false,
           points * numbers);
}

void AppendSegment(Graph& graph, const Outputs& outputs) {
  const ValueId prototypes = graph.outputs[PrototypesOf(outputs)];
  graph.head.mask_coefficients = static_cast<int>(graph.value(prototypes).shape[1]);
  RowBuilder build(&graph);
  SetBoxes(graph, outputs.spec, build.FromOutput(graph.outputs.front(), *outputs.rows), false,
           graph.head.mask_coefficients);
  graph.outputs.push_back(prototypes);
}

// Turned boxes overlap otherwise than their upright ones, so the reader suppresses them; here only
// the best are picked.
void AppendObb(Graph& graph, const Outputs& outputs) {
  graph.head.has_angle = true;
  HeadSpec picks = outputs.spec;
  picks.suppression.overlap_threshold = 1.0f;
  picks.suppression.max_boxes = std::max(picks.suppression.max_boxes, 1000);
  RowBuilder build(&graph);
  SetBoxes(graph, picks, build.FromOutput(graph.outputs.front(), *outputs.rows), false, 1);
}

// Whether the graph's own last operators place boxes on their grid: going back from the output
// through what only moves numbers, one comes upon a constant.
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

// Undecoded rows: centre = (t_xy + cell) stride, size = e^t_wh stride; scores are sigmoids already.
void AppendYolox(Graph& graph, const Outputs& outputs) {
  RowBuilder build(&graph);
  const bool is_placed = PlacesOnGrid(graph);
  ValueId rows = build.FromOutput(graph.outputs.front(), *outputs.rows);
  if (!is_placed) {
    const std::vector<int>& strides = outputs.rows->strides;
    const Tensor stride = RowBuilder::StrideColumn(outputs.picture, strides);
    const ValueId in_grid = build.With(build.Columns(rows, 0, 2), BinaryKind::kAdd,
                                       RowBuilder::CellColumns(outputs.picture, strides, 0.0f));
    const ValueId centre = build.With(in_grid, BinaryKind::kMultiply, stride);
    const ValueId extent = build.With(build.Apply(build.Columns(rows, 2, 2), Function::Kind::kExp),
                                      BinaryKind::kMultiply, stride);
    rows = build.Joined(
        {centre, extent, build.Columns(rows, 4, outputs.rows->numbers - kPixelNumbers)});
  }
  SetBoxes(graph, outputs.spec, rows, true, 0);
}

// Gives max × 6, as suppression does, from queries whose boxes are centres and sizes.
void AppendQueries(Graph& graph, const Outputs& outputs, bool has_no_object) {
  RowBuilder build(&graph);
  HeadSpec picks = outputs.spec;
  picks.suppression.overlap_threshold = 1.0f;
  const auto queries = QueriesOf(outputs);
  if (!queries) {
    const ValueId rows = build.FromOutput(graph.outputs.front(), *outputs.rows);
    return SetBoxes(graph, picks, rows, false, 0);
  }
  const auto flat = [&](size_t output) {
    const Shape shape = outputs.shape(output);
    return graph.AddOne("rows", op::Reshape{{shape[1], shape[2]}}, {graph.outputs[output]});
  };
  ValueId scores = flat(queries->first);
  if (has_no_object) {
    const int64_t classes = graph.value(scores).shape[1] - 1;
    scores = build.Columns(graph.AddOne("scores", op::Softmax{1, false}, {scores}), 0, classes);
  } else {
    scores = build.Apply(scores, Function::Kind::kSigmoid);
  }
  SetBoxes(graph, picks, build.Joined({flat(queries->second), scores}), false, 0);
}

void AppendDetr(Graph& graph, const Outputs& outputs) { AppendQueries(graph, outputs, true); }
void AppendRtDetr(Graph& graph, const Outputs& outputs) { AppendQueries(graph, outputs, false); }

// The outputs in the order boxes, scores, classes.
void OrderSuppressed(Graph& graph, const Outputs& outputs) {
  const Suppressed found = *SuppressedOf(outputs);
  graph.outputs = {graph.outputs[found.boxes], graph.outputs[found.scores],
                   graph.outputs[found.classes]};
}

void AppendSoftmax(Graph& graph, const Outputs& outputs) {
  graph.head.classes = static_cast<int>(outputs.shape(0)[1]);
  if (!outputs.spec.softmax) return;
  if (outputs.Last() != nullptr && outputs.Last()->As<op::Softmax>() != nullptr) return;
  graph.outputs.front() = graph.AddOne("scores", op::Softmax{1, false}, {graph.outputs.front()});
}

void AppendArgMax(Graph& graph, const Outputs& outputs) {
  if (outputs.Last() != nullptr) {
    if (const auto* last = outputs.Last()->As<op::ArgMax>()) {
      const Shape& scores = graph.value(outputs.Last()->inputs[0]).shape;
      graph.head.classes = static_cast<int>(scores[static_cast<size_t>(last->axis)]);
      return;
    }
  }
  if (IsClassMap(outputs.value(0))) return;
  ValueId scores = graph.outputs.front();
  graph.head.classes = static_cast<int>(graph.value(scores).shape[1]);
  if (outputs.spec.enlarge) {
    op::Resize resize;
    resize.spec.kind = ResizeSpec::Kind::kLinear;
    resize.spec.out_height = static_cast<int>(outputs.picture.height);
    resize.spec.out_width = static_cast<int>(outputs.picture.width);
    scores = graph.AddOne("enlarge", resize, {scores});
  }
  graph.outputs.front() = graph.AddOne("classes", op::ArgMax{1, true}, {scores});
}

void AppendNothing(Graph&, const Outputs&) {}

// ---- The table ----

struct Entry {
  HeadRow row;
  std::string (*why_not)(const Outputs&);
  void (*append)(Graph&, const Outputs&);
  bool is_normalised;  // usually
};

constexpr std::array<Entry, kHeadKinds> kTable = {{
    {{Kind::kAuto, "whatever the model's file, its shapes and names show"},
     NoReason,
     AppendNothing,
     false},
    {{Kind::kRaw, "any numbers"}, NoReason, AppendNothing, false},
    {{Kind::kClassification, "1xC: one score per class"},
     WhyNotClassification,
     AppendSoftmax,
     false},
    {{Kind::kSegmentation, "1xCxhxw: class scores a pixel, or one class a pixel"},
     WhyNotSegmentation,
     AppendArgMax,
     false},
    {{Kind::kBoxes,
      "YOLOv5, v6, v7: 1xNx(5+C) decoded rows, or raw heads 1x3(5+C)xhxw with strides and anchors"},
     WhyNotBoxes,
     AppendBoxes,
     false},
    {{Kind::kKeypoints, "1xKxhxw: a heat map for each keypoint"},
     WhyNotKeypoints,
     AppendNothing,
     false},
    {{Kind::kEmbedding, "1xD: one list of numbers"}, WhyNotEmbedding, AppendNothing, false},
    {{Kind::kYolov3, "YOLOv3, v4 (Darknet): raw heads 1x3(5+C)xhxw"},
     WhyNotYolov3,
     AppendYolov3,
     false},
    {{Kind::kYolov8, "YOLOv8, 9, 11, 12: 1x(4+C)xN or its transpose"},
     WhyNotYolov8,
     AppendYolov8,
     false},
    {{Kind::kYolov8Pose, "1x(4+C+3K)xN or its transpose"}, WhyNotPose, AppendPose, false},
    {{Kind::kYolov8Segment, "1x(4+C+M)xN and prototypes 1xMxhxw"},
     WhyNotSegment,
     AppendSegment,
     false},
    {{Kind::kYolov8Obb, "1x(4+C+1)xN or its transpose"}, WhyNotObb, AppendObb, false},
    {{Kind::kYolox, "1xNx(5+C), a box a cell, placed on the grid or not"},
     WhyNotYolox,
     AppendYolox,
     false},
    {{Kind::kEndToEnd, "1xNx6: left, top, right, bottom, score, class"},
     WhyNotEndToEnd6,
     AppendNothing,
     false},
    {{Kind::kEndToEndBatch, "Nx7: picture, left, top, right, bottom, class, score"},
     WhyNotEndToEnd7,
     AppendNothing,
     false},
    {{Kind::kNmsOutputs, "boxes 1xNx4 (left, top, right, bottom), scores 1xN, classes 1xN"},
     WhyNotSuppressed,
     OrderSuppressed,
     false},
    {{Kind::kTfDetection,
      "boxes 1xNx4 (top, left, bottom, right as shares), scores 1xN, classes 1xN"},
     WhyNotSuppressed,
     OrderSuppressed,
     true},
    {{Kind::kDetr, "logits 1xQx(C+1), the last class being none, and boxes 1xQx4"},
     WhyNotDetr,
     AppendDetr,
     true},
    {{Kind::kRtDetr, "logits 1xQxC and boxes 1xQx4, or 1xQx(4+C) with scores"},
     WhyNotRtDetr,
     AppendRtDetr,
     true},
}};

constexpr bool IsInOrder() {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (kTable[i].row.kind != static_cast<HeadKind>(i)) return false;
  }
  return true;
}
static_assert(IsInOrder());

const Entry& EntryOf(HeadKind kind) { return kTable[static_cast<size_t>(kind)]; }

std::vector<HeadKind> KindsThatFit(const Outputs& outputs) {
  std::vector<HeadKind> kinds;
  for (const Entry& entry : kTable) {
    const HeadKind kind = entry.row.kind;
    if (kind == Kind::kAuto || kind == Kind::kRaw) continue;
    if (entry.why_not(outputs).empty()) kinds.push_back(kind);
  }
  return kinds;
}

std::string NamesOf(const std::vector<HeadKind>& kinds) {
  std::vector<std::string> names;
  for (const HeadKind kind : kinds) names.emplace_back(NameOf(kind));
  return fmt::format("{}", fmt::join(names, ", "));
}

// ---- Recognition ----

// What the graph's last operator shows.
HeadKind KindOfTail(const Outputs& outputs) {
  const Operator* const last = outputs.Last();
  if (last == nullptr) return Kind::kRaw;
  const Value& output = outputs.value(0);
  if (last->As<op::NonMaxSuppression>() != nullptr) return Kind::kBoxes;
  if (last->As<op::ArgMax>() != nullptr && IsClassMap(output)) return Kind::kSegmentation;
  if (last->As<op::Softmax>() != nullptr && IsScores(output)) return Kind::kClassification;
  return Kind::kRaw;
}

// What the task that the model's file names, and the shapes, show.
HeadKind KindOfTask(const Outputs& outputs) {
  const std::string& task = outputs.graph.notes.task;
  if (task == "classify") return Kind::kClassification;
  if (task == "pose") return Kind::kYolov8Pose;
  if (task == "segment") return Kind::kYolov8Segment;
  if (task == "obb") return Kind::kYolov8Obb;
  if (task != "detect" || !outputs.rows) return Kind::kRaw;
  if (outputs.rows->anchors == 3) return Kind::kBoxes;
  if (outputs.rows->anchors == 1) return Kind::kYolov8;
  return outputs.rows->numbers == 6 ? Kind::kEndToEnd : Kind::kRtDetr;
}

// What names and shapes alone show. 80 and 1000 classes are those of COCO and ImageNet.
HeadKind KindOfShapes(const Outputs& outputs) {
  constexpr int kCoco = 80;
  constexpr int kImageNet = 1000;
  const int names = outputs.spec.class_count;
  if (SuppressedOf(outputs)) {
    return Says(outputs.value(0), {"detection_"}) ? Kind::kTfDetection : Kind::kNmsOutputs;
  }
  if (const auto queries = QueriesOf(outputs)) {
    const int64_t logits = outputs.shape(queries->first)[2];
    if (names > 0 && logits == names) return Kind::kRtDetr;
    if (names > 0 && logits == names + 1) return Kind::kDetr;
    if (logits == kCoco) return Kind::kRtDetr;
    return logits == 92 ? Kind::kDetr : Kind::kRaw;
  }
  if (outputs.count() == 1 && outputs.shape(0).size() == 2 && outputs.shape(0)[0] == 1) {
    const int64_t scores = outputs.shape(0)[1];
    return scores == kImageNet || (names > 0 && scores == names) ? Kind::kClassification
                                                                 : Kind::kRaw;
  }
  if (outputs.count() == 1 && outputs.value(0).is_map()) {
    return names > 1 && outputs.shape(0)[1] == names ? Kind::kSegmentation : Kind::kRaw;
  }
  if (!outputs.rows) return Kind::kRaw;
  const BoxRows& rows = *outputs.rows;
  if (rows.anchors == 0) {
    if (rows.is_transposed || rows.boxes > kMostOfEndToEnd) return Kind::kRaw;
    if (rows.numbers == 6) return Kind::kEndToEnd;
    return rows.numbers == 7 && Says(outputs.value(0), {"output"}) ? Kind::kEndToEndBatch
                                                                   : Kind::kRaw;
  }
  if (rows.anchors == 3) return rows.numbers >= 6 ? Kind::kBoxes : Kind::kRaw;
  if (const size_t prototypes = PrototypesOf(outputs)) {
    const int64_t classes = rows.numbers - kPixelNumbers - outputs.shape(prototypes)[1];
    return classes >= 1 ? Kind::kYolov8Segment : Kind::kRaw;
  }
  const int classes = names > 0 ? names : kCoco;
  if (rows.numbers == kPixelNumbers + classes) return Kind::kYolov8;
  if (rows.numbers == kPixelNumbers + 1 + classes && !rows.is_transposed) return Kind::kYolox;
  constexpr int kPersonPose = kPixelNumbers + 1 + 3 * 17;
  if (names == 0 && rows.numbers == kPersonPose) return Kind::kYolov8Pose;
  return Kind::kRaw;
}

}  // namespace

std::span<const HeadRow> HeadTable() {
  static const auto kRows = [] {
    std::array<HeadRow, kHeadKinds> rows{};
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = kTable[i].row;
    return rows;
  }();
  return kRows;
}

std::string DescribeOutputs(const Graph& graph) {
  std::string text;
  for (const ValueId id : graph.outputs) {
    if (!text.empty()) text += " and ";
    text += fmt::format("output '{}' of shape {}", graph.value(id).name,
                        ToString(graph.value(id).shape));
  }
  return text;
}

Recognition Recognise(const Graph& graph, int class_count) {
  HeadSpec spec;
  spec.class_count = class_count;
  const Outputs outputs(graph, spec);
  Recognition found;
  const auto take = [&](HeadKind kind, const char* reason) {
    if (kind == Kind::kRaw || !EntryOf(kind).why_not(outputs).empty()) return false;
    found.kind = kind;
    found.reason = reason;
    return true;
  };
  if (take(KindOfTail(outputs), "the graph's last operator") ||
      take(KindOfTask(outputs), "the task that the model's file names") ||
      take(KindOfShapes(outputs), "the outputs' names and shapes")) {
    return found;
  }
  found.candidates = KindsThatFit(outputs);
  found.reason = DescribeOutputs(graph);
  return found;
}

std::string WhyNot(const Graph& graph, const HeadSpec& spec) {
  return EntryOf(spec.kind).why_not(Outputs(graph, spec));
}

void AppendHead(Graph& graph, const HeadSpec& spec) {
  if (graph.head.kind != Kind::kAuto) return;
  HeadSpec own = spec;
  if (own.kind == Kind::kAuto) own.kind = Recognise(graph, own.class_count).kind;
  const Entry& entry = EntryOf(own.kind);
  // Operators move as others are added, so the outputs are judged as they were.
  const Graph before = graph;
  const Outputs outputs(before, own);
  if (const std::string why = entry.why_not(outputs); !why.empty()) {
    const std::vector<HeadKind> fitting = KindsThatFit(outputs);
    throw InputError(fmt::format(
        "model '{}': decoder.kind \"{}\" does not fit: {}; {}", graph.name, NameOf(own.kind), why,
        fitting.empty() ? "no kind but \"raw\" fits these outputs"
                        : "by their shapes these outputs could be " + NamesOf(fitting)));
  }
  graph.head.kind = own.kind;
  graph.head.is_normalised = own.is_normalised.value_or(entry.is_normalised);
  entry.append(graph, outputs);
}

}  // namespace cacheinf
