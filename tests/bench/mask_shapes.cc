#include "tests/bench/mask_shapes.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "common/base/clock.h"
#include "common/source/frame_source.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr int kHeight = 480;
constexpr int kWidth = 640;
constexpr int kBlock = 8;

// A channel of a frame, averaged over each of kHeight / kBlock × kWidth / kBlock blocks.
std::vector<float> BlockMeans(const Picture& picture, int channel) {
  std::vector<float> means;
  for (int by = 0; by < kHeight / kBlock; ++by) {
    for (int bx = 0; bx < kWidth / kBlock; ++bx) {
      const int top = by * kBlock * picture.height / kHeight;
      const int bottom = (by + 1) * kBlock * picture.height / kHeight;
      const int left = bx * kBlock * picture.width / kWidth;
      const int right = (bx + 1) * kBlock * picture.width / kWidth;
      int64_t sum = 0;
      for (int y = top; y < bottom; ++y) {
        for (int x = left; x < right; ++x) sum += picture.Row(y)[x * picture.channels + channel];
      }
      means.push_back(static_cast<float>(sum) / (255.0f * (bottom - top) * (right - left)));
    }
  }
  return means;
}

// Blocks in which two frames differ by more than a twentieth in some channel.
Mask Difference(const Picture& before, const Picture& after) {
  constexpr float kThreshold = 0.05f;
  Mask mask(kHeight, kWidth);
  for (int channel = 0; channel < before.channels; ++channel) {
    const std::vector<float> a = BlockMeans(before, channel);
    const std::vector<float> b = BlockMeans(after, channel);
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::abs(a[i] - b[i]) <= kThreshold) continue;
      const int row = static_cast<int>(i) / (kWidth / kBlock) * kBlock;
      const int column = static_cast<int>(i) % (kWidth / kBlock) * kBlock;
      SetRectangle({row, row + kBlock}, {column, column + kBlock}, mask);
    }
  }
  return mask;
}

std::vector<Mask> VideoMasks(const fs::path& folder) {
  constexpr int kFramesOfAVideo = 60;
  std::vector<fs::path> videos;
  if (fs::exists(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) videos.push_back(entry.path());
  }
  std::sort(videos.begin(), videos.end());
  const SteadyClock clock;
  std::vector<Mask> masks;
  for (const fs::path& video : videos) {
    const std::unique_ptr<FrameSource> source = OpenSource(video.string(), clock);
    Picture before;
    for (int i = 0; i < kFramesOfAVideo; ++i) {
      const std::optional<Frame> frame = source->Next();
      if (!frame) break;
      if (!before.empty()) masks.push_back(Difference(before, frame->picture));
      before = frame->picture;
    }
  }
  return masks;
}

// Discs somewhere in the cells of a grid of rows × columns. The radius is relative to half the
// cell's diagonal: with 1 they fill the cells.
Mask Blobs(int rows, int columns, double radius, int height, int width) {
  Mask mask(height, width);
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  const double cell_height = double{1} * height / rows;
  const double cell_width = double{1} * width / columns;
  const double room = 1.0 - std::min(1.0, radius * std::sqrt(2.0));
  const double pixels = radius * std::hypot(cell_height, cell_width) / 2.0;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const double centre_y = (row + 0.5 + uniform(random) * room) * cell_height;
      const double centre_x = (column + 0.5 + uniform(random) * room) * cell_width;
      for (int y = static_cast<int>(row * cell_height); y < (row + 1) * cell_height; ++y) {
        for (int x = static_cast<int>(column * cell_width); x < (column + 1) * cell_width; ++x) {
          if (std::hypot(y + 0.5 - centre_y, x + 0.5 - centre_x) <= pixels && y < height &&
              x < width) {
            mask.view().Set(y, x);
          }
        }
      }
    }
  }
  return mask;
}

}  // namespace

MaskShapes::MaskShapes(const fs::path& video_folder)
    : kinds_{"1 blob", "8 blobs", "64 blobs"}, video_masks_(VideoMasks(video_folder)) {
  if (!video_masks_.empty()) kinds_.emplace_back("video");
}

std::optional<LayerMask> MaskShapes::Find(const std::string& kind, double share,
                                          const Layer& layer) const {
  constexpr double kTolerance = 0.25;
  LayerMask best{Mask(layer.height, layer.width), 0.0};
  MaskPropagation propagation = PropagationThrough(layer);
  Mask output(layer.out_height(), layer.out_width());
  const auto consider = [&](Mask mask) {
    propagation.GrowThrough(mask, output);
    const double found =
        static_cast<double>(CountActive(output)) / static_cast<double>(output.view().pixel_count());
    if (std::abs(found - share) < std::abs(best.share - share)) best = {std::move(mask), found};
    return found;
  };
  if (kind == "video") {
    for (const Mask& mask : video_masks_) {
      Mask scaled(layer.height, layer.width);
      Rescale(mask, scaled);
      consider(std::move(scaled));
    }
  } else {
    const int count = std::stoi(kind);
    const int rows = count == 1 ? 1 : (count == 8 ? 2 : 8);
    double low = 0.0;
    double high = 1.0;
    for (int step = 0; step < 16; ++step) {
      const double radius = (low + high) / 2.0;
      const double found = consider(Blobs(rows, count / rows, radius, layer.height, layer.width));
      (found < share ? low : high) = radius;
    }
  }
  if (std::abs(best.share - share) > kTolerance * share) return std::nullopt;
  return best;
}

}  // namespace cacheinf
