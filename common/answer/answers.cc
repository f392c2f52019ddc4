#include "common/answer/answers.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "common/answer/mask_reader.h"
#include "common/answer/seen_picture.h"
#include "common/base/error.h"
#include "common/model/heads/heads.h"

namespace cacheinf {
namespace {

constexpr int kBoxNumbers = 6;     // left, top, right, bottom, score, class
constexpr float kEvident = 0.25f;  // a box that scores more is something

// A heat map: height × width without gaps.
struct HeatMap {
  const float* values;
  int width;
  int height;

  float At(int x, int y) const { return values[static_cast<ptrdiff_t>(y) * width + x]; }
};

// A quarter of a pixel towards the larger of two neighbours.
double QuarterStep(float before, float after) {
  if (after > before) return 0.25;
  return after < before ? -0.25 : 0;
}

// Where the largest value lies, in the map's pixels from its edge. Along each axis that is the
// pixel's centre, moved a quarter of a pixel towards the larger neighbour if it has two.
Keypoint FindPeak(const HeatMap& map) {
  const auto count = static_cast<ptrdiff_t>(map.width) * map.height;
  ptrdiff_t best = -1;
  for (ptrdiff_t i = 0; i < count; ++i) {
    if (best < 0 ? !std::isnan(map.values[i]) : map.values[i] > map.values[best]) best = i;
  }
  if (best < 0) {
    constexpr auto kNone = std::numeric_limits<float>::quiet_NaN();
    return {kNone, kNone, kNone};
  }
  const int x = static_cast<int>(best % map.width);
  const int y = static_cast<int>(best / map.width);
  Keypoint peak = {x + 0.5, y + 0.5, map.values[best]};
  if (x > 0 && x + 1 < map.width) peak.x += QuarterStep(map.At(x - 1, y), map.At(x + 1, y));
  if (y > 0 && y + 1 < map.height) peak.y += QuarterStep(map.At(x, y - 1), map.At(x, y + 1));
  return peak;
}

// Any model may have written `number`; one that names no class counts as the first class.
int32_t ClassOf(float number) {
  constexpr float kMost = 65535;
  return number > 0 ? static_cast<int32_t>(std::min(number, kMost)) : 0;
}

// The picture that positions of the outputs are in.
struct ModelPicture {
  explicit ModelPicture(const Graph& graph) {
    const Value& input = graph.value(graph.inputs.front());
    if (!input.is_map()) return;
    height = static_cast<double>(input.shape[2]);
    width = static_cast<double>(input.shape[3]);
  }
  double width = 0;  // 0: the input is no picture
  double height = 0;
};

// A turned box as a row has it: the sides are those of the box before it is turned by `angle`.
struct TurnedBox {
  explicit TurnedBox(const float* row)
      : x((row[0] + row[2]) / 2.0),
        y((row[1] + row[3]) / 2.0),
        width(row[2] - row[0]),
        height(row[3] - row[1]),
        angle(row[kBoxNumbers]) {}
  double x, y, width, height, angle;
};

// The covariance of a box, seen as a normal distribution.
struct Covariance {
  explicit Covariance(const TurnedBox& box) {
    const double along = box.width * box.width / 12;
    const double across = box.height * box.height / 12;
    const double c = std::cos(box.angle);
    const double s = std::sin(box.angle);
    xx = along * c * c + across * s * s;
    yy = along * s * s + across * c * c;
    xy = (along - across) * c * s;
  }
  double xx, yy, xy;
};

// How far two turned boxes overlap: 1 less the Hellinger distance of their normal distributions, as
// in the networks' own suppression (ProbIoU, arXiv 2106.06072).
double Overlap(const TurnedBox& a, const TurnedBox& b) {
  constexpr double kSmall = 1e-7;
  const Covariance one(a);
  const Covariance two(b);
  const double xx = one.xx + two.xx;
  const double yy = one.yy + two.yy;
  const double xy = one.xy + two.xy;
  const double dx = a.x - b.x;
  const double dy = a.y - b.y;
  const double determinant = xx * yy - xy * xy;
  const auto own = [](const Covariance& c) { return std::max(c.xx * c.yy - c.xy * c.xy, 0.0); };
  const double apart = (xx * dy * dy + yy * dx * dx) / (determinant + kSmall) / 4 -
                       xy * dx * dy / (determinant + kSmall) / 2;
  const double unlike =
      std::log(determinant / (4 * std::sqrt(own(one) * own(two)) + kSmall) + kSmall) / 2;
  const double distance = std::clamp(apart + unlike, kSmall, 100.0);
  return 1 - std::sqrt(1 - std::exp(-distance) + kSmall);
}

// Whether most of the keypoints that can be seen lie outside their box and a margin.
bool AreBesideBox(const std::vector<Keypoint>& points, const Detection& box) {
  constexpr double kMargin = 0.25;  // of the box, on each side
  const double width = kMargin * (box.right - box.left);
  const double height = kMargin * (box.bottom - box.top);
  const auto beside = std::count_if(points.begin(), points.end(), [&](const Keypoint& point) {
    return !(point.x >= box.left - width && point.x <= box.right + width &&
             point.y >= box.top - height && point.y <= box.bottom + height);
  });
  return 2 * static_cast<size_t>(beside) > points.size();
}

// Whether left eye, right eye, nose and the mouth's corners lie in their box as in no face, however
// turned: mirrored, the nose beside them, or all in a quarter.
bool AreNoFace(const std::vector<Keypoint>& points, const Detection& box) {
  constexpr double kMirrored = -0.02;  // a face from the side has hardly any area
  constexpr double kNoseSlack = 0.6;
  const double width = box.right - box.left;
  const double height = box.bottom - box.top;
  std::array<std::array<double, 2>, 5> places = {};
  bool is_in_quarter = true;
  for (size_t i = 0; i < places.size(); ++i) {
    places[i] = {(points[i].x - box.left) / width, (points[i].y - box.top) / height};
    is_in_quarter &= places[i][0] < 0.5 && places[i][1] < 0.5;
  }
  const auto& [left, right, nose, mouth_left, mouth_right] = places;
  const std::array<double, 2> eyes = {(left[0] + right[0]) / 2, (left[1] + right[1]) / 2};
  const std::array<double, 2> down = {(mouth_left[0] + mouth_right[0]) / 2 - eyes[0],
                                      (mouth_left[1] + mouth_right[1]) / 2 - eyes[1]};
  const double area = (right[0] - left[0]) * down[1] - (right[1] - left[1]) * down[0];
  const double length = down[0] * down[0] + down[1] * down[1];
  const double nose_down = ((nose[0] - eyes[0]) * down[0] + (nose[1] - eyes[1]) * down[1]) / length;
  return is_in_quarter || area < kMirrored ||
         !(nose_down > -kNoseSlack && nose_down < 1 + kNoseSlack);
}

}  // namespace

std::vector<std::pair<int, int64_t>> PixelsOfClasses(const ClassMap& map) {
  std::vector<int64_t> counts;
  for (const int32_t index : map.classes) {
    const auto at = static_cast<size_t>(index);
    if (at >= counts.size()) counts.resize(at + 1);
    ++counts[at];
  }
  std::vector<std::pair<int, int64_t>> pixels;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) pixels.emplace_back(static_cast<int>(i), counts[i]);
  }
  return pixels;
}

