#ifndef CACHEINF_COMMON_PAIR_LIKENESS_H_
#define CACHEINF_COMMON_PAIR_LIKENESS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/exec/change_policy.h"
#include "common/plan/plan.h"

namespace cacheinf {

class ModelState;

// What must be alike on two sides that share a frame's rows. Each side makes it from what it has
// compiled, so that releases may differ in everything else.
struct Likeness {
  // A hash of the network's definition, what is kept, and how rows are cut and cross at these cuts.
  uint64_t rows = 0;
  // A hash of the same and of all that decides bits: arithmetic, schemes, policy.
  uint64_t bits = 0;

  bool operator==(const Likeness&) const = default;
};

// REQUIRES: cuts that pass CheckCuts.
Likeness LikenessOf(const ModelState& state, const std::vector<Cut>& cuts,
                    const ChangePolicy& policy);

// Returns why these sides share no rows under the policy; empty if they may.
std::string WhyUnlike(const Likeness& one, const Likeness& other, const ChangePolicy& policy);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_LIKENESS_H_
