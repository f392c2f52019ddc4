#include "common/model/heads/head_numbers.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

namespace cacheinf {
namespace {

constexpr int64_t kFewRows = 20;

constexpr double kLeastSpread = 0.4;  // of the centres of a grid's boxes, of the picture's side

// The slope of the line nearest to some points.
class Slope {
 public:
  void Add(double x, double y) {
    ++count_;
    x_ += x;
    y_ += y;
    xx_ += x * x;
    xy_ += x * y;
  }
  double value() const { return (count_ * xy_ - x_ * y_) / (count_ * xx_ - x_ * x_); }

 private:
  double count_ = 0;
  double x_ = 0;
  double y_ = 0;
  double xx_ = 0;
  double xy_ = 0;
};

// How places and sizes of boxes on a grid contradict the head.
std::string WhyNotPlaced(const Outputs& outputs, const RowNumbers& table) {
  const bool is_normalised = IsNormalised(outputs.spec);
  const auto width = static_cast<double>(outputs.picture.width);
  const auto height = static_cast<double>(outputs.picture.height);
  const double unit_x = is_normalised ? 1 : width;
  const double unit_y = is_normalised ? 1 : height;
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
  // A box lies around its cell, not around the one with x and y swapped.
  const Tensor cells =
      RowBuilder::CellColumns(outputs.picture, table.rows.strides, 0.5f, table.rows.anchors);
  const Tensor strides =
      RowBuilder::StrideColumn(outputs.picture, table.rows.strides, table.rows.anchors);
  double apart = 0;
  double apart_swapped = 0;
  std::array<double, 2> beyond = {};  // its cell, the sum over boxes
  std::array<double, 2> extent = {};
  int64_t lacking = 0;  // boxes that do not hold the middle of their cell
  int64_t lacking_swapped = 0;
  Slope slope;
  for (int64_t box = 0; box < table.rows.boxes; ++box) {
    const double own_x = table.At(box, 0) / unit_x * width;
    const double own_y = table.At(box, 1) / unit_y * height;
    const double cell_x = double{cells.data()[2 * box]} * strides.data()[box];
    const double cell_y = double{cells.data()[2 * box + 1]} * strides.data()[box];
    apart += std::abs(own_x - cell_x) + std::abs(own_y - cell_y);
    apart_swapped += std::abs(own_x - cell_y) + std::abs(own_y - cell_x);
    beyond[0] += own_x - cell_x;
    beyond[1] += own_y - cell_y;
    const double own_width = table.At(box, 2) / unit_x * width;
    const double own_height = table.At(box, 3) / unit_y * height;
    extent[0] += own_width;
    extent[1] += own_height;
    const double off_x = 2 * std::abs(own_x - cell_x) - kSlack;
    const double off_y = 2 * std::abs(own_y - cell_y) - kSlack;
    lacking += off_x > own_width || off_y > own_height ? 1 : 0;
    lacking_swapped += off_x > own_height || off_y > own_width ? 1 : 0;
    slope.Add(cell_x, own_x);
  }
  if (apart > 2 * apart_swapped) return "its boxes lie at their cells only if x is read for y";
  // YOLOv8 gives distances from a cell's middle, which its box holds, if it is not turned.
  constexpr int64_t kFewLacking = 5;
  if (lacking >= kFewLacking && lacking_swapped == 0 && outputs.spec.kind != HeadKind::kYolov8Obb) {
    return "its boxes hold the middles of their cells only if width is read for height";
  }
  // A centre lies as often before its cell as behind it; left and top lie half a box before it.
  constexpr double kMostBeyond = 0.25;
  if (std::abs(beyond[0]) < kMostBeyond * extent[0] &&
      std::abs(beyond[1]) < kMostBeyond * extent[1]) {
    return "";
  }
  if (slope.value() < 0.75 || slope.value() > 1.35) {
    return fmt::format(
        "its boxes lie as in a picture of {:.0f}x{:.0f} pixels, but the picture is {:.0f}x{:.0f}",
        slope.value() * height, slope.value() * width, height, width);
  }
  return fmt::format(
      "its boxes lie {:.2f} of their width and {:.2f} of their height beside their "
      "cells: centres are expected, not left and top",
      beyond[0] / extent[0], beyond[1] / extent[1]);
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

std::string WhyNotInPicture(const char* what, const std::array<Extent, 2>& places,
                            const PictureSize& picture, bool are_shares) {
  const std::array<int64_t, 2> sides = {picture.width, picture.height};
  for (size_t k = 0; k < 2; ++k) {
    const float own = are_shares ? 1 : static_cast<float>(sides[k]);
    if (places[k].empty() || places[k].IsWithin(-2 * kSlack * own, (1 + 2 * kSlack) * own)) {
      continue;
    }
    return Runs(fmt::format("{}, along {},", what, k == 0 ? 'x' : 'y').c_str(), places[k],
                fmt::format("within the {:g} of the picture, as if they were pixels of another "
                            "size or y stood before x",
                            own));
  }
  return "";
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

float RowNumbers::Median(int64_t column) const {
  std::vector<float> sorted;
  for (int64_t box = 0; box < rows.boxes; ++box) sorted.push_back(At(box, column));
  std::nth_element(sorted.begin(), sorted.begin() + rows.boxes / 2, sorted.end());
  return sorted[static_cast<size_t>(rows.boxes / 2)];
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
  if (score > kEvident) {
    for (size_t k = 0; k < 2; ++k) centres_[k].Add((corners[k] + corners[k + 2]) / 2);
    evident_.push_back({corners[0], corners[1], corners[2], corners[3], score, label});
  }
}

HeadFinding PickedBoxes::finding() const {
  const size_t repeated = Repeated();
  return {Contradiction(repeated), !corners_.empty() && repeated == 0};
}

// A suppression leaves no two boxes of a class that are nearly the same, and a network that needs
// none leaves few. Before suppression, three of four boxes of YOLOv5 and YOLOv8 are nearly another.
size_t PickedBoxes::Repeated() const {
  constexpr double kNearlyOne = 0.8;  // of the area of both together
  const auto area = [](const std::array<float, 6>& box) {
    return double{box[2] - box[0]} * double{box[3] - box[1]};
  };
  size_t repeated = 0;
  for (auto own = evident_.begin(); own != evident_.end(); ++own) {
    const bool is_repeated = std::any_of(evident_.begin(), own, [&](const auto& other) {
      const double width = std::min((*own)[2], other[2]) - std::max((*own)[0], other[0]);
      const double height = std::min((*own)[3], other[3]) - std::max((*own)[1], other[1]);
      const double both = std::max(0.0, width) * std::max(0.0, height);
      return (*own)[5] == other[5] && both > kNearlyOne * (area(*own) + area(other) - both);
    });
    repeated += is_repeated ? 1 : 0;
  }
  return repeated;
}

std::string PickedBoxes::Contradiction(size_t repeated) const {
  if (!scores_.empty() && !scores_.IsShare()) return Runs("its scores", scores_, "from 0 to 1");
  if (has_fraction_) return "its classes are not whole numbers from 0 on";
  if (corners_.empty()) return "";
  if (labels_.low < 0) return "its classes are not whole numbers from 0 on";
  if (names_ > 0 && labels_.high >= static_cast<float>(names_)) {
    return fmt::format("it names class {:.0f}, but {} have names", labels_.high, names_);
  }
  if (is_turned_)
    return "some boxes end before they begin: right and bottom are expected, not width and height";
  constexpr size_t kFewest = 3;
  if (repeated >= kFewest && 2 * repeated >= evident_.size()) {
    return fmt::format(
        "{} of {} boxes are nearly the same as another of their class: nothing has suppressed "
        "them, so export the network with its suppression (nms=True)",
        repeated, evident_.size());
  }
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
  return WhyNotInPicture("the centres of its boxes", centres_, picture_, is_normalised_);
}

std::string WhyNotObjectness(const RowNumbers& table, bool has_objectness, int64_t end) {
  constexpr int kFewSure = 6;
  constexpr float kHigh = 0.5f;
  constexpr float kLow = 0.1f;
  const int64_t first = kPixelNumbers;
  if (end - first < 2) return "";
  int sure = 0;
  int contrary = 0;
  int64_t low = 0;
  int64_t faint = 0;
  for (int64_t box = 0; box < table.rows.boxes; ++box) {
    const float own = table.At(box, first);
    const float other = table.Best(box, first + 1, end);
    low += own < kLow ? 1 : 0;
    faint += own < kLow && other < kCertain ? 1 : 0;
    if (has_objectness ? own <= kHigh : std::max(own, other) <= kHigh) continue;
    ++sure;
    const bool is_contrary = has_objectness ? other < kLow : std::min(own, other) > kEvident;
    contrary += is_contrary ? 1 : 0;
  }
  // Where there is nothing, networks with an objectness are taught no class and give any scores:
  // one in a hundred of YOLOv5n's rows is faint, but 98 in 100 of YOLOv8's.
  if (has_objectness && low >= kFewRows && 10 * faint > 9 * low) {
    return "nearly everywhere all of its scores are faint: the first is a class, no objectness";
  }
  if (end - first < 3 || sure < kFewSure || contrary < sure) return "";
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
  HeadFinding finding;
  finding.has_evidence = false;
  int64_t found = 0;
  for (int64_t box = 0; box < rows.boxes; ++box) {
    const float objectness = has_objectness ? table.At(box, kPixelNumbers) : 1;
    const float score = objectness * table.Best(box, kPixelNumbers + (has_objectness ? 1 : 0), end);
    found += score > kCertain ? 1 : 0;
    finding.has_evidence |= score > kEvident;
  }
  if (rows.anchors == 0) return finding;
  if (2 * found > rows.boxes) {
    return {fmt::format("{} of its {} boxes score more than {}, in most cells", found, rows.boxes,
                        kCertain)};
  }
  finding.contradiction = WhyNotPlaced(outputs, table);
  if (finding.contradiction.empty()) {
    finding.contradiction = WhyNotObjectness(table, has_objectness, end);
  }
  return finding;
}

}  // namespace cacheinf
