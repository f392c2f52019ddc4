#ifndef CACHEINF_COMMON_EXEC_DECISION_FIELDS_H_
#define CACHEINF_COMMON_EXEC_DECISION_FIELDS_H_

#include <array>
#include <limits>

#include "common/base/fields.h"
#include "common/exec/frame_decision.h"

namespace cacheinf {

// Returns what is wrong between a decision's fields, such as "base must be ...", or null.
const char* FaultOf(const FrameDecision& decision);

auto EntriesOf(MaybeConst<Homography> auto& homography) {
  auto& m = homography.m;
  return std::array{&m[0][0], &m[0][1], &m[0][2], &m[1][0], &m[1][1],
                    &m[1][2], &m[2][0], &m[2][1], &m[2][2]};
}

void VisitFields(MaybeConst<FrameDecision> auto& decision, auto& visit) {
  constexpr int kLargestShift = 1 << 14;
  if constexpr (requires { visit.keys(); }) {
    visit.Check(visit.keys() == 11 ? nullptr : "not the fields of a decision");
  }
  visit("number", decision.number, kNotNegative);
  visit("base", decision.base);
  visit("frame", decision.frame, kNotNegative);
  visit("kind", decision.kind);
  visit("changed", decision.changed);
  visit("forced", decision.forced);
  auto& scroll = decision.scroll;
  visit.Tuple("scroll", std::array{&scroll.rows, &scroll.columns}, scroll.is_zero(),
              Whole{-kLargestShift, kLargestShift, "two numbers of pixels"});
  visit.Tuple("stored_from_frame", EntriesOf(decision.stored_from_frame),
              decision.stored_from_frame.IsIdentity(), Real{.range = "9 numbers"});
  auto& light = decision.light;
  visit.Tuple("light", std::array{&light.gain, &light.offset}, light.IsIdentity(),
              Real{.range = "2 numbers"});
  visit("settings", decision.settings, kNotNegative);
  visit("robot_rows", decision.robot_rows, Whole{0, std::numeric_limits<int>::max(), "rows"});
  visit.Check(FaultOf(decision));
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_DECISION_FIELDS_H_
