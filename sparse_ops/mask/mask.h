#ifndef CACHEINF_SPARSE_OPS_MASK_MASK_H_
#define CACHEINF_SPARSE_OPS_MASK_MASK_H_

#include <cstdint>
#include <vector>

#include "sparse_ops/views.h"

// Which pixels of a map are active, one bit per pixel.
//
// Only the constructor of Mask allocates. An output may be an operand of the same size; otherwise
// nothing may overlap. Masks that a call combines pixel by pixel have the same size. Rectangles and
// row ranges may reach outside the picture.

namespace cacheinf {

// A mask that owns its memory; all clear at first.
class Mask {
 public:
  Mask() = default;
  Mask(int height, int width) : words_(MaskWords(height, width)), height_(height), width_(width) {}

  MaskView view() { return {words_.data(), height_, width_}; }
  ConstMaskView view() const { return {words_.data(), height_, width_}; }
  // Implicit: a mask is used like a view of it.
  operator MaskView() { return view(); }             // NOLINT(google-explicit-constructor)
  operator ConstMaskView() const { return view(); }  // NOLINT(google-explicit-constructor)

 private:
  std::vector<uint64_t> words_;
  int height_ = 0;
  int width_ = 0;
};

// ---------------------------------------------------------------------------------------------
// Filling. All but the rectangles write every pixel.

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

// The pixels that an active one reaches: pixel (y, x) reaches rows [y - top, y + bottom] and
// columns [x - left, x + right].
void Grow(ConstMaskView in, const Reach& reach, MaskView out);

// out(y, x): whether a pixel is active in the cell of step_rows × step_columns pixels that begins
// at (y step_rows, x step_columns). REQUIRES: an output of size ceil(in / step).
void Subsample(ConstMaskView in, int step_rows, int step_columns, MaskView out);

// out(y, x) = in(y / times_rows, x / times_columns).
// REQUIRES: an input of size ceil(out / times).
void Upsample(ConstMaskView in, int times_rows, int times_columns, MaskView out);

// The same picture at any other resolution: the pixels that lie at least in part over an active
// one. Row y of the output lies over rows [floor(y in / out), ceil((y + 1) in / out)) of the input;
// columns likewise. Fast if one size is a multiple of the other.
void Rescale(ConstMaskView in, MaskView out);

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_MASK_MASK_H_
