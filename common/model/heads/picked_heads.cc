// Heads whose boxes or points the network has picked itself.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/model/heads/head_numbers.h"
#include "common/model/heads/head_table.h"

namespace cacheinf {
namespace {

using Kind = HeadKind;

std::string WhyNotEndToEnd(const Outputs& outputs, int64_t numbers) {
  std::string why = WhyNoRows(outputs, numbers);
  if (!why.empty()) return why;
  const BoxRows& rows = *outputs.rows;
  if (rows.is_transposed || rows.numbers != numbers) {
    return fmt::format("{}, not {} numbers a box", OfOutput(outputs.value(0)), numbers);
  }
  if (rows.boxes > kMostOfEndToEnd) {
    return fmt::format("{}: {} boxes are more than a network picks", OfOutput(outputs.value(0)),
                       rows.boxes);
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

std::string WhyNotPoints(const Outputs& outputs) {
  if (PointsOf(outputs)) return "";
  return "the outputs are not keypoints (1xNx2) and scores (1xN) by name and shape";
}

void KeepOutputs(Graph&, const Outputs&) {}

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
  if (!queries) return SetBoxes(graph, picks, RowsOf(graph, outputs), false, 0);
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

// The outputs in the order points, scores, and what else there is.
void OrderPoints(Graph& graph, const Outputs& outputs) {
  const auto [points, scores] = *PointsOf(outputs);
  const std::vector<ValueId> given = graph.outputs;
  graph.outputs = {given[points], given[scores]};
  for (size_t i = 0; i < given.size(); ++i) {
    if (i != points && i != scores) graph.outputs.push_back(given[i]);
  }
}

HeadFinding JudgeEndToEnd(const Outputs& outputs, HeadNumbers all) {
  PickedBoxes boxes(outputs);
  const std::vector<float>& numbers = all[0];
  const bool is_batch = outputs.spec.kind == Kind::kEndToEndBatch;
  const size_t width = is_batch ? 7 : 6;
  for (size_t at = 0; at + width <= numbers.size(); at += width) {
    const float* const row = &numbers[at];
    if (is_batch) {
      if (row[0] != 0 && row[6] > 0) return {"its boxes are not all of the first picture"};
      boxes.Add(row + 1, row[6], row[5]);
    } else {
      boxes.Add(row, row[4], row[5]);
    }
  }
  return boxes.finding();
}

HeadFinding JudgeSuppressed(const Outputs& outputs, HeadNumbers all) {
  const auto found = SuppressedOf(outputs);
  const bool rows_first = outputs.spec.kind == Kind::kTfDetection;
  PickedBoxes boxes(outputs);
  const std::vector<float>& scores = all[found->scores];
  for (size_t i = 0; i < scores.size(); ++i) {
    std::array<float, 4> corners = {};
    for (size_t k = 0; k < 4; ++k) {
      corners[k] = all[found->boxes][4 * i + (rows_first ? k ^ 1 : k)];
    }
    boxes.Add(corners.data(), scores[i], all[found->classes][i]);
  }
  return boxes.finding();
}

// How many queries have a class of their own, by the largest logit.
struct Likeliest {
  int64_t first = 0;
  int64_t last = 0;
  int64_t positive = 0;  // have a logit above zero
  int64_t unsure = 0;    // have no class, the last included, with a large share of a softmax
};

Likeliest LikeliestOf(const RowNumbers& logits) {
  constexpr double kLargeShare = 0.7;
  Likeliest found;
  const int64_t width = logits.rows.numbers;
  for (int64_t query = 0; query < logits.rows.boxes; ++query) {
    int64_t best = 0;
    for (int64_t k = 1; k < width; ++k) {
      if (logits.At(query, k) > logits.At(query, best)) best = k;
    }
    if (best == 0) ++found.first;
    if (best == width - 1) ++found.last;
    if (logits.At(query, best) > 0) ++found.positive;
    double sum = 0;  // in units of the best
    for (int64_t k = 0; k < width; ++k) {
      sum += std::exp(double{logits.At(query, k)} - logits.At(query, best));
    }
    if (sum * kLargeShare > 1) ++found.unsure;
  }
  return found;
}

// Whether no box reaches beyond the picture if its first numbers are left and top, but several do
// if they are its centre, and only there. If they were centres, a box or two in a hundred would.
bool BeginAtLeftAndTop(const RowNumbers& boxes, double unit_x, double unit_y) {
  constexpr int64_t kFewest = 4;
  int64_t before = 0;
  for (int64_t query = 0; query < boxes.rows.boxes; ++query) {
    const double x = boxes.At(query, 0) / unit_x;
    const double y = boxes.At(query, 1) / unit_y;
    const double width = boxes.At(query, 2) / unit_x;
    const double height = boxes.At(query, 3) / unit_y;
    if (x + width > 1 + kSlack || y + height > 1 + kSlack) return false;
    before += x < width / 2 - kSlack || y < height / 2 - kSlack ? 1 : 0;
  }
  return before >= kFewest;
}

// Centres and sizes of queries.
std::string WhyNotQueryBoxes(const Outputs& outputs, const RowNumbers& boxes) {
  const Extent extent = boxes.Columns(0, kPixelNumbers);
  if (IsNormalised(outputs.spec) && !extent.IsWithin(-1, kMostShare)) {
    return Runs("its boxes", extent, "from 0 to 1 (decoder.coordinates pixels reads them so)");
  }
  if (!IsNormalised(outputs.spec) && extent.high <= kMostShare) {
    return Runs("its boxes", extent, "in pixels (decoder.coordinates shares reads them as shares)");
  }
  if (boxes.AreCorners()) return "its boxes are corners: centres and sizes are expected";
  const bool are_shares = IsNormalised(outputs.spec);
  const double unit_x = are_shares ? 1 : static_cast<double>(outputs.picture.width);
  const double unit_y = are_shares ? 1 : static_cast<double>(outputs.picture.height);
  if (boxes.AreFlat(unit_x, unit_y)) return "most of its boxes have no width or no height";
  return BeginAtLeftAndTop(boxes, unit_x, unit_y)
             ? "its boxes lie in the picture only if they begin with left and top: centres are "
               "expected"
             : "";
}

// The class scores of queries are faint nearly everywhere. If heights are as faint, but widths are
// not, the heights are scores: a number of each box is missing.
bool AreHeightsScores(const RowNumbers& table) {
  constexpr float kFaint = 0.02f;
  const float height = table.Median(kPixelNumbers - 1);
  float score = 0;
  for (int64_t k = kPixelNumbers; k < table.rows.numbers; ++k) {
    score = std::max(score, table.Median(k));
  }
  return height < kFaint && height < 3 * score && 4 * height < table.Median(kPixelNumbers - 2);
}

// A query that finds half of all classes at once has found none: its numbers mean something else.
bool FindsAllAtOnce(const RowNumbers& table) {
  const int64_t classes = table.rows.numbers - kPixelNumbers;
  for (int64_t query = 0; query < table.rows.boxes && classes >= 4; ++query) {
    int64_t found = 0;
    for (int64_t k = 0; k < classes; ++k) {
      found += table.At(query, kPixelNumbers + k) > kEvident ? 1 : 0;
    }
    if (2 * found > classes) return true;
  }
  return false;
}

HeadFinding JudgeQueries(const Outputs& outputs, HeadNumbers all) {
  constexpr int64_t kFewQueries = 20;
  const auto queries = QueriesOf(outputs);
  if (!queries) {
    const RowNumbers table{all[0], *outputs.rows};
    const Extent scores = table.Columns(kPixelNumbers, outputs.rows->numbers);
    if (!scores.IsShare()) return {Runs("its class scores", scores, "from 0 to 1")};
    if (FindsAllAtOnce(table)) return {"a query scores high in most classes at once"};
    if (AreHeightsScores(table))
      return {"its heights are as faint as scores: a number of each box is missing"};
    return {WhyNotQueryBoxes(outputs, table), scores.high > kEvident};
  }
  const Shape& shape = outputs.shape(queries->first);
  const BoxRows of_logits{shape[1], shape[2], false, 0, {}};
  const BoxRows of_boxes{shape[1], kPixelNumbers, false, 0, {}};
  const RowNumbers logits{all[queries->first], of_logits};
  const Extent extent = ExtentOf(all[queries->first]);
  if (extent.IsShare()) return {WhyNotScores("its logits", extent, false)};
  const Likeliest likeliest = LikeliestOf(logits);
  HeadFinding finding;
  finding.contradiction = WhyNotQueryBoxes(outputs, {all[queries->second], of_boxes});
  if (!finding.contradiction.empty()) return finding;
  if (outputs.spec.kind == Kind::kDetr) {
    finding.has_evidence = likeliest.last < shape[1];
    if (shape[1] >= kFewQueries && likeliest.last < likeliest.first &&
        2 * likeliest.last < shape[1]) {
      finding.contradiction =
          fmt::format("of {} queries only {} are of the last class, which is to be none", shape[1],
                      likeliest.last);
    } else if (shape[1] >= kFewQueries && 2 * likeliest.unsure > shape[1]) {
      finding.contradiction = fmt::format(
          "most of {} queries are sure neither of a class nor of none (rt-detr)", shape[1]);
    }
  } else {
    finding.has_evidence = likeliest.positive > 0;
    if (shape[1] >= kFewQueries && 2 * likeliest.positive > shape[1] &&
        2 * std::max(likeliest.last, likeliest.first) > shape[1]) {
      finding.contradiction = fmt::format(
          "most of {} queries are sure of one class, as if it meant none (detr)", shape[1]);
    }
  }
  return finding;
}

HeadFinding JudgePoints(const Outputs& outputs, HeadNumbers all) {
  const auto [points, scores] = *PointsOf(outputs);
  const Extent of_scores = ExtentOf(all[scores]);
  if (!of_scores.IsShare()) return {Runs("its scores", of_scores, "from 0 to 1")};
  const Extent places = ExtentOf(all[points]);
  if (places.high <= kMostShare && of_scores.high > 0) {
    return {Runs("its points", places, "in pixels")};
  }
  std::array<Extent, 2> along;
  for (size_t i = 0; i < all[points].size(); ++i) {
    if (all[scores][i / 2] > 0) along[i % 2].Add(all[points][i]);
  }
  if (outputs.picture.width > 0) {
    const std::string why = WhyNotInPicture("its points", along, outputs.picture, false);
    if (!why.empty()) return {why};
  }
  return {"", of_scores.high > 0};
}

using Answer = HeadRow::Answer;

constexpr std::array<HeadEntry, 7> kPickedHeads = {{
    {{Kind::kEndToEnd, "1xNx6: left, top, right, bottom, score, class", Answer::kBoxes},
     WhyNotEndToEnd6,
     KeepOutputs,
     JudgeEndToEnd},
    {{Kind::kEndToEndBatch, "Nx7: picture, left, top, right, bottom, class, score", Answer::kBoxes},
     WhyNotEndToEnd7,
     KeepOutputs,
     JudgeEndToEnd},
    {{Kind::kNmsOutputs, "boxes 1xNx4 (left, top, right, bottom), scores 1xN, classes 1xN",
      Answer::kBoxes},
     WhyNotSuppressed,
     OrderSuppressed,
     JudgeSuppressed},
    {{Kind::kTfDetection,
      "boxes 1xNx4 (top, left, bottom, right as shares), scores 1xN, classes 1xN", Answer::kBoxes},
     WhyNotSuppressed,
     OrderSuppressed,
     JudgeSuppressed,
     true},
    {{Kind::kDetr, "logits 1xQx(C+1), the last class being none, and boxes 1xQx4", Answer::kBoxes},
     WhyNotDetr,
     AppendDetr,
     JudgeQueries,
     true},
    {{Kind::kRtDetr, "logits 1xQxC and boxes 1xQx4, or 1xQx(4+C) with scores", Answer::kBoxes},
     WhyNotRtDetr,
     AppendRtDetr,
     JudgeQueries,
     true},
    {{Kind::kPoints, "keypoints 1xNx2 and scores 1xN, and perhaps descriptors", Answer::kPoints},
     WhyNotPoints,
     OrderPoints,
     JudgePoints},
}};

}  // namespace

std::span<const HeadEntry> PickedHeads() { return kPickedHeads; }

}  // namespace cacheinf
