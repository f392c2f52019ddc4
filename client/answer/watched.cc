#include "client/answer/watched.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "client/tracker/change_finder.h"
#include "sparse_ops/mask/lists.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

constexpr int kBesideBorder = 1;  // pixels of a map

// Pixels of the map with a neighbour of another class to any side.
Mask BordersOf(const ClassMap& map) {
  Mask borders(map.height, map.width);
  const MaskView view = borders;
  const auto at = [&map](int y, int x) {
    return map
        .classes[static_cast<size_t>(y) * static_cast<size_t>(map.width) + static_cast<size_t>(x)];
  };
  const auto compare = [&](int y, int x, int other_y, int other_x) {
    if (at(y, x) == at(other_y, other_x)) return;
    view.Set(y, x);
    view.Set(other_y, other_x);
  };
  for (int y = 0; y < map.height; ++y) {
    for (int x = 0; x < map.width; ++x) {
      if (x + 1 < map.width) compare(y, x, y, x + 1);
      if (y + 1 < map.height) compare(y, x, y + 1, x);
    }
  }
  return borders;
}

// The pixels of a longer or shorter axis that lie over these, at least in part.
Range Scaled(Range range, int from_size, int to_size) {
  const int64_t begin = int64_t{range.begin} * to_size / from_size;
  const int64_t end = (int64_t{range.end} * to_size + from_size - 1) / from_size;
  return {static_cast<int>(begin), static_cast<int>(end)};
}

class Watcher {
 public:
  Watcher(double margin, int width, int height) : margin_(margin), width_(width), height_(height) {}

  void operator()(const Detections& detections) {
    for (const Detection& box : detections.boxes) {
      parts_.push_back(
          WatchedBox(box.left, box.top, box.right, box.bottom, margin_, width_, height_));
    }
  }

  void operator()(const ClassMap& map) {
    Mask borders = BordersOf(map);
    Grow(std::as_const(borders), Reach::Of(kBesideBorder), borders);
    RunList list(RunList::MaxRuns(map.height, map.width));
    list.Assign(std::as_const(borders), {0, map.height});
    const ActivePixels runs = list.pixels();
    std::for_each_n(runs.runs, runs.run_count, [&](const PixelRun& run) {
      parts_.push_back({Scaled({run.row, run.row + 1}, map.height, height_),
                        Scaled({run.begin, run.end}, map.width, width_)});
    });
  }

  void operator()(const Keypoints& keypoints) {
    const double reach = margin_ * std::max(width_, height_);
    for (const Keypoint& point : keypoints.points) {
      if (std::isnan(point.x)) continue;
      parts_.push_back(WatchedBox(point.x - reach, point.y - reach, point.x + reach,
                                  point.y + reach, 0.0, width_, height_));
    }
  }

  void operator()(const Classification&) {}
  void operator()(const RawOutputs&) {}

  std::vector<Rectangle> TakeParts() { return std::move(parts_); }

 private:
  double margin_;
  int width_;
  int height_;
  std::vector<Rectangle> parts_;
};

}  // namespace

bool CanBeWatched(AnswerReader::Kind kind) {
  return kind == AnswerReader::Kind::kBoxes || kind == AnswerReader::Kind::kSegmentation ||
         kind == AnswerReader::Kind::kKeypoints;
}

std::vector<Rectangle> PartsToWatch(const AnswerContent& answer, double margin, int width,
                                    int height) {
  Watcher watcher(margin, width, height);
  std::visit(watcher, answer);
  return watcher.TakeParts();
}

}  // namespace cacheinf
