#include "common/exec/value_masks.h"

namespace cacheinf {
namespace {

bool IsSamePixel(const AxisWindow& axis) {
  const WindowAxis& window = axis.window;
  return axis.kind == AxisWindow::Kind::kSliding && axis.in_size == axis.out_size &&
         window.kernel == 1 && window.stride == 1 && window.pad_begin == 0 && axis.tile == 1;
}

}  // namespace

std::optional<MaskPropagation> PropagationOf(const Window& window) {
  if (IsSamePixel(window.rows) && IsSamePixel(window.columns)) return std::nullopt;
  return std::make_optional<MaskPropagation>(window.rows, window.columns);
}

}  // namespace cacheinf
