#ifndef CACHEINF_COMMON_PLAN_PLAN_H_
#define CACHEINF_COMMON_PLAN_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/words.h"

namespace cacheinf {

// The operators behind a cut, up to the next one in order of execution, form a run. The robot owns
// this share of a run's active rows, and everything before the first cut. A kept value read outside
// its own run crosses to the side that needs it; each side computes everything else that it needs.
// So two cuts with the same share trade halos.
struct Cut {
  static constexpr int kAll = 1000;

  int after = -1;             // an operator; -1: behind the picture
  int robot_thousandths = 0;  // in [0, kAll]

  bool operator==(const Cut&) const = default;
};

// Who computes what of a frame, and in which form it crosses.
struct Plan {
  enum class Kind : uint8_t { kLocal, kRemote, kSplit };

  Kind kind = Kind::kLocal;
  bool keeps = true;  // results from frame to frame: on the robot or, in kRemote, on the server
  std::string codec = {};      // kRemote: the picture's codec
  std::vector<Cut> cuts = {};  // kSplit: `after` ascends
  std::string model = {};      // kLocal: the name of a smaller model; empty: the first one
  int every = 1;  // one of so many frames is computed; the others get its answer, moved

  bool operator==(const Plan&) const = default;
};
constexpr Words<3> WordsOf(Plan::Kind) { return {"local", "remote", "split"}; }

// Returns, for example, "local cache", "local yolov5n_192x320 dense", "remote video:libx264 cache",
// "split 12:400,57:0 dense", "track:3 local cache".
std::string ToText(const Plan& plan);

// The plan that computes every frame as this one computes some.
Plan BaseOf(Plan plan);

// Whether the robot itself computes the plan's answers, by the first model.
inline bool IsAlone(const Plan& plan) {
  return plan.kind == Plan::Kind::kLocal && plan.model.empty();
}

// The first row of the picture that the robot does not own, if active pixels are spread evenly.
constexpr int PictureRowsOf(int robot_thousandths, int picture_rows) {
  return (robot_thousandths * picture_rows + Cut::kAll - 1) / Cut::kAll;
}

// The row of a map that corresponds to a row of the picture.
constexpr int MapRowsOf(int64_t picture_row, int picture_rows, int map_rows) {
  return static_cast<int>((picture_row * map_rows + picture_rows / 2) / picture_rows);
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_PLAN_H_
