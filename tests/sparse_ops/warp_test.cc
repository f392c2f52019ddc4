#include "sparse_ops/warp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/reference/reference.h"
#include "tests/sparse_ops/case_memory.h"
#include "tests/sparse_ops/cpu/targets.h"
#include "tests/sparse_ops/mask/samples.h"

namespace cacheinf {
namespace {

constexpr unsigned kSeed = 20260412;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Homography Shift(double columns, double rows) {
  return {{{1, 0, columns}, {0, 1, rows}, {0, 0, 1}}};
}

// A map of random numbers in memory of its own, with gaps, and marks around it.
class GuardedMap {
 public:
  GuardedMap(int batch, int height, int width, int channels, MaskSampler& random,
             bool is_special = false, bool has_gaps = true)
      : memory_(static_cast<unsigned>(random.Between(0, 1 << 30)), CaseOptions()) {
    if (is_special) memory_.UseSpecialNumbers();
    view_ = AsImage(memory_.InPlaceMap({batch, channels, height, width}));
    if (!has_gaps) {
      view_.pixel_stride = channels;
      view_.row_stride = int64_t{width} * channels;
      view_.batch_stride = height * view_.row_stride;
    }
    guarded_.assign(kGuard, CaseMemory::kMark);
    guarded_.insert(guarded_.end(), memory_.output.begin(), memory_.output.end());
    guarded_.insert(guarded_.end(), kGuard, CaseMemory::kMark);
    view_.data = guarded_.data() + kGuard;
  }
  GuardedMap(const GuardedMap& other)
      : memory_(other.memory_), guarded_(other.guarded_), view_(other.view_) {
    view_.data = guarded_.data() + kGuard;
  }
  GuardedMap& operator=(const GuardedMap&) = delete;

  const ImageView& view() const { return view_; }
  const std::vector<float>& numbers() const { return guarded_; }

 private:
  static constexpr size_t kGuard = 64;
  CaseMemory memory_;
  std::vector<float> guarded_;
  ImageView view_;
};

// Equal bits, but any NaN equals any other.
testing::AssertionResult SameNumbers(const GuardedMap& expected, const GuardedMap& actual) {
  for (size_t i = 0; i < expected.numbers().size(); ++i) {
    const float a = expected.numbers()[i];
    const float b = actual.numbers()[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b && std::signbit(a) == std::signbit(b)) continue;
    return testing::AssertionFailure() << "at " << i << ": " << b << " instead of " << a;
  }
  return testing::AssertionSuccess();
}

// Two maps, masks and a homography, all drawn at random.
struct RandomWarp {
  int height;
  int width;
  GuardedMap from;
  GuardedMap to;
  Mask wanted;
  Mask marked;  // what the mask of pixels out of view holds before
  WarpArgs args;

  explicit RandomWarp(MaskSampler& random, bool is_special = false)
      : height(random.Between(1, 3) == 1 ? 1 : random.Between(1, 30)),
        width(random.Between(1, 3) == 1 ? random.Width() % 140 + 1 : random.Between(1, 40)),
        from(AnyMap(random, random.Between(1, 2), random.Between(1, 70), is_special)),
        to(from.view().batch, height, width, from.view().channels, random, is_special,
           random.Between(0, 1) == 0),
        wanted(random.Draw(height, width)),
        marked(random.Draw(height, width)) {
    args.interpolation =
        random.Between(0, 1) == 0 ? Interpolation::kNearest : Interpolation::kBilinear;
    args.from_of_to = AnyHomography(random);
    args.from = from.view();
    args.to = to.view();
    args.wanted = wanted;
  }

 private:
  GuardedMap AnyMap(MaskSampler& random, int batch, int channels, bool is_special) const {
    return {batch, height, width, channels, random, is_special, random.Between(0, 1) == 0};
  }

