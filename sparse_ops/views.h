#ifndef CACHEINF_SPARSE_OPS_VIEWS_H_
#define CACHEINF_SPARSE_OPS_VIEWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace cacheinf {

// Half-open range of rows, columns or channels.
struct Range {
  int begin = 0;
  int end = 0;

  constexpr int size() const { return end > begin ? end - begin : 0; }
  constexpr bool empty() const { return end <= begin; }
  friend constexpr bool operator==(Range a, Range b) {
    return a.begin == b.begin && a.end == b.end;
  }
  friend constexpr bool operator!=(Range a, Range b) { return !(a == b); }
};

// A channels-last picture or feature map in somebody else's memory. Channels of a pixel are
// contiguous. Pixels and rows may have gaps between them, so that a map can be a channel slice of a
// wider one (a concatenation written in place) or the inside of a padded one. Strides count floats.
template <typename T>
struct BasicImageView {
  T* data = nullptr;
  int batch = 0;
  int height = 0;
  int width = 0;
  int channels = 0;
  int64_t batch_stride = 0;
  int64_t row_stride = 0;
  int64_t pixel_stride = 0;

  constexpr T* Pixel(int n, int y, int x) const {
    return data + n * batch_stride + y * row_stride + x * pixel_stride;
  }

  operator BasicImageView<const T>() const {
    return {data, batch, height, width, channels, batch_stride, row_stride, pixel_stride};
  }
};
using ImageView = BasicImageView<float>;
using ConstImageView = BasicImageView<const float>;

// A tensor of any rank in somebody else's memory. `dims` are in the model's logical order (a
// feature map is batch, channels, height, width), `strides` in floats; a feature map's channel
// stride is 1.
template <typename T>
struct BasicTensorView {
  static constexpr int kMaxRank = 6;

  T* data = nullptr;
  int rank = 0;
  std::array<int64_t, kMaxRank> dims = {};
  std::array<int64_t, kMaxRank> strides = {};

  int64_t Count() const {
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= dims[i];
    return count;
  }

  operator BasicTensorView<const T>() const { return {data, rank, dims, strides}; }
};
using TensorView = BasicTensorView<float>;
using ConstTensorView = BasicTensorView<const float>;

// REQUIRES: rank 4 with a channel stride of 1 (or one channel).
template <typename T>
BasicImageView<T> AsImage(const BasicTensorView<T>& tensor) {
  return {tensor.data,
          static_cast<int>(tensor.dims[0]),
          static_cast<int>(tensor.dims[2]),
          static_cast<int>(tensor.dims[3]),
          static_cast<int>(tensor.dims[1]),
          tensor.strides[0],
          tensor.strides[2],
          tensor.strides[3]};
}

constexpr int MaskWordsPerRow(int width) { return width / 64 + (width % 64 != 0 ? 1 : 0); }

// How many words of memory a mask takes.
constexpr size_t MaskWords(int height, int width) {
  return static_cast<size_t>(height) * static_cast<size_t>(MaskWordsPerRow(width));
}

// A mask in somebody else's memory. Rows lie end to end, each starting with a new word; column x is
// bit x % 64 of word x / 64; bits past the width are always zero.
template <typename Word>
struct BasicMaskView {
  Word* words = nullptr;
  int height = 0;
  int width = 0;
  int words_per_row = 0;

  BasicMaskView() = default;
  // `memory` has room for MaskWords; write it before its first use as an operand.
  BasicMaskView(Word* memory, int mask_height, int mask_width)
      : words(memory),
        height(mask_height),
        width(mask_width),
        words_per_row(MaskWordsPerRow(mask_width)) {}

  operator BasicMaskView<const Word>() const { return {words, height, width}; }

  size_t word_count() const { return MaskWords(height, width); }
  int64_t pixel_count() const { return int64_t{height} * width; }
  constexpr Word* Row(int y) const { return words + int64_t{y} * words_per_row; }

  bool Test(int y, int x) const { return (Row(y)[x / 64] >> (x % 64) & 1) != 0; }
  void Set(int y, int x) const { Row(y)[x / 64] |= uint64_t{1} << (x % 64); }
  void Clear(int y, int x) const { Row(y)[x / 64] &= ~(uint64_t{1} << (x % 64)); }
};
using MaskView = BasicMaskView<uint64_t>;
using ConstMaskView = BasicMaskView<const uint64_t>;

// Some rows of a mask. REQUIRES: rows within it.
template <typename Word>
BasicMaskView<Word> CutRows(const BasicMaskView<Word>& mask, Range rows) {
  return {mask.Row(rows.begin), rows.size(), mask.width};
}

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_VIEWS_H_
