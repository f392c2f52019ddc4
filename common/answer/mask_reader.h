#ifndef CACHEINF_COMMON_ANSWER_MASK_READER_H_
#define CACHEINF_COMMON_ANSWER_MASK_READER_H_

#include <vector>

#include "common/answer/answers.h"
#include "common/answer/seen_picture.h"

namespace cacheinf {

// Masks of boxes: sums of prototypes, weighted by each box's coefficients. A pixel belongs to the
// thing where the sum, interpolated linearly between prototype pixels, is positive.
class MaskReader {
 public:
  // `shape` is 1 × prototypes × height × width; `model_width` and `model_height` are those of the
  // picture that the prototypes are of.
  MaskReader(const Shape& shape, std::vector<float> prototypes, double model_width,
             double model_height);

  // The pixels inside of `box`, which lies in the frame.
  PixelRuns Read(const float* coefficients, const Detection& box, const SeenPicture& seen);

 private:
  // A place on an axis of the prototypes: `share` of the way from one pixel to the next.
  struct Tap {
    int before;
    int after;
    double share;
  };
  // Neighbouring rows of the frame between the same two rows of the prototypes.
  struct Band {
    int before;
    int after;
    std::vector<double> shares;
  };

  static Tap TapAt(double position, int size);
  Tap RowTap(double frame_x, double frame_y, const SeenPicture& seen) const;
  Tap ColumnTap(double frame_x, double frame_y, const SeenPicture& seen) const;
  // Sets sums in this part of the prototypes.
  void Sum(const float* coefficients, const Range& rows, const Range& columns);
  double SumAt(int row, const Tap& column) const;

  int count_;
  int height_;
  int width_;
  std::vector<float> prototypes_;
  double scale_x_;  // prototype pixels a model pixel
  double scale_y_;
  std::vector<float> sums_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_ANSWER_MASK_READER_H_
