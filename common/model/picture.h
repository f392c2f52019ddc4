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

// Which part of the frame's axis maps to which part of the model's. The map is linear, pixel edges
// onto pixel edges.
struct AxisFit {
  int frame_size = 0;
  int frame_begin = 0;  // the visible part: everything, unless cropped
  int frame_length = 0;
  int model_begin = 0;  // the part that it fills: everything, unless letterboxed
  int model_length = 0;

  // This many neighbouring pixels of the frame are averaged first.
  int cell() const;

  // Where a point of the model's picture lies in the frame, in pixels from its edge; clipped to it.
  double ToFrame(double model) const;

  // The model's pixel that shows the centre of the frame's pixel; -1 if none does.
  int ToModel(int frame) const;

  Range model_range() const { return {model_begin, model_begin + model_length}; }
};

// Fits frames of one size to a model's picture.
//
// The rule: with half-pixel centres, pixel x of a target `length` long lies at ((2x + 1)
// source_length - length) / (2 length) in the source, rounded to 1/2048 of a pixel and kept between
// the first and the last centre. The value is the sum of the four neighbours weighted by products
// of 1/2048ths, rounded to nearest once. A source more than twice as long is first averaged in
// cells of source_length / length pixels, rounded down, at most 16, so that nearly every pixel
// counts: each level is the sum of a cell times 2^24 / its pixels, rounded, / 2^24, rounded. What
// lies beyond the last whole cell is ignored. A letterbox scales by the smaller of the two ratios,
// a crop by the larger; both are centred, and odd pixels of a border go to the right and the
// bottom. Grey is (1868 blue + 9617 green + 4899 red + 8192) / 16384, after resizing.
class PictureFit {
 public:
  // Throws InputError for an empty or absurdly large frame. REQUIRES: a spec with sizes.
  PictureFit(const PictureSpec& spec, int frame_width, int frame_height);

  const PictureSpec& spec() const { return spec_; }
  int channels() const { return spec_.channels == PictureSpec::Channels::kGray ? 1 : 3; }
  const AxisFit& columns() const { return columns_; }
  const AxisFit& rows() const { return rows_; }

  // The part of the model's picture that shows the frame.
  Rectangle place() const { return {rows_.model_range(), columns_.model_range()}; }

  // Computes `rows` of the model's picture into `out`, which holds the whole picture: height ×
  // width × channels() bytes, channels in the spec's order. REQUIRES: a frame of the given size.
  void Resize(const Picture& frame, Range rows, uint8_t* out) const;

 private:
  using Tap = cpu::BlendTap;
  static std::vector<Tap> Taps(const AxisFit& axis);

  class Rows;
  template <int kFrameChannels>
  void CopyRow(const uint8_t* row, uint8_t* out) const;
  template <int kFrameChannels>
  void ResizeRow(Rows& rows, const Tap& tap, int32_t* blended, uint8_t* out) const;

  PictureSpec spec_;
  AxisFit columns_;
  AxisFit rows_;
  std::vector<Tap> column_taps_;
  std::vector<Tap> row_taps_;
  bool keeps_columns_ = false;  // each of the model's is one of the cells', in the same order
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_PICTURE_H_
