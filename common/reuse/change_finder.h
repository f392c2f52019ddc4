#ifndef CACHEINF_COMMON_REUSE_CHANGE_FINDER_H_
#define CACHEINF_COMMON_REUSE_CHANGE_FINDER_H_

#include <cstdint>
#include <vector>

#include "common/base/picture_view.h"
#include "common/config/tracker_config.h"
#include "sparse_ops/mask/mask.h"

// Which pixels of a picture differ from the reference in place (Eq. 2 of the paper).

namespace cacheinf {

// For pictures of one shape.
class ChangeFinder {
 public:
  // REQUIRES: a checked configuration, 1 or 3 channels.
  ChangeFinder(const ChangeConfig& config, int width, int height, int channels);

  // Writes every pixel of `active`:
  //  - cells of cell × cell pixels (those at the right and the bottom may be smaller) in which the
  //    mean of |reference - picture| reaches the threshold in any channel; with a threshold of 0,
  //    pixels with any byte that differs; by the rule `blocks`, instead, cells whose
  //    signal-to-noise ratio, from the squares of those differences over all channels, does not
  //    exceed `psnr`;
  //  - `out_of_view`, pixels that the reference does not show: a mask of the same size, or no
  //    words;
  //  - all that rounded out to blocks.
  // REQUIRES: pictures of that shape, a mask of the picture's size.
  void Find(const PictureView& picture, const PictureView& reference, ConstMaskView out_of_view,
            MaskView active);

  const ChangeConfig& config() const { return config_; }

 private:
  void FindDifferentCells(const PictureView& picture, const PictureView& reference);
  void JudgeCellsBySquares(int row, int pixel_rows);
  void JudgeCellsByDifferences(int row, int pixel_rows);
  void RoundOut(MaskView active);

  ChangeConfig config_;
  int width_ = 0;
  int height_ = 0;
  int channels_ = 0;
  std::vector<uint16_t> sums_;     // of differences in one row of cells, by byte
  std::vector<uint32_t> squares_;  // of their squares, for the rule `blocks`
  double least_mean_square_ = 0;   // of a changed cell, for that rule
  Mask cells_;
  Mask blocks_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_CHANGE_FINDER_H_
