#ifndef CACHEINF_COMMON_PLAN_EXACTNESS_H_
#define CACHEINF_COMMON_PLAN_EXACTNESS_H_

#include <string>

#include "common/codec/slice_codec.h"
#include "common/plan/plan.h"

namespace cacheinf {

// Decides, together with the plan, whether the answers of robot and server have the bits of the
// robot's own dense run. Schemes are equal: under the policy exact the robot names them.
struct PairArithmetic {
  std::string robot;   // Backend::Arithmetic
  std::string server;  // empty: not known yet, assumed to be the robot's
  SliceCodec slice_codec = SliceCodec::kZstd;
  bool has_foreign = false;  // the model has foreign operators, whose bits differ among machines
};

// Returns why answers by this plan need not have the bits of the robot's own dense run, although
// the policy is exact; empty if they have them. The one rule for which plans an exact robot may
// follow in mode cacheinf. Throws InputError if the plan's codec is not a codec.
std::string WhyNotExact(const Plan& plan, const PairArithmetic& pair);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_EXACTNESS_H_