DecoderConfig::Kind KindOfAnswers(const Graph& graph, DecoderConfig::Kind configured) {
  if (graph.head.kind != HeadKind::kAuto) return graph.head.kind;
  HeadSpec spec;
  spec.kind = configured;
  if (configured == HeadKind::kAuto) spec.kind = Recognise(graph, 0).kind;
  Graph described = graph;
  described.notes = {};
  if (const std::string why = WhyNot(described, spec); !why.empty()) {
    throw InputError(fmt::format("decoder.kind \"{}\" does not fit: {}", NameOf(spec.kind), why));
  }
  return spec.kind;
}

std::vector<ScoredClass> BestClasses(std::span<const float> scores, int most) {
  const auto is_better = [](const ScoredClass& a, const ScoredClass& b) {
    if (std::isnan(a.score) != std::isnan(b.score)) return std::isnan(b.score);
    return a.score > b.score || (!(a.score < b.score) && a.index < b.index);
  };
  std::vector<ScoredClass> best;
  best.reserve(scores.size());
  for (const float score : scores) best.push_back({static_cast<int>(best.size()), score});
  const size_t count = std::min(best.size(), static_cast<size_t>(most));
  std::partial_sort(best.begin(), best.begin() + static_cast<ptrdiff_t>(count), best.end(),
                    is_better);
  best.resize(count);
  return best;
}

