#ifndef CACHEINF_COMMON_PLAN_PLAN_H_
#define CACHEINF_COMMON_PLAN_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/words.h"

namespace cacheinf {

// Who computes what of a frame, in which form it crosses.
struct Plan {
  enum class Kind : uint8_t { kLocal, kRemote, kSplit };

  // A cut of split.h, by the operators of a profile; -1: behind the picture. The operators behind
  // it, up to the next cut's, are a run. Of a run the robot owns this share of the active rows;
  // before the first cut, all. What is kept and read in another run than its own crosses to who
  // needs it; of all else each side computes what it needs. So two cuts of one share trade halos.
  struct Cut {
    int after = -1;
    int robot_thousandths = 0;

    bool operator==(const Cut&) const = default;
  };

  Kind kind = Kind::kLocal;
  bool keeps = true;           // results from frame to frame: the robot's, in kRemote the server's
  std::string codec = {};      // kRemote: of the picture
  std::vector<Cut> cuts = {};  // kSplit: `after` ascends

  bool operator==(const Plan&) const = default;
};
constexpr Words<3> WordsOf(Plan::Kind) { return {"local", "remote", "split"}; }

// "local cache", "remote video:libx264 cache", "split 12:400,57:0 dense".
std::string ToText(const Plan& plan);

// The first of the picture's rows that the robot does not own if what is active lies evenly in it.
constexpr int PictureRowsOf(int robot_thousandths, int picture_rows) {
  return (robot_thousandths * picture_rows + 999) / 1000;
}

// The same of a map, from the picture's.
constexpr int MapRowsOf(int64_t picture_row, int picture_rows, int map_rows) {
  return static_cast<int>((picture_row * map_rows + picture_rows / 2) / picture_rows);
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_PLAN_H_
