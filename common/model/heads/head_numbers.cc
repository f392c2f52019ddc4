#include "common/model/heads/head_numbers.h"

#include <fmt/core.h>

#include <cmath>

namespace cacheinf {
namespace {

constexpr int64_t kFewRows = 20;

constexpr double kLeastSpread = 0.4;  // of the centres of a grid's boxes, of the picture's side

// What places and sizes of boxes on a grid contradict.
std::string WhyNotPlaced(const Outputs& outputs, const RowNumbers& table) {
  const bool is_normalised = IsNormalised(outputs.spec);
  const auto width = static_cast<double>(outputs.picture.width);
  const double unit_x = is_normalised ? 1 : width;
  const double unit_y = is_normalised ? 1 : static_cast<double>(outputs.picture.height);
  const Extent x = table.Columns(0, 1);
  const Extent y = table.Columns(1, 2);
  const auto is_spread = [](const Extent& extent, double unit) {
    return extent.high - extent.low >= kLeastSpread * unit &&
           extent.IsWithin(static_cast<float>(-unit), static_cast<float>(2 * unit));
  };
  if (!is_spread(x, unit_x) || !is_spread(y, unit_y)) {
    const bool looks_like_shares = !is_normalised && x.IsWithin(-1, kMostShare);
    return Runs("the centres of its boxes", is_spread(x, unit_x) ? y : x,
                is_normalised ? "from 0 to 1 across the picture"
                : looks_like_shares
                    ? "in pixels (decoder.coordinates shares reads them as shares)"
                    : fmt::format("across the {:.0f} pixels of the picture", width));
  }
  const Extent sizes = table.Columns(2, kPixelNumbers);
  if (sizes.low < -kSlack * static_cast<float>(unit_x)) {
    return Runs("the widths and heights of its boxes", sizes, "positive");
  }
  if (table.AreCorners()) return "its boxes are corners: centres and sizes are expected";
  if (table.AreFlat(unit_x, unit_y)) return "most of its boxes have no width or no height";
  // A box lies about its cell, and not about the one that has x for y.
  const Tensor cells =
      RowBuilder::CellColumns(outputs.picture, table.rows.strides, 0.5f, table.rows.anchors);
  const Tensor strides =
      RowBuilder::StrideColumn(outputs.picture, table.rows.strides, table.rows.anchors);
  double apart = 0;
  double apart_swapped = 0;
  for (int64_t box = 0; box < table.rows.boxes; ++box) {
    const double own_x = table.At(box, 0) / unit_x * width;
    const double own_y = table.At(box, 1) / unit_y * static_cast<double>(outputs.picture.height);
    const double cell_x = double{cells.data()[2 * box]} * strides.data()[box];
    const double cell_y = double{cells.data()[2 * box + 1]} * strides.data()[box];
    apart += std::abs(own_x - cell_x) + std::abs(own_y - cell_y);
    apart_swapped += std::abs(own_x - cell_y) + std::abs(own_y - cell_x);
  }
  return apart > 2 * apart_swapped ? "its boxes lie at their cells only if x is read for y" : "";
}

}  // namespace

Extent ExtentOf(const std::vector<float>& numbers) {
  Extent extent;
  for (const float number : numbers) extent.Add(number);
  return extent;
}

std::string Runs(const char* what, const Extent& extent, const std::string& expected) {
  return fmt::format("{} run from {:.4g} to {:.4g}, not {}", what, extent.low, extent.high,
                     expected);
}

float Sigmoid(float logit) { return 1 / (1 + std::exp(-logit)); }

std::string WhyNotScores(const char* what, const Extent& scores, bool are_shares) {
  if (scores.IsShare() == are_shares) return "";
  return Runs(what, scores,
              are_shares ? "from 0 to 1" : "like logits, but like what a sigmoid gives");
}

Extent RowNumbers::Columns(int64_t begin, int64_t end) const {
  Extent extent;
  for (int64_t box = 0; box < rows.boxes; ++box) {
    for (int64_t number = begin; number < end; ++number) extent.Add(At(box, number));
  }
  return extent;
}

float RowNumbers::Best(int64_t box, int64_t begin, int64_t end) const {
  float best = 0;
  for (int64_t number = begin; number < end; ++number) best = std::max(best, At(box, number));
  return best;
}

bool RowNumbers::AreCorners() const {
  if (rows.boxes < kFewRows) return false;
  for (int64_t box = 0; box < rows.boxes; ++box) {
    if (At(box, 2) < At(box, 0) || At(box, 3) < At(box, 1)) return false;
  }
  return true;
}

bool RowNumbers::AreFlat(double unit_x, double unit_y) const {
  constexpr double kFlat = 0.002;
  int64_t flat = 0;
  for (int64_t box = 0; box < rows.boxes; ++box) {
    if (At(box, 2) < kFlat * unit_x || At(box, 3) < kFlat * unit_y) ++flat;
  }
  return rows.boxes >= kFewRows && 2 * flat > rows.boxes;
}

PickedBoxes::PickedBoxes(const Outputs& outputs)
    : picture_(outputs.picture),
      names_(outputs.spec.class_count),
      is_normalised_(IsNormalised(outputs.spec)) {}

void PickedBoxes::Add(const float* corners, float score, float label) {
  scores_.Add(score);
  has_fraction_ = has_fraction_ || label != std::floor(label);
  is_turned_ = is_turned_ || (score > 0 && (corners[0] > corners[2] || corners[1] > corners[3]));
  if (!(score > kCertain)) return;
  for (int k = 0; k < 4; ++k) corners_.Add(corners[k]);
  labels_.Add(label);
}

std::string PickedBoxes::Contradiction() const {
  if (!scores_.empty() && !scores_.IsShare()) return Runs("its scores", scores_, "from 0 to 1");
  if (has_fraction_) return "its classes are not whole numbers from 0 on";
  if (corners_.empty()) return "";
  if (labels_.low < 0) return "its classes are not whole numbers from 0 on";
  if (names_ > 0 && labels_.high >= static_cast<float>(names_)) {
    return fmt::format("it names class {:.0f}, but {} have names", labels_.high, names_);
  }
  if (is_turned_) return "some boxes end before they begin: corners are expected, not centres";
  if (picture_.width == 0) return "";
  const auto side = static_cast<float>(std::max(picture_.width, picture_.height));
  if (is_normalised_ && !corners_.IsWithin(-1, kMostShare)) {
    return Runs("its corners", corners_, "from 0 to 1 (decoder.coordinates pixels reads them so)");
  }
  if (!is_normalised_ && corners_.high <= kMostShare) {
    return Runs("its corners", corners_,
                "in pixels (decoder.coordinates shares reads them as shares of the picture)");
  }
  if (!is_normalised_ && !corners_.IsWithin(-side, 2 * side)) {
    return Runs("its corners", corners_, fmt::format("within a picture of {} pixels", side));
  }
  return "";
}

std::string WhyNotObjectness(const RowNumbers& table, bool has_objectness, int64_t end) {
  constexpr int kFewSure = 6;
  constexpr float kHigh = 0.5f;
  const int64_t first = kPixelNumbers;
  if (end - first < 3) return "";
  int sure = 0;
  int contrary = 0;
  for (int64_t box = 0; box < table.rows.boxes; ++box) {
    const float own = table.At(box, first);
    const float other = table.Best(box, first + 1, end);
    if (has_objectness ? own <= kHigh : std::max(own, other) <= kHigh) continue;
    ++sure;
    const bool is_contrary = has_objectness ? other < 0.1f : std::min(own, other) > kEvident;
    contrary += is_contrary ? 1 : 0;
  }
  if (sure < kFewSure || contrary < sure) return "";
  // YOLOv6's is 1 everywhere.
  if (has_objectness && 2 * sure > table.rows.boxes) return "";
  return has_objectness ? "where the first score is high no other is: it is a class, no objectness"
                        : "the first score is high wherever another is: it is an objectness";
}

HeadFinding JudgeRows(const Outputs& outputs, HeadNumbers all, bool has_objectness,
                      int64_t extras) {
  const BoxRows& rows = *outputs.rows;
  const RowNumbers table{all[0], rows};
  const int64_t end = rows.numbers - extras;
  const Extent scores = table.Columns(kPixelNumbers, end);
  if (!scores.IsShare()) {
    return {Runs(has_objectness ? "its objectness and class scores" : "its class scores", scores,
                 "from 0 to 1")};
  }
  int64_t evident = 0;
  for (int64_t box = 0; box < rows.boxes; ++box) {
    const float objectness = has_objectness ? table.At(box, kPixelNumbers) : 1;
    const float best = table.Best(box, kPixelNumbers + (has_objectness ? 1 : 0), end);
    evident += objectness * best > kEvident ? 1 : 0;
  }
  HeadFinding finding;
  finding.has_evidence = evident > 0;
  if (rows.anchors == 0) return finding;
  if (10 * evident > 3 * rows.boxes) {
    return {fmt::format("{} of its {} boxes score more than {}, in nearly every cell", evident,
                        rows.boxes, kEvident)};
  }
  finding.contradiction = WhyNotPlaced(outputs, table);
  if (finding.contradiction.empty()) {
    finding.contradiction = WhyNotObjectness(table, has_objectness, end);
  }
  return finding;
}

}  // namespace cacheinf
