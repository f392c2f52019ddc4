#include "sparse_ops/global_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <random>
#include <vector>

#include "sparse_ops/cpu/global_pool.h"
#include "sparse_ops/ops.h"
#include "sparse_ops/reference/global_pool.h"
#include "sparse_ops/reference/reference.h"
#include "tests/sparse_ops/active_set.h"
#include "tests/sparse_ops/case_memory.h"
#include "tests/sparse_ops/cpu/targets.h"

namespace cacheinf {
namespace {

constexpr unsigned kSeed = 20260413;
constexpr float kMark = -12345.5f;

bool HaveSameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
  });
}

// A pool of its own over a map that others share.
struct Pool {
  std::vector<double> sums;
  std::vector<float> means;
  std::vector<float> moves;
  std::vector<float> output;
  GlobalPoolArgs args;
  GlobalPoolState state;

  explicit Pool(const TensorView& map)
      : sums(static_cast<size_t>(map.dims[0] * map.dims[1]), kMark),
        means(sums.size(), kMark),
        moves(sums.size(), kMark),
        output(sums.size() + 1, kMark) {
    args.input = map;
    args.output = {output.data(), 4, {map.dims[0], map.dims[1], 1, 1}, {map.dims[1], 1, 1, 1}};
    args.moves = moves.data();
    state.sums = sums.data();
    state.means = means.data();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
};

// A map whose pixels change.
class ChangingMap {
 public:
  explicit ChangingMap(unsigned seed)
      : random_(seed),
        memory_(seed, CaseOptions()),
        map_(memory_.InPlaceMap({Between(1, 2), Between(1, 150), Between(1, 20), Between(1, 30)})) {
  }

  int Between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  const TensorView& map() const { return map_; }
  int height() const { return static_cast<int>(map_.dims[2]); }

  ActiveSet AnyPixels() {
    const int first = Between(0, 3) == 0 ? Between(0, height() - 1) : 0;
    return ActiveSet(ActiveSet::kShapes[Between(0, 4)], height(), static_cast<int>(map_.dims[3]),
                     {first, height()}, random_);
  }

  // The pixels' numbers go this part of the way to new ones.
  void Change(const ActivePixels& pixels, float scale = 1.0f) {
    const int width = static_cast<int>(map_.dims[3]);
    if (pixels.is_sparse) {
      for (int i = 0; i < pixels.run_count; ++i) ChangeRun(pixels.runs[i], scale);
    } else {
      for (int y = pixels.rows.begin; y < pixels.rows.end; ++y) ChangeRun({y, 0, width}, scale);
    }
  }

  std::vector<float> DenseMeans() const {
    std::vector<float> means(static_cast<size_t>(map_.dims[0] * map_.dims[1]));
    ReduceArgs mean;
    mean.kind = ReduceKind::kMean;
    mean.reduced[2] = true;
    mean.reduced[3] = true;
    mean.input = map_;
    mean.output = {means.data(), 4, {map_.dims[0], map_.dims[1], 1, 1}, {map_.dims[1], 1, 1, 1}};
    reference::Reduce(mean);
    return means;
  }

  // Of mean i: what it is, and the mean of the absolute values.
  struct Exact {
    long double mean = 0;
    long double magnitude = 0;
  };
  Exact ExactMean(int i) const {
    const ImageView image = AsImage(map_);
    Exact exact;
    for (int y = 0; y < image.height; ++y) {
      for (int x = 0; x < image.width; ++x) {
        const float number = image.Pixel(i / image.channels, y, x)[i % image.channels];
        exact.mean += number;
        exact.magnitude += std::fabs(number);
      }
    }
    const int64_t pixels = int64_t{image.height} * image.width;
    return {exact.mean / pixels, exact.magnitude / pixels};
  }

 private:
  void ChangeRun(const PixelRun& run, float scale) {
    const ImageView image = AsImage(map_);
    for (int x = run.begin; x < run.end; ++x) {
      for (int n = 0; n < image.batch; ++n) {
        float* const pixel = image.Pixel(n, run.row, x);
        for (int c = 0; c < image.channels; ++c) {
          const float fresh = std::uniform_real_distribution<float>(-2.0f, 2.0f)(random_);
          pixel[c] += (fresh - pixel[c]) * scale;
        }
      }
    }
  }

