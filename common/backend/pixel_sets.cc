#include "common/backend/pixel_sets.h"

namespace cacheinf {
namespace {

bool IsSameIndex(const AxisWindow& axis) {
  const WindowAxis& window = axis.window;
  return axis.kind == AxisWindow::Kind::kSliding && axis.in_size == axis.out_size &&
         window.kernel == 1 && window.stride == 1 && window.pad_begin == 0 && axis.tile == 1;
}

}  // namespace

bool IsPixelOnPixel(const Window& window) {
  return IsSameIndex(window.rows) && IsSameIndex(window.columns);
}

}  // namespace cacheinf
