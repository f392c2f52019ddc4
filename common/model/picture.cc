#include "common/model/picture.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "common/base/error.h"

namespace cacheinf {
namespace {

constexpr int kUnit = 1 << cpu::kBlendBits;
constexpr int kHalf = 1 << (2 * cpu::kBlendBits - 1);
constexpr int kHalfWeight = 1 << (cpu::kWeightBits - 1);
constexpr int kLargestSide = 1 << 15;
constexpr int kLargestCell = 16;

// Half of a number, rounded to even.
int HalfToEven(int number) { return number / 2 + (number % 4 == 3 ? 1 : 0); }

// The positions in the model's axis, counted from where the frame begins, that place() shows.
Range Shown(const AxisFit& axis) {
  const Range range = axis.model_range();
  return {range.begin - axis.model_begin, range.end - axis.model_begin};
}

std::vector<cpu::BlendTap> AverageTaps(const AxisFit& axis) {
  std::vector<cpu::BlendTap> taps;
  // In cells; `length` is the target's, in pixels of the frame per cell.
  const int64_t length = int64_t{axis.model_length} * axis.cell();
  const int64_t last = axis.frame_size / axis.cell() - 1;
  const Range shown = Shown(axis);
  for (int64_t x = shown.begin; x < shown.end; ++x) {
    // Twice the position's numerator, in 1/2048, plus the divisor for rounding; shifted by one
    // cell so that the division never sees a negative number.
    const int64_t numerator = (2 * x + 1) * axis.frame_size - length + 2 * length;
    const int64_t position = (numerator * kUnit + length) / (2 * length) - kUnit;
    const int64_t clipped = std::clamp<int64_t>(position, 0, last * kUnit);
    const int64_t first = clipped / kUnit;
    taps.push_back({static_cast<int>(first), static_cast<int>(std::min(first + 1, last)),
                    static_cast<int>(clipped % kUnit)});
  }
  return taps;
}

// OpenCV's, in its types and order. Beyond the first and the last centre, columns have weight 0,
// but rows keep theirs, which rounds differently.
std::vector<cpu::BlendTap> BilinearTaps(const AxisFit& axis, bool covers_area, bool is_columns) {
  std::vector<cpu::BlendTap> taps;
  const double model_per_frame = static_cast<double>(axis.model_length) / axis.frame_size;
  const double frame_per_model = 1.0 / model_per_frame;
  const int last = axis.frame_size - 1;
  const Range shown = Shown(axis);
  for (int x = shown.begin; x < shown.end; ++x) {
    int first = 0;
    float fraction = 0.0f;
    if (covers_area) {
      first = static_cast<int>(std::floor(x * frame_per_model));
      fraction = static_cast<float>((x + 1) - (first + 1) * model_per_frame);
      fraction = fraction <= 0 ? 0.0f : fraction - std::floor(fraction);
    } else {
      fraction = static_cast<float>((x + 0.5) * frame_per_model - 0.5);
      first = static_cast<int>(std::floor(fraction));
      fraction -= static_cast<float>(first);
    }
    if (is_columns && (first < 0 || first >= last)) fraction = 0.0f;
    taps.push_back({std::clamp(first, 0, last), std::clamp(first + 1, 0, last),
                    static_cast<int>(std::nearbyint(fraction * static_cast<float>(kUnit)))});
  }
  return taps;
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

template <int kFrameChannels>
void PutRow(const uint8_t* row, int count, PictureSpec::Channels order, uint8_t* out) {
  for (int x = 0; x < count; ++x, row += kFrameChannels) {
    std::array<int, 3> bgr = {};
    std::copy_n(row, kFrameChannels, bgr.begin());
    out = PutPixel<kFrameChannels>(order, bgr, out);
  }
}

}  // namespace

Picture MakePicture(int width, int height, int channels, std::vector<uint8_t> pixels) {
  const auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(pixels));
  return {width, height, channels, int64_t{width} * channels,
          std::shared_ptr<const uint8_t>(owner, owner->data())};
}

double AxisFit::ToFrame(double model) const {
  return std::clamp(ToFrameOrBeyond(model), 0.0, static_cast<double>(frame_size));
}

double AxisFit::ToFrameOrBeyond(double model) const {
  return (model - model_begin) * frame_size / model_length;
}

// Down to half the size, the two blended neighbours are the cell.
int AxisFit::cell() const {
  if (frame_size <= 2 * model_length) return 1;
  return std::min(frame_size / model_length, kLargestCell);
}

int AxisFit::ToModel(int frame) const {
  if (frame < 0 || frame >= frame_size) return -1;
  const int model = model_begin + static_cast<int>((int64_t{2} * frame + 1) * model_length /
                                                   (int64_t{2} * frame_size));
  return model >= 0 && model < model_size ? model : -1;
}

Range AxisFit::model_range() const {
  return {std::max(0, model_begin), std::min(model_size, model_begin + model_length)};
}

PictureFit::PictureFit(const PictureSpec& spec, int frame_width, int frame_height) : spec_(spec) {
  if (frame_width < 1 || frame_height < 1 || frame_width > kLargestSide ||
      frame_height > kLargestSide) {
    throw InputError(
        fmt::format("a frame of {}×{} pixels cannot be used", frame_width, frame_height));
  }
  columns_ = {frame_width, 0, spec.width, spec.width};
  rows_ = {frame_height, 0, spec.height, spec.height};
  if (spec.fit == PictureSpec::Fit::kLetterbox) PlaceLetterbox(/*in_corner=*/false);
  if (spec.fit == PictureSpec::Fit::kCorner) PlaceLetterbox(/*in_corner=*/true);
  if (spec.fit == PictureSpec::Fit::kCrop) PlaceCrop();
  const bool shrinks =
      columns_.model_length <= columns_.frame_size && rows_.model_length <= rows_.frame_size;
  switch (spec.resize) {
    case PictureSpec::Resize::kAverage:
      column_taps_ = AverageTaps(columns_);
      row_taps_ = AverageTaps(rows_);
      break;
    case PictureSpec::Resize::kArea:
    case PictureSpec::Resize::kBilinear: {
      const bool covers_area = spec.resize == PictureSpec::Resize::kArea;
      if (covers_area && shrinks) {
        column_windows_ = AreaWindows(columns_);
        row_windows_ = AreaWindows(rows_);
      } else {
        column_taps_ = BilinearTaps(columns_, covers_area, /*is_columns=*/true);
        row_taps_ = BilinearTaps(rows_, covers_area, /*is_columns=*/false);
      }
      break;
    }
    case PictureSpec::Resize::kAntialias:
      column_windows_ = TriangleWindows(columns_);
      row_windows_ = TriangleWindows(rows_);
      break;
  }
}

void PictureFit::PlaceLetterbox(bool in_corner) {
  const double ratio = std::min(static_cast<double>(rows_.model_size) / rows_.frame_size,
                                static_cast<double>(columns_.model_size) / columns_.frame_size);
  for (AxisFit* axis : {&columns_, &rows_}) {
    const double length = axis->frame_size * ratio;
    axis->model_length = std::clamp(static_cast<int>(in_corner ? length : std::nearbyint(length)),
                                    1, axis->model_size);
    axis->model_begin = in_corner ? 0 : (axis->model_size - axis->model_length) / 2;
  }
}

void PictureFit::PlaceCrop() {
  const int largest = std::max(spec_.width, spec_.height);
  if (spec_.resize_to != 0 && (spec_.resize_to < largest || spec_.resize_to > kLargestSide)) {
    throw InputError(fmt::format(
        "preprocess.resize_to is {}, but a crop to {}×{} needs at least {}, and at most {}",
        spec_.resize_to, spec_.width, spec_.height, largest, kLargestSide));
  }
  const bool frame_is_wider = spec_.resize_to != 0 ? columns_.frame_size >= rows_.frame_size
                                                   : int64_t{columns_.frame_size} * spec_.height >=
                                                         int64_t{rows_.frame_size} * spec_.width;
  AxisFit& longer = frame_is_wider ? columns_ : rows_;
  AxisFit& shorter = frame_is_wider ? rows_ : columns_;
  if (spec_.resize_to != 0) shorter.model_length = spec_.resize_to;
  longer.model_length =
      static_cast<int>(int64_t{longer.frame_size} * shorter.model_length / shorter.frame_size);
  for (AxisFit* axis : {&columns_, &rows_}) {
    axis->model_begin = -HalfToEven(axis->model_length - axis->model_size);
  }
}

// A pixel of the model's covers [x, x + 1) frame_size of the frame's model_length pixels each.
PictureFit::Windows PictureFit::AreaWindows(const AxisFit& axis) {
  const int64_t cover = axis.frame_size;
  const int64_t pixel = axis.model_length;
  Windows windows;
  windows.stride = static_cast<int>(cover / pixel) + 2;
  const Range shown = Shown(axis);
  for (int64_t x = shown.begin; x < shown.end; ++x) {
    const int64_t begin = x * cover;
    const int64_t first = begin / pixel;
    const int64_t end = (begin + cover + pixel - 1) / pixel;
    windows.of_pixels.push_back({static_cast<int>(first), static_cast<int>(end - first)});
    for (int64_t i = first; i < first + windows.stride; ++i) {
      const int64_t overlap = std::min(begin + cover, (i + 1) * pixel) - std::max(begin, i * pixel);
      windows.weights.push_back(static_cast<int32_t>(std::max<int64_t>(overlap, 0)));
    }
  }
  return windows;
}

// Pillow's, in its types and order.
PictureFit::Windows PictureFit::TriangleWindows(const AxisFit& axis) {
  const double scale = static_cast<double>(axis.frame_size) / axis.model_length;
  const double support = std::max(scale, 1.0);
  const double per_support = 1.0 / support;
  Windows windows;
  windows.stride = static_cast<int>(std::ceil(support)) * 2 + 1;
  std::vector<double> shares(static_cast<size_t>(windows.stride));
  const Range shown = Shown(axis);
  for (int x = shown.begin; x < shown.end; ++x) {
    const double centre = (x + 0.5) * scale;
    const int first = std::max(static_cast<int>(std::floor(centre - support + 0.5)), 0);
    const int end = std::min(static_cast<int>(std::floor(centre + support + 0.5)), axis.frame_size);
    std::ranges::fill(shares, 0.0);
    double sum = 0.0;
    for (int i = first; i < end; ++i) {
      const double distance = std::abs((i - centre + 0.5) * per_support);
      const double share = distance < 1.0 ? 1.0 - distance : 0.0;
      shares[static_cast<size_t>(i - first)] = share;
      sum += share;
    }
    windows.of_pixels.push_back({first, end - first});
    for (const double share : shares) {
      windows.weights.push_back(
          static_cast<int32_t>(std::floor(0.5 + share / sum * (1 << cpu::kWeightBits))));
    }
  }
  return windows;
}

bool PictureFit::is_same_size() const {
  return columns_.model_length == columns_.frame_size && rows_.model_length == rows_.frame_size;
}

void PictureFit::ConvertRow(const uint8_t* levels, int frame_channels, uint8_t* out) const {
  const int count = static_cast<int>(place().columns.end - place().columns.begin);
  frame_channels == 1 ? PutRow<1>(levels, count, spec_.channels, out)
                      : PutRow<3>(levels, count, spec_.channels, out);
}

class PictureFit::CopiedRows {
 public:
  CopiedRows(const PictureFit& fit, const Picture& frame) : fit_(fit), frame_(frame) {}

