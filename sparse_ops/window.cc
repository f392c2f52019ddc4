#include "sparse_ops/window.h"

namespace cacheinf {

AxisWindow AxisWindow::Identity(int size) { return Sliding(size, size, WindowAxis{}); }

AxisWindow AxisWindow::Sliding(int in_size, int out_size, const WindowAxis& window) {
  AxisWindow axis;
  axis.in_size = in_size;
  axis.out_size = out_size;
  axis.window = window;
  return axis;
}

}  // namespace cacheinf
