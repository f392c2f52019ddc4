// Read this first: masks of active pixels, their sets and how they grow.

#include "sparse_ops/mask/mask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/sparse_ops/mask/samples.h"

namespace cacheinf {
namespace {

bool IsIn(Range range, int index) { return index >= range.begin && index < range.end; }

class MaskTest : public testing::Test {
 protected:
  // Draws sizes and masks for a round.
  void Draw() {
    height_ = random_.Between(1, 12);
    width_ = random_.Width();
    a_ = random_.Draw(height_, width_);
    b_ = random_.Draw(height_, width_);
    // Bits of an earlier frame, which no function may leave behind.
    out_ = Mask(height_, width_);
    SetAll(out_);
  }

  template <typename IsActive>
  testing::AssertionResult OutIs(const IsActive& is_active) const {
    return SameMask(MaskWhere(height_, width_, is_active), out_) << ", seed " << random_.seed();
  }

  MaskSampler random_{20261};
  int height_ = 0;
  int width_ = 0;
  Mask a_;
  Mask b_;
  Mask out_;
};

TEST_F(MaskTest, SetClearAndTestReachOnePixel) {
  Mask mask(3, 130);
  mask.view().Set(1, 64);
  mask.view().Set(2, 129);
  EXPECT_TRUE(mask.view().Test(1, 64));
  EXPECT_FALSE(mask.view().Test(1, 63));
  EXPECT_EQ(CountActive(mask), 2);
  mask.view().Clear(1, 64);
  EXPECT_FALSE(mask.view().Test(1, 64));
  EXPECT_EQ(CountActive(mask), 1);
}

TEST_F(MaskTest, AllAndNoneAreEveryPixelAndNoOther) {
  for (const int width : {1, 63, 64, 65, 127, 640}) {
    Mask mask(5, width);
    EXPECT_TRUE(IsEmpty(mask));
    SetAll(mask);
    EXPECT_FALSE(IsEmpty(mask));
    EXPECT_EQ(CountActive(mask), 5 * width);
    EXPECT_TRUE(SameMask(MaskWhere(5, width, [](int, int) { return true; }), mask));
    ClearAll(mask);
    EXPECT_TRUE(IsEmpty(mask));
  }
}

TEST_F(MaskTest, SetsAreThoseOfEveryPixel) {
  for (int round = 0; round < 300; ++round) {
    Draw();
    const ConstMaskView a = a_;
    const ConstMaskView b = b_;
    Unite(a, b, out_);
    ASSERT_TRUE(OutIs([&](int y, int x) { return a.Test(y, x) || b.Test(y, x); }));
    Intersect(a, b, out_);
    ASSERT_TRUE(OutIs([&](int y, int x) { return a.Test(y, x) && b.Test(y, x); }));
    Subtract(a, b, out_);
    ASSERT_TRUE(OutIs([&](int y, int x) { return a.Test(y, x) && !b.Test(y, x); }));
    Copy(a, out_);
    ASSERT_TRUE(AreEqual(a, out_));
    Subtract(out_, b, out_);
    ASSERT_TRUE(OutIs([&](int y, int x) { return a.Test(y, x) && !b.Test(y, x); }));
  }
}

TEST_F(MaskTest, EqualMasksHaveEqualSizesAndPixels) {
  EXPECT_FALSE(AreEqual(Mask(2, 3), Mask(3, 2)));
  EXPECT_FALSE(AreEqual(Mask(2, 3), Mask(2, 4)));
  Mask mask(2, 3);
  EXPECT_TRUE(AreEqual(mask, Mask(2, 3)));
  mask.view().Set(1, 2);
  EXPECT_FALSE(AreEqual(mask, Mask(2, 3)));
}

TEST_F(MaskTest, CountsAreThoseOfEveryPixel) {
  for (int round = 0; round < 100; ++round) {
    Draw();
    std::vector<int> expected(static_cast<size_t>(height_));
    int sum = 0;
    for (int y = 0; y < height_; ++y) {
      for (int x = 0; x < width_; ++x) expected[y] += a_.view().Test(y, x) ? 1 : 0;
      sum += expected[y];
    }
    std::vector<int> counts(static_cast<size_t>(height_), -1);
    CountActiveByRow(a_, counts.data());
    ASSERT_EQ(counts, expected) << "seed " << random_.seed();
    ASSERT_EQ(CountActive(a_), sum) << "seed " << random_.seed();
  }
}

TEST_F(MaskTest, RectanglesAreSetClearedAndKept) {
  for (int round = 0; round < 500; ++round) {
    Draw();
    const ConstMaskView a = a_;
    const Range rows = random_.AnyRange(height_);
    const Range columns = random_.AnyRange(width_);
    const auto is_inside = [&](int y, int x) { return IsIn(rows, y) && IsIn(columns, x); };
    Copy(a, out_);
    SetRectangle(rows, columns, out_);
    ASSERT_TRUE(OutIs([&](int y, int x) { return a.Test(y, x) || is_inside(y, x); }));
    Copy(a, out_);
    ClearRectangle(rows, columns, out_);
    ASSERT_TRUE(OutIs([&](int y, int x) { return a.Test(y, x) && !is_inside(y, x); }));
    Copy(a, out_);
    KeepRectangle(rows, columns, out_);
    ASSERT_TRUE(OutIs([&](int y, int x) { return a.Test(y, x) && is_inside(y, x); }));
  }
}

TEST_F(MaskTest, SomeRowsOfAMaskAreAMask) {
  Draw();
  height_ = 8;
  const Mask mask = random_.Draw(height_, width_);
  out_ = Mask(height_, width_);
  Copy(CutRows(mask.view(), {2, 5}), CutRows(out_.view(), {3, 6}));
  EXPECT_TRUE(OutIs([&](int y, int x) { return y >= 3 && y < 6 && mask.view().Test(y - 1, x); }));
}

TEST_F(MaskTest, GrowthIsThatOfEveryPixel) {
  for (int round = 0; round < 400; ++round) {
    Draw();
    const int longest = round % 10 == 0 ? 140 : 5;
    const auto side = [&] { return random_.Between(0, random_.Between(0, longest)); };
    const Reach reach = {side() % 14, side() % 14, side(), side()};
    const ConstMaskView a = a_;
    // Whether any pixel of the rectangle around (y, x) is in the picture and active.
    const auto any_near = [&](int y, int x, const Reach& around) {
      for (int i = std::max(0, y - around.top); i <= std::min(height_ - 1, y + around.bottom);
           ++i) {
        const int last = std::min(width_ - 1, x + around.right);
        for (int j = std::max(0, x - around.left); j <= last; ++j) {
          if (a.Test(i, j)) return true;
        }
      }
      return false;
    };
    const Reach mirrored = {reach.bottom, reach.top, reach.right, reach.left};
    Grow(a, reach, out_);
    ASSERT_TRUE(OutIs([&](int y, int x) { return any_near(y, x, mirrored); }));
    Copy(a, out_);
    Grow(out_, reach, out_);
    ASSERT_TRUE(OutIs([&](int y, int x) { return any_near(y, x, mirrored); }));
  }
}

TEST_F(MaskTest, OnePixelReachesAsFarAsSaid) {
  Mask mask(7, 130);
  mask.view().Set(3, 64);
  Grow(mask, {1, 2, 3, 0}, mask);
  EXPECT_TRUE(SameMask(
      MaskWhere(7, 130, [](int y, int x) { return y >= 2 && y <= 5 && x >= 61 && x <= 64; }),
      mask));
}

TEST_F(MaskTest, SubsamplingKeepsWhateverACellHolds) {
  for (int round = 0; round < 400; ++round) {
    Draw();
    const int steps[] = {1, 2, 3, 4, 5, 8, 16, 32, 64, 100};
    const int step_rows = random_.Between(1, 5);
    const int step_columns = steps[random_.Between(0, 9)];
    const ConstMaskView a = a_;
    const int full_height = height_;
    const int full_width = width_;
    height_ = (full_height + step_rows - 1) / step_rows;
    width_ = (full_width + step_columns - 1) / step_columns;
    Mask expected(height_, width_);
    for (int y = 0; y < full_height; ++y) {
      for (int x = 0; x < full_width; ++x) {
        if (a.Test(y, x)) expected.view().Set(y / step_rows, x / step_columns);
      }
    }
    out_ = Mask(height_, width_);
    SetAll(out_);
    Subsample(a, step_rows, step_columns, out_);
    ASSERT_TRUE(SameMask(expected, out_)) << step_columns << ", seed " << random_.seed();
  }
}

TEST_F(MaskTest, UpsamplingRepeatsEveryPixel) {
  for (int round = 0; round < 400; ++round) {
    Draw();
    const int times[] = {1, 2, 3, 4, 5, 8, 16, 64, 70};
    const int times_rows = random_.Between(1, 4);
    const int times_columns = times[random_.Between(0, 8)];
    const ConstMaskView a = a_;
    height_ = height_ * times_rows - random_.Between(0, times_rows - 1);
    width_ = width_ * times_columns - random_.Between(0, times_columns - 1);
    out_ = Mask(height_, width_);
    SetAll(out_);
    Upsample(a, times_rows, times_columns, out_);
    ASSERT_TRUE(OutIs([&](int y, int x) { return a.Test(y / times_rows, x / times_columns); }))
        << times_columns;
  }
}

TEST_F(MaskTest, RescalingKeepsWhateverAPixelLiesOver) {
  for (int round = 0; round < 300; ++round) {
    Draw();
    const ConstMaskView a = a_;
    const int in_height = height_;
    const int in_width = width_;
    height_ = random_.Between(1, 24);
    width_ = round % 3 == 0 ? in_width * random_.Between(1, 4) : random_.Width();
    out_ = Mask(height_, width_);
    SetAll(out_);
    Rescale(a, out_);
    // Pixels as intervals of the common axis of in_size out_size units.
    const auto overlaps = [](int in, int in_size, int out, int out_size) {
      return in * out_size < (out + 1) * in_size && out * in_size < (in + 1) * out_size;
    };
    Mask expected(height_, width_);
    for (int i = 0; i < in_height; ++i) {
      for (int j = 0; j < in_width; ++j) {
        if (!a.Test(i, j)) continue;
        for (int y = 0; y < height_; ++y) {
          if (!overlaps(i, in_height, y, height_)) continue;
          for (int x = 0; x < width_; ++x) {
            if (overlaps(j, in_width, x, width_)) expected.view().Set(y, x);
          }
        }
      }
    }
    ASSERT_TRUE(SameMask(expected, out_))
        << in_height << " x " << in_width << ", seed " << random_.seed();
  }
}

}  // namespace
}  // namespace cacheinf
