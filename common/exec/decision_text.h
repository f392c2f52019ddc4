#ifndef CACHEINF_COMMON_EXEC_DECISION_TEXT_H_
#define CACHEINF_COMMON_EXEC_DECISION_TEXT_H_

#include <array>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/base/fields.h"
#include "common/exec/frame_decision.h"

namespace cacheinf {

class JsonReader;

// Masks as the hexadecimal digits of their bytes (sparse_ops/mask/wire.h), "" without pixels.
void to_json(nlohmann::ordered_json& json, const Mask& mask);
void ReadField(const JsonReader& json, const char* key, Mask& mask);

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

// Returns the decision as one line of JSON; equal decisions give equal text.
std::string ToText(const FrameDecision& decision);

// Trusts nothing: throws InputError, one sentence that begins with `name`, for anything that ToText
// would not have written.
FrameDecision ReadFrameDecision(const std::string& text, const std::string& name);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_DECISION_TEXT_H_
