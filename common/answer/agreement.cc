#include "common/answer/agreement.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>

namespace cacheinf {
namespace {

constexpr double kFewBoxes = 4;
constexpr double kLeastClass = 0.01;  // of the pixels compared; smaller classes are left out
// Pixels added as agreeing.
constexpr double kPixelsGiven = 0.002;  // to each class, of the pixels compared

double Square(double number) { return number * number; }

// For numbers that are not both finite.
bool AreAlike(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool IsGreater(float a, float b) { return a > b || (std::isnan(b) && !std::isnan(a)); }

// How many classes are better than this one.
int64_t RankOf(size_t index, const std::vector<float>& scores) {
  int64_t better = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const bool is_first_of_equal = i < index && !IsGreater(scores[index], scores[i]);
    if (is_first_of_equal || IsGreater(scores[i], scores[index])) ++better;
  }
  return better;
}

bool HaveSamePlace(const Detection& a, const Detection& b) {
  return a.left == b.left && a.top == b.top && a.right == b.right && a.bottom == b.bottom;
}

double Area(double width, double height) { return std::max(0.0, width) * std::max(0.0, height); }

double Area(const Detection& box) { return Area(box.right - box.left, box.bottom - box.top); }

// The boxes that score high enough to count.
std::vector<const Detection*> Certain(const Detections& detections) {
  std::vector<const Detection*> boxes;
  for (const Detection& box : detections.boxes) {
    if (box.label.score >= DetectionAgreement::kLeastScore) boxes.push_back(&box);
  }
  return boxes;
}

// Removes the box that `box` matches from `dense`; returns false if there is none.
bool TakeMatch(const Detection& box, std::vector<const Detection*>& dense) {
  auto best = dense.end();
  double best_overlap = 0;
  for (auto candidate = dense.begin(); candidate != dense.end(); ++candidate) {
    if ((*candidate)->label.index != box.label.index) continue;
    const double overlap = Overlap(box, **candidate);
    if (overlap < DetectionAgreement::kLeastOverlap || overlap <= best_overlap) continue;
    best = candidate;
    best_overlap = overlap;
  }
  if (best == dense.end()) return false;
  dense.erase(best);
  return true;
}

bool HasPlace(const Keypoint& point) { return !std::isnan(point.x) && !std::isnan(point.y); }

bool AreNear(const Keypoint& a, const Keypoint& b, double reach) {
  if (!HasPlace(a) || !HasPlace(b)) return false;
  return std::hypot(a.x - b.x, a.y - b.y) <= reach;
}

// How many of the answer's points, best first, have a dense one of their own within reach.
int64_t CountPairs(const Keypoints& answer, const Keypoints& dense, double reach) {
  std::vector<Keypoint> untaken = dense.points;
  for (const Keypoint& point : answer.points) {
    const auto near = std::find_if(untaken.begin(), untaken.end(), [&](const Keypoint& other) {
      return AreNear(point, other, reach);
    });
    if (near != untaken.end()) untaken.erase(near);
  }
  return static_cast<int64_t>(dense.points.size() - untaken.size());
}

bool IsUniform(const ClassMap& map) {
  return std::adjacent_find(map.classes.begin(), map.classes.end(), std::not_equal_to<>()) ==
         map.classes.end();
}

// The outputs whose differences mean something.
std::span<const std::vector<float>> Comparable(const OutputNumbers& numbers,
                                               const AnswerContent& content) {
  const std::span<const std::vector<float>> all(numbers);
  const bool is_read_first =
      std::holds_alternative<ClassMap>(content) || std::holds_alternative<Detections>(content);
  return is_read_first && !all.empty() ? all.subspan(1) : all;
}

// 1 minus the mean error; a frame without a finite error counts as 0.
std::optional<double> Closeness(const RelativeError& error) {
  const int64_t frames = error.frames_with_evidence();
  if (frames == 0) return std::nullopt;
  const auto finite = static_cast<double>(frames - error.frames_without());
  return std::max(0.0, finite * (1 - error.mean().value_or(1)) / static_cast<double>(frames));
}

}  // namespace

bool HasPlace(const Detection& box) {
  return std::isfinite(box.left) && std::isfinite(box.top) && std::isfinite(box.right) &&
         std::isfinite(box.bottom);
}

double Overlap(const Detection& a, const Detection& b) {
  if (!HasPlace(a) || !HasPlace(b)) return 0;
  if (HaveSamePlace(a, b)) return 1;
  const double both = Area(std::min(a.right, b.right) - std::max(a.left, b.left),
                           std::min(a.bottom, b.bottom) - std::max(a.top, b.top));
  return both > 0 ? both / (Area(a) + Area(b) - both) : 0;
}

void RelativeError::Add(std::span<const std::vector<float>> answer,
                        std::span<const std::vector<float>> dense) {
  double difference = 0;
  double length = 0;
  for (size_t i = 0; i < dense.size(); ++i) {
    for (size_t j = 0; j < dense[i].size(); ++j) {
      const float a = answer[i][j];
      const float d = dense[i][j];
      if (std::isfinite(a) && std::isfinite(d)) {
        difference += Square(double{a} - d);
        length += Square(d);
      } else if (!AreAlike(a, d)) {
        difference = std::numeric_limits<double>::infinity();
      }
    }
  }
  ++frames_;
  if (difference == 0 && length == 0) return;
  ++frames_with_evidence_;
  const double error = std::sqrt(difference / length);
  if (!std::isfinite(error)) return;
  ++finite_frames_;
  sum_ += error;
  largest_ = std::max(largest_, error);
}

std::optional<double> RelativeError::mean() const {
  if (finite_frames_ == 0) return std::nullopt;
  return sum_ / static_cast<double>(finite_frames_);
}

void ClassAgreement::Add(const std::vector<float>& answer, const std::vector<float>& dense) {
  size_t best = 0;
  for (size_t i = 1; i < dense.size(); ++i) {
    if (IsGreater(dense[i], dense[best])) best = i;
  }
  const int64_t rank = RankOf(best, answer);
  ++frames_;
  if (rank < 1) ++top_1_;
  if (rank < 3) ++top_3_;
}

void MapAgreement::Add(const ClassMap& answer, const ClassMap& dense) {
  for (size_t i = 0; i < dense.classes.size(); ++i) {
    score_.Add(answer.classes[i], dense.classes[i]);
    if (answer.classes[i] == dense.classes[i]) ++same_;
  }
  pixels_ += static_cast<int64_t>(dense.classes.size());
  if (answer.classes != dense.classes || !IsUniform(dense)) ++frames_with_evidence_;
}

std::optional<double> MapAgreement::MeanIou() const {
  if (frames_with_evidence_ == 0) return std::nullopt;
  return score_.MeanIou();
}

std::optional<double> MapAgreement::PixelShare() const {
  if (frames_with_evidence_ == 0) return std::nullopt;
  return static_cast<double>(same_) / static_cast<double>(pixels_);
}

void DetectionAgreement::Add(const Detections& answer, const Detections& dense) {
  std::vector<const Detection*> untaken = Certain(dense);
  const std::vector<const Detection*> boxes = Certain(answer);
  if (!boxes.empty() || !untaken.empty()) ++frames_with_evidence_;
  answer_boxes_ += static_cast<int64_t>(boxes.size());
  dense_boxes_ += static_cast<int64_t>(untaken.size());
  for (const Detection* box : boxes) matches_ += TakeMatch(*box, untaken) ? 1 : 0;
}

std::optional<double> DetectionAgreement::F1() const {
  if (frames_with_evidence_ == 0) return std::nullopt;
  return 2 * static_cast<double>(matches_) / static_cast<double>(answer_boxes_ + dense_boxes_);
}

void KeypointAgreement::Add(const Keypoints& answer, const Keypoints& dense) {
  const int64_t points_before = points_;
  if (!dense.has_order) {
    points_ += static_cast<int64_t>(std::max(answer.points.size(), dense.points.size()));
    near_ += CountPairs(answer, dense, kReachOfFound * dense.extent);
    if (points_ > points_before) ++frames_with_evidence_;
    return;
  }
  for (size_t i = 0; i < dense.points.size(); ++i) {
    if (!HasPlace(answer.points[i]) && !HasPlace(dense.points[i])) continue;
    ++points_;
    if (AreNear(answer.points[i], dense.points[i], kReach * dense.extent)) ++near_;
  }
  if (points_ > points_before) ++frames_with_evidence_;
}

std::optional<double> KeypointAgreement::Pck() const {
  if (frames_with_evidence_ == 0) return std::nullopt;
  return static_cast<double>(near_) / static_cast<double>(points_);
}

void Agreement::Add(const AnswerContent& answer, const OutputNumbers& numbers,
                    const AnswerContent& dense, const OutputNumbers& dense_numbers,
                    bool lie_alike) {
  ++frames_;
  const auto comparable = Comparable(dense_numbers, dense);
  if (lie_alike && !comparable.empty()) {
    relative_error_.Add(Comparable(numbers, answer), comparable);
  }
  if (std::holds_alternative<Classification>(dense)) {
    OfKind<ClassAgreement>().Add(numbers.front(), dense_numbers.front());
  } else if (const auto* map = std::get_if<ClassMap>(&dense)) {
    OfKind<MapAgreement>().Add(std::get<ClassMap>(answer), *map);
  } else if (const auto* detections = std::get_if<Detections>(&dense)) {
    OfKind<DetectionAgreement>().Add(std::get<Detections>(answer), *detections);
  } else if (const auto* keypoints = std::get_if<Keypoints>(&dense)) {
    OfKind<KeypointAgreement>().Add(std::get<Keypoints>(answer), *keypoints);
  }
}

int64_t Agreement::frames_with_evidence() const {
  return std::visit(
      [this](const auto& measure) {
        if constexpr (std::is_same_v<std::decay_t<decltype(measure)>, std::monostate>) {
          return relative_error_.frames_with_evidence();
        } else {
          return measure.frames_with_evidence();
        }
      },
      of_kind_);
}

const RelativeError* Agreement::relative_error() const {
  return relative_error_.frames() == 0 ? nullptr : &relative_error_;
}

AgreementMeasure Agreement::measure() const {
  const auto frames = static_cast<double>(frames_with_evidence());
  if (const auto* of = detections()) {
    const auto boxes = static_cast<double>(of->answer_boxes() + of->dense_boxes());
    return {"F1", of->F1(), frames * boxes / (boxes + kFewBoxes * std::max(1.0, frames))};
  }
  if (const auto* of = map()) return {"mIoU", of->MeanIou(), frames};
  if (const auto* of = keypoints()) return {"PCK", of->Pck(), frames};
  if (const auto* of = classes()) return {"top-1", of->top_1(), frames};
  if (const auto* of = relative_error()) return {"1 - relative L2", Closeness(*of), frames};
  return {"none", std::nullopt};
}

bool HaveEvidence(const ClassMap& answer, const ClassMap& exact, const Range& rows) {
  const auto begin = static_cast<std::ptrdiff_t>(rows.begin) * exact.width;
  const auto end = static_cast<std::ptrdiff_t>(rows.end) * exact.width;
  const int32_t first = exact.classes[static_cast<size_t>(begin)];
  const auto is_all_first = [&](const ClassMap& map) {
    return std::all_of(map.classes.begin() + begin, map.classes.begin() + end,
                       [first](int32_t label) { return label == first; });
  };
  return !is_all_first(answer) || !is_all_first(exact);
}

AgreementSample CompareRows(const ClassMap& answer, const ClassMap& exact, const Range& rows) {
  const auto begin = static_cast<size_t>(rows.begin) * static_cast<size_t>(exact.width);
  const auto end = static_cast<size_t>(rows.end) * static_cast<size_t>(exact.width);
  SegmentationScore score;
  for (size_t i = begin; i < end; ++i) score.Add(answer.classes[i], exact.classes[i]);
  const auto pixels = static_cast<double>(end - begin);
  const double given = kPixelsGiven * pixels;
  const auto usual =
      std::max_element(score.classes().begin(), score.classes().end(),
                       [](const auto& a, const auto& b) { return a.truth < b.truth; });
  double sum = 0;
  int classes = 0;
  for (auto it = score.classes().begin(); it != score.classes().end(); ++it) {
    const auto larger = static_cast<double>(std::max(it->predicted, it->truth));
    if (it != usual && larger < kLeastClass * pixels) continue;
    sum += (static_cast<double>(it->both) + given) / (static_cast<double>(it->either()) + given);
    ++classes;
  }
  return {sum / classes, pixels - static_cast<double>(usual->both) + given};
}

AgreementMeasure MeasureOfFrame(const AnswerContent& answer, const OutputNumbers& numbers,
                                const AnswerContent& dense, const OutputNumbers& dense_numbers,
                                bool lie_alike) {
  if (const auto* map = std::get_if<ClassMap>(&dense)) {
    const auto& answered = std::get<ClassMap>(answer);
    const Range rows = {0, map->height};
    if (!HaveEvidence(answered, *map, rows)) return {};
    return {"mIoU", CompareRows(answered, *map, rows).agreement, 1};
  }
  Agreement agreement;
  agreement.Add(answer, numbers, dense, dense_numbers, lie_alike);
  return agreement.measure();
}

AgreementMeasure MeasureOfContent(const AnswerContent& answer, const AnswerContent& newer) {
  if (const auto* classes = std::get_if<Classification>(&newer)) {
    const auto& best = std::get<Classification>(answer).best;
    if (best.empty() || classes->best.empty()) return {};
    return {"top-1", best.front().index == classes->best.front().index ? 1.0 : 0.0, 1};
  }
  if (std::holds_alternative<RawOutputs>(newer) || std::holds_alternative<Embedding>(newer)) {
    return {};
  }
  const OutputNumbers none;
  return MeasureOfFrame(answer, none, newer, none);
}

}  // namespace cacheinf
