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

  // From the readers of an operator's output until the next cut the robot owns this share of the
  // active rows; before the first cut, all. Cut of split.h by the operators of a profile; -1: the
  // picture.
  struct Cut {
    int after = -1;
    int robot_thousandths = 0;

    bool operator==(const Cut&) const = default;
  };

  Kind kind = Kind::kLocal;
  bool keeps = true;      // results from frame to frame: the robot's, in kRemote the server's
  std::string codec = {};  // kRemote: of the picture
  std::vector<Cut> cuts = {};  // kSplit: `after` ascends

  bool operator==(const Plan&) const = default;
};
constexpr Words<3> WordsOf(Plan::Kind) { return {"local", "remote", "split"}; }

// "local cache", "remote video:libx264 cache", "split 12:400,57:0".
std::string ToText(const Plan& plan);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_PLAN_H_
