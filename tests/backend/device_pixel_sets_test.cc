#include "common/backend/device/device_pixel_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "common/backend/device/cuda_backend.h"
#include "common/backend/host/host_pixel_sets.h"
#include "sparse_ops/cuda/emulated/device.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

using EmulatedSets = DevicePixelSets<cuda::EmulatedDevice>;

int Between(std::mt19937& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

Mask RandomMask(std::mt19937& random, int height, int width) {
  Mask mask(height, width);
  const int one_in = Between(random, 1, 40);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      if (Between(random, 1, one_in) == 1) mask.view().Set(y, x);
    }
  }
  return mask;
}

// The same sets on the host and on the stand-in, which must stay equal.
class SetsOfTwo {
 public:
  SetsOfTwo(unsigned seed, int least_height)
      : random_(seed),
        stream_(std::make_shared<DeviceStream<cuda::EmulatedDevice>>(
            std::make_shared<cuda::EmulatedDevice>(cuda::EmulatedDevice::Options{.seed = seed}))),
        emulated_(stream_) {
    height_ = least_height + Between(random_, 0, 22);
    width_ = Between(random_, 1, 150);
    for (int i = 0; i < kLarge; ++i) Make(height_, width_, i == 0);
    const WindowAxis taps = {Between(random_, 1, 4), Between(random_, 1, 3), Between(random_, 0, 2),
                             Between(random_, 1, 2)};
    const auto slid = [&](int size) {
      const int reach = (taps.kernel - 1) * taps.dilation + 1;
      return std::max((size + 2 * taps.pad_begin - reach) / taps.stride + 1, 1);
    };
    const Window window = {AxisWindow::Sliding(height_, slid(height_), taps),
                           AxisWindow::Sliding(width_, slid(width_), taps)};
    for (int i = kLarge; i < kSets; ++i) Make(window.rows.out_size, window.columns.out_size, false);
    way_ = host_.MakeWay(window);
    EXPECT_EQ(emulated_.MakeWay(window).id, way_.id);
  }

  // Does the same to random sets of both.
  void Step() {
    const PixelSet a = Large();
    const PixelSet b = Large();
    const PixelSet small = sets_[static_cast<size_t>(Between(random_, kLarge, kSets - 1))];
    const Range rows = SomeRange(height_);
    const Range columns = SomeRange(width_);
    const int number = Between(random_, 0, 3);
    switch (Between(random_, 0, 20)) {
      case 0:
        return Both([&](PixelSets& sets) { sets.Clear(a); });
      case 1:
        return Both([&](PixelSets& sets) { sets.Fill(a); });
      case 2:
        return Both([&](PixelSets& sets) { sets.Copy(a, b); });
      case 3:
        return Both([&](PixelSets& sets) { sets.Add(a, b); });
      case 4:
        return Both([&](PixelSets& sets) { sets.Remove(a, b); });
      case 5:
        return Both([&](PixelSets& sets) { sets.Keep(a, b); });
      case 6:
        return Both([&](PixelSets& sets) { sets.FillRows(a, rows); });
      case 7:
        return Both([&](PixelSets& sets) { sets.ClearRows(a, rows); });
      case 8:
        return Both([&](PixelSets& sets) { sets.AddRows(a, rows, b); });
      case 9:
        return Both([&](PixelSets& sets) { sets.ClearRectangle(a, rows, columns); });
      case 10:
        return Both([&](PixelSets& sets) { sets.FillIfAny(a, small); });
      case 11:
        return Both([&](PixelSets& sets) { sets.AddReaders(way_, a, small); });
      case 12:
        return Both([&](PixelSets& sets) { sets.AddRead(way_, small, a); });
      case 13:
        return Both([&](PixelSets& sets) { sets.AddRescaled(a, small); });
      case 14:
        return Both([&](PixelSets& sets) { sets.Grow(a, number); });
      case 15: {
        const int across = Between(random_, -width_, width_);
        return Both([&](PixelSets& sets) { sets.Shift(a, number - 2, across); });
      }
      case 16:
        return Both([&](PixelSets& sets) { sets.Count(a, 1000 * number); });
      case 17: {
        const Mask mask = RandomMask(random_, height_, width_);
        return Both([&](PixelSets& sets) { sets.Write(mask, a); });
      }
      case 18: {
        const Range within = {std::clamp(rows.begin, 0, height_), std::clamp(rows.end, 0, height_)};
        if (within.empty()) return;
        const Mask mask = RandomMask(random_, within.size(), width_);
        return Both([&](PixelSets& sets) { sets.AddWritten(mask, within, a); });
      }
      case 19: {
        std::vector<uint8_t> chosen(static_cast<size_t>(height_));
        for (uint8_t& row : chosen) row = static_cast<uint8_t>(Between(random_, 0, 1) * 7);
        return Both([&](PixelSets& sets) { sets.FillRows(a, chosen); });
      }
      case 20:
        return Both([&](PixelSets& sets) { sets.BeginFrame(); });
    }
  }

