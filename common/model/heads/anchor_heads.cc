// Heads with anchors: YOLOv3, v4, v5, v6 and v7, raw or decoded.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "common/model/heads/head_numbers.h"
#include "common/model/heads/head_table.h"

namespace cacheinf {
namespace {

using Kind = HeadKind;
using Scales = std::vector<op::DecodeBoxes::Scale>;

// By stride: 8, 16, 32.
const std::array<std::vector<float>, 3> kEarlyAnchors = {
    {{10, 13, 16, 30, 33, 23}, {30, 61, 62, 45, 59, 119}, {116, 90, 156, 198, 373, 326}}};
const std::array<std::vector<float>, 3> kLaterAnchors = {
    {{12, 16, 19, 36, 40, 28}, {36, 75, 76, 55, 72, 146}, {142, 110, 192, 243, 459, 401}}};
// For tiny networks, which lack stride 8; YOLOv4's begins with the second.
const std::vector<float> kTinyAnchors = {10, 14, 23, 27, 37, 58, 81, 82, 135, 169, 344, 319};

bool IsYolov5Formula(Kind kind) { return kind == Kind::kBoxes || kind == Kind::kYolov7; }

// The configured strides and anchors, or the kind's usual ones; empty: there are none for these
// heads.
Scales ScalesOf(const Outputs& outputs) {
  const Kind kind = outputs.spec.kind;
  Scales scales = outputs.spec.scales;
  if (!scales.empty()) return scales;
  std::vector<int64_t> strides;
  for (size_t i = 0; i < outputs.count(); ++i) strides.push_back(RawStride(outputs, i));
  std::vector<int64_t> sorted = strides;
  std::sort(sorted.begin(), sorted.end());
  const bool is_whole = sorted == std::vector<int64_t>{8, 16, 32};
  const bool is_tiny = sorted == std::vector<int64_t>{16, 32} && !IsYolov5Formula(kind);
  if (!is_whole && !is_tiny) return {};
  for (const int64_t stride : strides) {
    std::vector<float> anchors;
    if (is_tiny) {
      const int first = stride == 32 ? 6 : (kind == Kind::kYolov4 ? 2 : 0);
      anchors.assign(kTinyAnchors.begin() + first, kTinyAnchors.begin() + first + 6);
    } else {
      const bool is_later = kind == Kind::kYolov4 || kind == Kind::kYolov7;
      const size_t level = stride == 8 ? 0 : (stride == 16 ? 1 : 2);
      anchors = (is_later ? kLaterAnchors : kEarlyAnchors)[level];
    }
    scales.push_back({static_cast<int>(stride), std::move(anchors)});
  }
  return scales;
}

// Anchors grow with their strides in every network.
bool DoGrow(Scales scales) {
  std::sort(scales.begin(), scales.end(),
            [](const auto& a, const auto& b) { return a.stride < b.stride; });
  double last = 0;
  for (const auto& scale : scales) {
    double area = 0;
    for (size_t k = 0; k + 1 < scale.anchors.size(); k += 2) {
      area += double{scale.anchors[k]} * scale.anchors[k + 1];
    }
    if (area < last) return false;
    last = area;
  }
  return true;
}

std::string WhyNotRaw(const Outputs& outputs) {
  const Scales& given = outputs.spec.scales;
  if (!given.empty() && given.size() != outputs.count()) {
    return fmt::format("strides for {} heads, but {} output(s)", given.size(), outputs.count());
  }
  int64_t numbers = 0;
  for (size_t i = 0; i < outputs.count(); ++i) {
    const int64_t stride = RawStride(outputs, i);
    if (stride == 0 || (!given.empty() && stride != given[i].stride)) {
      return fmt::format("{}, not a raw head of a stride of {} for an input of {}x{}",
                         OfOutput(outputs.value(i)),
                         given.empty() ? "8, 16 or 32" : std::to_string(given[i].stride),
                         outputs.picture.height, outputs.picture.width);
    }
    const int64_t own = RawNumbers(outputs, i);
    if (own < 6 || (numbers != 0 && own != numbers)) {
      return fmt::format("{}: {} anchors of 5 numbers and at least one class do not fit",
                         OfOutput(outputs.value(i)), AnchorsOf(outputs, i));
    }
    numbers = own;
  }
  const Scales scales = ScalesOf(outputs);
  if (scales.empty()) {
    return fmt::format(
        "{}: heads of other strides than 8, 16 and 32 need decoder.strides and "
        "decoder.anchors",
        OfOutput(outputs.value(0)));
  }
  if (!DoGrow(scales)) return "decoder.anchors do not grow with decoder.strides";
  for (const auto& scale : scales) {
    const float largest = *std::max_element(scale.anchors.begin(), scale.anchors.end());
    if (2 * largest < static_cast<float>(scale.stride)) {
      return fmt::format("decoder.anchors of stride {} are smaller than its cells: they are pixels",
                         scale.stride);
    }
  }
  return WhyNotSoMany(outputs, numbers - 5);
}

std::string WhyNotBoxes(const Outputs& outputs) {
  if (outputs.EndsWithSuppression()) return "";
  if (IsRaw(outputs)) return WhyNotRaw(outputs);
  std::string why = WhyNoRows(outputs, 6);
  if (!why.empty()) return why;
  if (why = WhyNoGrid(outputs); !why.empty()) return why;
  if (outputs.spec.kind == Kind::kYolov7 && outputs.rows->anchors == 1) {
    return OfOutput(outputs.value(0)) + ": one box a cell, where YOLOv7 has three";
  }
  return WhyNotSoMany(outputs, outputs.rows->numbers - 5);
}

// b_xy = (2 sigmoid(t_xy) - .5 + c_xy) stride, b_wh = anchor (2 sigmoid(t_wh))^2, the rest sigmoid:
// the suppression reads it like that.
void AppendBoxes(Graph& graph, const Outputs& outputs) {
  if (outputs.EndsWithSuppression()) return;
  const HeadSpec& spec = outputs.spec;
  if (!IsRaw(outputs)) return SetBoxes(graph, spec, RowsOf(graph, outputs), true, 0);
  graph.head.classes = static_cast<int>(RawNumbers(outputs, 0)) - 5;
  std::vector<ValueId> maps;
  for (const ValueId head : graph.outputs) {
    const Shape shape = graph.value(head).shape;
    if (shape.size() == 4) {
      maps.push_back(head);
      continue;
    }
    const ValueId turned = graph.AddOne("head", op::Permute{{0, 1, 4, 2, 3}}, {head});
    maps.push_back(
        graph.AddOne("head", op::Reshape{{1, shape[1] * shape[4], shape[2], shape[3]}}, {turned}));
  }
  op::NonMaxSuppression of_heads = spec.suppression;
  of_heads.scales = ScalesOf(outputs);
  graph.outputs = {graph.AddOne("boxes", of_heads, maps)};
}

// How far YOLOv4's centres reach beyond their cells: (s sigmoid - (s - 1) / 2).
float ReachOf(const Outputs& outputs, int64_t stride) {
  if (outputs.spec.kind != Kind::kYolov4) return 1.0f;
  if (outputs.count() == 2 || stride > 16) return 1.05f;
  return stride == 16 ? 1.1f : 1.2f;
}

// b_xy = (sigmoid(t_xy) + c_xy) stride, b_wh = anchor e^t_wh (YOLOv3, section 2.1), the rest
// sigmoid.
void AppendYolov3(Graph& graph, const Outputs& outputs) {
  RowBuilder build(&graph);
  std::vector<ValueId> boxes;
  const Scales scales = ScalesOf(outputs);
  const int64_t numbers = RawNumbers(outputs, 0);
  for (size_t i = 0; i < outputs.count(); ++i) {
    const int64_t anchors = AnchorsOf(outputs, i);
    const int stride = scales[i].stride;
    const std::vector<float>& sizes = scales[i].anchors;
    const ValueId rows = build.FromRawHead(outputs.graph.outputs[i], anchors);
    const int64_t cells = graph.value(rows).shape[0] / anchors;
    std::vector<float> extents;
    for (int64_t anchor = 0; anchor < anchors; ++anchor) {
      for (int64_t cell = 0; cell < cells; ++cell) {
        extents.push_back(sizes[static_cast<size_t>(2 * anchor)]);
        extents.push_back(sizes[static_cast<size_t>(2 * anchor + 1)]);
      }
    }
    const float reach = ReachOf(outputs, stride);
    const ValueId squashed = build.Apply(rows, Function::Kind::kSigmoid);
    ValueId in_cell = build.Columns(squashed, 0, 2);
    if (reach != 1) {
      in_cell = build.With(in_cell, BinaryKind::kMultiply, Tensor({1, 1}, {reach}));
    }
    const ValueId placed =
        build.With(in_cell, BinaryKind::kAdd,
                   RowBuilder::CellColumns(outputs.picture, {stride}, (1 - reach) / 2,
                                           static_cast<int>(anchors)));
    const ValueId centre =
        build.With(placed, BinaryKind::kMultiply, Tensor({1, 1}, {static_cast<float>(stride)}));
    const ValueId extent =
        build.With(build.Apply(build.Columns(rows, 2, 2), Function::Kind::kExp),
                   BinaryKind::kMultiply, Tensor({cells * anchors, 2}, std::move(extents)));
    boxes.push_back(build.Joined({centre, extent, build.Columns(squashed, 4, numbers - 4)}));
  }
  SetBoxes(graph, outputs.spec, build.Stacked(std::move(boxes)), true, 0);
}

// The numbers of a raw head, in four or five dimensions.
class RawNumbersOf {
 public:
  RawNumbersOf(const Outputs& outputs, HeadNumbers all, size_t head)
      : numbers_(all[head]),
        is_split_(outputs.shape(head).size() == 5),
        anchors(AnchorsOf(outputs, head)),
        rows(outputs.shape(head)[2]),
        columns(outputs.shape(head)[3]),
        count(RawNumbers(outputs, head)) {}

