#include "sparse_ops/homography.h"

#include <limits>

namespace cacheinf {
namespace {

// Where `index` of the input's own axis lies.
double At(const AxisPlacement& input, double index) { return index * input.stride + input.offset; }

// Output o reads around input index o step + first.
AxisPlacement PlaceAt(const AxisPlacement& input, double step, double first) {
  return {input.stride * step, At(input, first)};
}

AxisPlacement PlaceResized(const AxisPlacement& input, const AxisWindow& window) {
  const ResizeSpec& resize = window.resize;
  const double in_size = window.in_size;
  const double out_size = window.out_size;
  const float scale = window.is_rows ? resize.scale_rows : resize.scale_columns;
  const double step = scale != 0.0f ? 1 / static_cast<double>(scale) : in_size / out_size;
  switch (resize.coordinates) {
    case ResizeSpec::Coordinates::kAlignCorners:
      return PlaceAt(input, out_size > 1 ? (in_size - 1) / (out_size - 1) : 1, 0);
    case ResizeSpec::Coordinates::kAsymmetric:
      // kNearest repeats every pixel; the middle of the copies lies where the pixel lay.
      if (resize.kind == ResizeSpec::Kind::kNearest) break;
      return PlaceAt(input, step, 0);
    case ResizeSpec::Coordinates::kHalfPixel:
    case ResizeSpec::Coordinates::kPytorchHalfPixel:
    case ResizeSpec::Coordinates::kHalfPixelSymmetric:
      break;
  }
  return PlaceAt(input, step, 0.5 * step - 0.5);
}

}  // namespace

bool Homography::IsIdentity() const {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      if (m[i][j] != (i == j ? 1.0 : 0.0)) return false;
    }
  }
  return true;
}

Homography Inverse(const Homography& homography) {
  const auto& m = homography.m;
  Homography inverse;
  // The cofactors' indices wrap around, so that their signs are right.
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const int r1 = (j + 1) % 3;
      const int r2 = (j + 2) % 3;
      const int c1 = (i + 1) % 3;
      const int c2 = (i + 2) % 3;
      inverse.m[i][j] = m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1];
    }
  }
  const double determinant =
      m[0][0] * inverse.m[0][0] + m[0][1] * inverse.m[1][0] + m[0][2] * inverse.m[2][0];
  const bool is_singular = !(determinant < 0 || determinant > 0);
  for (auto& row : inverse.m) {
    for (double& entry : row) {
      entry = is_singular ? std::numeric_limits<double>::quiet_NaN() : entry / determinant;
    }
  }
  return inverse;
}

AxisPlacement PlaceOutput(const AxisPlacement& input, const AxisWindow& window) {
  const WindowAxis& axis = window.window;
  const double middle = 0.5 * (axis.kernel - 1) * axis.dilation;
  switch (window.kind) {
    case AxisWindow::Kind::kSliding:
      return PlaceAt(input, axis.stride, middle - axis.pad_begin);
    case AxisWindow::Kind::kTransposed:
      return PlaceAt(input, 1.0 / axis.stride, (axis.pad_begin - middle) / axis.stride);
    case AxisWindow::Kind::kResize:
      return PlaceResized(input, window);
    case AxisWindow::Kind::kReflect:
    case AxisWindow::Kind::kEdge:
      return PlaceAt(input, 1, -axis.pad_begin);
    case AxisWindow::Kind::kBroadcast:
    case AxisWindow::Kind::kWhole:
      break;
  }
  return input;
}

Homography OfMap(const Homography& picture, const AxisPlacement& rows,
                 const AxisPlacement& columns) {
  Homography a;
  for (int i = 0; i < 3; ++i) {
    const auto& m = picture.m[i];
    a.m[i][0] = m[0] * columns.stride;
    a.m[i][1] = m[1] * rows.stride;
    a.m[i][2] = m[0] * columns.offset + m[1] * rows.offset + m[2];
  }
  Homography map = a;
  for (int j = 0; j < 3; ++j) {
    map.m[0][j] = (a.m[0][j] - columns.offset * a.m[2][j]) / columns.stride;
    map.m[1][j] = (a.m[1][j] - rows.offset * a.m[2][j]) / rows.stride;
  }
  return map;
}

}  // namespace cacheinf