AnswerReader::AnswerReader(const Graph& graph, const DecoderConfig& config)
    : kind_(KindOfAnswers(graph, config.kind)),
      head_(graph.head),
      top_(config.most_classes()),
      most_boxes_(config.most_boxes()),
      most_points_(config.most_points()),
      score_threshold_(static_cast<float>(config.score_threshold)),
      overlap_threshold_(static_cast<float>(config.overlap_threshold)),
      class_names_(config.ReadClassNames()) {
  if (class_names_.empty()) class_names_ = graph.notes.class_names;
  const ModelPicture picture(graph);
  model_width_ = static_cast<float>(picture.width);
  model_height_ = static_cast<float>(picture.height);
}

const std::vector<float>& AnswerReader::Values(const FrameOutputs& outputs, size_t output) {
  values_.resize(OutputCount(outputs.graph(), output));
  outputs.Read(output, values_.data());
  return values_;
}

AnswerContent AnswerReader::Read(const FrameOutputs& outputs, const SeenPicture& seen) {
  using Answer = HeadRow::Answer;
  switch (RowOf(kind_).answer) {
    case Answer::kClasses:
      return ReadClassification(outputs);
    case Answer::kClassMap:
      return ReadClassMap(outputs, seen);
    case Answer::kBoxes:
      return ReadDetections(outputs, seen);
    case Answer::kHeatMaps:
      return ReadKeypoints(outputs, seen);
    case Answer::kPoints:
      return ReadPoints(outputs, seen);
    case Answer::kEmbedding:
      return Embedding{Values(outputs, 0)};
    case Answer::kRaw:
      break;
  }
  return ReadRaw(outputs);
}

RawOutputs AnswerReader::ReadRaw(const FrameOutputs& outputs) {
  const Graph& graph = outputs.graph();
  RawOutputs raw;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Value& value = graph.value(graph.outputs[i]);
    const std::vector<float>& values = Values(outputs, i);
    RawOutputs::Output output;
    output.name = value.name;
    output.shape = value.shape;
    if (!values.empty()) {
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      output.minimum = *low;
      output.maximum = *high;
      output.mean =
          std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    }
    raw.outputs.push_back(std::move(output));
  }
  return raw;
}

Classification AnswerReader::ReadClassification(const FrameOutputs& outputs) {
  return {BestClasses(Values(outputs, 0), top_)};
}

ClassMap AnswerReader::ReadClassMap(const FrameOutputs& outputs, const SeenPicture& seen) {
  const Graph& graph = outputs.graph();
  const Shape& shape = graph.value(graph.outputs.front()).shape;
  const std::vector<float>& values = Values(outputs, 0);
  ClassMap map;
  map.height = static_cast<int>(shape[shape.size() - 2]);
  map.width = static_cast<int>(shape[shape.size() - 1]);
  map.classes.resize(values.size());
  std::transform(values.begin(), values.end(), map.classes.begin(), ClassOf);
  const int32_t last = *std::max_element(map.classes.begin(), map.classes.end());
  if (!class_names_.empty() && static_cast<size_t>(last) >= class_names_.size() &&
      contradiction_.empty()) {
    contradiction_ =
        fmt::format("a pixel is of class {}, but {} have names", last, class_names_.size());
  }
  if (graph.picture.width == 0) return map;
  return seen.InModel(map, graph.picture.width, graph.picture.height);
}

// In the order of the outputs' rows.
struct AnswerReader::Rows {
  size_t width = kBoxNumbers;
  std::vector<float> numbers;

  size_t count() const { return numbers.size() / width; }
  float* Row(size_t row) { return numbers.data() + row * width; }
};

AnswerReader::Rows AnswerReader::ReadRows(const FrameOutputs& outputs) {
  const Graph& graph = outputs.graph();
  Rows rows;
  const auto add = [&](const float* corners, float score, float label) {
    for (int k = 0; k < 4; ++k) rows.numbers.push_back(corners[k]);
    rows.numbers.push_back(score);
    rows.numbers.push_back(label);
  };
  switch (kind_) {
    case Kind::kEndToEndBatch: {
      const std::vector<float>& values = Values(outputs, 0);
      for (size_t at = 0; at + 7 <= values.size(); at += 7) {
        add(&values[at + 1], values[at + 6], values[at + 5]);
      }
      break;
    }
    case Kind::kNmsOutputs:
    case Kind::kTfDetection: {
      const std::vector<float> boxes = Values(outputs, 0);
      const std::vector<float> scores = Values(outputs, 1);
      const std::vector<float>& labels = Values(outputs, 2);
      const bool rows_first = kind_ == Kind::kTfDetection;  // top, left, bottom, right
      for (size_t i = 0; i < scores.size(); ++i) {
        std::array<float, 4> corners = {};
        std::copy_n(&boxes[4 * i], 4, corners.begin());
        if (rows_first) {
          std::swap(corners[0], corners[1]);
          std::swap(corners[2], corners[3]);
        }
        add(corners.data(), scores[i], labels[i]);
      }
      break;
    }
    default:
      rows.width = static_cast<size_t>(graph.value(graph.outputs.front()).shape.back());
      rows.numbers = Values(outputs, 0);
      break;
  }
  if (head_.is_normalised) {
    const ModelPicture picture(graph);
    for (size_t i = 0; i < rows.count(); ++i) {
      float* const row = rows.Row(i);
      for (size_t k = 0; k < 4; ++k) {
        row[k] *= static_cast<float>(k % 2 == 0 ? picture.width : picture.height);
      }
      float* point = row + kBoxNumbers;
      for (int k = 0; k < head_.keypoints; ++k, point += head_.keypoint_numbers) {
        point[0] *= static_cast<float>(picture.width);
        point[1] *= static_cast<float>(picture.height);
      }
    }
  }
  return rows;
}

