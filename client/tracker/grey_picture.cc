#include "client/tracker/grey_picture.h"

namespace cacheinf {
namespace {

void AddRow(const uint8_t* row, size_t count, uint16_t* sums) {
  for (size_t i = 0; i < count; ++i) sums[i] = static_cast<uint16_t>(sums[i] + row[i]);
}

// kFactor 0: any. Sums of columns become pixels.
template <int kChannels, int kFactor>
void ShrinkRow(const uint16_t* sums, int any_factor, int width, uint8_t* to) {
  const int factor = kFactor == 0 ? any_factor : kFactor;
  const uint32_t weights = static_cast<uint32_t>(factor * factor * (kChannels == 1 ? 1 : 4));
  for (int x = 0; x < width; ++x) {
    uint32_t sum = weights / 2;
    for (int i = 0; i < factor; ++i, sums += kChannels) {
      if constexpr (kChannels == 1) {
        sum += sums[0];
      } else {
        sum += sums[0] + 2u * sums[1] + sums[2];
      }
    }
    to[x] = static_cast<uint8_t>(sum / weights);
  }
}

using ShrinkFunction = void (*)(const uint16_t* sums, int factor, int width, uint8_t* to);

template <int kChannels>
ShrinkFunction ChooseShrink(int factor) {
  if (factor == 1) return ShrinkRow<kChannels, 1>;
  if (factor == 2) return ShrinkRow<kChannels, 2>;
  return ShrinkRow<kChannels, 0>;
}

}  // namespace

void GreyPicture::Assign(const PictureView& picture, int factor) {
  width_ = picture.width / factor;
  height_ = picture.height / factor;
  pixels_.resize(static_cast<size_t>(width_) * static_cast<size_t>(height_));
  sums_.resize(static_cast<size_t>(picture.row_bytes()));
  const ShrinkFunction shrink =
      picture.channels == 1 ? ChooseShrink<1>(factor) : ChooseShrink<3>(factor);
  for (int y = 0; y < height_; ++y) {
    sums_.assign(sums_.size(), 0);
    for (int i = 0; i < factor; ++i) {
      AddRow(picture.Row(y * factor + i), sums_.size(), sums_.data());
    }
    shrink(sums_.data(), factor, width_, pixels_.data() + int64_t{y} * width_);
  }
}

}  // namespace cacheinf
