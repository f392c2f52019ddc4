#include "common/model/heads/head_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "common/model/heads/head_outputs.h"
#include "common/model/heads/head_rows.h"

namespace cacheinf {
namespace {

using Kind = HeadKind;

constexpr float kSlack = 0.01f;          // of a score beyond 0 and 1
constexpr float kCertain = 0.05f;        // a box that scores less may be anything
constexpr double kLeastSpread = 0.4;     // of the centres of a grid's boxes, of the picture's side
constexpr float kMostShare = 2.0f;       // of a corner that is a share of the picture
constexpr float kLargestInGrid = 30.0f;  // of a number that is still to be placed on a grid

struct Span {
  float low = std::numeric_limits<float>::infinity();
  float high = -std::numeric_limits<float>::infinity();

  void Add(float number) {
    // What is not a number contradicts every range.
    low = std::isnan(number) ? -std::numeric_limits<float>::infinity() : std::min(low, number);
    high = std::isnan(number) ? std::numeric_limits<float>::infinity() : std::max(high, number);
  }
  bool empty() const { return low > high; }
  bool IsWithin(float least, float most) const { return low >= least && high <= most; }
  bool IsShare() const { return IsWithin(-kSlack, 1 + kSlack); }
};

std::string Runs(const char* what, const Span& span, const std::string& expected) {
  return fmt::format("{} run from {:.4g} to {:.4g}, not {}", what, span.low, span.high, expected);
}

Span SpanOf(const std::vector<float>& numbers) {
  Span span;
  for (const float number : numbers) span.Add(number);
  return span;
}

// The numbers of boxes, whichever way they lie.
struct Table {
  const std::vector<float>& numbers;
  const BoxRows& rows;

  float At(int64_t box, int64_t number) const {
    return numbers[static_cast<size_t>(rows.is_transposed ? number * rows.boxes + box
                                                          : box * rows.numbers + number)];
  }
  Span Columns(int64_t begin, int64_t end) const {
    Span span;
    for (int64_t box = 0; box < rows.boxes; ++box) {
      for (int64_t number = begin; number < end; ++number) span.Add(At(box, number));
    }
    return span;
  }
};

bool HasObjectness(Kind kind) { return kind == Kind::kBoxes || kind == Kind::kYolox; }

// Picked boxes: left, top, right, bottom of those that score enough.
class PickedBoxes {
 public:
  PickedBoxes(const Graph& graph, const HeadSpec& spec, bool is_normalised)
      : picture_(PictureSizeOf(graph)), names_(spec.class_count), is_normalised_(is_normalised) {}

  void Add(const float* corners, float score, float label) {
    scores_.Add(score);
    if (!(score > kCertain)) return;
    for (int k = 0; k < 4; ++k) corners_.Add(corners[k]);
    labels_.Add(label);
    has_fraction_ = has_fraction_ || label != std::floor(label);
    is_turned_ = is_turned_ || corners[0] > corners[2] || corners[1] > corners[3];
  }

