#include "sparse_ops/mask/propagation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "tests/sparse_ops/mask/samples.h"

namespace cacheinf {
namespace {

using Kind = AxisWindow::Kind;

constexpr Kind kAllKinds[] = {Kind::kSliding, Kind::kTransposed, Kind::kResize, Kind::kReflect,
                              Kind::kEdge,    Kind::kBroadcast,  Kind::kWhole};

std::string Describe(const AxisWindow& axis) {
  std::ostringstream text;
  text << "{kind " << static_cast<int>(axis.kind) << ", " << axis.in_size << " to " << axis.out_size
       << ", kernel " << axis.window.kernel << ", stride " << axis.window.stride << ", dilation "
       << axis.window.dilation << ", pad " << axis.window.pad_begin << ", tile " << axis.tile
       << ", resize " << static_cast<int>(axis.resize.kind)
       << static_cast<int>(axis.resize.coordinates) << static_cast<int>(axis.resize.rounding)
       << "} ";
  return text.str();
}

// For every output index, the input indices that it reads.
std::vector<std::vector<int>> ReadsOf(const AxisWindow& axis) {
  std::vector<std::vector<int>> reads(static_cast<size_t>(axis.out_size));
  for (int out = 0; out < axis.out_size; ++out) {
    for (int in = 0; in < axis.in_size; ++in) {
      if (axis.Reads(out, in)) reads[out].push_back(in);
    }
  }
  return reads;
}

class MaskPropagationTest : public testing::Test {
 protected:
  int Size(bool is_rows) { return is_rows ? random_.Between(1, 16) : random_.Width(); }

  // Any window, even with sizes that no operator has.
  AxisWindow AnyWindow(Kind kind, bool is_rows) {
    AxisWindow axis;
    axis.kind = kind;
    axis.in_size = Size(is_rows);
    axis.out_size = Size(is_rows);
    axis.window.kernel = random_.Between(1, 7);
    axis.window.stride = random_.Between(1, 4);
    axis.window.dilation = random_.Between(1, 4);
    axis.window.pad_begin = random_.Between(-4, 12);
    axis.resize = AnyResize();
    if (random_.Between(0, 1) == 1) {
      const float scale = static_cast<float>(axis.out_size) / static_cast<float>(axis.in_size);
      axis.resize.scale_rows = axis.resize.scale_columns = scale;
    }
    axis.is_rows = is_rows;
    if (random_.Between(0, 3) == 0) axis.tile = random_.Between(2, 5);
    return axis;
  }

  ResizeSpec AnyResize() {
    ResizeSpec resize;
    resize.kind = static_cast<ResizeSpec::Kind>(random_.Between(0, 2));
    resize.coordinates = static_cast<ResizeSpec::Coordinates>(random_.Between(0, 4));
    resize.rounding = static_cast<ResizeSpec::Rounding>(random_.Between(0, 3));
    return resize;
  }

  // A window and sizes that a network would have.
  AxisWindow UsualWindow(Kind kind, bool is_rows) {
    AxisWindow axis = AnyWindow(kind, is_rows);
    const int reach = (axis.window.kernel - 1) * axis.window.dilation;
    axis.window.pad_begin = reach / 2;
    const int times = random_.Between(1, 4);
    if (kind == Kind::kSliding) {
      axis.out_size = std::max(1, (axis.in_size - 1) / axis.window.stride + 1);
    } else if (kind == Kind::kTransposed) {
      axis.out_size = axis.in_size * axis.window.stride;
    } else if (kind == Kind::kResize && random_.Between(0, 2) == 0) {
      axis.out_size = axis.in_size;
      axis.in_size *= times;
      axis.resize.scale_rows = axis.resize.scale_columns = 0.0f;
    } else if (kind == Kind::kResize) {
      axis.out_size = axis.in_size * times;
      axis.resize.scale_rows = axis.resize.scale_columns = 0.0f;
    }
    return axis;
  }