  void Write(int row, uint8_t* out) {
    fit_.ConvertRow(frame_.Row(Shown(fit_.rows_).begin + row) +
                        int64_t{Shown(fit_.columns_).begin} * frame_.channels,
                    frame_.channels, out);
  }

 private:
  const PictureFit& fit_;
  const Picture& frame_;
};

// Blends rows of the frame that are averaged in cells.
class PictureFit::AveragedRows {
 public:
  AveragedRows(const PictureFit& fit, const Picture& frame)
      : fit_(fit),
        frame_(frame),
        is_averaged_(fit.rows_.cell() > 1 || fit.columns_.cell() > 1),
        cells_(frame.width / fit.columns_.cell()),
        keeps_columns_(fit.columns_.model_length * fit.columns_.cell() == frame.width) {
    const size_t length = static_cast<size_t>(cells_) * static_cast<size_t>(frame.channels);
    blended_.resize(length + 1);  // one more, which blend_columns may read
    if (!is_averaged_) return;
    // One more, which average_cells may read.
    sums_.resize(static_cast<size_t>(frame.width) * static_cast<size_t>(frame.channels) + 1);
    for (Averaged& row : averaged_) row.levels.resize(length);
  }

  void Write(int row, uint8_t* out) {
    const Tap& tap = fit_.row_taps_[static_cast<size_t>(row)];
    const uint8_t* first_row = Row(tap.first);
    // Weights of 0 and 1 give the frame's own bytes.
    if (keeps_columns_ && tap.weight == 0) {
      return fit_.ConvertRow(first_row + fit_.column_taps_.front().first * frame_.channels,
                             frame_.channels, out);
    }
    const uint8_t* second_row = Row(tap.second);
    const cpu::BlendKernels& kernels = cpu::ChooseBlendKernels();
    kernels.blend_rows(first_row, second_row, tap.weight, cells_ * frame_.channels,
                       blended_.data());
    if (frame_.channels == 1) return BlendColumns<1>(out);
    if (fit_.channels() == 1) return BlendColumns<3>(out);
    const bool reverses = fit_.spec_.channels == PictureSpec::Channels::kRgb;
    kernels.blend_columns(blended_.data(), fit_.column_taps_.data(),
                          static_cast<int>(fit_.column_taps_.size()), reverses, out);
  }