std::string AnswerReader::ContradictionOf(const float* row) const {
  constexpr float kMostScore = 1.01f;
  if (row[4] > kMostScore) return fmt::format("a box scores {:.4g}, more than 1", row[4]);
  if (row[0] > row[2] || row[1] > row[3]) return "a box ends before it begins";
  const bool has_names = !class_names_.empty();
  if (has_names && static_cast<size_t>(ClassOf(row[5])) >= class_names_.size()) {
    return fmt::format("a box is of class {}, but {} have names", ClassOf(row[5]),
                       class_names_.size());
  }
  const float side = std::max(model_width_, model_height_);
  for (int k = 0; k < 4 && side > 0; ++k) {
    if (row[k] >= -side && row[k] <= 2 * side) continue;
    return fmt::format("a box reaches to pixel {:.0f} of a picture of {:.0f}x{:.0f}", row[k],
                       model_height_, model_width_);
  }
  return "";
}

void AnswerReader::AddPlace(const float* corners, const SeenPicture& seen) {
  constexpr double kSlack = 0.02;  // of the picture's side
  constexpr int64_t kFewest = 3;
  const bool are_points = kind_ == Kind::kPoints;
  const int64_t one_in = are_points ? 4 : 20;  // the border's edge may look like some points
  places_.is_over |= seen.fit == nullptr || !seen.model_from_seen.IsIdentity();
  if (places_.is_over || model_width_ == 0) return;
  const auto is_beside = [](double centre, const Range& frame, double side) {
    return centre < frame.begin - kSlack * side || centre > frame.end + kSlack * side;
  };
  const Rectangle frame = seen.fit->place();
  ++places_.count;
  if (is_beside((corners[0] + corners[2]) / 2.0, frame.columns, model_width_) ||
      is_beside((corners[1] + corners[3]) / 2.0, frame.rows, model_height_)) {
    ++places_.beside_frame;
  }
  places_.right = std::max(places_.right, corners[2] / model_width_);
  places_.bottom = std::max(places_.bottom, corners[3] / model_height_);
  if (places_.beside_frame >= kFewest && one_in * places_.beside_frame >= places_.count &&
      contradiction_.empty()) {
    contradiction_ = fmt::format(
        "{} of {} {} beside the frame, in the border or beyond the picture, as if y stood before x "
        "or they were pixels of a picture of another size",
        places_.beside_frame, places_.count,
        are_points ? "points lie" : "boxes have their centres");
  }
}

void AnswerReader::AddKeypoints(const float* row) {
  constexpr float kVisible = 0.5f;
  constexpr size_t kFaceLandmarks = 5;
  constexpr int64_t kFewest = 3;
  if (!(row[4] > kEvident)) return;
  const Detection box = {{}, row[0], row[1], row[2], row[3]};
  std::vector<Keypoint> points;
  const float* point = row + kBoxNumbers;
  for (int i = 0; i < head_.keypoints; ++i, point += head_.keypoint_numbers) {
    if (head_.keypoint_numbers == 3 && !(point[2] >= kVisible)) continue;
    points.push_back({point[0], point[1]});
  }
  if (points.empty()) return;
  const bool is_face = kind_ == Kind::kCenterface && points.size() == kFaceLandmarks;
  ++with_keypoints_.boxes;
  if (AreBesideBox(points, box) || (is_face && AreNoFace(points, box))) ++with_keypoints_.contrary;
  if (with_keypoints_.contrary < kFewest || !contradiction_.empty() ||
      2 * with_keypoints_.contrary <= with_keypoints_.boxes) {
    return;
  }
  contradiction_ = fmt::format(
      "{} of {} boxes have {}, as if y stood before x, all x before all y, other numbers a "
      "keypoint than the file says, or places of another scale or origin",
      with_keypoints_.contrary, with_keypoints_.boxes,
      is_face ? "landmarks that no face has" : "most of their keypoints outside them");
}

