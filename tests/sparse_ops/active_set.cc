#include "tests/sparse_ops/active_set.h"

#include <algorithm>

namespace cacheinf {
namespace {

using Shape = ActiveSet::Shape;

class Bitmap {
 public:
  Bitmap(int height, int width)
      : height_(height), width_(width), bits_(static_cast<size_t>(height) * width) {}

  bool at(int y, int x) const { return bits_[static_cast<size_t>(y) * width_ + x]; }

  void SetRectangle(Range rows, Range columns) {
    for (int y = std::max(rows.begin, 0); y < std::min(rows.end, height_); ++y) {
      for (int x = std::max(columns.begin, 0); x < std::min(columns.end, width_); ++x) {
        bits_[static_cast<size_t>(y) * width_ + x] = true;
      }
    }
  }

 private:
  int height_;
  int width_;
  std::vector<bool> bits_;
};

Bitmap Draw(Shape shape, int height, int width, std::mt19937& random) {
  const auto below = [&](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  Bitmap bitmap(height, width);
  switch (shape) {
    case Shape::kNone:
      break;
    case Shape::kAll:
      bitmap.SetRectangle({0, height}, {0, width});
      break;
    case Shape::kScattered: {
      const int one_in = 1 + below(20);
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
          if (below(one_in) == 0) bitmap.SetRectangle({y, y + 1}, {x, x + 1});
        }
      }
      break;
    }
    case Shape::kBlobs:
      for (int i = 1 + below(3); i > 0; --i) {
        const int y = below(height);
        const int x = below(width);
        bitmap.SetRectangle({y, y + 1 + below(height)}, {x, x + 1 + below(width)});
      }
      break;
    case Shape::kRows:
      for (int y = 0; y < height; ++y) {
        if (below(3) == 0) bitmap.SetRectangle({y, y + 1}, {0, width});
      }
      break;
  }
  return bitmap;
}

}  // namespace

ActiveSet::ActiveSet(Shape shape, int height, int width, Range rows, std::mt19937& random)
    : rows_(rows), before_{0} {
  const Bitmap bitmap = Draw(shape, height, width, random);
  for (int y = rows.begin; y < rows.end; ++y) {
    for (int x = 0; x < width; ++x) {
      if (!bitmap.at(y, x)) continue;
      const int begin = x;
      while (x < width && bitmap.at(y, x)) ++x;
      runs_.push_back({y, begin, x});
      before_.push_back(before_.back() + x - begin);
    }
  }
}

}  // namespace cacheinf