  Homography AnyHomography(MaskSampler& random) const {
    const auto between = [&](double low, double high) {
      return low + (high - low) * random.Between(0, 1 << 20) / (1 << 20);
    };
    const double columns = between(-0.3, 0.3) * width;
    const double rows = between(-0.3, 0.3) * height;
    const int kind = random.Between(0, 5);
    if (kind == 0) return Shift(std::floor(columns), std::floor(rows));
    if (kind == 1) return Shift(std::floor(columns), rows);
    if (kind == 2) return Shift(columns, rows);
    Homography h = {{{between(0.7, 1.3), between(-0.3, 0.3), columns},
                     {between(-0.3, 0.3), between(0.7, 1.3), rows},
                     {between(-0.01, 0.01), between(-0.01, 0.01), 1.0}}};
    if (kind == 5) {  // part of the map lies behind the camera
      for (double& entry : h.m[2]) entry = between(-0.3, 0.3);
    }
    if (random.Between(0, 3) == 0) {
      const double factor = between(0.1, 3);
      for (auto& row : h.m) {
        for (double& entry : row) entry *= factor;
      }
    }
    return h;
  }
};

// ---------------------------------------------------------------------------------------------
// The rule again, from the meaning of a homography, without rounding positions.

struct ExactSource {
  bool is_in_view = false;
  // So close to a limit that rounding decides.
  bool is_doubtful = false;
  double x = 0;
  double y = 0;
};

ExactSource SourceOf(const WarpArgs& args, int y, int x) {
  const auto along = [&](int i) {
    const auto& m = args.from_of_to.m[i];
    return static_cast<long double>(m[0]) * x + static_cast<long double>(m[1]) * y + m[2];
  };
  constexpr long double kDoubt = 2e-3L;  // of a pixel
  ExactSource source;
  if (std::fabs(along(2)) < 1e-9L) {
    source.is_doubtful = true;
    return source;
  }
  if (along(2) < 0) return source;
  const long double u = along(0) / along(2);
  const long double v = along(1) / along(2);
  const auto outside = [](long double at, int size) {  // by how far; negative inside
    return std::max(-0.5L - at, at - (size - 0.5L));
  };
  const long double distance = std::max(outside(u, args.from.width), outside(v, args.from.height));
  source.is_doubtful = std::fabs(distance) < kDoubt;
  source.is_in_view = distance < 0;
  source.x = static_cast<double>(u);
  source.y = static_cast<double>(v);
  return source;
}

// Interpolates in a map that repeats its border.
double Bilinear(const ConstImageView& map, int n, int channel, double y, double x) {
  y = std::clamp(y, 0.0, map.height - 1.0);
  x = std::clamp(x, 0.0, map.width - 1.0);
  const int y0 = static_cast<int>(y);
  const int x0 = static_cast<int>(x);
  const int y1 = std::min(y0 + 1, map.height - 1);
  const int x1 = std::min(x0 + 1, map.width - 1);
  const auto at = [&](int row, int column) -> double { return map.Pixel(n, row, column)[channel]; };
  const double wy = y - y0;
  const double wx = x - x0;
  return (at(y0, x0) * (1 - wx) + at(y0, x1) * wx) * (1 - wy) +
         (at(y1, x0) * (1 - wx) + at(y1, x1) * wx) * wy;
}

// Lets a pixel pass if rounding decides which one is nearest.
testing::AssertionResult IsWarped(const WarpArgs& args, int n, int y, int x, int channel,
                                  float value) {
  const ExactSource source = SourceOf(args, y, x);
  if (args.interpolation == Interpolation::kBilinear) {
    // Numbers lie in [-2, 2], so half a part of a pixel moves the value by at most 4 / 2048 an
    // axis.
    const double expected = Bilinear(args.from, n, channel, source.y, source.x);
    if (std::fabs(value - expected) < 2 * 4.0 / 2048 + 1e-5) return testing::AssertionSuccess();
    return testing::AssertionFailure() << value << " instead of " << expected;
  }
  const auto is_close = [&](double at, int index, int size) {
    return std::fabs(at - index) < 0.5 + 1e-3 && index < size;
  };
  for (int row = 0; row < args.from.height; ++row) {
    for (int column = 0; column < args.from.width; ++column) {
      if (is_close(source.y, row, args.from.height) &&
          is_close(source.x, column, args.from.width) &&
          args.from.Pixel(n, row, column)[channel] == value) {
        return testing::AssertionSuccess();
      }
    }
  }
  return testing::AssertionFailure()
         << value << " is not that of (" << source.y << ", " << source.x << ")";
}

TEST(WarpTest, TheReferenceFollowsTheHomography) {
  MaskSampler random(kSeed);
  std::cout << "seed " << kSeed << "\n";
  int written = 0;
  int outside = 0;
  for (int i = 0; i < 300; ++i) {
    RandomWarp warp(random);
    const GuardedMap before = warp.to;
    Mask out_of_view(warp.height, warp.width);
    warp.args.out_of_view = out_of_view;
    reference::Compute(warp.args);
    for (int y = 0; y < warp.height; ++y) {
      for (int x = 0; x < warp.width; ++x) {
        const bool is_asked = warp.wanted.view().Test(y, x);
        const bool is_outside = out_of_view.view().Test(y, x);
        ASSERT_TRUE(is_asked || !is_outside);
        const ExactSource source = SourceOf(warp.args, y, x);
        if (is_asked && !source.is_doubtful) {
          ASSERT_EQ(source.is_in_view, !is_outside) << y << ", " << x;
        }
        for (int n = 0; n < warp.args.to.batch; ++n) {
          for (int channel = 0; channel < warp.args.to.channels; ++channel) {
            const float value = warp.to.view().Pixel(n, y, x)[channel];
            if (is_asked && !is_outside) {
              ASSERT_TRUE(IsWarped(warp.args, n, y, x, channel, value)) << y << ", " << x;
            } else {
              ASSERT_EQ(before.view().Pixel(n, y, x)[channel], value);
            }
          }
        }
        written += is_asked && !is_outside ? 1 : 0;
        outside += is_outside ? 1 : 0;
      }
    }
  }
  // The cases are of both kinds.
  EXPECT_GT(written, 1000);
  EXPECT_GT(outside, 1000);
}

// ---------------------------------------------------------------------------------------------

class WarpOnCpuTest : public testing::Test {
 protected:
  void SetUp() override { std::cout << "seed " << kSeed << "\n"; }

