#include "common/model/heads/heads.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/error.h"
#include "common/model/heads/head_outputs.h"
#include "common/model/heads/head_rows.h"

namespace cacheinf {
namespace {

using Kind = HeadKind;

// ---- What the shapes must be ----

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

std::string WhyNotPose(const Outputs& outputs) {
  const auto [points, numbers] = KeypointsOf(outputs);
  if (points == 0) return OfOutput(outputs.value(0)) + ": no number of keypoints fits";
  return WhyNotAnchorFree(outputs, int64_t{points} * numbers);
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

std::string WhyNotSuppressed(const Outputs& outputs) {
  if (SuppressedOf(outputs)) return "";
  return "the outputs are not boxes (1xNx4), scores (1xN) and classes (1xN) by name and shape";
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

// Picks boxes from a row for each class of each query, since one may name several. The class comes
// along as a number of the row.
void SetBoxesOfClasses(Graph& graph, const HeadSpec& spec, ValueId boxes, ValueId scores) {
  RowBuilder build(&graph);
  const int64_t queries = graph.value(scores).shape[0];
  const int64_t classes = graph.value(scores).shape[1];
  const int64_t rows = queries * classes;
  std::vector<float> labels;
  for (int64_t row = 0; row < rows; ++row) labels.push_back(static_cast<float>(row % classes));
  const ValueId single = graph.AddOne("rows", op::Reshape{{queries, 1, kPixelNumbers}}, {boxes});
  const ValueId repeated =
      graph.AddOne("rows", op::Expand{{queries, classes, kPixelNumbers}}, {single});
  const ValueId corners = graph.AddOne("rows", op::Reshape{{rows, kPixelNumbers}}, {repeated});
  const ValueId score = graph.AddOne("rows", op::Reshape{{rows, 1}}, {scores});
  const ValueId zero = build.With(score, BinaryKind::kMultiply, Tensor({1, 1}, {0.0f}));
  const ValueId label = build.With(zero, BinaryKind::kAdd, Tensor({rows, 1}, std::move(labels)));
  op::NonMaxSuppression picks = spec.suppression;
  picks.has_objectness = false;
  picks.extras = 1;
  const ValueId best = graph.AddOne("boxes", picks, {build.Joined({corners, score, label})});
  graph.head.classes = static_cast<int>(classes);
  graph.outputs = {build.Joined({build.Columns(best, 0, 5), build.Columns(best, 6, 1)})};
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
    const Shape& shape = outputs.shape(output);
    return graph.AddOne("rows", op::Reshape{{shape[1], shape[2]}}, {graph.outputs[output]});
  };
  ValueId scores = flat(queries->first);
  if (has_no_object) {
    const int64_t classes = graph.value(scores).shape[1] - 1;
    scores = build.Columns(graph.AddOne("scores", op::Softmax{1, false}, {scores}), 0, classes);
  } else {
    scores = build.Apply(scores, Function::Kind::kSigmoid);
    return SetBoxesOfClasses(graph, picks, flat(queries->second), scores);
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

bool IsNormalised(const HeadSpec& spec) {
  return spec.is_normalised.value_or(EntryOf(spec.kind).is_normalised);
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
  graph.head.is_normalised = IsNormalised(own);
  entry.append(graph, outputs);
}

}  // namespace cacheinf
