#ifndef CACHEINF_TESTS_SPARSE_OPS_MASK_SAMPLES_H_
#define CACHEINF_TESTS_SPARSE_OPS_MASK_SAMPLES_H_

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "sparse_ops/mask/mask.h"

// Random masks, and masks made pixel by pixel to compare with.

namespace cacheinf {

class MaskSampler {
 public:
  explicit MaskSampler(unsigned seed) : seed_(seed), engine_(seed) {}

  unsigned seed() const { return seed_; }
  int Between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }

  // A width, mostly near the borders of words.
  int Width() {
    const int widths[] = {1, 2, 63, 64, 65, 127, 128, 129, 200, 640};
    return Between(0, 3) == 0 ? Between(1, 300) : widths[Between(0, 9)];
  }

  // May reach outside [0, size), and may be empty.
  Range AnyRange(int size) {
    const int begin = Between(-2, size + 1);
    return {begin, Between(begin - 1, size + 2)};
  }

  // Empty, full, rectangles, or noise of any density.
  Mask Draw(int height, int width) {
    Mask mask(height, width);
    const int kind = Between(0, 5);
    if (kind == 0) return mask;
    if (kind == 1) {
      SetAll(mask);
      return mask;
    }
    if (kind == 2) {
      for (int i = Between(1, 4); i > 0; --i) {
        const Range rows = AnyRange(height);
        SetRectangle(rows, AnyRange(width), mask);
      }
      return mask;
    }
    const int percent[] = {1, 10, 50};
    std::bernoulli_distribution is_active(percent[kind - 3] / 100.0);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        if (is_active(engine_)) mask.view().Set(y, x);
      }
    }
    return mask;
  }

 private:
  unsigned seed_;
  std::mt19937 engine_;
};

// The mask of the pixels for which is_active(y, x) holds.
template <typename IsActive>
Mask MaskWhere(int height, int width, const IsActive& is_active) {
  Mask mask(height, width);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      if (is_active(y, x)) mask.view().Set(y, x);
    }
  }
  return mask;
}

// Says where two masks differ first. Bits past the width are compared as well.
inline testing::AssertionResult SameMask(ConstMaskView expected, ConstMaskView actual) {
  if (AreEqual(expected, actual)) return testing::AssertionSuccess();
  const auto size = [](ConstMaskView mask) {
    return std::to_string(mask.height) + " x " + std::to_string(mask.width);
  };
  if (expected.height != actual.height || expected.width != actual.width) {
    return testing::AssertionFailure() << size(actual) << " instead of " << size(expected);
  }
  for (int y = 0; y < expected.height; ++y) {
    for (int x = 0; x < expected.width; ++x) {
      if (expected.Test(y, x) == actual.Test(y, x)) continue;
      return testing::AssertionFailure() << "pixel (" << y << ", " << x << ") of " << size(expected)
                                         << " is " << (actual.Test(y, x) ? "active" : "not active");
    }
  }
  return testing::AssertionFailure() << "bits past the width of " << size(expected);
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_MASK_SAMPLES_H_
