#include "common/model/picture.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "common/base/error.h"

namespace cacheinf {
namespace {

constexpr int kUnit = 1 << cpu::kBlendBits;
constexpr int kHalf = 1 << (2 * cpu::kBlendBits - 1);
constexpr int kLargestSide = 1 << 15;
constexpr int kLargestCell = 16;

// a b / c, rounded to nearest, at least 1.
int Scale(int a, int b, int c) {
  return std::max(1, static_cast<int>((int64_t{a} * b + c / 2) / c));
}

uint8_t Grey(const std::array<int, 3>& bgr) {
  return static_cast<uint8_t>((1868 * bgr[0] + 9617 * bgr[1] + 4899 * bgr[2] + 8192) >> 14);
}

// Writes a pixel in the model's order of channels; returns where the next one goes.
template <int kFrameChannels>
uint8_t* PutPixel(PictureSpec::Channels order, std::array<int, 3> bgr, uint8_t* out) {
  if (kFrameChannels == 1) bgr = {bgr[0], bgr[0], bgr[0]};
  if (order == PictureSpec::Channels::kGray) {
    *out = kFrameChannels == 1 ? static_cast<uint8_t>(bgr[0]) : Grey(bgr);
    return out + 1;
  }
  const bool is_rgb = order == PictureSpec::Channels::kRgb;
  out[0] = static_cast<uint8_t>(is_rgb ? bgr[2] : bgr[0]);
  out[1] = static_cast<uint8_t>(bgr[1]);
  out[2] = static_cast<uint8_t>(is_rgb ? bgr[0] : bgr[2]);
  return out + 3;
}

}  // namespace

Picture MakePicture(int width, int height, int channels, std::vector<uint8_t> pixels) {
  const auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(pixels));
  return {width, height, channels, int64_t{width} * channels,
          std::shared_ptr<const uint8_t>(owner, owner->data())};
}

double AxisFit::ToFrame(double model) const {
  const double frame = frame_begin + (model - model_begin) * frame_length / model_length;
  return std::clamp(frame, 0.0, static_cast<double>(frame_size));
}

// Down to half the size, the two neighbours that are blended are the cell.
int AxisFit::cell() const {
  if (frame_length <= 2 * model_length) return 1;
  return std::min(frame_length / model_length, kLargestCell);
}

int AxisFit::ToModel(int frame) const {
  const int seen = frame - frame_begin;
  if (seen < 0 || seen >= frame_length) return -1;
  return model_begin +
         static_cast<int>((int64_t{2} * seen + 1) * model_length / (int64_t{2} * frame_length));
}

PictureFit::PictureFit(const PictureSpec& spec, int frame_width, int frame_height) : spec_(spec) {
  if (frame_width < 1 || frame_height < 1 || frame_width > kLargestSide ||
      frame_height > kLargestSide) {
    throw InputError(
        fmt::format("a frame of {}×{} pixels cannot be used", frame_width, frame_height));
  }
  columns_ = {frame_width, 0, frame_width, 0, spec.width};
  rows_ = {frame_height, 0, frame_height, 0, spec.height};
  const bool frame_is_wider =
      int64_t{frame_width} * spec.height >= int64_t{frame_height} * spec.width;
  if (spec.fit == PictureSpec::Fit::kLetterbox) {
    AxisFit& short_axis = frame_is_wider ? rows_ : columns_;
    const AxisFit& full_axis = frame_is_wider ? columns_ : rows_;
    const int size = short_axis.model_length;
    short_axis.model_length =
        std::min(size, Scale(short_axis.frame_size, full_axis.model_length, full_axis.frame_size));
    short_axis.model_begin = (size - short_axis.model_length) / 2;
  } else if (spec.fit == PictureSpec::Fit::kCrop) {
    AxisFit& cut_axis = frame_is_wider ? columns_ : rows_;
    const AxisFit& full_axis = frame_is_wider ? rows_ : columns_;
    cut_axis.frame_length =
        std::min(cut_axis.frame_size,
                 Scale(cut_axis.model_length, full_axis.frame_size, full_axis.model_length));
    cut_axis.frame_begin = (cut_axis.frame_size - cut_axis.frame_length) / 2;
  }
  column_taps_ = Taps(columns_);
  row_taps_ = Taps(rows_);
  keeps_columns_ = columns_.model_length * columns_.cell() == columns_.frame_length;
}

std::vector<PictureFit::Tap> PictureFit::Taps(const AxisFit& axis) {
  std::vector<Tap> taps(static_cast<size_t>(axis.model_length));
  // In cells; `length` is the target's, in pixels of the frame per cell.
  const int64_t length = int64_t{axis.model_length} * axis.cell();
  const int64_t last = axis.frame_length / axis.cell() - 1;
  for (int64_t x = 0; x < axis.model_length; ++x) {
    // Twice the position's numerator, in 1/2048, plus the divisor for rounding; shifted by one
    // cell so that the division never sees a negative number.
    const int64_t numerator = (2 * x + 1) * axis.frame_length - length + 2 * length;
    const int64_t position = (numerator * kUnit + length) / (2 * length) - kUnit;
    const int64_t clipped = std::clamp<int64_t>(position, 0, last * kUnit);
    const int64_t first = clipped / kUnit;
    taps[static_cast<size_t>(x)] = {static_cast<int>(first),
                                    static_cast<int>(std::min(first + 1, last)),
                                    static_cast<int>(clipped % kUnit)};
  }
  return taps;
}

