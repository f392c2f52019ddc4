#ifndef CACHEINF_COMMON_REUSE_CHANGE_FINDER_H_
#define CACHEINF_COMMON_REUSE_CHANGE_FINDER_H_

#include <cstdint>
#include <vector>

#include "common/base/picture_view.h"
#include "common/config/tracker_config.h"
#include "sparse_ops/mask/mask.h"

// Which pixels of a picture differ from the reference in their place (Eq. 2 of the paper).

namespace cacheinf {

// Pictures of one shape.
class ChangeFinder {
 public:
  // REQUIRES: a checked configuration, 1 or 3 channels.
  ChangeFinder(const ChangeConfig& config, int width, int height, int channels);

  // Writes every pixel of `active`:
  //  - cells of cell × cell pixels (those at the right and the bottom may be smaller) in which, for
  //    any channel, the mean of |reference - picture| reaches the threshold; where the threshold is
  //    0, pixels of which any byte differs; by the rule `blocks`, instead, cells of which the
  //    signal-to-noise ratio does not exceed `psnr`, by the squares of those differences over all
  //    channels together;
  //  - `out_of_view`, pixels that the reference does not show: a mask of that size, or no words;
  //  - all that rounded out to blocks.
  // REQUIRES: pictures of the shape given, a mask of the picture's size.
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
  std::vector<uint16_t> sums_;     // of differences in one row of cells, by byte of a row
  std::vector<uint32_t> squares_;  // of them, by the rule `blocks`
  double least_mean_square_ = 0;   // of a changed cell, by that rule
  Mask cells_;
  Mask blocks_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_CHANGE_FINDER_H_
