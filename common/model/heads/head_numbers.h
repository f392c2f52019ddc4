#ifndef CACHEINF_COMMON_MODEL_HEADS_HEAD_NUMBERS_H_
#define CACHEINF_COMMON_MODEL_HEADS_HEAD_NUMBERS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "common/model/heads/head_outputs.h"
#include "common/model/heads/head_rows.h"
#include "common/model/heads/head_table.h"

// Tools to judge a head by its numbers.

namespace cacheinf {

inline constexpr float kSlack = 0.01f;     // of a score beyond 0 and 1
inline constexpr float kCertain = 0.05f;   // a box that scores less may be anything
inline constexpr float kEvident = 0.25f;   // a box that scores more is something
inline constexpr float kMostShare = 2.0f;  // of a corner that is a share of the picture

// From the least number to the largest.
struct Extent {
  float low = std::numeric_limits<float>::infinity();
  float high = -std::numeric_limits<float>::infinity();

  void Add(float number) {
    low = std::min(low, number);
    high = std::max(high, number);
  }
  void Add(const Extent& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
  }
  bool empty() const { return low > high; }
  bool IsWithin(float least, float most) const { return low >= least && high <= most; }
  bool IsShare() const { return IsWithin(-kSlack, 1 + kSlack); }
};

Extent ExtentOf(const std::vector<float>& numbers);

// "its scores run from -3 to 4, not from 0 to 1"
std::string Runs(const char* what, const Extent& extent, const std::string& expected);

// How centres of boxes or points lie beyond the picture, along x and y; empty if they do not.
std::string WhyNotInPicture(const char* what, const std::array<Extent, 2>& places,
                            const PictureSize& picture, bool are_shares);

float Sigmoid(float logit);

// Why these are not scores from a sigmoid (`are_shares`), or the logits before it; empty if they
// are.
std::string WhyNotScores(const char* what, const Extent& scores, bool are_shares);

// The numbers of boxes, whichever way they lie.
struct RowNumbers {
  const std::vector<float>& numbers;
  const BoxRows& rows;

  float At(int64_t box, int64_t number) const {
    return numbers[static_cast<size_t>(rows.is_transposed ? number * rows.boxes + box
                                                          : box * rows.numbers + number)];
  }
  Extent Columns(int64_t begin, int64_t end) const;
  float Best(int64_t box, int64_t begin, int64_t end) const;  // the largest of these columns
  float Median(int64_t column) const;
  // Whether every row's first four numbers are left, top, right and bottom: some centres and sizes
  // would be out of order. False for few rows.
  bool AreCorners() const;
  // Whether most boxes have hardly any width or height; the units are the picture's sides.
  bool AreFlat(double unit_x, double unit_y) const;
};

// How the scores of rather sure rows contradict that they begin with an objectness, or that they do
// not. `first` is the first score's column, `end` that after the last.
std::string WhyNotObjectness(const RowNumbers& table, bool has_objectness, int64_t end);

// Judges decoded rows on a grid: centre, size, an objectness perhaps, class scores, extra numbers.
HeadFinding JudgeRows(const Outputs& outputs, HeadNumbers all, bool has_objectness, int64_t extras);

// Picked boxes: left, top, right, bottom, score and class.
class PickedBoxes {
 public:
  explicit PickedBoxes(const Outputs& outputs);

  void Add(const float* corners, float score, float label);

  HeadFinding finding() const;

 private:
  size_t Repeated() const;  // boxes that are nearly another of their class
  std::string Contradiction(size_t repeated) const;

  PictureSize picture_;
  int names_;
  bool is_normalised_;
  Extent scores_;
  Extent corners_;
  std::array<Extent, 2> centres_;  // of evident boxes, along x and y
  Extent labels_;
  bool has_fraction_ = false;
  bool is_turned_ = false;                     // faint boxes count too
  std::vector<std::array<float, 6>> evident_;  // left, top, right, bottom, score, class
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_HEADS_HEAD_NUMBERS_H_
