#include "common/answer/seen_picture.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace cacheinf {
namespace {

struct Point {
  double x = 0;
  double y = 0;
};

// Points count from the edge of the first pixel. A point that lies nowhere stays where it is.
Point Apply(const Homography& h, const Point& edge) {
  const double x = edge.x - 0.5;
  const double y = edge.y - 0.5;
  const double w = h.m[2][0] * x + h.m[2][1] * y + h.m[2][2];
  if (!(w > 0)) return edge;
  return {(h.m[0][0] * x + h.m[0][1] * y + h.m[0][2]) / w + 0.5,
          (h.m[1][0] * x + h.m[1][1] * y + h.m[1][2]) / w + 0.5};
}

Point ToFrame(const PictureFit* fit, const Point& model) {
  if (fit == nullptr) return model;
  return {fit->columns().ToFrame(model.x), fit->rows().ToFrame(model.y)};
}

// The position, or the nearest one inside the place.
double Clamped(double position, const Range& place) {
  const double last = place.end - 0.5;
  return std::clamp(position, static_cast<double>(place.begin), last);
}

bool Holds(const Rectangle& place, const Point& point) {
  return point.x >= place.columns.begin && point.x < place.columns.end &&
         point.y >= place.rows.begin && point.y < place.rows.end;
}

}  // namespace

Detection SeenPicture::InFrame(const Detection& seen) const {
  std::array<Point, 4> corners = {{{seen.left, seen.top},
                                   {seen.right, seen.top},
                                   {seen.left, seen.bottom},
                                   {seen.right, seen.bottom}}};
  if (!model_from_seen.IsIdentity()) {
    for (Point& corner : corners) corner = Apply(model_from_seen, corner);
  }
  for (Point& corner : corners) corner = ToFrame(fit, corner);
  const auto [left, right] = std::minmax({corners[0].x, corners[1].x, corners[2].x, corners[3].x});
  const auto [top, bottom] = std::minmax({corners[0].y, corners[1].y, corners[2].y, corners[3].y});
  return {seen.label, left, top, right, bottom};
}

Keypoint SeenPicture::InFrame(const Keypoint& seen) const {
  Point point = {seen.x, seen.y};
  if (!model_from_seen.IsIdentity()) point = Apply(model_from_seen, point);
  point = ToFrame(fit, point);
  return {point.x, point.y, seen.score};
}

Keypoint SeenPicture::InFrameOrBeyond(const Keypoint& seen) const {
  Point point = {seen.x, seen.y};
  if (!model_from_seen.IsIdentity()) point = Apply(model_from_seen, point);
  if (fit == nullptr) return {point.x, point.y, seen.score};
  return {fit->columns().ToFrameOrBeyond(point.x), fit->rows().ToFrameOrBeyond(point.y),
          seen.score};
}

Keypoint SeenPicture::InNetworkPicture(double frame_x, double frame_y) const {
  Point point = {frame_x, frame_y};
  if (fit != nullptr) {
    const auto in_model = [](const AxisFit& axis, double frame) {
      return axis.model_begin + frame * axis.model_length / axis.frame_size;
    };
    point = {in_model(fit->columns(), frame_x), in_model(fit->rows(), frame_y)};
  }
  if (!model_from_seen.IsIdentity()) point = Apply(Inverse(model_from_seen), point);
  return {point.x, point.y, 0};
}

ClassMap SeenPicture::InModel(const ClassMap& seen, int model_width, int model_height) const {
  if (model_from_seen.IsIdentity()) return seen;
  const Homography seen_from_model = Inverse(model_from_seen);
  const double pixel_width = static_cast<double>(model_width) / seen.width;
  const double pixel_height = static_cast<double>(model_height) / seen.height;
  const Rectangle place =
      fit == nullptr ? Rectangle{{0, model_height}, {0, model_width}} : fit->place();
  ClassMap model = seen;
  for (int y = 0; y < seen.height; ++y) {
    for (int x = 0; x < seen.width; ++x) {
      const Point at = {(x + 0.5) * pixel_width, (y + 0.5) * pixel_height};
      if (!Holds(place, at)) continue;
      const Point from = Apply(seen_from_model, at);
      const auto row = static_cast<int>(Clamped(from.y, place.rows) / pixel_height);
      const auto column = static_cast<int>(Clamped(from.x, place.columns) / pixel_width);
      model.classes[static_cast<size_t>(y * seen.width + x)] =
          seen.classes[static_cast<size_t>(row * seen.width + column)];
    }
  }
  return model;
}

}  // namespace cacheinf
