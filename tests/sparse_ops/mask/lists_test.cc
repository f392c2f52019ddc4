#include "sparse_ops/mask/lists.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/sparse_ops/mask/samples.h"

namespace cacheinf {
namespace {

class MaskListsTest : public testing::Test {
 protected:
  void Draw() {
    height_ = random_.Between(1, 12);
    width_ = random_.Width();
    mask_ = random_.Draw(height_, width_);
    rows_.begin = random_.Between(0, height_);
    rows_.end = random_.Between(rows_.begin, height_);
  }

  bool IsListed(int y, int x) const {
    return y >= rows_.begin && y < rows_.end && mask_.view().Test(y, x);
  }

  MaskSampler random_{20262};
  int height_ = 0;
  int width_ = 0;
  Mask mask_;
  Range rows_;
};

TEST_F(MaskListsTest, RunsAreTheLongestOnesOfEveryRow) {
  RunList list(RunList::MaxRuns(12, 640));
  for (int round = 0; round < 500; ++round) {
    Draw();
    list.Assign(mask_, rows_);
    const ActivePixels pixels = list.pixels();
    ASSERT_TRUE(pixels.is_sparse);
    ASSERT_EQ(pixels.rows, rows_);
    ASSERT_EQ(pixels.run_count, list.run_count());
    int run = 0;
    int before = 0;
    for (int y = 0; y < height_; ++y) {
      for (int x = 0; x < width_; ++x) {
        if (!IsListed(y, x) || (x > 0 && IsListed(y, x - 1))) continue;
        int end = x + 1;
        while (end < width_ && IsListed(y, end)) ++end;
        ASSERT_LT(run, pixels.run_count) << "seed " << random_.seed();
        ASSERT_EQ(pixels.runs[run].row, y) << "seed " << random_.seed();
        ASSERT_EQ(pixels.runs[run].begin, x) << "seed " << random_.seed();
        ASSERT_EQ(pixels.runs[run].end, end) << "seed " << random_.seed();
        ASSERT_EQ(pixels.pixels_before[run], before) << "seed " << random_.seed();
        before += end - x;
        ++run;
      }
    }
    ASSERT_EQ(run, pixels.run_count) << "seed " << random_.seed();
    ASSERT_EQ(pixels.pixels_before[run], before) << "seed " << random_.seed();
    ASSERT_EQ(list.pixel_count(), before) << "seed " << random_.seed();
  }
}

TEST_F(MaskListsTest, EverySecondPixelFillsTheListToItsCapacity) {
  for (const int width : {1, 2, 63, 64, 65, 640}) {
    const Mask mask = MaskWhere(3, width, [](int, int x) { return x % 2 == 0; });
    RunList list(RunList::MaxRuns(3, width));
    list.Assign(mask, {0, 3});
    EXPECT_EQ(list.run_count(), RunList::MaxRuns(3, width));
    EXPECT_EQ(list.pixel_count(), RunList::MaxRuns(3, width));
  }
}

TEST_F(MaskListsTest, UnchangedPixelsAreCleared) {
  RunList list(RunList::MaxRuns(12, 640));
  for (int round = 0; round < 300; ++round) {
    Draw();
    list.Assign(mask_, rows_);
    std::vector<uint8_t> changed;
    Mask expected = mask_;
    for (int y = rows_.begin; y < rows_.end; ++y) {
      for (int x = 0; x < width_; ++x) {
        if (!IsListed(y, x)) continue;
        changed.push_back(static_cast<uint8_t>(random_.Between(0, 1)));
        if (changed.back() == 0) expected.view().Clear(y, x);
      }
    }
    ClearUnchanged(list.pixels(), changed.data(), mask_);
    ASSERT_TRUE(SameMask(expected, mask_)) << "seed " << random_.seed();
  }
}

}  // namespace
}  // namespace cacheinf