 private:
  struct Averaged {
    int row = -1;
    std::vector<uint8_t> levels;
  };

  template <int kFrameChannels>
  void BlendColumns(uint8_t* out) const {
    for (const Tap& column : fit_.column_taps_) {
      const int32_t* first = &blended_[static_cast<size_t>(column.first * kFrameChannels)];
      const int32_t* second = &blended_[static_cast<size_t>(column.second * kFrameChannels)];
      std::array<int, 3> bgr = {};
      for (size_t c = 0; c < kFrameChannels; ++c) {
        bgr[c] = (first[c] * (kUnit - column.weight) + second[c] * column.weight + kHalf) >>
                 (2 * cpu::kBlendBits);
      }
      out = PutPixel<kFrameChannels>(fit_.spec_.channels, bgr, out);
    }
  }

  // Valid until the next row but one is asked for. Neighbouring rows are averaged once each.
  const uint8_t* Row(int row) {
    if (!is_averaged_) return frame_.Row(row);
    Averaged& own = averaged_[static_cast<size_t>(row % 2)];
    if (own.row != row) Average(row, own.levels.data());
    own.row = row;
    return own.levels.data();
  }

  void Average(int row, uint8_t* levels) {
    constexpr int kScaleBits = 24;
    const int cell = fit_.columns_.cell();
    const int cell_rows = fit_.rows_.cell();
    const int pixels = cell * cell_rows;
    const auto scale = static_cast<uint32_t>(((1 << kScaleBits) + pixels / 2) / pixels);
    const cpu::BlendKernels& kernels = cpu::ChooseBlendKernels();
    kernels.sum_rows(frame_.Row(row * cell_rows), frame_.row_stride, cell_rows,
                     frame_.width * frame_.channels, sums_.data());
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

  const PictureFit& fit_;
  const Picture& frame_;
  const bool is_averaged_;
  const int cells_;           // of a row
  const bool keeps_columns_;  // each of the model's is one of the cells', in the same order
  std::vector<uint16_t> sums_;
  std::array<Averaged, 2> averaged_;
  std::vector<int32_t> blended_;
};

// Blends the frame's rows along them, each once, then two of them.
class PictureFit::MixedRows {
 public:
  MixedRows(const PictureFit& fit, const Picture& frame)
      : fit_(fit),
        frame_(frame),
        converts_(frame.channels == 1 || fit.channels() == 1),
        length_(fit.column_taps_.size() * static_cast<size_t>(frame.channels)) {
    for (Mixed& row : mixed_) row.levels.resize(length_ + 1);  // one more, which may be written
    if (converts_) levels_.resize(length_);
  }

