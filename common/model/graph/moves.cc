#include "common/model/graph/moves.h"

#include <algorithm>

namespace cacheinf {

std::optional<Shape> CommonShape(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t dim_a = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const int64_t dim_b = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (dim_a != dim_b && dim_a != 1 && dim_b != 1) return std::nullopt;
    out[i] = dim_a == 1 ? dim_b : dim_a;
  }
  return out;
}

op::Slice WholeSlice(const Shape& shape) {
  return {std::vector<int64_t>(shape.size(), 0), shape, std::vector<int64_t>(shape.size(), 1)};
}

op::Permute Inverse(const op::Permute& permute) {
  op::Permute inverse = permute;
  for (size_t i = 0; i < permute.order.size(); ++i) {
    inverse.order[static_cast<size_t>(permute.order[i])] = static_cast<int>(i);
  }
  return inverse;
}

CropAndPad::CropAndPad(const Shape& shape, const std::vector<int64_t>& begins,
                       const std::vector<int64_t>& ends)
    : crop(WholeSlice(shape)) {
  for (size_t i = 0; i < shape.size(); ++i) {
    crop.starts[i] = std::max<int64_t>(-begins[i], 0);
    crop.sizes[i] += std::min<int64_t>(begins[i], 0) + std::min<int64_t>(ends[i], 0);
    pad.begins.push_back(std::max<int64_t>(begins[i], 0));
    pad.ends.push_back(std::max<int64_t>(ends[i], 0));
  }
}

}  // namespace cacheinf
