#ifndef CACHEINF_SPARSE_OPS_MASK_MASK_H_
#define CACHEINF_SPARSE_OPS_MASK_MASK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sparse_ops/views.h"

// Which pixels of a map are active, one bit per pixel.
//
// Only the constructor of Mask allocates. An output may be an operand of the same size; otherwise
// nothing may overlap. Masks that one call combines pixel by pixel have the same size.
// Rectangles and row ranges may reach outside the picture.

namespace cacheinf {

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

// A mask that owns its memory; at first all clear.
class Mask {
 public:
  Mask() = default;
  Mask(int height, int width) : words_(MaskWords(height, width)), height_(height), width_(width) {}

  MaskView view() { return {words_.data(), height_, width_}; }
  ConstMaskView view() const { return {words_.data(), height_, width_}; }
  // Implicit: a mask is what a view of it shows.
  operator MaskView() { return view(); }             // NOLINT(google-explicit-constructor)
  operator ConstMaskView() const { return view(); }  // NOLINT(google-explicit-constructor)

 private:
  std::vector<uint64_t> words_;
  int height_ = 0;
  int width_ = 0;
};

// Some rows of a mask. REQUIRES: rows within it.
template <typename Word>
BasicMaskView<Word> CutRows(const BasicMaskView<Word>& mask, Range rows) {
  return {mask.Row(rows.begin), rows.size(), mask.width};
}

// ---------------------------------------------------------------------------------------------
// Filling. All except the rectangles write every pixel.

void SetAll(MaskView mask);
void ClearAll(MaskView mask);
void Copy(ConstMaskView from, MaskView to);

void SetRectangle(Range rows, Range columns, MaskView mask);
void ClearRectangle(Range rows, Range columns, MaskView mask);

// Clears what lies outside.
void KeepRectangle(Range rows, Range columns, MaskView mask);

// ---------------------------------------------------------------------------------------------
// Sets.

void Unite(ConstMaskView a, ConstMaskView b, MaskView out);
void Intersect(ConstMaskView a, ConstMaskView b, MaskView out);
// The pixels of `a` that are not in `b`.
void Subtract(ConstMaskView a, ConstMaskView b, MaskView out);

bool AreEqual(ConstMaskView a, ConstMaskView b);  // sizes too
bool IsEmpty(ConstMaskView mask);

int64_t CountActive(ConstMaskView mask);
// counts[y]: the active pixels of row y.
void CountActiveByRow(ConstMaskView mask, int* counts);

// ---------------------------------------------------------------------------------------------
// Shapes.

// How many pixels an active one reaches beyond itself.
struct Reach {
  int top = 0;
  int bottom = 0;
  int left = 0;
  int right = 0;

  static constexpr Reach Of(int pixels) { return {pixels, pixels, pixels, pixels}; }
};

// The pixels that an active one reaches: of (y, x), rows [y - top, y + bottom] and columns
// [x - left, x + right].
void Grow(ConstMaskView in, const Reach& reach, MaskView out);

// out(y, x): whether any pixel of the cell of step_rows × step_columns pixels with the first pixel
// (y step_rows, x step_columns) is active. REQUIRES: an output of size ceil(in / step).
void Subsample(ConstMaskView in, int step_rows, int step_columns, MaskView out);

// out(y, x) = in(y / times_rows, x / times_columns).
// REQUIRES: an input of size ceil(out / times).
void Upsample(ConstMaskView in, int times_rows, int times_columns, MaskView out);

// The same picture at any other resolution: the pixels that lie at least in part over an active
// one. Row y of the output lies over rows [floor(y in / out), ceil((y + 1) in / out)) of the input;
// columns likewise. Fast where one size is a multiple of the other.
void Rescale(ConstMaskView in, MaskView out);

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_MASK_MASK_H_