  // Compares every target and thread count with the reference.
  void Compare(const RandomWarp& warp) {
    const GuardedMap expected_map = warp.to;
    Mask expected_mask = warp.marked;
    WarpArgs args = warp.args;
    args.to = expected_map.view();
    args.out_of_view = expected_mask;
    reference::Compute(args);
    ForEachCpuTarget([&] {
      for (ThreadPool& pool : pools_) {
        const GuardedMap map = warp.to;
        Mask mask = warp.marked;
        args.to = map.view();
        args.out_of_view = mask;
        cpu::Compute(args, pool);
        ASSERT_TRUE(SameNumbers(expected_map, map)) << pool.threads() << " threads";
        ASSERT_TRUE(SameMask(expected_mask, mask)) << pool.threads() << " threads";
      }
    });
  }

  ThreadPool pools_[3] = {ThreadPool(1), ThreadPool(2), ThreadPool(3)};
};

// Expects that no pixel is in view under this homography.
void ExpectAllOutOfView(const Homography& homography, ThreadPool& pool) {
  MaskSampler random(kSeed);
  for (const Interpolation interpolation : {Interpolation::kNearest, Interpolation::kBilinear}) {
    const GuardedMap from(1, 13, 70, 5, random);
    const GuardedMap to(1, 13, 70, 5, random);
    const std::vector<float> before(to.numbers().begin(), to.numbers().end());
    WarpArgs args;
    args.interpolation = interpolation;
    args.from_of_to = homography;
    args.from = from.view();
    args.to = to.view();
    Mask all(13, 70);
    SetAll(all);
    args.wanted = all;
    const auto expect_all = [&](const auto& compute) {
      Mask out_of_view(13, 70);
      args.out_of_view = out_of_view;
      compute();
      EXPECT_TRUE(SameMask(all, out_of_view));
    };
    ForEachCpuTarget([&] { expect_all([&] { cpu::Compute(args, pool); }); });
    expect_all([&] { reference::Compute(args); });
    EXPECT_EQ(before, to.numbers());
  }
}

TEST_F(WarpOnCpuTest, DegenerateHomographiesShowNothing) {
  const double huge = std::numeric_limits<double>::max();
  const std::vector<Homography> degenerate = {
      {{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}},
      {{{1, 0, 0}, {0, 1, 0}, {0, 0, 0}}},           // all points at infinity, or 0 / 0
      {{{1, 0, 0}, {0, 1, 0}, {0, 0, -1}}},          // behind the camera
      {{{1, 0, 0}, {0, 1, 0}, {0, 0, -1e-300}}},     //
      {{{1, 0, 1}, {0, 1, 1}, {0, 0, 1e-300}}},      // nearly at infinity
      {{{1, 0, 0}, {0, 1, 0}, {0, 0, kNaN}}},        //
      {{{1, 0, 0}, {0, 1, kNaN}, {0, 0, 1}}},        //
      {{{kNaN, 0, 0}, {0, 1, 0}, {0, 0, 1}}},        //
      {{{1, 0, 0}, {0, 1, 0}, {0, 0, kInfinity}}},   // would all go to (0, 0)
      {{{1, 0, kInfinity}, {0, 1, 0}, {0, 0, 1}}},   //
      {{{1, 0, -kInfinity}, {0, 1, 0}, {0, 0, 1}}},  //
      {{{1, 0, 0}, {0, kInfinity, -1}, {0, 0, 1}}},  //
      Shift(1e18, 0),
      Shift(0, -1e18),
      Shift(0x1p31, 0),
      Shift(-0x1p32, -0x1p32),
      Shift(huge, huge),
      Shift(70, 0),
      Shift(-70, 0),
      Shift(0, 13),
      Shift(0, -13),
      Inverse({{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}}),
  };
  for (size_t i = 0; i < degenerate.size(); ++i) {
    SCOPED_TRACE("homography " + std::to_string(i));
    ExpectAllOutOfView(degenerate[i], pools_[i % 3]);
  }
}

TEST_F(WarpOnCpuTest, WildHomographiesHaveTheReferencesBits) {
  MaskSampler random(kSeed + 4);
  const double wild[] = {0,    1,     -1,     kNaN,   kInfinity, -kInfinity, 1e300, -1e300,
                         1e-9, -1e-9, 1e-300, 0x1p31, -0x1p31,   0x1p53,     0.5,   7};
  for (int i = 0; i < 300; ++i) {
    RandomWarp warp(random);
    for (int changes = random.Between(1, 4); changes > 0; --changes) {
      warp.args.from_of_to.m[random.Between(0, 2)][random.Between(0, 2)] =
          wild[random.Between(0, static_cast<int>(std::size(wild)) - 1)];
    }
    Compare(warp);
    if (HasFatalFailure()) FAIL() << "warp " << i;
  }
}

TEST_F(WarpOnCpuTest, ViewEndsHalfAPixelBeyondTheOuterPixels) {
  constexpr int kHeight = 6;
  constexpr int kWidth = 5;
  constexpr double kPart = 1.0 / kPositionParts;
  MaskSampler random(kSeed);
  const GuardedMap from(1, kHeight, kWidth, 3, random);
  const GuardedMap to(1, kHeight, kWidth, 3, random);
  Mask all(kHeight, kWidth);
  SetAll(all);
  // A shift, and whether the outer pixels are still in view.
  const struct {
    double shift;
    bool is_in_view;
  } cases[] = {{0.5 - kPart, true},
               {0.5 - 0.5 * kPart, false},  // lies on the limit
               {0.5, false},
               {-0.5, true},
               {-0.5 - 0.5 * kPart, true},  // lies on the limit
               {-0.5 - kPart, false}};
  for (const Interpolation interpolation : {Interpolation::kNearest, Interpolation::kBilinear}) {
    for (const auto& border : cases) {
      WarpArgs args;
      args.interpolation = interpolation;
      args.from = from.view();
      args.to = to.view();
      args.wanted = all;
      const auto count_outside = [&](const Homography& homography) {
        args.from_of_to = homography;
        Mask expected(kHeight, kWidth);
        args.out_of_view = expected;
        reference::Compute(args);
        ForEachCpuTarget([&] {
          Mask actual(kHeight, kWidth);
          args.out_of_view = actual;
          cpu::Compute(args, pools_[0]);
          EXPECT_TRUE(SameMask(expected, actual)) << border.shift;
        });
        return CountActive(expected);
      };
      EXPECT_EQ(border.is_in_view ? 0 : kHeight, count_outside(Shift(border.shift, 0)))
          << border.shift;
      EXPECT_EQ(border.is_in_view ? 0 : kWidth, count_outside(Shift(0, border.shift)))
          << border.shift;
    }
  }
}

TEST_F(WarpOnCpuTest, AShiftByWholePixelsCopiesBits) {
  MaskSampler random(kSeed + 5);
  for (int i = 0; i < 100; ++i) {
    RandomWarp warp(random, /*is_special=*/true);
    const int columns = random.Between(-warp.width, warp.width);
    const int rows = random.Between(-warp.height, warp.height);
    // Noise far below a part of a pixel does not matter.
    warp.args.from_of_to = Shift(columns + random.Between(-1, 1) * 1e-9, rows);
    const GuardedMap before = warp.to;
    Mask out_of_view(warp.height, warp.width);
    warp.args.out_of_view = out_of_view;
    cpu::Compute(warp.args, pools_[i % 3]);
    for (int y = 0; y < warp.height; ++y) {
      for (int x = 0; x < warp.width; ++x) {
        const bool is_wanted = warp.wanted.view().Test(y, x);
        const bool is_in_view =
            y + rows >= 0 && y + rows < warp.height && x + columns >= 0 && x + columns < warp.width;
        ASSERT_EQ(is_wanted && !is_in_view, out_of_view.view().Test(y, x));
        for (int n = 0; n < warp.args.to.batch; ++n) {
          const float* const expected = is_wanted && is_in_view
                                            ? warp.args.from.Pixel(n, y + rows, x + columns)
                                            : before.view().Pixel(n, y, x);
          const float* const actual = warp.args.to.Pixel(n, y, x);
          ASSERT_EQ(0, std::memcmp(expected, actual, sizeof(float) * warp.args.to.channels));
        }
      }
    }
  }
}

}  // namespace
}  // namespace cacheinf
