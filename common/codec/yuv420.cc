#include "common/codec/yuv420.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sparse_ops/cpu/colour_kernels.h"

namespace cacheinf {
namespace {

constexpr int kColours = 3;
constexpr uint8_t kNoColour = 128;

template <typename Byte>
Byte* RowOf(const Yuv420<Byte>& yuv, size_t plane, int row) {
  return yuv.planes[plane] + int64_t{row} * yuv.row_bytes[plane];
}

// Gives a row colours and an even length: grey fills all colours, and the last pixel is repeated.
void Widen(const uint8_t* row, const PictureFormat& format, std::vector<uint8_t>* to) {
  to->clear();
  for (int x = 0; x < format.width + format.width % 2; ++x) {
    const uint8_t* const pixel = row + std::min(x, format.width - 1) * format.channels;
    for (int c = 0; c < kColours; ++c) to->push_back(pixel[format.channels == 1 ? 0 : c]);
  }
}

}  // namespace

void ToYuv420(const uint8_t* pixels, const PictureFormat& format, const Yuv420<uint8_t>& yuv) {
  const int64_t row_bytes = int64_t{format.width} * format.channels;
  const bool is_widened = format.channels == 1 || format.width % 2 != 0;
  std::vector<uint8_t> wide_upper;
  std::vector<uint8_t> wide_lower;
  for (int y = 0; y < format.height; y += 2) {
    const uint8_t* upper = pixels + y * row_bytes;
    const uint8_t* lower = y + 1 < format.height ? upper + row_bytes : upper;
    if (is_widened) {
      Widen(upper, format, &wide_upper);
      Widen(lower, format, &wide_lower);
      upper = wide_upper.data();
      lower = wide_lower.data();
    }
    cpu::ChooseColourKernels().to_yuv(
        upper, lower, format.is_blue_first, format.width + format.width % 2, RowOf(yuv, 0, y),
        RowOf(yuv, 0, y + 1), RowOf(yuv, 1, y / 2), RowOf(yuv, 2, y / 2));
  }
}

void FromYuv420(const Yuv420<const uint8_t>& yuv, const PictureFormat& format, uint8_t* pixels) {
  const cpu::ColourKernels& kernels = cpu::ChooseColourKernels();
  if (format.channels == kColours) {
    for (int y = 0; y < format.height; ++y) {
      kernels.from_yuv(RowOf(yuv, 0, y), RowOf(yuv, 1, y / 2), RowOf(yuv, 2, y / 2),
                       format.is_blue_first, format.width,
                       pixels + int64_t{y} * format.width * kColours);
    }
    return;
  }
  const std::vector<uint8_t> no_colour((static_cast<size_t>(format.width) + 1) / 2, kNoColour);
  std::vector<uint8_t> row(static_cast<size_t>(format.width) * kColours);
  for (int y = 0; y < format.height; ++y) {
    kernels.from_yuv(RowOf(yuv, 0, y), no_colour.data(), no_colour.data(), false, format.width,
                     row.data());
    for (size_t x = 0; x < row.size(); x += kColours) *pixels++ = row[x];
  }
}

}  // namespace cacheinf