  std::mt19937 random_;
  CaseMemory memory_;
  TensorView map_;
};

// One frame by the reference.
GlobalPoolResult Follow(ChangingMap& map, Pool& pool, const ActivePixels& pixels,
                        float scale = 1.0f) {
  reference::GlobalPoolTakeOut(pool.args, pixels, pool.state);
  map.Change(pixels, scale);
  return reference::GlobalPoolUpdate(pool.args, pixels, pool.state);
}

TEST(GlobalPoolTest, EveryWholeSumHasTheDenseBits) {
  std::cout << "seed " << kSeed << "\n";
  for (unsigned i = 0; i < 30; ++i) {
    ChangingMap map(kSeed + i);
    Pool pool(map.map());
    pool.args.whole_every = map.Between(1, 5);
    for (int frame = 0; frame < 20; ++frame) {
      const ActiveSet active = map.AnyPixels();
      const GlobalPoolResult result = Follow(map, pool, active.pixels());
      ASSERT_EQ(frame % pool.args.whole_every == 0, result.was_whole) << "frame " << frame;
      if (result.was_whole) {
        ASSERT_TRUE(HaveSameBits(map.DenseMeans(), pool.means)) << "frame " << frame;
      }
    }
  }
}

TEST(GlobalPoolTest, AskingForAWholeSumGivesOne) {
  ChangingMap map(kSeed);
  Pool pool(map.map());
  Follow(map, pool, map.AnyPixels().pixels());
  // A frame is given up after its old values were taken out.
  const ActivePixels all = Range{0, map.height()};
  reference::GlobalPoolTakeOut(pool.args, all, pool.state);
  map.Change(all);
  pool.state.updates_left = 0;
  EXPECT_TRUE(Follow(map, pool, map.AnyPixels().pixels()).was_whole);
  EXPECT_TRUE(HaveSameBits(map.DenseMeans(), pool.means));
}

TEST(GlobalPoolTest, LongRunsDoNotDrift) {
  std::cout << "seed " << kSeed << "\n";
  for (unsigned i = 0; i < 3; ++i) {
    ChangingMap map(kSeed + i);
    Pool pool(map.map());
    pool.args.whole_every = 1 << 30;
    std::vector<double> bounds(pool.means.size());
    for (int frame = 0; frame < 3000; ++frame) {
      const ActiveSet active = map.AnyPixels();
      // Now and then numbers grow a thousand times as large, and then shrink again.
      const float scale = frame % 500 == 250 ? 1000.0f : 1.0f;
      const GlobalPoolResult result = Follow(map, pool, active.pixels(), scale);
      ASSERT_EQ(frame == 0, result.was_whole);
      const bool is_checked = frame % 100 == 0 || frame > 2990;
      for (size_t j = 0; is_checked && j < pool.means.size(); ++j) {
        const ChangingMap::Exact exact = map.ExactMean(static_cast<int>(j));
        // Of the dense sum at the start, whose adds are fewer than 64 one after the other.
        if (frame == 0) bounds[j] = static_cast<double>(exact.magnitude) * 64 * 0x1p-24;
        // Of rounding the mean that is handed out, and of 3000 frames of doubles.
        const double rounding = 2 * 0x1p-24 * static_cast<double>(std::fabs(exact.mean));
        const double drift = 3000.0 * 600 * 2 * 2000 * 0x1p-53;
        ASSERT_NEAR(static_cast<double>(exact.mean), pool.means[j], bounds[j] + rounding + drift)
            << "frame " << frame << ", mean " << j;
      }
    }
  }
}

TEST(GlobalPoolTest, TheOutputStaysWhileNoMeanMovesFar) {
  std::cout << "seed " << kSeed << "\n";
  ChangingMap map(kSeed);
  Pool pool(map.map());
  pool.args.bound = 0.02f;
  pool.args.whole_every = 7;
  int written = 0;
  int kept = 0;
  for (int frame = 0; frame < 300; ++frame) {
    const std::vector<float> before = pool.output;
    const GlobalPoolResult result = Follow(map, pool, map.AnyPixels().pixels(), 0.02f);
    float largest = 0.0f;
    for (size_t i = 0; i < pool.means.size(); ++i) {
      const float move = frame == 0 ? std::numeric_limits<float>::infinity()
                                    : std::fabs(pool.means[i] - before[i]);
      ASSERT_EQ(move, pool.moves[i]);
      largest = std::max(largest, move);
      // However slowly the means go, they never get far from what was handed out.
      ASSERT_LE(std::fabs(pool.means[i] - pool.output[i]), pool.args.bound);
    }
    ASSERT_EQ(largest, result.largest_move);
    ASSERT_EQ(largest > pool.args.bound, result.is_written);
    if (!result.is_written) {
      ASSERT_EQ(before, pool.output);
    } else {
      ASSERT_TRUE(std::equal(pool.means.begin(), pool.means.end(), pool.output.begin()));
    }
    ASSERT_EQ(kMark, pool.output.back());
    (result.is_written ? written : kept) += 1;
  }
  EXPECT_GT(written, 5);
  EXPECT_GT(kept, 50);
}

TEST(GlobalPoolTest, NothingActiveMovesNothing) {
  ChangingMap map(kSeed);
  Pool pool(map.map());
  Follow(map, pool, Range{0, map.height()});
  const std::vector<float> means = pool.means;
  for (int frame = 0; frame < 10; ++frame) {
    const GlobalPoolResult result = Follow(map, pool, Range{0, 0});
    EXPECT_FALSE(result.is_written);
    EXPECT_EQ(0.0f, result.largest_move);
  }
  EXPECT_TRUE(HaveSameBits(means, pool.means));
}

// `take_out` and `update` are those of a family.
template <typename TakeOut, typename Update>
void ExpectThatNumbersWhichAreNotFiniteDoNotStay(const TakeOut& take_out, const Update& update) {
  ChangingMap map(kSeed);
  Pool pool(map.map());
  const ImageView image = AsImage(map.map());
  const PixelRun first_pixel = {0, 0, 1};
  const int before[] = {0, 1};
  const ActivePixels pixels({0, 1}, &first_pixel, before, 1);
  const std::vector<float> odd = {std::numeric_limits<float>::quiet_NaN(),
                                  std::numeric_limits<float>::infinity()};
  Follow(map, pool, pixels);
  for (const float number : odd) {
    take_out(pool, pixels);
    const float old = image.data[0];
    image.data[0] = number;
    update(pool, pixels);
    EXPECT_FALSE(std::isfinite(pool.means[0]));
    take_out(pool, pixels);
    image.data[0] = old;
    update(pool, pixels);
    const std::vector<float> dense = map.DenseMeans();
    for (size_t i = 0; i < dense.size(); ++i) EXPECT_NEAR(dense[i], pool.means[i], 1e-5f) << number;
  }
}

TEST(GlobalPoolTest, NumbersThatAreNotFiniteDoNotStay) {
  ExpectThatNumbersWhichAreNotFiniteDoNotStay(
      [](Pool& pool, const ActivePixels& pixels) {
        reference::GlobalPoolTakeOut(pool.args, pixels, pool.state);
      },
      [](Pool& pool, const ActivePixels& pixels) {
        reference::GlobalPoolUpdate(pool.args, pixels, pool.state);
      });
}

TEST(GlobalPoolOnCpuTest, NumbersThatAreNotFiniteDoNotStay) {
  ThreadPool threads(1);
  ForEachCpuTarget([&] {
    ExpectThatNumbersWhichAreNotFiniteDoNotStay(
        [&](Pool& pool, const ActivePixels& pixels) {
          cpu::GlobalPoolTakeOut(pool.args, pixels, pool.state, threads);
        },
        [&](Pool& pool, const ActivePixels& pixels) {
          cpu::GlobalPoolUpdate(pool.args, pixels, pool.state, threads);
        });
  });
}

}  // namespace
}  // namespace cacheinf
