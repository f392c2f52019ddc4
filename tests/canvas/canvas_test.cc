// Read this first: frames are drawn on a canvas where the camera saw them.

#include "common/canvas/canvas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/tracker/pictures.h"

namespace cacheinf {
namespace {

constexpr int kWidth = 96;
constexpr int kHeight = 64;
constexpr int kStep = 16;
using Pixels = std::vector<uint8_t>;

uint8_t WorldAt(int y, int x) {
  uint32_t hash = static_cast<uint32_t>(y + 1000) * 2654435761u + static_cast<uint32_t>(x + 1000);
  hash = (hash ^ (hash >> 15)) * 2246822519u;
  return static_cast<uint8_t>(hash >> 24);
}

// What a camera sees of the world from pixel (top, left) on.
Pixels SeenFrom(int top, int left) {
  Pixels pixels;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) pixels.push_back(WorldAt(top + y, left + x));
  }
  return pixels;
}

PictureView View(const Pixels& pixels) { return {pixels.data(), kWidth, kHeight, 1}; }

class CanvasTest : public testing::Test {
 protected:
  CanvasTest() { canvas_.Anchor(View(SeenFrom(0, 0))); }

  int At(int y, int x) const { return canvas_.picture().Row(y)[x]; }

  Canvas canvas_ = Canvas(kWidth, kHeight, 1, kStep);
};

TEST_F(CanvasTest, AFrameFromTheAnchorsPlaceIsDrawnByteForByte) {
  const auto shift = canvas_.Draw(View(SeenFrom(5, 5)), Homography());
  ASSERT_TRUE(shift);
  EXPECT_TRUE(shift->is_zero());
  EXPECT_TRUE(canvas_.frame_from_canvas().IsIdentity());
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) ASSERT_EQ(At(y, x), WorldAt(5 + y, 5 + x));
  }
}

TEST_F(CanvasTest, ASmallShiftIsDrawnInPlaceAndTheRestStays) {
  const auto shift = canvas_.Draw(View(SeenFrom(4, 7)), Shift(7, 4));
  ASSERT_TRUE(shift);
  EXPECT_TRUE(shift->is_zero());
  // On the canvas the world stands still, whether seen now or before.
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) ASSERT_EQ(At(y, x), WorldAt(y, x)) << y << ", " << x;
  }
  EXPECT_EQ(canvas_.frame_from_canvas().m[0][2], -7);
  EXPECT_EQ(canvas_.frame_from_canvas().m[1][2], -4);
}

TEST_F(CanvasTest, ALargerShiftMovesTheCanvasByWholeSteps) {
  const auto shift = canvas_.Draw(View(SeenFrom(-15, 19)), Shift(19, -15));
  ASSERT_TRUE(shift);
  EXPECT_EQ(shift->rows, -kStep);
  EXPECT_EQ(shift->columns, kStep);
  // Pixels that neither frame shows repeat an edge: a row below the anchor and columns beyond the
  // frame.
  for (int y = 1; y < kHeight; ++y) {
    for (int x = 3; x < kWidth; ++x) {
      ASSERT_EQ(At(y, x), WorldAt(y - kStep, x + kStep)) << y << ", " << x;
    }
  }
}

TEST_F(CanvasTest, FollowsALongPan) {
  for (int i = 1; i <= 40; ++i) {
    const auto shift = canvas_.Draw(View(SeenFrom(0, 5 * i)), Shift(5 * i, 0));
    ASSERT_TRUE(shift) << i;
    EXPECT_EQ(shift->rows, 0);
    const double off = -canvas_.frame_from_canvas().m[0][2];
    EXPECT_LE(std::abs(off), kStep);
    const int left = 5 * i - static_cast<int>(off);
    EXPECT_EQ(left % kStep, 0);
    for (int x = kStep; x < kWidth - kStep; ++x) ASSERT_EQ(At(10, x), WorldAt(10, left + x));
  }
}

TEST_F(CanvasTest, WhatIsTurnedOrScaledTooMuchIsNotDrawn) {
  Homography turned;
  turned.m[0][0] = turned.m[1][1] = std::cos(0.3);
  turned.m[1][0] = std::sin(0.3);
  turned.m[0][1] = -std::sin(0.3);
  Homography scaled;
  scaled.m[0][0] = scaled.m[1][1] = 1.3;
  Homography nowhere;
  nowhere.m[2][2] = -1;
  for (const Homography& h : {turned, scaled, nowhere, Shift(NAN, 0), Shift(1e9, 0)}) {
    EXPECT_FALSE(canvas_.Draw(View(SeenFrom(30, 30)), h));
    EXPECT_EQ(At(20, 20), WorldAt(20, 20));
    EXPECT_TRUE(canvas_.frame_from_canvas().IsIdentity());
  }
}