  void ExpectSame() {
    for (const PixelSet set : sets_) {
      Mask mask(set.height, set.width);
      emulated_.Read(set, mask);
      ASSERT_TRUE(AreEqual(mask.view(), host_.mask(set))) << "set " << set.id;
    }
    EXPECT_EQ(emulated_.TakeCount(), host_.TakeCount());
  }

  void ExpectSameLists() {
    for (const PixelSet set : sets_) {
      const cuda::Pixels pixels = emulated_.List(set);
      emulated_.queue().Flush();
      const auto most = static_cast<size_t>(pixels.most);
      const auto* const list = static_cast<const int*>(stream_->Fetch(pixels.list, 4 * most));
      const auto* const count = static_cast<const int*>(stream_->Fetch(pixels.count, 4));
      stream_->Wait();
      const std::vector<int> listed(list, list + *count);
      std::vector<int> expected;
      for (int i = 0; i < set.height * set.width; ++i) {
        if (host_.mask(set).Test(i / set.width, i % set.width)) expected.push_back(i);
      }
      ASSERT_EQ(listed, expected) << "set " << set.id;
    }
  }

 private:
  static constexpr int kLarge = 4;
  static constexpr int kSets = 7;

  void Make(int height, int width, bool is_listed) {
    sets_.push_back(host_.Make(height, width, is_listed));
    EXPECT_EQ(emulated_.Make(height, width, is_listed).id, sets_.back().id);
  }
  PixelSet Large() { return sets_[static_cast<size_t>(Between(random_, 0, kLarge - 1))]; }
  Range SomeRange(int size) {
    const int begin = Between(random_, -3, size);
    return {begin, Between(random_, begin, size + 3)};
  }
  template <typename Ask>
  void Both(const Ask& ask) {
    ask(host_);
    ask(emulated_);
  }

  std::mt19937 random_;
  std::shared_ptr<DeviceStream<cuda::EmulatedDevice>> stream_;
  HostPixelSets host_;
  EmulatedSets emulated_;
  int height_ = 0;
  int width_ = 0;
  std::vector<PixelSet> sets_;
  PixelWay way_;
};

void ExpectSetsOfTheHost(unsigned seeds, int steps, int least_height = 1) {
  for (unsigned seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SetsOfTwo sets(seed, least_height);
    for (int i = 0; i < steps; ++i) {
      sets.Step();
      if (i % 7 == 6) sets.ExpectSame();
      if (i % 11 == 10) sets.ExpectSameLists();
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(DevicePixelSetsTest, HoldWhatThoseOfTheHostDo) { ExpectSetsOfTheHost(12, 60); }

TEST(DevicePixelSetsTest, HoldThemWhereMasksHaveMoreWordsThanABlockHasThreads) {
  ExpectSetsOfTheHost(2, 60, cuda::SetProgram::kThreads + 1);
}

TEST(DevicePixelSetsTest, HoldWhatAWarpFindsOutOfView) {
  constexpr int kHeight = 4;
  constexpr int kWidth = 6;
  const auto backend = MakeEmulatedCudaBackend();
  const auto sets = backend->MakeSets();
  const PixelSet wanted = sets->Make(kHeight, kWidth, false);
  const PixelSet out_of_view = sets->Make(kHeight, kWidth, false);
  sets->BeginFrame();
  sets->Clear(out_of_view);
  sets->Fill(wanted);
  WarpArgs args;
  args.to.height = kHeight;
  args.to.width = kWidth;
  args.from = args.to;
  args.from_of_to.m[0][2] = 2 * kWidth;  // far to the right
  backend->Warp(args, *sets, wanted, out_of_view);
  Mask mask(kHeight, kWidth);
  sets->Read(out_of_view, mask);
  EXPECT_EQ(CountActive(mask), kHeight * kWidth);
}

TEST(SlowDevicePixelSetsTest, HoldWhatThoseOfTheHostDo) { ExpectSetsOfTheHost(200, 200); }

}  // namespace
}  // namespace cacheinf
