#include "common/canvas/canvas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "common/reuse/picture_warp.h"
#include "sparse_ops/mask/bits.h"

namespace cacheinf {
namespace {

// A frame is drawn well if its corners lie no further from where a mere shift would put them.
constexpr double kLargestBend = 0.04;  // of the picture's larger side
// How much more a camera that hardly moves may strain the canvas from one frame to the next.
constexpr double kLeastStep = 0.1;
// Making a canvas's successor ahead pays only after this many frames.
constexpr int kLeastFrames = 4;
// Moving has a cost, so the view may first leave the middle by this many steps.
constexpr double kStepsOffMiddle = 0.75;

struct Point {
  double x = 0;
  double y = 0;
};

std::optional<Point> Apply(const Homography& h, const Point& p) {
  const double w = h.m[2][0] * p.x + h.m[2][1] * p.y + h.m[2][2];
  if (!(w > 0)) return std::nullopt;
  return Point{(h.m[0][0] * p.x + h.m[0][1] * p.y + h.m[0][2]) / w,
               (h.m[1][0] * p.x + h.m[1][1] * p.y + h.m[1][2]) / w};
}

// Where a pixel lies in a canvas that begins at `origin` of the anchor, if it lies at h(p) there.
Homography Translated(Homography h, const Shift& origin) {
  for (int j = 0; j < 3; ++j) {
    h.m[0][j] -= origin.columns * h.m[2][j];
    h.m[1][j] -= origin.rows * h.m[2][j];
  }
  return h;
}

}  // namespace

Canvas::Canvas(int width, int height, int channels, int step)
    : picture_width_(width),
      picture_height_(height),
      channels_(channels),
      step_(step),
      inset_({{0, height}, {0, width}}, width, height),
      width_(width),
      height_(height) {
  SetInset(inset_);
}

void Canvas::SetInset(const Inset& inset) {
  inset_ = inset;
  width_ = inset.place().columns.size();
  height_ = inset.place().rows.size();
  pixels_.resize(part().byte_count());
  drawn_.resize(pixels_.size());
  drawn_before_ = Mask(height_, width_);
  out_of_view_ = Mask(height_, width_);
}

void Canvas::Anchor(const PictureView& frame) {
  origin_ = {};
  frame_from_canvas_ = {};
  frames_ = 0;
  strain_ = 0.0;
  is_near_its_end_ = false;
  std::memcpy(pixels_.data(), inset_.Crop(frame).pixels, pixels_.size());
  if (!inset_.is_whole()) picture_.assign(frame.pixels, frame.pixels + frame.byte_count());
  SetAll(drawn_before_);
}

std::optional<Shift> Canvas::Draw(const PictureView& frame, const Homography& anchor_from_frame) {
  const Homography anchor_from_part = inset_.OfPart(anchor_from_frame);
  const Shift shift = ShiftToMiddle(Translated(anchor_from_part, origin_));
  const Shift origin = {origin_.rows + shift.rows, origin_.columns + shift.columns};
  const Homography canvas_from_part = Translated(anchor_from_part, origin);
  const double strain = Strain(canvas_from_part);
  if (!(strain <= 1.0)) return std::nullopt;
  Foresee(strain);
  ScrollBy(shift);
  origin_ = origin;
  const Homography part_from_canvas = Inverse(canvas_from_part);
  frame_from_canvas_ = inset_.OfPicture(part_from_canvas);
  WarpPicture(inset_.Crop(frame), part_from_canvas, drawn_.data(), out_of_view_);
  // Pixels that the frame does not show, but an earlier one did.
  Intersect(std::as_const(out_of_view_), std::as_const(drawn_before_), out_of_view_);
  const ConstMaskView kept = std::as_const(out_of_view_);
  for (int y = 0; y < height_; ++y) {
    const int64_t row = y * part().row_bytes();
    bits::ForEachRun([&](int word) { return kept.Row(y)[word]; }, kept.words_per_row,
                     [&](int begin, int end) {
                       std::memcpy(
                           drawn_.data() + row + int64_t{begin} * channels_,
                           pixels_.data() + row + int64_t{begin} * channels_,
                           static_cast<size_t>(end - begin) * static_cast<size_t>(channels_));
                     });
  }
  std::swap(pixels_, drawn_);
  if (!inset_.is_whole()) inset_.Paste(part(), picture_.data());
  SetAll(drawn_before_);
  return shift;
}

void Canvas::Foresee(double strain) {
  const double step = std::max(strain - strain_, kLeastStep);
  ++frames_;
  strain_ = strain;
  is_near_its_end_ = frames_ >= kLeastFrames && strain + step > 1.0;
}

Shift Canvas::ShiftToMiddle(const Homography& canvas_from_part) const {
  const Point middle = {0.5 * (width_ - 1), 0.5 * (height_ - 1)};
  const std::optional<Point> seen = Apply(canvas_from_part, middle);
  if (!seen || step_ == 0) return {};
  const auto steps = [this](double off, int size) {
    if (!(std::abs(off) > kStepsOffMiddle * step_) || !(std::abs(off) < size)) return 0;
    return static_cast<int>(std::lround(off / step_)) * step_;
  };
  return {steps(seen->y - middle.y, height_), steps(seen->x - middle.x, width_)};
}

// How far content lies from its place, relative to the farthest at which a frame is still drawn
// well; infinite beyond that.
double Canvas::Strain(const Homography& canvas_from_part) const {
  constexpr double kNoEnd = std::numeric_limits<double>::infinity();
  const double right = width_ - 1;
  const double bottom = height_ - 1;
  const double largest_bend = kLargestBend * std::max(width_, height_);
  const std::optional<Point> middle = Apply(canvas_from_part, {0.5 * right, 0.5 * bottom});
  if (!middle) return kNoEnd;
  const Point off = {middle->x - 0.5 * right, middle->y - 0.5 * bottom};
  const double distance = std::max(std::abs(off.x), std::abs(off.y));
  const double farthest = step_ == 0 ? largest_bend : step_;
  if (!(distance <= farthest)) return kNoEnd;
  // A canvas that can move follows the view before it is far away.
  double strain = step_ == 0 ? distance / farthest : 0.0;
  const std::array<Point, 4> corners = {{{0, 0}, {right, 0}, {0, bottom}, {right, bottom}}};
  for (const Point& corner : corners) {
    const std::optional<Point> seen = Apply(canvas_from_part, corner);
    if (!seen) return kNoEnd;
    const double bend = std::hypot(seen->x - corner.x - off.x, seen->y - corner.y - off.y);
    if (!(bend <= largest_bend)) return kNoEnd;
    strain = std::max(strain, bend / largest_bend);
  }
  return strain;
}

// Bytes that come in from beyond the canvas keep their values, and are marked as never drawn.
void Canvas::ScrollBy(const Shift& shift) {
  if (shift.is_zero()) return;
  const Range rows = {std::max(0, -shift.rows), std::min(height_, height_ - shift.rows)};
  const Range columns = {std::max(0, -shift.columns), std::min(width_, width_ - shift.columns)};
  for (int i = 0; i < rows.size(); ++i) {
    const int y = shift.rows < 0 ? rows.end - 1 - i : rows.begin + i;
    const int64_t row_bytes = part().row_bytes();
    std::memmove(pixels_.data() + y * row_bytes + int64_t{columns.begin} * channels_,
                 pixels_.data() + (y + shift.rows) * row_bytes +
                     int64_t{columns.begin + shift.columns} * channels_,
                 static_cast<size_t>(columns.size()) * static_cast<size_t>(channels_));
  }
  KeepRectangle(rows, columns, drawn_before_);
}

}  // namespace cacheinf