  void Write(int row, uint8_t* out) {
    const Tap& tap = fit_.row_taps_[static_cast<size_t>(row)];
    const int16_t* first = Row(tap.first);
    const int16_t* second = tap.weight == 0 ? first : Row(tap.second);
    cpu::ChooseBlendKernels().mix_rows(first, second, tap.weight, static_cast<int>(length_),
                                       converts_ ? levels_.data() : out);
    if (converts_) fit_.ConvertRow(levels_.data(), frame_.channels, out);
  }

 private:
  struct Mixed {
    int row = -1;
    std::vector<int16_t> levels;
  };

  // Valid until the next row but one is asked for.
  const int16_t* Row(int row) {
    Mixed& own = mixed_[static_cast<size_t>(row % 2)];
    if (own.row != row) Mix(frame_.Row(row), own.levels.data());
    own.row = row;
    return own.levels.data();
  }

  void Mix(const uint8_t* row, int16_t* levels) const {
    if (frame_.channels == 3) {
      const bool reverses = !converts_ && fit_.spec_.channels == PictureSpec::Channels::kRgb;
      return cpu::ChooseBlendKernels().mix_columns(row, frame_.width, fit_.column_taps_.data(),
                                                   static_cast<int>(fit_.column_taps_.size()),
                                                   reverses, levels);
    }
    for (const Tap& tap : fit_.column_taps_) {
      *levels++ = static_cast<int16_t>(
          (row[tap.first] * (kUnit - tap.weight) + row[tap.second] * tap.weight) >>
          (cpu::kBlendBits - cpu::kMixedBits));
    }
  }

