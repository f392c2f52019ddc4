#ifndef CACHEINF_COMMON_PLAN_EXACTNESS_H_
#define CACHEINF_COMMON_PLAN_EXACTNESS_H_

#include <string>

#include "common/codec/slice_codec.h"
#include "common/plan/plan.h"

namespace cacheinf {

// What decides, besides the plan, whether the answers of robot and server have the bits of the
// robot's own dense run. Their schemes are equal: under the policy exact the robot names them.
struct PairArithmetic {
  std::string robot;   // Backend::Arithmetic
  std::string server;  // empty: not known yet, taken for the robot's
  SliceCodec slice_codec = SliceCodec::kZstd;
  bool has_foreign = false;  // the model has foreign operators, whose bits differ among machines
};

// Returns why answers by this plan need not have the bits of the robot's own dense run, although
// the policy is exact; empty if they have them. The one rule of which plans an exact robot may
// follow in mode cacheinf. Throws InputError if the plan's codec is none.
std::string WhyNotExact(const Plan& plan, const PairArithmetic& pair);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_EXACTNESS_H_
