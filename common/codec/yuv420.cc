#include "common/codec/yuv420.h"

#include <algorithm>
#include <cstddef>

namespace cacheinf {
namespace {

// 65536ths. Of R = G = B luma's sum is 219 / 255, that of differences 0.
constexpr int kBits = 16;
constexpr int kHalf = 1 << (kBits - 1);
constexpr int kYRed = 16829;
constexpr int kYGreen = 33039;
constexpr int kYBlue = 6416;
constexpr int kURed = -9714;
constexpr int kUGreen = -19071;
constexpr int kUBlue = 28785;
constexpr int kVRed = 28785;
constexpr int kVGreen = -24103;
constexpr int kVBlue = -4682;

constexpr int kLuma = 76309;  // 255 / 219
constexpr int kRedOfV = 104597;
constexpr int kGreenOfU = -25675;
constexpr int kGreenOfV = -53279;
constexpr int kBlueOfU = 132201;

constexpr int kBlack = 16;
constexpr int kNoColour = 128;

struct Colour {
  int red = 0;
  int green = 0;
  int blue = 0;
};

uint8_t Luma(const Colour& of) {
  return static_cast<uint8_t>(
      (kYRed * of.red + kYGreen * of.green + kYBlue * of.blue + kHalf + (kBlack << kBits)) >>
      kBits);
}

// Of four pixels' sum.
uint8_t Difference(const Colour& sum, int red, int green, int blue) {
  return static_cast<uint8_t>((red * sum.red + green * sum.green + blue * sum.blue + 4 * kHalf +
                               ((4 * kNoColour) << kBits)) >>
                              (kBits + 2));
}

uint8_t Byte(int scaled) { return static_cast<uint8_t>(std::clamp(scaled >> kBits, 0, 255)); }

template <int kChannels, int kRed>
Colour At(const uint8_t* pixel) {
  if constexpr (kChannels == 1) return {*pixel, *pixel, *pixel};
  return {pixel[kRed], pixel[1], pixel[2 - kRed]};
}

template <int kChannels, int kRed>
void To(const uint8_t* pixels, const PictureFormat& format, const Yuv420<uint8_t>& yuv) {
  const int64_t row_bytes = int64_t{format.width} * kChannels;
  for (int y = 0; y < format.height; y += 2) {
    const int below = y + 1 < format.height ? 1 : 0;
    const uint8_t* const upper = pixels + y * row_bytes;
    const uint8_t* const lower = upper + below * row_bytes;
    uint8_t* const luma = yuv.planes[0] + int64_t{y} * yuv.row_bytes[0];
    uint8_t* const u = yuv.planes[1] + int64_t{y / 2} * yuv.row_bytes[1];
    uint8_t* const v = yuv.planes[2] + int64_t{y / 2} * yuv.row_bytes[2];
    const auto put = [&](int x, int right) {
      Colour sum;
      for (int i = 0; i < 4; ++i) {
        const uint8_t* const row = i < 2 ? upper : lower;
        const Colour colour =
            At<kChannels, kRed>(row + int64_t{i % 2 == 0 ? x : right} * kChannels);
        luma[i / 2 * yuv.row_bytes[0] + x + i % 2] = Luma(colour);
        sum.red += colour.red;
        sum.green += colour.green;
        sum.blue += colour.blue;
      }
      u[x / 2] = kChannels == 1 ? kNoColour : Difference(sum, kURed, kUGreen, kUBlue);
      v[x / 2] = kChannels == 1 ? kNoColour : Difference(sum, kVRed, kVGreen, kVBlue);
    };
    for (int x = 0; x + 1 < format.width; x += 2) put(x, x + 1);
    if (format.width % 2 != 0) put(format.width - 1, format.width - 1);
  }
}

template <int kChannels, int kRed>
void From(const Yuv420<const uint8_t>& yuv, const PictureFormat& format, uint8_t* pixels) {
  for (int y = 0; y < format.height; ++y) {
    const uint8_t* const luma = yuv.planes[0] + int64_t{y} * yuv.row_bytes[0];
    const uint8_t* const u = yuv.planes[1] + int64_t{y / 2} * yuv.row_bytes[1];
    const uint8_t* const v = yuv.planes[2] + int64_t{y / 2} * yuv.row_bytes[2];
    uint8_t* pixel = pixels + int64_t{y} * format.width * kChannels;
    for (int x = 0; x < format.width; ++x, pixel += kChannels) {
      const int light = kLuma * (luma[x] - kBlack) + kHalf;
      if constexpr (kChannels == 1) {
        *pixel = Byte(light);
      } else {
        const int du = u[x / 2] - kNoColour;
        const int dv = v[x / 2] - kNoColour;
        pixel[kRed] = Byte(light + kRedOfV * dv);
        pixel[1] = Byte(light + kGreenOfU * du + kGreenOfV * dv);
        pixel[2 - kRed] = Byte(light + kBlueOfU * du);
      }
    }
  }
}

}  // namespace

void ToYuv420(const uint8_t* pixels, const PictureFormat& format, const Yuv420<uint8_t>& yuv) {
  if (format.channels == 1) return To<1, 0>(pixels, format, yuv);
  return format.is_blue_first ? To<3, 2>(pixels, format, yuv) : To<3, 0>(pixels, format, yuv);
}

void FromYuv420(const Yuv420<const uint8_t>& yuv, const PictureFormat& format, uint8_t* pixels) {
  if (format.channels == 1) return From<1, 0>(yuv, format, pixels);
  return format.is_blue_first ? From<3, 2>(yuv, format, pixels) : From<3, 0>(yuv, format, pixels);
}

}  // namespace cacheinf