  const PictureFit& fit_;
  const Picture& frame_;
  const bool converts_;
  const size_t length_;
  std::array<Mixed, 2> mixed_;
  std::vector<uint8_t> levels_;
};

// Weighs the frame's rows along them, each once, and keeps those that the next row may weigh.
template <typename Level>
class PictureFit::WindowRows {
 public:
  WindowRows(const PictureFit& fit, const Picture& frame)
      : fit_(fit),
        frame_(frame),
        converts_(frame.channels == 1 || fit.channels() == 1),
        length_(fit.column_windows_.of_pixels.size() * static_cast<size_t>(frame.channels)),
        sums_(length_ + 1),  // one more, which may be written
        window_(static_cast<size_t>(fit.row_windows_.stride)),
        kept_(static_cast<size_t>(fit.row_windows_.stride)) {
    for (std::vector<Level>& row : kept_) row.resize(length_);
    if (converts_) levels_.resize(length_);
  }

  void Write(int row, uint8_t* out) {
    const cpu::BlendWindow& window = fit_.row_windows_.of_pixels[static_cast<size_t>(row)];
    next_ = std::max(next_, window.first);
    for (; next_ < window.first + window.count; ++next_) {
      WeighColumns(frame_.Row(next_));
      Keep(sums_, Kept(next_));
    }
    for (int i = 0; i < window.count; ++i) {
      window_[static_cast<size_t>(i)] = Kept(window.first + i).data();
    }
    WeighRows(&fit_.row_windows_.weights[static_cast<size_t>(row * fit_.row_windows_.stride)],
              window.count, converts_ ? levels_.data() : out);
    if (converts_) fit_.ConvertRow(levels_.data(), frame_.channels, out);
  }

 private:
  std::vector<Level>& Kept(int row) { return kept_[static_cast<size_t>(row) % kept_.size()]; }

