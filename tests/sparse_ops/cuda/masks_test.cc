#include "sparse_ops/cuda/masks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sparse_ops/cuda/mask_kernels.h"
#include "sparse_ops/mask/bits.h"
#include "sparse_ops/mask/lists.h"
#include "sparse_ops/mask/propagation.h"
#include "tests/sparse_ops/cuda/devices.h"
#include "tests/sparse_ops/mask/samples.h"

namespace cacheinf {
namespace cuda {
namespace {

template <class Device>
class DeviceMasksTest : public OnDevice<Device> {
 protected:
  using Stream = typename Device::Stream;

  // For some seeds: check(random, stream).
  template <typename Check>
  void ForSomeSeeds(const Check& check) {
    for (unsigned seed = 1; seed <= 25; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      this->UseSeed(seed);
      MaskSampler random(seed);
      Stream stream = this->device().MakeStream();
      check(random, stream);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  // Waits for the stream.
  DeviceMask<Device> ToDevice(Stream& stream, ConstMaskView mask) {
    DeviceMask<Device> result(this->device(), mask.height, mask.width);
    CopyToDevice(this->device(), stream, mask, result.view());
    this->device().Synchronize(stream);
    return result;
  }

  Mask ToHost(Stream& stream, ConstMaskView mask) {
    Mask result(mask.height, mask.width);
    CopyToHost(this->device(), stream, mask, result);
    this->device().Synchronize(stream);
    return result;
  }
};

TYPED_TEST_SUITE(DeviceMasksTest, Devices);

TYPED_TEST(DeviceMasksTest, SetsAreThoseOfTheHost) {
  this->ForSomeSeeds([&](MaskSampler& random, auto& stream) {
    auto& device = this->device();
    const int height = random.Between(1, 20);
    const int width = random.Width();
    const Mask a = random.Draw(height, width);
    const Mask b = random.Draw(height, width);
    const auto device_a = this->ToDevice(stream, a);
    const auto device_b = this->ToDevice(stream, b);
    const DeviceMask<TypeParam> out(device, height, width);
    Mask expected(height, width);

    Unite(a, b, expected);
    Unite(device, stream, device_a.view(), device_b.view(), out.view());
    EXPECT_TRUE(SameMask(expected, this->ToHost(stream, out.view())));
    Intersect(a, b, expected);
    Intersect(device, stream, device_a.view(), device_b.view(), out.view());
    EXPECT_TRUE(SameMask(expected, this->ToHost(stream, out.view())));
    Subtract(a, b, expected);
    Subtract(device, stream, device_a.view(), device_b.view(), out.view());
    EXPECT_TRUE(SameMask(expected, this->ToHost(stream, out.view())));
    // In place.
    Unite(expected, b, expected);
    Unite(device, stream, out.view(), device_b.view(), out.view());
    EXPECT_TRUE(SameMask(expected, this->ToHost(stream, out.view())));
  });
}

TYPED_TEST(DeviceMasksTest, FillingAndKeepingRowsAreThoseOfTheHost) {
  this->ForSomeSeeds([&](MaskSampler& random, auto& stream) {
    auto& device = this->device();
    const int height = random.Between(1, 20);
    const int width = random.Width();
    const DeviceMask<TypeParam> out(device, height, width);
    Mask expected(height, width);

    SetAll(expected);
    SetAll(device, stream, out.view());
    EXPECT_TRUE(SameMask(expected, this->ToHost(stream, out.view())));
    ClearAll(device, stream, out.view());
    EXPECT_TRUE(SameMask(Mask(height, width), this->ToHost(stream, out.view())));

    expected = random.Draw(height, width);
    const auto drawn = this->ToDevice(stream, expected);
    Copy(device, stream, drawn.view(), out.view());
    const Range rows = random.AnyRange(height);
    KeepRectangle(rows, {0, width}, expected);
    KeepRows(device, stream, rows, out.view());
    EXPECT_TRUE(SameMask(expected, this->ToHost(stream, out.view())))
        << "rows " << rows.begin << " to " << rows.end;
  });
}

TYPED_TEST(DeviceMasksTest, WindowsGrowMasksAsOnTheHost) {
  constexpr AxisWindow::Kind kKinds[] = {AxisWindow::Kind::kSliding, AxisWindow::Kind::kTransposed,
                                         AxisWindow::Kind::kResize,  AxisWindow::Kind::kReflect,
                                         AxisWindow::Kind::kEdge,    AxisWindow::Kind::kBroadcast,
                                         AxisWindow::Kind::kWhole};
  this->ForSomeSeeds([&](MaskSampler& random, auto& stream) {
    const auto any_window = [&](AxisWindow::Kind kind, bool is_rows) {
      AxisWindow axis;
      axis.kind = kind;
      axis.in_size = is_rows ? random.Between(1, 16) : random.Width();
      axis.out_size = is_rows ? random.Between(1, 16) : random.Width();
      axis.window.kernel = random.Between(1, 7);
      axis.window.stride = random.Between(1, 4);
      axis.window.dilation = random.Between(1, 4);
      axis.window.pad_begin = random.Between(-4, 12);
      axis.resize.kind = static_cast<ResizeSpec::Kind>(random.Between(0, 2));
      axis.is_rows = is_rows;
      return axis;
    };
    for (const AxisWindow::Kind kind : kKinds) {
      const AxisWindow rows = any_window(kind, true);
      const AxisWindow columns = any_window(kind, false);
      const Mask in = random.Draw(rows.in_size, columns.in_size);
      const Mask out = random.Draw(rows.out_size, columns.out_size);
      Mask grown(rows.out_size, columns.out_size);
      Mask needed(rows.in_size, columns.in_size);
      MaskPropagation host(rows, columns);
      host.GrowThrough(in, grown);
      host.NeededThrough(out, needed);

      DevicePropagation<TypeParam> propagation(this->device(), stream, rows, columns);
      const auto device_in = this->ToDevice(stream, in);
      const auto device_out = this->ToDevice(stream, out);
      const DeviceMask<TypeParam> device_grown(this->device(), rows.out_size, columns.out_size);
      const DeviceMask<TypeParam> device_needed(this->device(), rows.in_size, columns.in_size);
      propagation.GrowThrough(stream, device_in.view(), device_grown.view());
      propagation.NeededThrough(stream, device_out.view(), device_needed.view());
      EXPECT_TRUE(SameMask(grown, this->ToHost(stream, device_grown.view())))
          << "kind " << static_cast<int>(kind);
      EXPECT_TRUE(SameMask(needed, this->ToHost(stream, device_needed.view())))
          << "kind " << static_cast<int>(kind);
    }
  });
}

TYPED_TEST(DeviceMasksTest, ListsHoldTheActivePixelsInOrder) {
  this->ForSomeSeeds([&](MaskSampler& random, auto& stream) {
    auto& device = this->device();
    const int height = random.Between(1, 20);
    const int width = random.Width();
    const Mask mask = random.Draw(height, width);
    const auto device_mask = this->ToDevice(stream, mask);
    PixelList<TypeParam> list(device, height, width);
    for (int repeat = 0; repeat < 3; ++repeat) {
      const int begin = random.Between(0, height);
      const Range rows =
          repeat == 0 ? Range{0, height} : Range{begin, random.Between(begin, height)};
      list.Assign(stream, device_mask.view(), rows);
      std::vector<uint32_t> expected;
      for (int y = rows.begin; y < rows.end; ++y) {
        for (int x = 0; x < width; ++x) {
          if (mask.view().Test(y, x)) expected.push_back(PackPixel(y, x));
        }
      }
      const PixelsView view = list.view();
      const std::vector<int> count = cuda::ToHost(device, stream, view.count, 1);
      ASSERT_EQ(count[0], static_cast<int>(expected.size()));
      EXPECT_EQ(view.capacity, rows.size() * width);
      EXPECT_EQ(cuda::ToHost(device, stream, view.pixels, expected.size()), expected);
    }
  });
}

TYPED_TEST(DeviceMasksTest, UnchangedPixelsAreClearedAsOnTheHost) {
  this->ForSomeSeeds([&](MaskSampler& random, auto& stream) {
    auto& device = this->device();
    const int height = random.Between(1, 20);
    const int width = random.Width();
    Mask mask = random.Draw(height, width);
    const auto device_mask = this->ToDevice(stream, mask);
    PixelList<TypeParam> list(device, height, width);
    const int begin = random.Between(0, height);
    const Range rows = {begin, random.Between(begin, height)};
    list.Assign(stream, device_mask.view(), rows);
    RunList runs(RunList::MaxRuns(height, width));
    runs.Assign(mask, rows);
    std::vector<uint8_t> changed(static_cast<size_t>(runs.pixel_count()));
    for (uint8_t& one : changed) one = static_cast<uint8_t>(random.Between(0, 1));
    const auto device_changed = cuda::ToDevice(device, stream, changed);
    ClearUnchanged(runs.pixels(), changed.data(), mask);
    ClearUnchanged(device, stream, list.view(), device_changed.data(), device_mask.view());
    EXPECT_TRUE(SameMask(mask, this->ToHost(stream, device_mask.view())));
  });
}

}  // namespace
}  // namespace cuda
}  // namespace cacheinf