void AnswerReader::CountSaturated(const Detections& detections, size_t rows) {
  constexpr size_t kFewest = 50;  // a crowd may fill a smaller limit
  constexpr float kNearOne = 0.9f;
  constexpr int kFrames = 3;
  const size_t limit = std::min(rows, static_cast<size_t>(most_boxes_));
  const bool is_saturated = limit >= kFewest && detections.boxes.size() == limit &&
                            detections.boxes.back().label.score >= kNearOne;
  saturated_frames_ = is_saturated ? saturated_frames_ + 1 : 0;
  if (saturated_frames_ < kFrames || !contradiction_.empty()) return;
  contradiction_ = fmt::format(
      "{} frames one after another have {} boxes, as many as may be, which all score {} or more, "
      "as where a network is fed numbers that are far too large: preprocess.divisor or mean are "
      "likely wrong (if the frames do show so many things, raise decoder.most)",
      kFrames, limit, kNearOne);
}

std::string AnswerReader::Doubt() const {
  constexpr int64_t kFewest = 20;
  constexpr float kNear = 0.6f;
  if (places_.count < kFewest || std::max(places_.right, places_.bottom) > kNear) return "";
  return fmt::format(
      "all {} {} so far lie in the upper left {:.0f} % by {:.0f} % of the picture, as if they "
      "were pixels of a smaller one",
      places_.count, kind_ == Kind::kPoints ? "points" : "boxes", 100 * places_.right,
      100 * places_.bottom);
}