  void ExpectExact(const AxisWindow& rows, const AxisWindow& columns) {
    const auto row_reads = ReadsOf(rows);
    const auto column_reads = ReadsOf(columns);
    MaskPropagation propagation(rows, columns);
    for (int frame = 0; frame < 2; ++frame) {
      const Mask in = random_.Draw(rows.in_size, columns.in_size);
      const Mask out = random_.Draw(rows.out_size, columns.out_size);
      Mask changed(rows.out_size, columns.out_size);
      Mask needed(rows.in_size, columns.in_size);
      for (int y = 0; y < rows.out_size; ++y) {
        for (int x = 0; x < columns.out_size; ++x) {
          for (const int i : row_reads[y]) {
            for (const int j : column_reads[x]) {
              if (in.view().Test(i, j)) changed.view().Set(y, x);
              if (out.view().Test(y, x)) needed.view().Set(i, j);
            }
          }
        }
      }
      Mask actual(rows.out_size, columns.out_size);
      SetAll(actual);
      propagation.GrowThrough(in, actual);
      ASSERT_TRUE(SameMask(changed, actual)) << "forward, rows " << Describe(rows) << "columns "
                                             << Describe(columns) << "seed " << random_.seed();
      actual = Mask(rows.in_size, columns.in_size);
      SetAll(actual);
      propagation.NeededThrough(out, actual);
      ASSERT_TRUE(SameMask(needed, actual)) << "backward, rows " << Describe(rows) << "columns "
                                            << Describe(columns) << "seed " << random_.seed();
    }
  }

  MaskSampler random_{20263};
};

TEST_F(MaskPropagationTest, IsExactForWindowsAsNetworksHaveThem) {
  for (int round = 0; round < 60; ++round) {
    for (const Kind kind : kAllKinds) {
      const AxisWindow rows = UsualWindow(kind, true);
      ExpectExact(rows, UsualWindow(kind, false));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(MaskPropagationTest, IsExactForAnyWindowsOfAnyTwoKinds) {
  for (int round = 0; round < 10; ++round) {
    for (const Kind row_kind : kAllKinds) {
      for (const Kind column_kind : kAllKinds) {
        const AxisWindow rows = AnyWindow(row_kind, true);
        ExpectExact(rows, AnyWindow(column_kind, false));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(MaskPropagationTest, IsExactForWindowsWiderThanThePicture) {
  for (const Kind kind : {Kind::kSliding, Kind::kTransposed}) {
    for (const int kernel : {50, 200, 1000}) {
      for (const int pad : {-100, 0, 25, 500}) {
        AxisWindow columns = AnyWindow(kind, false);
        columns.window.kernel = kernel;
        columns.window.pad_begin = pad;
        ExpectExact(AnyWindow(kind, true), columns);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(MaskPropagationTest, ADilatedWindowLeavesItsHolesOut) {
  const AxisWindow columns = AxisWindow::Sliding(9, 9, WindowAxis{3, 1, 3, 3, 3});
  MaskPropagation propagation(AxisWindow::Identity(1), columns);
  Mask in(1, 9);
  in.view().Set(0, 4);
  Mask out(1, 9);
  propagation.GrowThrough(in, out);
  EXPECT_TRUE(
      SameMask(MaskWhere(1, 9, [](int, int x) { return x == 1 || x == 4 || x == 7; }), out));
}

TEST_F(MaskPropagationTest, AWindowOfOneLeavesTheMaskAsItIs) {
  const Mask in = random_.Draw(20, 130);
  MaskPropagation propagation(AxisWindow::Identity(20), AxisWindow::Identity(130));
  Mask out(20, 130);
  propagation.GrowThrough(in, out);
  EXPECT_TRUE(SameMask(in, out));
  SetAll(out);
  propagation.NeededThrough(in, out);
  EXPECT_TRUE(SameMask(in, out));
}

TEST_F(MaskPropagationTest, SplitRowsNeedTogetherWhatAllRowsNeed) {
  for (int round = 0; round < 50; ++round) {
    const AxisWindow rows = UsualWindow(Kind::kSliding, true);
    const AxisWindow columns = UsualWindow(Kind::kSliding, false);
    MaskPropagation propagation(rows, columns);
    const Mask out = random_.Draw(rows.out_size, columns.out_size);
    Mask whole(rows.in_size, columns.in_size);
    propagation.NeededThrough(out, whole);
    const int cut = random_.Between(0, rows.out_size);
    Mask united(rows.in_size, columns.in_size);
    for (const Range part : {Range{0, cut}, Range{cut, rows.out_size}}) {
      Mask some = out;
      KeepRectangle(part, {0, columns.out_size}, some);
      Mask needed(rows.in_size, columns.in_size);
      propagation.NeededThrough(some, needed);
      Unite(united, needed, united);
    }
    ASSERT_TRUE(SameMask(whole, united)) << "seed " << random_.seed();
  }
}

}  // namespace
}  // namespace cacheinf