  std::string Contradiction() const {
    if (!scores_.empty() && !scores_.IsShare()) return Runs("its scores", scores_, "from 0 to 1");
    if (corners_.empty()) return "";
    if (has_fraction_ || labels_.low < 0) return "its classes are not whole numbers from 0 on";
    if (names_ > 0 && labels_.high >= static_cast<float>(names_)) {
      return fmt::format("it names class {:.0f}, but {} have names", labels_.high, names_);
    }
    if (is_turned_) return "some boxes end before they begin: corners are expected, not centres";
    if (picture_.width == 0) return "";
    const auto side = static_cast<float>(std::max(picture_.width, picture_.height));
    if (is_normalised_ && corners_.high > kMostShare) {
      return Runs("its corners", corners_,
                  "from 0 to 1 (decoder.coordinates pixels reads them so)");
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

 private:
  PictureSize picture_;
  int names_;
  bool is_normalised_;
  Span scores_;
  Span corners_;
  Span labels_;
  bool has_fraction_ = false;
  bool is_turned_ = false;
};

}  // namespace

HeadCheck::HeadCheck(const Graph& graph, const HeadSpec& spec)
    : graph_(graph), spec_(spec), is_normalised_(IsNormalised(spec)), is_placed_(true) {
  if (spec.kind == Kind::kYolox) is_placed_ = PlacesOnGrid(graph);
}

std::string HeadCheck::Contradiction(std::span<const std::vector<float>> outputs) const {
  const Outputs look(graph_, spec_);
  if (look.EndsWithSuppression()) return "";
  switch (spec_.kind) {
    case Kind::kClassification:
      return OfClassification(outputs[0]);
    case Kind::kBoxes:
      return IsRaw(look) ? OfRawHeads(outputs) : OfRows(outputs[0]);
    case Kind::kYolov3:
      return OfRawHeads(outputs);
    case Kind::kYolov8:
    case Kind::kYolov8Pose:
    case Kind::kYolov8Segment:
    case Kind::kYolov8Obb:
    case Kind::kYolox:
      return OfRows(outputs[0]);
    case Kind::kEndToEnd:
    case Kind::kEndToEndBatch:
      return OfPickedRows(outputs[0]);
    case Kind::kNmsOutputs:
    case Kind::kTfDetection:
      return OfPickedOutputs(outputs);
    case Kind::kDetr:
    case Kind::kRtDetr:
      return OfQueries(outputs);
    case Kind::kAuto:
    case Kind::kRaw:
    case Kind::kSegmentation:
    case Kind::kKeypoints:
    case Kind::kEmbedding:
      break;
  }
  return "";
}

std::string HeadCheck::OfRows(const std::vector<float>& numbers) const {
  const Outputs look(graph_, spec_);
  const BoxRows& rows = *look.rows;
  const Table table{numbers, rows};
  const int64_t first_score = kPixelNumbers;
  int64_t extras = 0;
  if (spec_.kind == Kind::kYolov8Pose) {
    const auto [points, each] = KeypointsOf(look);
    extras = int64_t{points} * each;
  } else if (spec_.kind == Kind::kYolov8Segment) {
    extras = look.shape(PrototypesOf(look))[1];
  } else if (spec_.kind == Kind::kYolov8Obb) {
    extras = 1;
  }
  const Span scores = table.Columns(first_score, rows.numbers - extras);
  if (!scores.IsShare()) {
    return Runs(HasObjectness(spec_.kind) ? "its objectness and class scores" : "its class scores",
                scores, "from 0 to 1");
  }
  if (rows.anchors == 0) return "";
  const auto width = static_cast<double>(look.picture.width);
  const auto height = static_cast<double>(look.picture.height);
  const Span x = table.Columns(0, 1);
  const Span y = table.Columns(1, 2);
  if (!is_placed_) {
    const Span all = table.Columns(0, kPixelNumbers);
    if (all.IsWithin(-kLargestInGrid, kLargestInGrid)) return "";
    return Runs("its boxes", all, "like numbers that are still to be placed on a grid");
  }
  const double unit_x = is_normalised_ ? 1 : width;
  const double unit_y = is_normalised_ ? 1 : height;
  const auto is_spread = [](const Span& span, double unit) {
    return span.high - span.low >= kLeastSpread * unit &&
           span.IsWithin(static_cast<float>(-unit), static_cast<float>(2 * unit));
  };
  if (!is_spread(x, unit_x) || !is_spread(y, unit_y)) {
    const bool looks_like_shares = !is_normalised_ && x.IsWithin(-1, kMostShare);
    return Runs("the centres of its boxes", x,
                is_normalised_ ? "from 0 to 1 across the picture"
                : looks_like_shares
                    ? "in pixels (decoder.coordinates shares reads them as shares)"
                    : fmt::format("across the {:.0f} pixels of the picture", width));
  }
  const Span sizes = table.Columns(2, kPixelNumbers);
  if (sizes.low < -kSlack * static_cast<float>(unit_x)) {
    return Runs("the widths and heights of its boxes", sizes, "positive");
  }
  if (spec_.kind == Kind::kYolov8Obb) {
    constexpr float kTurn = 6.3f;
    const Span angles = table.Columns(rows.numbers - 1, rows.numbers);
    if (!angles.IsWithin(-kTurn, kTurn)) return Runs("its angles", angles, "within a turn");
  }
  return "";
}

std::string HeadCheck::OfPickedRows(const std::vector<float>& numbers) const {
  PickedBoxes boxes(graph_, spec_, is_normalised_);
  const bool is_batch = spec_.kind == Kind::kEndToEndBatch;
  const size_t width = is_batch ? 7 : 6;
  for (size_t at = 0; at + width <= numbers.size(); at += width) {
    const float* const row = &numbers[at];
    if (is_batch) {
      boxes.Add(row + 1, row[6], row[5]);
    } else {
      boxes.Add(row, row[4], row[5]);
    }
  }
  return boxes.Contradiction();
}

std::string HeadCheck::OfPickedOutputs(std::span<const std::vector<float>> outputs) const {
  const auto found = SuppressedOf(Outputs(graph_, spec_));
  PickedBoxes boxes(graph_, spec_, is_normalised_);
  const std::vector<float>& scores = outputs[found->scores];
  for (size_t i = 0; i < scores.size(); ++i) {
    boxes.Add(&outputs[found->boxes][4 * i], scores[i], outputs[found->classes][i]);
  }
  return boxes.Contradiction();
}

std::string HeadCheck::OfQueries(std::span<const std::vector<float>> outputs) const {
  const Outputs look(graph_, spec_);
  const auto queries = QueriesOf(look);
  if (!queries) {
    const Table table{outputs[0], *look.rows};
    const Span scores = table.Columns(kPixelNumbers, look.rows->numbers);
    if (!scores.IsShare()) return Runs("its class scores", scores, "from 0 to 1");
    const Span boxes = table.Columns(0, kPixelNumbers);
    if (is_normalised_ && boxes.high > kMostShare) {
      return Runs("its boxes", boxes, "from 0 to 1 (decoder.coordinates pixels reads them so)");
    }
    return "";
  }
  const Span logits = SpanOf(outputs[queries->first]);
  if (logits.IsShare()) return Runs("its logits", logits, "like logits, but like scores");
  const Span boxes = SpanOf(outputs[queries->second]);
  if (is_normalised_ && boxes.high > kMostShare) {
    return Runs("its boxes", boxes, "from 0 to 1 (decoder.coordinates pixels reads them so)");
  }
  return "";
}

std::string HeadCheck::OfClassification(const std::vector<float>& scores) const {
  const Outputs look(graph_, spec_);
  const bool adds_softmax =
      spec_.softmax && (look.Last() == nullptr || look.Last()->As<op::Softmax>() == nullptr);
  const Span span = SpanOf(scores);
  if (!adds_softmax) {
    if (span.IsShare()) return "";
    return Runs("its scores", span, "from 0 to 1 (decoder.softmax true makes shares of them)");
  }
  double sum = 0;
  for (const float score : scores) sum += score;
  const bool are_shares = span.IsShare() && std::abs(sum - 1) < 1e-3 && scores.size() > 2;
  return are_shares ? "its scores already add up to 1: set decoder.softmax to false" : "";
}

std::string HeadCheck::OfRawHeads(std::span<const std::vector<float>> outputs) const {
  Span all;
  for (const std::vector<float>& numbers : outputs) {
    const Span own = SpanOf(numbers);
    all.low = std::min(all.low, own.low);
    all.high = std::max(all.high, own.high);
  }
  if (!all.IsShare()) return "";
  return Runs("its numbers", all, "like logits, but like what a sigmoid gives");
}

}  // namespace cacheinf
