#include "common/codec/yuv420.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace cacheinf {
namespace {

// The planes of a picture, in separate memory.
struct Planes {
  std::vector<uint8_t> luma;
  std::vector<uint8_t> u;
  std::vector<uint8_t> v;
  int row_bytes = 0;

  explicit Planes(const PictureFormat& format) : row_bytes((format.width + 1) / 2) {
    const auto size = static_cast<size_t>(row_bytes) * ((format.height + 1) / 2);
    luma.resize(4 * size);
    u.resize(size);
    v.resize(size);
  }

  Yuv420<uint8_t> view() {
    return {{luma.data(), u.data(), v.data()}, {2 * row_bytes, row_bytes, row_bytes}};
  }
  Yuv420<const uint8_t> const_view() const {
    return {{luma.data(), u.data(), v.data()}, {2 * row_bytes, row_bytes, row_bytes}};
  }
};

std::vector<uint8_t> ThereAndBack(const std::vector<uint8_t>& pixels, const PictureFormat& format) {
  Planes planes(format);
  ToYuv420(pixels.data(), format, planes.view());
  std::vector<uint8_t> back(pixels.size());
  FromYuv420(planes.const_view(), format, back.data());
  return back;
}

TEST(Yuv420Test, KnownColoursHaveTheirKnownNumbers) {
  // Red, green, blue; as BT.601 says.
  const std::vector<std::pair<std::vector<uint8_t>, std::vector<int>>> colours = {
      {{0, 0, 0}, {16, 128, 128}},   {{255, 255, 255}, {235, 128, 128}},
      {{255, 0, 0}, {81, 90, 240}},  {{0, 255, 0}, {145, 54, 34}},
      {{0, 0, 255}, {41, 240, 110}}, {{128, 128, 128}, {126, 128, 128}}};
  for (const auto& [pixel, yuv] : colours) {
    const PictureFormat format = {1, 1, 3};
    Planes planes(format);
    ToYuv420(pixel.data(), format, planes.view());
    EXPECT_EQ(planes.luma, std::vector<uint8_t>(4, static_cast<uint8_t>(yuv[0])));
    EXPECT_EQ(planes.u[0], yuv[1]);
    EXPECT_EQ(planes.v[0], yuv[2]);
  }
}

TEST(Yuv420Test, AreasOfOneColourComeBackWithinTwoLevels) {
  for (const bool is_blue_first : {false, true}) {
    const PictureFormat format = {3, 3, 3, is_blue_first};
    for (int colour = 0; colour < 1 << 12; ++colour) {
      std::vector<uint8_t> pixels(format.byte_count());
      for (size_t i = 0; i < pixels.size(); ++i) {
        pixels[i] = static_cast<uint8_t>((colour >> (4 * (i % 3)) & 15) * 17);
      }
      const std::vector<uint8_t> back = ThereAndBack(pixels, format);
      for (size_t i = 0; i < pixels.size(); ++i) ASSERT_LE(std::abs(back[i] - pixels[i]), 2);
    }
  }
}

TEST(Yuv420Test, GreyComesBackWithinOneLevel) {
  const PictureFormat format = {16, 16, 1};
  std::vector<uint8_t> pixels(format.byte_count());
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i);
  const std::vector<uint8_t> back = ThereAndBack(pixels, format);
  for (size_t i = 0; i < pixels.size(); ++i) ASSERT_LE(std::abs(back[i] - pixels[i]), 1);
}

// Four pixels share their mean colour, but each has its own lightness. Beyond the edge the last
// pixel repeats.
TEST(Yuv420Test, FourPixelsShareTheirColour) {
  const PictureFormat format = {3, 3, 3};
  std::vector<uint8_t> pixels(format.byte_count(), 0);
  pixels[3] = pixels[4] = pixels[5] = 255;  // the second pixel is white
  pixels[8 * 3] = 255;                      // the last one red
  Planes planes(format);
  ToYuv420(pixels.data(), format, planes.view());
  EXPECT_EQ(planes.luma, (std::vector<uint8_t>{16, 235, 16, 16, 16, 16, 16, 16,  //
                                               16, 16, 81, 81, 16, 16, 81, 81}));
  EXPECT_EQ(planes.u, (std::vector<uint8_t>{128, 128, 128, 90}));
  EXPECT_EQ(planes.v, (std::vector<uint8_t>{128, 128, 128, 240}));
}

}  // namespace
}  // namespace cacheinf
