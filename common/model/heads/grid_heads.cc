// Heads that give a decoded row for each cell of grids over the picture: YOLOv8 to v12, YOLOX.

#include <algorithm>
#include <array>
#include <cmath>

#include "common/model/heads/head_numbers.h"
#include "common/model/heads/head_table.h"

namespace cacheinf {
namespace {

using Kind = HeadKind;

std::string WhyNotAnchorFree(const Outputs& outputs, int64_t extras, bool one_output = true) {
  std::string why = WhyNoRows(outputs, kPixelNumbers + 1 + extras, one_output);
  if (!why.empty()) return why;
  if (outputs.rows->anchors == 3) {
    return OfOutput(outputs.value(0)) + ": three boxes a cell, this head has one";
  }
  if (why = WhyNoGrid(outputs); !why.empty()) return why;
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

std::string WhyNotYolox(const Outputs& outputs) {
  std::string why = WhyNoRows(outputs, 6);
  if (!why.empty()) return why;
  if (outputs.rows->anchors != 1) {
    return OfOutput(outputs.value(0)) + ": not one box a cell of strides 8, 16 and 32";
  }
  return WhyNotSoMany(outputs, outputs.rows->numbers - 5);
}

void AppendYolov8(Graph& graph, const Outputs& outputs) {
  if (outputs.EndsWithSuppression()) return;
  SetBoxes(graph, outputs.spec, RowsOf(graph, outputs), false, 0);
}

void AppendPose(Graph& graph, const Outputs& outputs) {
  const auto [points, numbers] = KeypointsOf(outputs);
  graph.head.keypoints = points;
  graph.head.keypoint_numbers = numbers;
  SetBoxes(graph, outputs.spec, RowsOf(graph, outputs), false, points * numbers);
}

void AppendSegment(Graph& graph, const Outputs& outputs) {
  const ValueId prototypes = graph.outputs[PrototypesOf(outputs)];
  graph.head.mask_coefficients = static_cast<int>(graph.value(prototypes).shape[1]);
  SetBoxes(graph, outputs.spec, RowsOf(graph, outputs), false, graph.head.mask_coefficients);
  graph.outputs.push_back(prototypes);
}

// Turned boxes overlap differently from upright ones, so the reader suppresses them; here only the
// best are picked.
void AppendObb(Graph& graph, const Outputs& outputs) {
  graph.head.has_angle = true;
  HeadSpec picks = outputs.spec;
  picks.suppression.overlap_threshold = 1.0f;
  picks.suppression.max_boxes = std::max(picks.suppression.max_boxes, 1000);
  SetBoxes(graph, picks, RowsOf(graph, outputs), false, 1);
}

// Undecoded rows: centre = (t_xy + cell) stride, size = e^t_wh stride; scores are sigmoids already.
void AppendYolox(Graph& graph, const Outputs& outputs) {
  RowBuilder build(&graph);
  const bool is_placed = PlacesOnGrid(graph);
  ValueId rows = RowsOf(graph, outputs);
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

HeadFinding JudgeYolov8(const Outputs& outputs, HeadNumbers all) {
  return JudgeRows(outputs, all, false, 0);
}

HeadFinding JudgePose(const Outputs& outputs, HeadNumbers all) {
  const auto [points, each] = KeypointsOf(outputs);
  HeadFinding finding = JudgeRows(outputs, all, false, int64_t{points} * each);
  if (!finding.contradiction.empty()) return finding;
  const RowNumbers table{all[0], *outputs.rows};
  const int64_t first = outputs.rows->numbers - int64_t{points} * each;
  Extent places;
  Extent scores;
  for (int64_t at = first; at < outputs.rows->numbers; ++at) {
    (each == 3 && (at - first) % 3 == 2 ? scores : places).Add(table.Columns(at, at + 1));
  }
  if (!scores.empty() && !scores.IsShare()) {
    finding.contradiction = Runs("the scores of its keypoints", scores, "from 0 to 1");
  } else if (outputs.rows->anchors != 0 && !IsNormalised(outputs.spec) &&
             4 * (places.high - places.low) < static_cast<float>(outputs.picture.width)) {
    finding.contradiction =
        Runs("the places of its keypoints", places, "across the picture's pixels");
  }
  return finding;
}

HeadFinding JudgeSegment(const Outputs& outputs, HeadNumbers all) {
  return JudgeRows(outputs, all, false, outputs.shape(PrototypesOf(outputs))[1]);
}

HeadFinding JudgeObb(const Outputs& outputs, HeadNumbers all) {
  constexpr float kTurn = 6.3f;
  constexpr double kLeastMean = 0.02;  // a class's score is nearly zero nearly everywhere
  HeadFinding finding = JudgeRows(outputs, all, false, 1);
  if (!finding.contradiction.empty()) return finding;
  const RowNumbers table{all[0], *outputs.rows};
  const int64_t last = outputs.rows->numbers - 1;
  const Extent angles = table.Columns(last, last + 1);
  double sum = 0;
  for (int64_t box = 0; box < outputs.rows->boxes; ++box) sum += std::abs(table.At(box, last));
  if (!angles.IsWithin(-kTurn, kTurn)) {
    finding.contradiction = Runs("its angles", angles, "within a turn");
  } else if (outputs.rows->anchors != 0 && angles.high > kSlack &&
             sum < kLeastMean * static_cast<double>(outputs.rows->boxes)) {
    finding.contradiction = "its angles are zero nearly everywhere, as a class's scores are";
  }
  return finding;
}

constexpr float kLargestInGrid = 30.0f;  // of a number that is still to be placed on a grid

HeadFinding JudgeYolox(const Outputs& outputs, HeadNumbers all) {
  if (PlacesOnGrid(outputs.graph)) return JudgeRows(outputs, all, true, 0);
  const RowNumbers table{all[0], *outputs.rows};
  const Extent scores = table.Columns(kPixelNumbers, outputs.rows->numbers);
  if (!scores.IsShare()) {
    return {Runs("its objectness and class scores", scores, "from 0 to 1")};
  }
  const Extent places = table.Columns(0, kPixelNumbers);
  if (!places.IsWithin(-kLargestInGrid, kLargestInGrid)) {
    return {Runs("its boxes", places, "like numbers that are still to be placed on a grid")};
  }
  int64_t faint = 0;
  bool has_evidence = false;
  for (int64_t box = 0; box < outputs.rows->boxes; ++box) {
    const float height = table.At(box, kPixelNumbers - 1);
    faint += height >= 0 && height < kCertain ? 1 : 0;
    const float objectness = table.At(box, kPixelNumbers);
    const float best = table.Best(box, kPixelNumbers + 1, outputs.rows->numbers);
    has_evidence |= objectness * best > kEvident;
  }
  if (10 * faint > 9 * outputs.rows->boxes) return {"its heights are zero nearly everywhere"};
  return {WhyNotObjectness(table, true, outputs.rows->numbers), has_evidence};
}

using Answer = HeadRow::Answer;

constexpr std::array<HeadEntry, 5> kGridHeads = {{
    {{Kind::kYolov8, "YOLOv8, 9, 11, 12: 1x(4+C)xN or its transpose", Answer::kBoxes},
     WhyNotYolov8,
     AppendYolov8,
     JudgeYolov8},
    {{Kind::kYolov8Pose, "1x(4+C+3K)xN or its transpose", Answer::kBoxes},
     WhyNotPose,
     AppendPose,
     JudgePose},
    {{Kind::kYolov8Segment, "1x(4+C+M)xN and prototypes 1xMxhxw", Answer::kBoxes},
     WhyNotSegment,
     AppendSegment,
     JudgeSegment},
    {{Kind::kYolov8Obb, "1x(4+C+1)xN or its transpose", Answer::kBoxes},
     WhyNotObb,
     AppendObb,
     JudgeObb},
    {{Kind::kYolox, "1xNx(5+C), a box a cell, placed on the grid or not", Answer::kBoxes},
     WhyNotYolox,
     AppendYolox,
     JudgeYolox},
}};

}  // namespace

std::span<const HeadEntry> GridHeads() { return kGridHeads; }

}  // namespace cacheinf
