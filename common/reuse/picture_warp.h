#ifndef CACHEINF_COMMON_REUSE_PICTURE_WARP_H_
#define CACHEINF_COMMON_REUSE_PICTURE_WARP_H_

#include <cstdint>

#include "common/base/picture_view.h"
#include "sparse_ops/homography.h"
#include "sparse_ops/views.h"

// 8-bit pictures seen through a homography. Once places are known, all numbers are integers, so
// the bytes do not depend on vectors, rows or threads. A shift by whole pixels, or none, copies
// bytes.

namespace cacheinf {

// Gives rows of a picture as it looks from elsewhere.
//
// The place of a pixel in `from` is exact for every 16th column, linear in between (off by less
// than 1/16 of a pixel for what a camera can do), and rounded to 1/16. As in sparse_ops/warp.h it
// is in view if it lies on a pixel of `from`; its value is then that of its four neighbours,
// weighted and rounded once. A pixel out of view repeats the edge of `from` beside it or, if it
// lies nowhere at all, the first pixel.
class PictureWarp {
 public:
  // The pixels must outlive this. REQUIRES: 1 or 3 channels; at most 2^14 rows and columns.
  PictureWarp(const PictureView& from, const Homography& from_of_to);

  // Writes row y into `to`, which is as wide as `from`. Sets its pixels that are out of view in
  // `out_of_view`, and leaves the others.
  void WarpRow(int y, uint8_t* to, MaskView out_of_view) const;

 private:
  void CopyRow(int y, uint8_t* to, MaskView out_of_view) const;

  PictureView from_;
  Homography from_of_to_;
  bool is_copy_ = false;  // a shift by whole pixels
  int shift_rows_ = 0;
  int shift_columns_ = 0;
};

// Warps the whole picture, and writes all pixels of `out_of_view`, a mask of its size. REQUIRES:
// `to` has the shape of `from` and does not overlap it.
void WarpPicture(const PictureView& from, const Homography& from_of_to, uint8_t* to,
                 MaskView out_of_view);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_PICTURE_WARP_H_
