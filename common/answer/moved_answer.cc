#include "common/answer/moved_answer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <tuple>
#include <utility>
#include <variant>

#include "common/answer/agreement.h"

namespace cacheinf {
namespace {

constexpr double kLeastOverlap = 0.3;  // of two boxes of the same thing
constexpr int kMostUnseen = 5;         // answers without a thing until it is forgotten
constexpr double kLeastShown = 0.2;    // of a box, within the frame
constexpr double kAtEdge = 1;          // pixels of the frame
constexpr double kMostHidden = 0.5;    // of a side, beyond the frame
constexpr double kAroundPoint = 0.05;  // of the frame's size, on each side of a keypoint

constexpr int kLongestSide = 320;  // of a small picture

// An axis of frames, and of small pictures of them.
struct Axis {
  double scale = 1;  // pixels of the frame in one of the picture
  double size = 0;   // of the frame, in its pixels

  AxisMotion InFrame(const AxisMotion& picture) const {
    return {picture.scale, scale * picture.shift};
  }
};

struct Axes {
  Axis x;
  Axis y;
};

Axis AxisOf(const AxisFit& fit) {
  return {static_cast<double>(fit.frame_size) / fit.model_length,
          static_cast<double>(fit.frame_size)};
}

Axes AxesOf(const PictureFit& fit) { return {AxisOf(fit.columns()), AxisOf(fit.rows())}; }

PictureFit SmallFit(const Picture& frame) {
  const double shrunk =
      std::max(1.0, std::max(frame.width, frame.height) / static_cast<double>(kLongestSide));
  const auto small = [&](int side) {
    return std::max(1, static_cast<int>(std::lround(side / shrunk)));
  };
  PictureSpec spec;
  spec.width = small(frame.width);
  spec.height = small(frame.height);
  spec.channels = PictureSpec::Channels::kGray;
  return {spec, frame.width, frame.height};
}

// The pixels of the picture between two places in the frame; none if one of them is nowhere.
Range PixelsBetween(double begin, double end, const Axis& axis) {
  constexpr double kFar = 1e6;
  if (!std::isfinite(begin) || !std::isfinite(end)) return {};
  const auto pixel = [&](double frame) {
    return static_cast<int>(std::lround(std::clamp(frame / axis.scale, -kFar, kFar)));
  };
  return {pixel(begin), pixel(end)};
}

// Where the sides of a box go. At the frame's edge they stay, as more of the thing comes into view,
// but the thing is not much longer than what was seen of it.
std::pair<double, double> MovedSides(double begin, double end, const AxisMotion& motion,
                                     double size) {
  const double moved_begin = motion.Of(begin);
  const double moved_end = motion.Of(end);
  const double most = kMostHidden * (moved_end - moved_begin);
  return {begin > kAtEdge ? moved_begin : std::min(moved_begin, std::max(0.0, moved_begin - most)),
          end < size - kAtEdge ? moved_end : std::max(moved_end, std::min(size, moved_end + most))};
}

Keypoint Moved(const Keypoint& point, const PartMotion& motion) {
  return {motion.x.Of(point.x), motion.y.Of(point.y), point.score};
}

// NaN stays.
Keypoint Clipped(const Keypoint& point, const Axes& axes) {
  return {std::clamp(point.x, 0.0, axes.x.size), std::clamp(point.y, 0.0, axes.y.size),
          point.score};
}

bool IsWithin(const Keypoint& point, const Axes& axes) {
  return point.x >= 0 && point.x <= axes.x.size && point.y >= 0 && point.y <= axes.y.size;
}

// Appends pixels to alternating runs, which begin outside.
void Append(bool is_inside, int64_t count, std::vector<int64_t>& lengths) {
  if (count == 0) return;
  const bool is_last_inside = lengths.size() % 2 == 0;
  if (!lengths.empty() && is_inside == is_last_inside) {
    lengths.back() += count;
    return;
  }
  if (lengths.empty() && is_inside) lengths.push_back(0);
  lengths.push_back(count);
}

// Each pixel gets what lay where its centre comes from.
PixelRuns Moved(const PixelRuns& mask, const PartMotion& motion) {
  struct Inside {
    int begin;
    int end;
  };
  std::vector<std::vector<Inside>> columns(static_cast<size_t>(mask.width));
  int64_t at = 0;
  for (size_t i = 0; i < mask.lengths.size(); ++i) {
    const int64_t end = at + mask.lengths[i];
    while (i % 2 == 1 && at < end) {
      const auto column = static_cast<size_t>(at / mask.height);
      const int64_t top = static_cast<int64_t>(column) * mask.height;
      const int64_t stop = std::min(end, top + mask.height);
      columns.at(column).push_back({static_cast<int>(at - top), static_cast<int>(stop - top)});
      at = stop;
    }
    at = end;
  }
  const auto moved_row = [&](int row) {
    const double moved = std::ceil(motion.y.Of(row) - 0.5);
    return static_cast<int>(std::clamp(moved, 0.0, static_cast<double>(mask.height)));
  };
  PixelRuns moved = {mask.width, mask.height, {}};
  for (int x = 0; x < mask.width; ++x) {
    const double from = std::floor((x + 0.5 - motion.x.shift) / motion.x.scale);
    int row = 0;
    if (from >= 0 && from < mask.width) {
      for (const Inside& inside : columns[static_cast<size_t>(from)]) {
        const int begin = moved_row(inside.begin);
        const int end = moved_row(inside.end);
        Append(false, begin - row, moved.lengths);
        Append(true, end - begin, moved.lengths);
        row = end;
      }
    }
    Append(false, mask.height - row, moved.lengths);
  }
  return moved;
}

// The part of the moved box that lies in the picture.
Rectangle PartOf(const Detection& box, const PartMotion& motion, const Axes& axes) {
  return {PixelsBetween(motion.y.Of(box.top), motion.y.Of(box.bottom), axes.y),
          PixelsBetween(motion.x.Of(box.left), motion.x.Of(box.right), axes.x)};
}

Rectangle PartOf(const Keypoint& point, const PartMotion& motion, const Axes& axes) {
  const double reach_x = kAroundPoint * axes.x.size;
  const double reach_y = kAroundPoint * axes.y.size;
  const auto [x, y, score] = Moved(point, motion);
  return {PixelsBetween(y - reach_y, y + reach_y, axes.y),
          PixelsBetween(x - reach_x, x + reach_x, axes.x)};
}

// Returns nothing if hardly anything of the box is left in the frame.
std::optional<Detection> Shown(const Detection& box, const PartMotion& motion, const Axes& axes) {
  if (!HasPlace(box)) return box;
  Detection shown = box;
  const auto [left, right] = MovedSides(box.left, box.right, motion.x, axes.x.size);
  const auto [top, bottom] = MovedSides(box.top, box.bottom, motion.y, axes.y.size);
  shown.left = std::max(left, 0.0);
  shown.top = std::max(top, 0.0);
  shown.right = std::min(right, axes.x.size);
  shown.bottom = std::min(bottom, axes.y.size);
  const double width = shown.right - shown.left;
  const double height = shown.bottom - shown.top;
  if (!(width > 0 && height > 0)) return std::nullopt;
  if (width * height < kLeastShown * (right - left) * (bottom - top)) return std::nullopt;
  for (Keypoint& point : shown.keypoints) point = Clipped(Moved(point, motion), axes);
  for (Keypoint& corner : shown.corners) corner = Moved(corner, motion);
  if (!box.mask.lengths.empty()) shown.mask = Moved(box.mask, motion);
  return shown;
}

}  // namespace

void MovedAnswer::Keep(AnswerContent& content, const Picture& frame) {
  if (auto* const detections = std::get_if<Detections>(&content)) GiveIds(*detections);
  content_ = content;
  motions_.clear();
  has_frame_ = !frame.empty() && Moves(content);
  if (!has_frame_) return;
  if (!small_fit_ || !small_fit_->IsFor(frame)) small_fit_ = SmallFit(frame);
  flow_.SetReference(Small(frame));
}

bool MovedAnswer::Moves(const AnswerContent& content) {
  return std::holds_alternative<Detections>(content) || std::holds_alternative<Keypoints>(content);
}

void MovedAnswer::Forget() {
  content_.reset();
  things_.clear();
}

void MovedAnswer::GiveIds(Detections& detections) {
  std::vector<std::tuple<double, size_t, size_t>> pairs;  // -overlap, box, thing: the best first
  for (size_t i = 0; i < detections.boxes.size(); ++i) {
    const Detection& box = detections.boxes[i];
    for (size_t k = 0; k < things_.size(); ++k) {
      const Thing& thing = things_[k];
      if (thing.seen.label.index != box.label.index) continue;
      const double overlap = std::max(Overlap(box, thing.seen), Overlap(box, thing.moved));
      if (overlap >= kLeastOverlap) pairs.emplace_back(-overlap, i, k);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  for (Detection& box : detections.boxes) box.id = 0;
  for (Thing& thing : things_) ++thing.answers_unseen;
  for (const auto& [overlap, i, k] : pairs) {
    Detection& box = detections.boxes[i];
    Thing& thing = things_[k];
    if (box.id != 0 || thing.answers_unseen == 0) continue;
    box.id = thing.seen.id;
    thing.answers_unseen = 0;
  }
  std::erase_if(things_, [](const Thing& thing) {
    return thing.answers_unseen == 0 || thing.answers_unseen > kMostUnseen;
  });
  for (Detection& box : detections.boxes) {
    if (box.id == 0) box.id = ++last_id_;
    Detection seen = {box.label, box.left, box.top, box.right, box.bottom};
    seen.id = box.id;
    things_.push_back({seen, seen, 0});
  }
}

AnswerContent MovedAnswer::MoveTo(const Picture& frame) {
  if (!has_frame_ || !small_fit_->IsFor(frame)) return *content_;
  if (const auto* const kept = std::get_if<Detections>(&*content_)) {
    NoteMotions(kept->boxes, frame);
    const Axes axes = AxesOf(*small_fit_);
    Detections shown;
    for (size_t i = 0; i < motions_.size(); ++i) {
      auto box = Shown(kept->boxes[i], motions_[i], axes);
      if (!box) continue;
      NotePlace(*box);
      shown.boxes.push_back(std::move(*box));
    }
    return shown;
  }
  const auto& kept = std::get<Keypoints>(*content_);
  NoteMotions(kept.points, frame);
  const Axes axes = AxesOf(*small_fit_);
  Keypoints shown = {{}, kept.extent, kept.has_order};
  for (size_t i = 0; i < motions_.size(); ++i) {
    const Keypoint point = Moved(kept.points[i], motions_[i]);
    if (kept.has_order || IsWithin(point, axes)) shown.points.push_back(Clipped(point, axes));
  }
  return shown;
}

PictureView MovedAnswer::Small(const Picture& frame) {
  const int width = small_fit_->spec().width;
  const int height = small_fit_->spec().height;
  small_.resize(static_cast<size_t>(width) * static_cast<size_t>(height));
  small_fit_->Resize(frame, {0, height}, small_.data());
  return {small_.data(), width, height, 1};
}

// Follows boxes or points from where they are in the last picture.
template <typename Part>
void MovedAnswer::NoteMotions(const std::vector<Part>& parts, const Picture& frame) {
  const PictureView picture = Small(frame);
  const Axes axes = AxesOf(*small_fit_);
  motions_.resize(parts.size());
  std::vector<Rectangle> places;
  for (size_t i = 0; i < parts.size(); ++i) {
    places.push_back(PartOf(parts[i], motions_[i], axes));
  }
  const std::vector<PartMotion> steps = flow_.Find(places, picture);
  for (size_t i = 0; i < parts.size(); ++i) {
    motions_[i].x = motions_[i].x.Then(axes.x.InFrame(steps[i].x));
    motions_[i].y = motions_[i].y.Then(axes.y.InFrame(steps[i].y));
  }
}

void MovedAnswer::NotePlace(const Detection& box) {
  const auto thing = std::find_if(things_.begin(), things_.end(), [&](const Thing& candidate) {
    return candidate.seen.id == box.id;
  });
  std::tie(thing->moved.left, thing->moved.top, thing->moved.right, thing->moved.bottom) =
      std::tie(box.left, box.top, box.right, box.bottom);
}

}  // namespace cacheinf
