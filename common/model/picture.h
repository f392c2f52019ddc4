#ifndef CACHEINF_COMMON_MODEL_PICTURE_H_
#define CACHEINF_COMMON_MODEL_PICTURE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/picture_view.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/cpu/blend_kernels.h"
#include "sparse_ops/views.h"

// Turns a camera's frame into a model's input, in integers with one defined rounding: every machine
// gives the same bytes, and a row's bytes do not depend on the rows computed with it.

namespace cacheinf {

// An 8-bit picture: grey, or blue, green, red interleaved. Copies share the pixels.
struct Picture {
  int width = 0;
  int height = 0;
  int channels = 0;        // 1 or 3
  int64_t row_stride = 0;  // bytes
  std::shared_ptr<const uint8_t> pixels;

  bool empty() const { return pixels == nullptr; }
  const uint8_t* Row(int y) const { return pixels.get() + y * row_stride; }
};

// REQUIRES: width height channels pixels, rows without gaps.
Picture MakePicture(int width, int height, int channels, std::vector<uint8_t> pixels);

// How an axis of the frame maps to the model's. The map is linear, pixel edges onto pixel edges.
struct AxisFit {
  int frame_size = 0;
  int model_begin = 0;   // where the frame begins: beyond 0 if letterboxed, before it if cropped
  int model_length = 0;  // of the frame, in the model's pixels
  int model_size = 0;

  // This many neighbouring pixels of the frame are averaged first (PictureSpec::Resize::kAverage).
  int cell() const;

  // Where a point of the model's picture lies in the frame, in pixels from its edge; clipped to it.
  double ToFrame(double model) const;
  double ToFrameOrBeyond(double model) const;  // not clipped

  // The model's pixel that shows the centre of the frame's pixel; -1 if none does.
  int ToModel(int frame) const;

  // The part of the model's axis that shows the frame.
  Range model_range() const;

  // The length of the part of the frame that the model sees.
  double shown_length() const { return ToFrame(model_size) - ToFrame(0); }
};

// Fits frames of one size to a model's picture.
//
// Where: a letterbox scales by r, the smaller of the two ratios, to round(r size) pixels, halves to
// even; odd pixels of a border go to the right and the bottom (Ultralytics). A letterbox in the
// corner rounds r size down and has its borders at the right and the bottom (YOLOX). A crop scales
// the frame's shorter side to `resize_to` and the longer to what that gives, rounded down, and
// shows the middle; an odd pixel too many is cut so that as many go on the left as is even
// (TorchVision's Resize and CenterCrop). Without `resize_to` it scales so that the frame just
// covers the picture.
//
// How, with half-pixel centres, so that pixel x of a target `length` long lies at (x + 1/2) size /
// length - 1/2:
// - kBilinear (OpenCV's INTER_LINEAR, bit for bit): the four neighbours, weighted in 1/2048 that
//   come from the position as a 32-bit float. Along the row in whole numbers, kept to 1/128,
//   rounded down; then each of the two rows to 1/4, rounded down; their sum to nearest.
// - kArea (OpenCV's INTER_AREA, within one level): the mean over what the pixel covers, exact and
//   rounded to nearest once. Where an axis grows, kBilinear with INTER_AREA's positions, bit for
//   bit.
// - kAntialias (Pillow 11's BILINEAR, bit for bit, which TorchVision uses): a triangle as wide as
// two
//   of the model's pixels, at least two of the frame's, weighted in 1 / 2^22; along the row to
//   whole levels, then along the column.
// - kAverage: the four neighbours at positions rounded to 1/2048 of a pixel, kept between the first
//   and the last centre; rounded once. A source more than twice as long is first averaged in cells
//   of size / length pixels, rounded down, at most 16, so that nearly every pixel counts: each
//   level is the sum of a cell times 2^24 / its pixels, rounded, / 2^24, rounded. What lies beyond
//   the last whole cell is ignored.
//
// Grey is (1868 blue + 9617 green + 4899 red + 8192) / 16384, after resizing.
class PictureFit {
 public:
  // Throws InputError for an empty or absurdly large frame, or a `resize_to` smaller than the
  // picture. REQUIRES: a spec with sizes.
  PictureFit(const PictureSpec& spec, int frame_width, int frame_height);

  const PictureSpec& spec() const { return spec_; }
  int channels() const { return spec_.channels == PictureSpec::Channels::kGray ? 1 : 3; }
  const AxisFit& columns() const { return columns_; }
  const AxisFit& rows() const { return rows_; }

  // Whether it is for frames of this size.
  bool IsFor(const Picture& frame) const {
    return columns_.frame_size == frame.width && rows_.frame_size == frame.height;
  }

  // The part of the model's picture that shows the frame.
  Rectangle place() const { return {rows_.model_range(), columns_.model_range()}; }

  // Computes `rows` of the model's picture into `out`, which holds the whole picture: height ×
  // width × channels() bytes, channels in the spec's order. REQUIRES: a frame of the given size.
  void Resize(const Picture& frame, Range rows, uint8_t* out) const;

 private:
  using Tap = cpu::BlendTap;
  // The weights for each pixel of an axis.
  struct Windows {
    std::vector<cpu::BlendWindow> of_pixels;
    std::vector<int32_t> weights;  // `stride` for each pixel
    int stride = 0;
  };
  // Rows of the model's picture, one after the other, each by a way of resizing.
  class CopiedRows;
  class AveragedRows;
  class MixedRows;
  template <typename Level>
  class WindowRows;

  static Windows AreaWindows(const AxisFit& axis);
  static Windows TriangleWindows(const AxisFit& axis);
  void PlaceLetterbox(bool in_corner);
  void PlaceCrop();
  bool is_same_size() const;
  // Converts the levels of a row from the frame's channels to the model's.
  void ConvertRow(const uint8_t* levels, int frame_channels, uint8_t* out) const;
  template <typename Rows>
  void FillRows(const Picture& frame, Range rows, uint8_t* out) const;

  PictureSpec spec_;
  AxisFit columns_;
  AxisFit rows_;
  // Taps or windows of the pixels in place(); the others are empty.
  std::vector<Tap> column_taps_;
  std::vector<Tap> row_taps_;
  Windows column_windows_;
  Windows row_windows_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_PICTURE_H_