Detection AnswerReader::ReadBox(const float* row, const SeenPicture& seen) const {
  const ScoredClass label = {ClassOf(row[5]), row[4]};
  Detection box;
  if (!head_.has_angle) {
    box = seen.InFrame(Detection{label, row[0], row[1], row[2], row[3]});
  } else {
    const TurnedBox turned(row);
    const double along_x = std::cos(turned.angle) * turned.width / 2;
    const double along_y = std::sin(turned.angle) * turned.width / 2;
    const double across_x = -std::sin(turned.angle) * turned.height / 2;
    const double across_y = std::cos(turned.angle) * turned.height / 2;
    box = {label, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
           -std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
    for (const auto& [u, v] :
         {std::pair(1, 1), std::pair(1, -1), std::pair(-1, -1), std::pair(-1, 1)}) {
      const Keypoint corner = {turned.x + u * along_x + v * across_x,
                               turned.y + u * along_y + v * across_y, label.score};
      const Keypoint shown = seen.InFrame(corner);
      box.left = std::min(box.left, shown.x);
      box.top = std::min(box.top, shown.y);
      box.right = std::max(box.right, shown.x);
      box.bottom = std::max(box.bottom, shown.y);
      box.corners.push_back(seen.InFrameOrBeyond(corner));
    }
  }
  const float* point = row + kBoxNumbers;
  for (int i = 0; i < head_.keypoints; ++i, point += head_.keypoint_numbers) {
    const float score = head_.keypoint_numbers == 3 ? point[2] : label.score;
    box.keypoints.push_back(seen.InFrame(Keypoint{point[0], point[1], score}));
  }
  return box;
}

Detections AnswerReader::ReadDetections(const FrameOutputs& outputs, const SeenPicture& seen) {
  const Graph& graph = outputs.graph();
  Rows rows = ReadRows(outputs);
  std::vector<size_t> order;
  for (size_t i = 0; i < rows.count(); ++i) {
    const float score = rows.Row(i)[4];
    if (!(score > 0 && score >= score_threshold_)) continue;  // unused rows are zero
    order.push_back(i);
    if (contradiction_.empty()) contradiction_ = ContradictionOf(rows.Row(i));
    if (rows.Row(i)[4] > kEvident) AddPlace(rows.Row(i), seen);
    AddKeypoints(rows.Row(i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rows.Row(a)[4] > rows.Row(b)[4]; });
  std::vector<TurnedBox> taken;
  std::vector<int> taken_labels;
  Detections detections;
  std::optional<MaskReader> masks;
  if (head_.mask_coefficients > 0) {
    masks.emplace(graph.value(graph.outputs[1]).shape, Values(outputs, 1),
                  ModelPicture(graph).width, ModelPicture(graph).height);
  }
  for (const size_t i : order) {
    if (detections.boxes.size() == static_cast<size_t>(most_boxes_)) break;
    const float* const row = rows.Row(i);
    if (head_.has_angle) {
      const TurnedBox turned(row);
      const int label = ClassOf(row[5]);
      const auto covers = [&](size_t k) {
        return taken_labels[k] == label && Overlap(taken[k], turned) > overlap_threshold_;
      };
      bool is_covered = false;
      for (size_t k = 0; k < taken.size() && !is_covered; ++k) is_covered = covers(k);
      if (is_covered) continue;
      taken.push_back(turned);
      taken_labels.push_back(label);
    }
    Detection box = ReadBox(row, seen);
    const bool is_in_view = box.left < box.right && box.top < box.bottom;
    if (!is_in_view) continue;
    if (masks) box.mask = masks->Read(row + kBoxNumbers, box, seen);
    detections.boxes.push_back(std::move(box));
  }
  CountSaturated(detections, rows.count());
  return detections;
}

namespace {

// The larger side of what the network sees, in the positions' pixels.
double ExtentOf(const SeenPicture& seen, double model_width, double model_height) {
  if (seen.fit == nullptr) return std::max(model_width, model_height);
  return std::max(seen.fit->columns().shown_length(), seen.fit->rows().shown_length());
}

}  // namespace

Keypoints AnswerReader::ReadKeypoints(const FrameOutputs& outputs, const SeenPicture& seen) {
  const Graph& graph = outputs.graph();
  const Shape& maps = graph.value(graph.outputs.front()).shape;
  const Value& input = graph.value(graph.inputs.front());
  const Shape& model = input.is_map() ? input.shape : maps;
  const auto model_width = static_cast<double>(model[3]);
  const auto model_height = static_cast<double>(model[2]);
  const std::vector<float>& values = Values(outputs, 0);
  HeatMap map = {values.data(), static_cast<int>(maps[3]), static_cast<int>(maps[2])};
  Keypoints keypoints;
  keypoints.extent = ExtentOf(seen, model_width, model_height);
  for (int64_t channel = 0; channel < maps[1]; ++channel) {
    Keypoint point = FindPeak(map);
    point.x *= model_width / map.width;
    point.y *= model_height / map.height;
    keypoints.points.push_back(seen.InFrame(point));
    map.values += static_cast<ptrdiff_t>(map.width) * map.height;
  }
  return keypoints;
}

// Either a map of the picture that is zero where no point is, or a list of points and their scores.
Keypoints AnswerReader::ReadPoints(const FrameOutputs& outputs, const SeenPicture& seen) {
  const Graph& graph = outputs.graph();
  const Shape& shape = graph.value(graph.outputs.front()).shape;
  const ModelPicture picture(graph);
  const std::vector<float> values = Values(outputs, 0);
  Keypoints found;
  found.has_order = false;
  found.extent = ExtentOf(seen, picture.width, picture.height);
  if (shape.size() == 4) {
    const auto width = static_cast<size_t>(shape[3]);
    for (size_t i = 0; i < values.size(); ++i) {
      if (!(values[i] > 0)) continue;
      const size_t row = i / width;
      const size_t column = i % width;
      found.points.push_back({static_cast<double>(column), static_cast<double>(row), values[i]});
    }
  } else {
    const std::vector<float>& scores = Values(outputs, 1);
    for (size_t i = 0; i < scores.size(); ++i) {
      if (!(scores[i] > 0)) continue;
      const float x = values[2 * i];
      const float y = values[2 * i + 1];
      found.points.push_back({x, y, scores[i]});
      AddPlace(std::array{x, y, x, y}.data(), seen);
    }
  }
  std::stable_sort(found.points.begin(), found.points.end(),
                   [](const Keypoint& a, const Keypoint& b) { return a.score > b.score; });
  found.points.resize(std::min(found.points.size(), static_cast<size_t>(most_points_)));
  // Networks count from the first pixel's middle.
  for (Keypoint& point : found.points) {
    point = seen.InFrame(Keypoint{point.x + 0.5, point.y + 0.5, point.score});
  }
  return found;
}

std::string AnswerReader::ClassName(int index) const {
  const auto at = static_cast<size_t>(index);
  return at < class_names_.size() ? class_names_[at] : std::to_string(index);
}

}  // namespace cacheinf
