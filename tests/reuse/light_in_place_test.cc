#include "common/reuse/light_in_place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/tracker/pictures.h"

// Compares a frame's light with a picture taken from the same place.

namespace cacheinf {
namespace {

constexpr int kWidth = 320;
constexpr int kHeight = 240;
constexpr Rectangle kWhole = {{0, kHeight}, {0, kWidth}};

std::optional<Light> FindIn(const Rectangle& place, const TestPicture& frame,
                            const TestPicture& reference) {
  Inset inset(place, frame.width, frame.height);
  return LightInPlace().Find(frame.view(), reference.view(), inset);
}

TestPicture Seen() { return Photograph(World(3), {}, kWidth, kHeight); }

void ExpectNoChange(const std::optional<Light>& light) {
  ASSERT_TRUE(light);
  EXPECT_EQ(light->gain, 1);
  EXPECT_EQ(light->offset, 0);
}

struct Change {
  double gain;
  double offset;
};

TEST(LightInPlaceTest, FindsGainAndOffsetWhateverTheNoiseAndWhatMoves) {
  for (const Change& change : {Change{0.8, 0}, {0.78, 10}, {1.1, -8}, {1, 12}, {0.95, 0}}) {
    for (const double noise : {0.0, 4.0}) {
      SCOPED_TRACE(testing::Message() << change.gain << ", " << change.offset << ", " << noise);
      TestPicture frame = Seen();
      Paste(World(5), {40, 120}, {60, 160}, &frame);  // a tenth of the picture
      ChangeLight(change.gain, change.offset, &frame);
      AddNoise(noise, 1, &frame);
      const std::optional<Light> light = FindIn(kWhole, frame, Seen());
      ASSERT_TRUE(light);
      // Dark and bright pixels come out right to within a level.
      for (const double level : {40.0, 200.0}) {
        EXPECT_NEAR(light->gain * level + light->offset, change.gain * level + change.offset, 1.0);
      }
    }
  }
}

TEST(LightInPlaceTest, NoiseIsNoLight) {
  TestPicture frame = Seen();
  TestPicture reference = Seen();
  AddNoise(8, 1, &frame);
  AddNoise(8, 2, &reference);
  ExpectNoChange(FindIn(kWhole, frame, reference));
}

TEST(LightInPlaceTest, WhatMovesIsNoLight) {
  for (const int columns : {60, 160, 300}) {
    SCOPED_TRACE(columns);
    TestPicture frame = Seen();
    Paste(World(5), {0, 220}, {10, 10 + columns}, &frame);
    ExpectNoChange(FindIn(kWhole, frame, Seen()));
  }
}

TEST(LightInPlaceTest, AMovingCameraIsNoLight) {
  for (const double shift : {2.0, 7.0, 20.0, 100.0}) {
    SCOPED_TRACE(shift);
    const TestPicture frame = Photograph(World(3), Shift(shift, 0.5 * shift), kWidth, kHeight);
    ExpectNoChange(FindIn(kWhole, frame, Seen()));
  }
}

TEST(LightInPlaceTest, AShadowOverAPartIsNoLight) {
  const TestPicture reference = Seen();
  TestPicture shaded = reference;
  ChangeLight(0.6, 0, &shaded);
  TestPicture frame = reference;
  for (int y = 0; y < kHeight; ++y) {
    std::copy_n(shaded.Pixel(y, 0), 3 * kWidth / 2, frame.Pixel(y, 0));
  }
  ExpectNoChange(FindIn(kWhole, frame, reference));
}

TEST(LightInPlaceTest, LightBeyondItsBoundsIsNotFound) {
  for (const Change& change : {Change{0.3, 0}, {0.7, 0}, {1.5, 0}, {1, 60}}) {
    SCOPED_TRACE(change.gain);
    TestPicture reference = Seen();
    ChangeLight(0.5, 0, &reference);  // leaves room for brighter frames
    TestPicture frame = reference;
    ChangeLight(change.gain, change.offset, &frame);
    EXPECT_FALSE(FindIn(kWhole, frame, reference));
  }
}

// Two thirds of the picture are bars, which never change.
TEST(LightInPlaceTest, BarsSayNothingOfTheLight) {
  static constexpr Rectangle kPlace = {{0, kHeight}, {110, 210}};
  const auto between_bars = [](TestPicture picture) {
    Fill({0, kHeight}, {0, kPlace.columns.begin}, 114, &picture);
    Fill({0, kHeight}, {kPlace.columns.end, kWidth}, 114, &picture);
    return picture;
  };
  TestPicture dark = Seen();
  ChangeLight(0.8, 0, &dark);
  const TestPicture frame = between_bars(dark);
  const TestPicture reference = between_bars(Seen());
  const std::optional<Light> light = FindIn(kPlace, frame, reference);
  ASSERT_TRUE(light);
  EXPECT_NEAR(light->gain, 0.8, 0.01);
  ExpectNoChange(FindIn(kWhole, frame, reference));

  std::vector<uint8_t> relit(frame.pixels.size());
  ShowInLightOf(reference.view(), *light, frame.view(), kPlace, relit.data());
  EXPECT_EQ(relit, reference.pixels);
}

TEST(ShowInLightOfTest, UndoesWhatOnlyTheLightChanged) {
  for (const Change& change : {Change{0.8, 0}, {0.5, 10}, {1.7, -20}}) {
    SCOPED_TRACE(change.gain);
    const TestPicture reference = Seen();
    TestPicture frame = reference;
    Paste(World(5), {100, 140}, {100, 140}, &frame);
    TestPicture expected = frame;
    ChangeLight(change.gain, change.offset, &frame);
    std::vector<uint8_t> relit(frame.pixels.size());
    ShowInLightOf(reference.view(), {change.gain, change.offset}, frame.view(), kWhole,
                  relit.data());
    const double rounding = 0.5 / change.gain + 0.5;
    for (int y = 0; y < kHeight; ++y) {
      for (int i = 0; i < 3 * kWidth; ++i) {
        const auto at = static_cast<size_t>(y * 3 * kWidth + i);
        const bool is_new = y >= 100 && y < 140 && i >= 300 && i < 420;
        if (!is_new) {
          ASSERT_EQ(relit[at], reference.pixels[at]) << y << ", " << i;
        } else if (frame.pixels[at] < 255) {
          // New pixels are off by what a level of the frame stands for, or alike by chance.
          ASSERT_NEAR(relit[at], expected.pixels[at], rounding + 1 / change.gain) << y << ", " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace cacheinf