  float At(int64_t anchor, int64_t y, int64_t x, int64_t number) const {
    const int64_t at = is_split_ ? ((anchor * rows + y) * columns + x) * count + number
                                 : ((anchor * count + number) * rows + y) * columns + x;
    return numbers_[static_cast<size_t>(at)];
  }
  // The likeliest class.
  int64_t Label(int64_t anchor, int64_t y, int64_t x) const {
    int64_t best = 5;
    for (int64_t k = 6; k < count; ++k) {
      if (At(anchor, y, x, k) > At(anchor, y, x, best)) best = k;
    }
    return best;
  }

 private:
  const std::vector<float>& numbers_;
  bool is_split_;

 public:
  const int64_t anchors, rows, columns, count;
};

// Finds the formula by which neighbouring cells that see one thing place it alike: YOLOv5 teaches
// several cells the same box, YOLOv3 only the cell of its centre.
struct Neighbours {
  int pairs = 0;
  double apart_by_v3 = 0;  // in cells, summed up
  double apart_by_v5 = 0;

  void Add(float before, float after) {
    const double step = double{Sigmoid(after)} - Sigmoid(before);
    ++pairs;
    apart_by_v3 += std::abs(1 + step);
    apart_by_v5 += std::abs(1 + 2 * step);
  }
  // Whether the other formula fits far better.
  bool Contradict(bool is_v5) const {
    constexpr int kFew = 4;
    const double own = is_v5 ? apart_by_v5 : apart_by_v3;
    const double other = is_v5 ? apart_by_v3 : apart_by_v5;
    return pairs >= kFew && own > 2 * other + 0.1 * pairs;
  }
};

HeadFinding JudgeRaw(const Outputs& outputs, HeadNumbers all) {
  const bool is_v5 = IsYolov5Formula(outputs.spec.kind);
  const Scales scales = ScalesOf(outputs);
  const double most =
      2.0 * static_cast<double>(std::max(outputs.picture.width, outputs.picture.height));
  Extent scores;
  double largest = 0;
  Neighbours neighbours;
  HeadFinding finding;
  finding.has_evidence = false;
  for (size_t i = 0; i < outputs.count(); ++i) {
    const RawNumbersOf head(outputs, all, i);
    for (int64_t anchor = 0; anchor < head.anchors; ++anchor) {
      for (int64_t y = 0; y < head.rows; ++y) {
        for (int64_t x = 0; x < head.columns; ++x) {
          for (int64_t k = kPixelNumbers; k < head.count; ++k) scores.Add(head.At(anchor, y, x, k));
          const auto is_sure = [&](int64_t row, int64_t column) {
            return row < head.rows && column < head.columns &&
                   Sigmoid(head.At(anchor, row, column, 4)) > kEvident;
          };
          if (!is_sure(y, x)) continue;
          const int64_t label = head.Label(anchor, y, x);
          if (Sigmoid(head.At(anchor, y, x, label)) * Sigmoid(head.At(anchor, y, x, 4)) <
              kEvident) {
            continue;
          }
          finding.has_evidence = true;
          for (int64_t k = 0; k < 2; ++k) {
            const float t = head.At(anchor, y, x, 2 + k);
            const double factor = is_v5 ? std::pow(2 * Sigmoid(t), 2) : std::exp(double{t});
            largest =
                std::max(largest, factor * scales[i].anchors[static_cast<size_t>(2 * anchor + k)]);
          }
          const auto is_same = [&](int64_t row, int64_t column) {
            return is_sure(row, column) && head.Label(anchor, row, column) == label;
          };
          if (is_same(y, x + 1)) {
            neighbours.Add(head.At(anchor, y, x, 0), head.At(anchor, y, x + 1, 0));
          }
          if (is_same(y + 1, x)) {
            neighbours.Add(head.At(anchor, y, x, 1), head.At(anchor, y + 1, x, 1));
          }
        }
      }
    }
  }
  finding.contradiction = WhyNotScores("its objectness and class scores", scores, false);
  if (!finding.contradiction.empty()) return finding;
  if (largest > most) {
    finding.contradiction = fmt::format("it has boxes of {:.0f} pixels in a picture of {}x{}",
                                        largest, outputs.picture.height, outputs.picture.width);
  } else if (neighbours.Contradict(is_v5)) {
    finding.contradiction = fmt::format(
        "by its formula neighbouring cells place one thing {:.2f} cells apart, by {}'s {:.2f}",
        (is_v5 ? neighbours.apart_by_v5 : neighbours.apart_by_v3) / neighbours.pairs,
        is_v5 ? "YOLOv3" : "YOLOv5",
        (is_v5 ? neighbours.apart_by_v3 : neighbours.apart_by_v5) / neighbours.pairs);
  }
  return finding;
}

HeadFinding JudgeBoxes(const Outputs& outputs, HeadNumbers all) {
  if (IsRaw(outputs)) return JudgeRaw(outputs, all);
  if (outputs.rows && outputs.rows->anchors == 1) {
    const Extent objectness = RowNumbers{all[0], *outputs.rows}.Columns(4, 5);
    if (!objectness.IsWithin(1, 1)) {
      return {Runs("its numbers of objectness", objectness,
                   "at 1, as YOLOv6's, the only one with one box a cell (yolov8? yolox?)")};
    }
  }
  return JudgeRows(outputs, all, true, 0);
}

using Answer = HeadRow::Answer;

constexpr std::array<HeadEntry, 4> kAnchorHeads = {{
    {{Kind::kBoxes, "YOLOv5, v6, v7: 1xNx(5+C) decoded rows, or YOLOv5's raw heads 1x3(5+C)xhxw",
      Answer::kBoxes},
     WhyNotBoxes,
     AppendBoxes,
     JudgeBoxes},
    {{Kind::kYolov3, "YOLOv3 (Darknet): raw heads 1x3(5+C)xhxw", Answer::kBoxes},
     WhyNotRaw,
     AppendYolov3,
     JudgeRaw},
    {{Kind::kYolov4, "YOLOv4 (Darknet): raw heads 1x3(5+C)xhxw", Answer::kBoxes},
     WhyNotRaw,
     AppendYolov3,
     JudgeRaw},
    {{Kind::kYolov7, "YOLOv7: 1xNx(5+C) decoded rows, or raw heads 1x3(5+C)xhxw", Answer::kBoxes},
     WhyNotBoxes,
     AppendBoxes,
     JudgeBoxes},
}};

}  // namespace

std::span<const HeadEntry> AnchorHeads() { return kAnchorHeads; }

}  // namespace cacheinf
