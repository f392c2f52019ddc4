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
constexpr double kAroundPoint = 0.05;  // of the picture's larger side, on each side of a keypoint

// An axis of frames, and of the pictures that a network gets of them.
struct Axis {
  double begin = 0;  // of the frame, in the picture
  double scale = 1;  // pixels of the frame in one of the picture
  double size = 0;   // of the frame, in its pixels

  double ToPicture(double frame) const { return begin + frame / scale; }
  AxisMotion InFrame(const AxisMotion& picture) const {
    return {picture.scale, scale * (picture.scale * begin + picture.shift - begin)};
  }
};

struct Axes {
  Axis x;
  Axis y;
};

Axis AxisOf(const AxisFit& fit) {
  return {static_cast<double>(fit.model_begin),
          static_cast<double>(fit.frame_size) / fit.model_length,
          static_cast<double>(fit.frame_size)};
}

Axes AxesOf(const PictureView& picture, const PictureFit* fit) {
  if (fit != nullptr) return {AxisOf(fit->columns()), AxisOf(fit->rows())};
  return {{0, 1, static_cast<double>(picture.width)}, {0, 1, static_cast<double>(picture.height)}};
}

// The pixels of the picture between two places in the frame; none if one of them is nowhere.
Range PixelsBetween(double begin, double end, const Axis& axis) {
  constexpr double kFar = 1e6;
  if (!std::isfinite(begin) || !std::isfinite(end)) return {};
  const auto pixel = [&](double frame) {
    return static_cast<int>(std::lround(std::clamp(axis.ToPicture(frame), -kFar, kFar)));
  };
  return {pixel(begin), pixel(end)};
}

// Where the sides of a box go. At the frame's edge they stay: more of the thing comes into view.
std::pair<double, double> MovedSides(double begin, double end, const AxisMotion& motion,
                                     double size) {
  const double moved_begin = motion.Of(begin);
  const double moved_end = motion.Of(end);
  return {begin > kAtEdge ? moved_begin : std::min(0.0, moved_begin),
          end < size - kAtEdge ? moved_end : std::max(size, moved_end)};
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

// Each pixel has what lay where its centre comes from.
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

// Nothing if hardly anything of it is left in the frame.
std::optional<Detection> Moved(const Detection& box, const PartMotion& motion, const Axes& axes) {
  if (!HasPlace(box)) return box;
  Detection moved = box;
  const auto [left, right] = MovedSides(box.left, box.right, motion.x, axes.x.size);
  const auto [top, bottom] = MovedSides(box.top, box.bottom, motion.y, axes.y.size);
  moved.left = std::max(left, 0.0);
  moved.top = std::max(top, 0.0);
  moved.right = std::min(right, axes.x.size);
  moved.bottom = std::min(bottom, axes.y.size);
  const double width = moved.right - moved.left;
  const double height = moved.bottom - moved.top;
  if (!(width > 0 && height > 0)) return std::nullopt;
  if (width * height < kLeastShown * (right - left) * (bottom - top)) return std::nullopt;
  for (Keypoint& point : moved.keypoints) point = Clipped(Moved(point, motion), axes);
  for (Keypoint& corner : moved.corners) corner = Moved(corner, motion);
  if (!box.mask.lengths.empty()) moved.mask = Moved(box.mask, motion);
  return moved;
}

}  // namespace

void MovedAnswer::Keep(AnswerContent& content, const PictureView& model_picture) {
  if (auto* const detections = std::get_if<Detections>(&content)) GiveIds(*detections);
  content_ = content;
  has_picture_ = model_picture.pixels != nullptr;
  const bool may_move =
      std::holds_alternative<Detections>(content) || std::holds_alternative<Keypoints>(content);
  if (has_picture_ && may_move) flow_.SetReference(model_picture);
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
      if (things_[k].box.label.index != box.label.index) continue;
      const double overlap = Overlap(box, things_[k].box);
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
    box.id = thing.box.id;
    thing.answers_unseen = 0;
  }
  std::erase_if(things_, [](const Thing& thing) {
    return thing.answers_unseen == 0 || thing.answers_unseen > kMostUnseen;
  });
  for (Detection& box : detections.boxes) {
    if (box.id == 0) box.id = ++last_id_;
    things_.push_back({{box.label, box.left, box.top, box.right, box.bottom}, 0});
    things_.back().box.id = box.id;
  }
}

AnswerContent MovedAnswer::MoveTo(const PictureView& model_picture, const PictureFit* fit) {
  if (!has_picture_ || model_picture.pixels == nullptr) return *content_;
  if (const auto* const detections = std::get_if<Detections>(&*content_)) {
    Detections moved = Moved(*detections, model_picture, fit);
    for (Thing& thing : things_) {
      const auto found = std::find_if(moved.boxes.begin(), moved.boxes.end(),
                                      [&](const Detection& box) { return box.id == thing.box.id; });
      if (found == moved.boxes.end()) continue;
      std::tie(thing.box.left, thing.box.top, thing.box.right, thing.box.bottom) =
          std::tie(found->left, found->top, found->right, found->bottom);
    }
    return moved;
  }
  if (const auto* const keypoints = std::get_if<Keypoints>(&*content_)) {
    return Moved(*keypoints, model_picture, fit);
  }
  return *content_;
}

// How parts of the kept picture move, in the frame's pixels.
std::vector<PartMotion> MovedAnswer::Motions(const std::vector<Rectangle>& parts,
                                             const PictureView& picture, const PictureFit* fit) {
  const Axes axes = AxesOf(picture, fit);
  std::vector<PartMotion> motions = flow_.Find(parts, picture);
  for (PartMotion& motion : motions) {
    motion.x = axes.x.InFrame(motion.x);
    motion.y = axes.y.InFrame(motion.y);
  }
  return motions;
}

Detections MovedAnswer::Moved(const Detections& detections, const PictureView& picture,
                              const PictureFit* fit) {
  const Axes axes = AxesOf(picture, fit);
  std::vector<Rectangle> parts;
  for (const Detection& box : detections.boxes) {
    parts.push_back(
        {PixelsBetween(box.top, box.bottom, axes.y), PixelsBetween(box.left, box.right, axes.x)});
  }
  const std::vector<PartMotion> motions = Motions(parts, picture, fit);
  Detections moved;
  for (size_t i = 0; i < parts.size(); ++i) {
    auto box = cacheinf::Moved(detections.boxes[i], motions[i], axes);
    if (box) moved.boxes.push_back(std::move(*box));
  }
  return moved;
}

Keypoints MovedAnswer::Moved(const Keypoints& keypoints, const PictureView& picture,
                             const PictureFit* fit) {
  const Axes axes = AxesOf(picture, fit);
  const double reach = kAroundPoint * std::max(picture.width, picture.height);
  std::vector<Rectangle> parts;
  for (const Keypoint& point : keypoints.points) {
    const double reach_x = reach * axes.x.scale;
    const double reach_y = reach * axes.y.scale;
    parts.push_back({PixelsBetween(point.y - reach_y, point.y + reach_y, axes.y),
                     PixelsBetween(point.x - reach_x, point.x + reach_x, axes.x)});
  }
  const std::vector<PartMotion> motions = Motions(parts, picture, fit);
  Keypoints moved = keypoints;
  moved.points.clear();
  for (size_t i = 0; i < parts.size(); ++i) {
    const Keypoint point = cacheinf::Moved(keypoints.points[i], motions[i]);
    if (keypoints.has_order) {
      moved.points.push_back(Clipped(point, axes));
    } else if (IsWithin(point, axes)) {
      moved.points.push_back(point);
    }
  }
  return moved;
}

}  // namespace cacheinf