  void WeighColumns(const uint8_t* row) {
    const Windows& columns = fit_.column_windows_;
    if (frame_.channels == 3) {
      const bool reverses = !converts_ && fit_.spec_.channels == PictureSpec::Channels::kRgb;
      return cpu::ChooseBlendKernels().weigh_columns(
          row, frame_.width, columns.of_pixels.data(), columns.weights.data(), columns.stride,
          static_cast<int>(columns.of_pixels.size()), reverses, sums_.data());
    }
    const int32_t* weights = columns.weights.data();
    for (size_t i = 0; i < length_; ++i, weights += columns.stride) {
      const cpu::BlendWindow& window = columns.of_pixels[i];
      sums_[i] = std::inner_product(weights, weights + window.count, row + window.first, 0);
    }
  }

  // kAntialias
  void Keep(const std::vector<int32_t>& sums, std::vector<uint8_t>& levels) const {
    for (size_t i = 0; i < length_; ++i) {
      levels[i] = static_cast<uint8_t>((sums[i] + kHalfWeight) >> cpu::kWeightBits);
    }
  }
  // kArea
  void Keep(const std::vector<int32_t>& sums, std::vector<int32_t>& kept) const {
    std::copy_n(sums.begin(), length_, kept.begin());
  }

  void WeighRows(const int32_t* weights, int count, uint8_t* out) {
    if constexpr (std::is_same_v<Level, uint8_t>) {
      cpu::ChooseBlendKernels().weigh_rows(window_.data(), weights, count,
                                           static_cast<int>(length_), out);
    } else {
      // Exact: sums stay below 2^39, and half a unit keeps the quotient away from whole numbers.
      const double pixels = static_cast<double>(fit_.columns_.frame_size) * fit_.rows_.frame_size;
      const double scale = 1.0 / (2.0 * pixels);
      totals_.assign(length_, pixels + 0.5);
      for (int y = 0; y < count; ++y) {
        const int32_t* row = window_[static_cast<size_t>(y)];
        const double weight = 2.0 * weights[y];
        for (size_t i = 0; i < length_; ++i) totals_[i] += weight * row[i];
      }
      for (size_t i = 0; i < length_; ++i) out[i] = static_cast<uint8_t>(totals_[i] * scale);
    }
  }

  const PictureFit& fit_;
  const Picture& frame_;
  const bool converts_;
  const size_t length_;  // of a row of the model's picture, in the frame's channels
  std::vector<int32_t> sums_;
  std::vector<const Level*> window_;
  std::vector<std::vector<Level>> kept_;
  std::vector<double> totals_;
  std::vector<uint8_t> levels_;
  int next_ = 0;
};

template <typename Rows>
void PictureFit::FillRows(const Picture& frame, Range rows, uint8_t* out) const {
  const auto pixel_bytes = static_cast<size_t>(channels());
  const size_t row_bytes = static_cast<size_t>(spec_.width) * pixel_bytes;
  const Rectangle shown = place();
  const bool has_sides = shown.columns.begin > 0 || shown.columns.end < spec_.width;
  Rows frame_rows(*this, frame);
  for (int y = rows.begin; y < rows.end; ++y) {
    uint8_t* out_row = out + static_cast<size_t>(y) * row_bytes;
    const bool is_border = y < shown.rows.begin || y >= shown.rows.end;
    if (is_border || has_sides) std::memset(out_row, spec_.border, row_bytes);
    if (is_border) continue;
    frame_rows.Write(y - shown.rows.begin,
                     out_row + static_cast<size_t>(shown.columns.begin) * pixel_bytes);
  }
}

void PictureFit::Resize(const Picture& frame, Range rows, uint8_t* out) const {
  if (is_same_size()) return FillRows<CopiedRows>(frame, rows, out);
  switch (spec_.resize) {
    case PictureSpec::Resize::kAverage:
      return FillRows<AveragedRows>(frame, rows, out);
    case PictureSpec::Resize::kAntialias:
      return FillRows<WindowRows<uint8_t>>(frame, rows, out);
    case PictureSpec::Resize::kArea:
      if (column_taps_.empty()) return FillRows<WindowRows<int32_t>>(frame, rows, out);
      return FillRows<MixedRows>(frame, rows, out);
    case PictureSpec::Resize::kBilinear:
      return FillRows<MixedRows>(frame, rows, out);
  }
}

}  // namespace cacheinf