// Rows of the frame's visible part, averaged in cells.
class PictureFit::Rows {
 public:
  Rows(const PictureFit& fit, const Picture& frame)
      : frame_(frame),
        rows_(fit.rows_),
        columns_(fit.columns_),
        is_averaged_(rows_.cell() > 1 || columns_.cell() > 1),
        cells_(columns_.frame_length / columns_.cell()) {
    if (!is_averaged_) return;
    const auto channels = static_cast<size_t>(frame.channels);
    // One more, which average_cells may read.
    sums_.resize(static_cast<size_t>(columns_.frame_length) * channels + 1);
    for (Averaged& row : averaged_) row.levels.resize(static_cast<size_t>(cells_) * channels);
  }

  int row_length() const { return cells_ * frame_.channels; }

  // Valid until the next row but one is asked for. Neighbouring rows are averaged once each.
  const uint8_t* Row(int row) {
    if (!is_averaged_) return Pixels(row);
    Averaged& own = averaged_[static_cast<size_t>(row % 2)];
    if (own.row != row) Average(row, own.levels.data());
    own.row = row;
    return own.levels.data();
  }

 private:
  struct Averaged {
    int row = -1;
    std::vector<uint8_t> levels;
  };

  const uint8_t* Pixels(int row) const {
    return frame_.Row(rows_.frame_begin + row) + int64_t{columns_.frame_begin} * frame_.channels;
  }

  void Average(int row, uint8_t* levels) {
    constexpr int kScaleBits = 24;
    const int cell = columns_.cell();
    const int pixels = cell * rows_.cell();
    const auto scale = static_cast<uint32_t>(((1 << kScaleBits) + pixels / 2) / pixels);
    const cpu::BlendKernels& kernels = cpu::ChooseBlendKernels();
    kernels.sum_rows(Pixels(row * rows_.cell()), frame_.row_stride, rows_.cell(),
                     columns_.frame_length * frame_.channels, sums_.data());
    if (frame_.channels == 3) {
      return kernels.average_cells(sums_.data(), cell, scale, cells_, levels);
    }
    for (int i = 0; i < cells_; ++i) {
      const uint32_t sum =
          std::accumulate(&sums_[static_cast<size_t>(i * cell)],
                          &sums_[static_cast<size_t>(i * cell)] + cell, uint32_t{0});
      levels[i] = static_cast<uint8_t>((sum * scale + (1u << (kScaleBits - 1))) >> kScaleBits);
    }
  }

  const Picture& frame_;
  const AxisFit& rows_;
  const AxisFit& columns_;
  const bool is_averaged_;
  const int cells_;  // of a row
  std::vector<uint16_t> sums_;
  std::array<Averaged, 2> averaged_;
};

template <int kFrameChannels>
void PictureFit::CopyRow(const uint8_t* row, uint8_t* out) const {
  for (int x = 0; x < columns_.model_length; ++x, row += kFrameChannels) {
    std::array<int, 3> bgr = {};
    std::copy_n(row, kFrameChannels, bgr.begin());
    out = PutPixel<kFrameChannels>(spec_.channels, bgr, out);
  }
}

template <int kFrameChannels>
void PictureFit::ResizeRow(Rows& rows, const Tap& tap, int32_t* blended, uint8_t* out) const {
  const uint8_t* first_row = rows.Row(tap.first);
  // Weights of 0 and 1 give the frame's own bytes.
  if (keeps_columns_ && tap.weight == 0) return CopyRow<kFrameChannels>(first_row, out);
  const uint8_t* second_row = rows.Row(tap.second);
  const cpu::BlendKernels& kernels = cpu::ChooseBlendKernels();
  kernels.blend_rows(first_row, second_row, tap.weight, rows.row_length(), blended);
  if (kFrameChannels == 3 && channels() == 3) {
    const bool reverses = spec_.channels == PictureSpec::Channels::kRgb;
    return kernels.blend_columns(blended, column_taps_.data(), columns_.model_length, reverses,
                                 out);
  }
  for (const Tap& column : column_taps_) {
    const int32_t* first = blended + column.first * kFrameChannels;
    const int32_t* second = blended + column.second * kFrameChannels;
    std::array<int, 3> bgr = {};
    for (size_t c = 0; c < kFrameChannels; ++c) {
      bgr[c] = (first[c] * (kUnit - column.weight) + second[c] * column.weight + kHalf) >>
               (2 * cpu::kBlendBits);
    }
    out = PutPixel<kFrameChannels>(spec_.channels, bgr, out);
  }
}

void PictureFit::Resize(const Picture& frame, Range rows, uint8_t* out) const {
  const auto row_bytes = static_cast<size_t>(spec_.width) * static_cast<size_t>(channels());
  const auto left_bytes =
      static_cast<size_t>(columns_.model_begin) * static_cast<size_t>(channels());
  Rows frame_rows(*this, frame);
  // One more, which blend_columns may read.
  std::vector<int32_t> blended(static_cast<size_t>(frame_rows.row_length()) + 1);
  for (int y = rows.begin; y < rows.end; ++y) {
    uint8_t* out_row = out + static_cast<size_t>(y) * row_bytes;
    const int inside = y - rows_.model_begin;
    const bool is_border = inside < 0 || inside >= rows_.model_length;
    if (is_border || columns_.model_length < spec_.width) {
      std::memset(out_row, spec_.border, row_bytes);
    }
    if (is_border) continue;
    const Tap& tap = row_taps_[static_cast<size_t>(inside)];
    if (frame.channels == 1) {
      ResizeRow<1>(frame_rows, tap, blended.data(), out_row + left_bytes);
    } else {
      ResizeRow<3>(frame_rows, tap, blended.data(), out_row + left_bytes);
    }
  }
}

}  // namespace cacheinf
