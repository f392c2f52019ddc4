#ifndef CACHEINF_COMMON_TRACKER_BLOCK_TRACKER_H_
#define CACHEINF_COMMON_TRACKER_BLOCK_TRACKER_H_

#include <cstdint>
#include <vector>

#include "common/config/tracker_config.h"
#include "common/tracker/grey_picture.h"
#include "common/tracker/tracker.h"

namespace cacheinf {

// Finds one translation for the frame by searching for its blocks in the reference (DeepCache,
// section 4), on the brightness of pixels:
//  1. The frame is cut into blocks; those at the right and the bottom may be smaller.
//  2. Every skip-th row and column of blocks is searched for its best match, by the sum of squared
//     differences, within `range` pixels and the reference. The diamond search begins in place,
//     moves its large diamond until the centre is best, then uses the small one. Among equal
//     matches the one found first stays.
//  3. With `mean` the translation is the mean of the matches whose signal-to-noise ratio exceeds
//     `psnr`, rounded to whole pixels. With `best` it is whichever of none, mean and median fits
//     the searched blocks best, by the mean of the square roots of their errors, each capped at
//     that of a block that just does not match. The mean alone goes astray where a still camera
//     sees something move.
//  4. A block matches if its ratio exceeds `psnr` under the translation. Sums from step 2 are used
//     where they exist.
//
// A frame is lost (kTooDifferent) if none of its blocks matches.
class BlockTracker final : public Tracker {
 public:
  explicit BlockTracker(const BlockMatchingConfig& config);

  void SetReference(const PictureView& reference) override;
  void SetReferenceToLastFrame() override;
  Motion Track(const PictureView& frame) override;

 private:
  struct Shift {
    int x = 0;
    int y = 0;
    friend bool operator==(Shift a, Shift b) { return a.x == b.x && a.y == b.y; }
  };
  struct Block {
    int x = 0;
    int y = 0;
    int width = 0;
    int height = 0;
    int index = 0;
    int pixels() const { return width * height; }
  };
  // What the search for a block has found.
  struct Searched {
    Shift best;
    uint32_t best_sum = 0;
    uint32_t sum_in_place = 0;
  };

  void Prepare();
  Block BlockAt(int row, int column) const;
  bool IsSearched(int row, int column) const;
  bool IsWithinReach(const Block& block, Shift shift) const;
  bool IsMatch(const Block& block, uint32_t sum) const;
  uint32_t SumOfSquares(const Block& block, Shift shift) const;
  bool Matches(const Block& block, Shift shift) const;

  void SearchBlocks();
  Searched Search(const Block& block);
  bool Improve(const Block& block, Shift shift, Searched* searched);

  Shift ChooseTranslation();
  Shift MeanShift() const;
  Shift MedianShift();
  double Misfit(Shift shift) const;

  int CountMatches(Shift shift) const;

  BlockMatchingConfig config_;
  double largest_mean_square_ = 0;  // of a match
  GreyPicture reference_;
  GreyPicture frame_;
  PictureView reference_shape_;  // without pixels
  PictureView frame_shape_;
  int rows_ = 0;  // of blocks
  int columns_ = 0;
  uint32_t search_ = 0;             // the number of the last search for a block
  std::vector<uint32_t> tried_;     // [shift y][shift x]: the last search that tried it
  std::vector<Searched> searched_;  // by block
  std::vector<Shift> matches_;      // of searched blocks that match
  std::vector<int> sorted_;         // one coordinate of them
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_TRACKER_BLOCK_TRACKER_H_