// Zooms in by half a per cent a frame: the canvas says so before a frame cannot be drawn.
TEST_F(CanvasTest, SaysThatItIsNearItsEndBeforeItsEnd) {
  const auto draw = [this](int frame) {
    Homography scaled;
    scaled.m[0][0] = scaled.m[1][1] = 1.0 + 0.005 * frame;
    // About the middle.
    scaled.m[0][2] = -0.5 * (kWidth - 1) * 0.005 * frame;
    scaled.m[1][2] = -0.5 * (kHeight - 1) * 0.005 * frame;
    return canvas_.Draw(View(SeenFrom(0, 0)), scaled).has_value();
  };
  int frame = 0;
  while (!canvas_.IsNearItsEnd()) {
    ASSERT_TRUE(draw(frame)) << frame;
    ++frame;
  }
  const int warned = frame;
  while (draw(frame)) {
    EXPECT_TRUE(canvas_.IsNearItsEnd());
    ++frame;
  }
  EXPECT_GE(warned, 5);
  EXPECT_LE(frame - warned, 2) << "it could have lasted longer";
  canvas_.Anchor(View(SeenFrom(0, 0)));
  EXPECT_FALSE(canvas_.IsNearItsEnd());
}

// If frames turn so much that the second after an anchor ends the canvas, anchors made ahead would
// double the work.
TEST_F(CanvasTest, NoSuccessorIsDueWhereACanvasLastsForAFewFramesOnly) {
  for (int i = 1; i <= 3; ++i) {
    Homography scaled;
    scaled.m[0][0] = scaled.m[1][1] = 1.0 + 0.03 * i;
    const bool is_drawn = canvas_.Draw(View(SeenFrom(0, 0)), scaled).has_value();
    EXPECT_FALSE(canvas_.IsNearItsEnd()) << i;
    if (!is_drawn) return;
  }
  FAIL() << "it never ended";
}

// However far it pans, and however far the view is off its middle before it moves along.
TEST_F(CanvasTest, APanIsNoEndOfACanvasThatCanMove) {
  for (const auto& [x, y] :
       {std::pair(1, 0), std::pair(-1, 0), std::pair(0, 1), std::pair(3, -2)}) {
    canvas_.Anchor(View(SeenFrom(0, 0)));
    double farthest_off = 0.0;
    for (int i = 1; i <= 100; ++i) {
      ASSERT_TRUE(canvas_.Draw(View(SeenFrom(y * i, x * i)), Shift(x * i, y * i)));
      EXPECT_FALSE(canvas_.IsNearItsEnd()) << "frame " << i << " of " << x << ", " << y;
      for (const auto& row : canvas_.frame_from_canvas().m) {
        farthest_off = std::max(farthest_off, std::abs(row[2]));
      }
    }
    EXPECT_GT(farthest_off, 0.7 * kStep);
  }
}

TEST_F(CanvasTest, APanIsTheEndOfACanvasThatCannot) {
  Canvas fixed(kWidth, kHeight, 1, 0);
  fixed.Anchor(View(SeenFrom(0, 0)));
  const auto draw = [&fixed](int frame) {
    return fixed.Draw(View(SeenFrom(0, frame)), Shift(0.25 * frame, 0)).has_value();
  };
  int frame = 0;
  while (!fixed.IsNearItsEnd()) ASSERT_TRUE(draw(frame++)) << "it ended without a warning";
  EXPECT_GT(frame, 3);
  EXPECT_TRUE(draw(frame++));
  EXPECT_TRUE(fixed.IsNearItsEnd());
}

// Frames between two bars, seen in the middle of the picture: the world moves there, the bars stay.
TEST_F(CanvasTest, BarsStayWhereTheyAreWhileTheWorldBetweenThemMoves) {
  constexpr Rectangle kPlace = {{0, kHeight}, {24, 72}};
  constexpr uint8_t kBar = 114;
  const auto between_bars = [&](int left) {
    Pixels pixels = SeenFrom(0, left);
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const bool is_bar = x < kPlace.columns.begin || x >= kPlace.columns.end;
        if (is_bar) pixels[static_cast<size_t>(y * kWidth + x)] = kBar;
      }
    }
    return pixels;
  };
  canvas_.SetInset(Inset(kPlace, kWidth, kHeight));
  const Pixels anchor = between_bars(0);
  canvas_.Anchor(View(anchor));
  for (int left = 3; left <= 60; left += 3) {
    SCOPED_TRACE(left);
    const Pixels frame = between_bars(left);
    ASSERT_TRUE(canvas_.Draw(View(frame), Shift(left, 0)));
    const double off = -canvas_.frame_from_canvas().m[0][2];
    EXPECT_LE(std::abs(off), kStep);
    for (int x = 0; x < kWidth; ++x) {
      const bool is_bar = x < kPlace.columns.begin || x >= kPlace.columns.end;
      const bool may_be_an_edge =
          x < kPlace.columns.begin + kStep || x >= kPlace.columns.end - kStep;
      if (is_bar) {
        ASSERT_EQ(At(10, x), kBar) << x;
      } else if (!may_be_an_edge) {
        ASSERT_EQ(At(10, x), WorldAt(10, x + left - static_cast<int>(off))) << x;
      }
    }
  }
}

TEST_F(CanvasTest, WithoutAStepItStaysWhereItIs) {
  Canvas fixed(kWidth, kHeight, 1, 0);
  fixed.Anchor(View(SeenFrom(0, 0)));
  const auto shift = fixed.Draw(View(SeenFrom(0, 2)), Shift(2, 0));
  ASSERT_TRUE(shift);
  EXPECT_TRUE(shift->is_zero());
  EXPECT_FALSE(fixed.Draw(View(SeenFrom(0, 40)), Shift(40, 0)));
}

}  // namespace
}  // namespace cacheinf
