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

TEST_F(MaskListsTest, RunsMakeTheMaskAgain) {
  RunList list(RunList::MaxRuns(12, 640));
  for (int round = 0; round < 200; ++round) {
    Draw();
    list.Assign(mask_, rows_);
    const Mask before = random_.Draw(height_, width_);
    Mask after = before;
    SetPixels(list.pixels(), after);
    ASSERT_TRUE(SameMask(
        MaskWhere(height_, width_,
                  [&](int y, int x) { return IsListed(y, x) || before.view().Test(y, x); }),
        after))
        << "seed " << random_.seed();
    Mask whole_rows(height_, width_);
    SetPixels(rows_, whole_rows);
    ASSERT_EQ(CountActive(whole_rows), int64_t{rows_.size()} * width_);
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

TEST_F(MaskListsTest, PixelsAreListedByTheirNumber) {
  for (int round = 0; round < 200; ++round) {
    Draw();
    std::vector<int32_t> expected;
    for (int pixel = 0; pixel < height_ * width_; ++pixel) {
      if (IsListed(pixel / width_, pixel % width_)) expected.push_back(pixel);
    }
    std::vector<int32_t> pixels(expected.size());
    ASSERT_EQ(ListPixels(mask_, rows_, pixels.data()), static_cast<int>(expected.size()))
        << "seed " << random_.seed();
    ASSERT_EQ(pixels, expected) << "seed " << random_.seed();
  }
}

TEST_F(MaskListsTest, TilesAreThoseOfTheGridThatHoldAnActivePixel) {
  for (int round = 0; round < 600; ++round) {
    Draw();
    const int tile_height = random_.Between(1, 6);
    const int widths[] = {1, 2, 3, 4, 5, 6, 8, 64, 100};
    const int tile_width = widths[random_.Between(0, 8)];
    const int most = MaxTiles(rows_, width_, tile_height, tile_width);
    std::vector<ActiveTile> tiles(static_cast<size_t>(most));
    const int count = ListTiles(mask_, rows_, tile_height, tile_width, tiles.data());
    ASSERT_LE(count, most);
    int tile = 0;
    for (int y = 0; y < height_; y += tile_height) {
      for (int x = 0; x < width_; x += tile_width) {
        uint64_t pattern = 0;
        bool is_active = false;
        for (int dy = 0; dy < tile_height && y + dy < height_; ++dy) {
          for (int dx = 0; dx < tile_width && x + dx < width_; ++dx) {
            if (!IsListed(y + dy, x + dx)) continue;
            is_active = true;
            if (tile_height * tile_width <= 16) pattern |= 1u << (dy * tile_width + dx);
          }
        }
        if (!is_active) continue;
        ASSERT_LT(tile, count) << "seed " << random_.seed();
        ASSERT_EQ(tiles[tile].row, y) << "seed " << random_.seed();
        ASSERT_EQ(tiles[tile].column, x) << "seed " << random_.seed();
        ASSERT_EQ(tiles[tile].pattern, pattern) << "seed " << random_.seed();
        ++tile;
      }
    }
    ASSERT_EQ(tile, count) << "seed " << random_.seed();
  }
}

}  // namespace
}  // namespace cacheinf
