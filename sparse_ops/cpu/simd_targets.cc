#include "sparse_ops/cpu/simd_targets.h"

#include <hwy/targets.h>

namespace cacheinf {

std::vector<std::string> SimdTargets() {
  std::vector<std::string> names;
  // Highway gives better targets the lower bits.
  for (auto left = static_cast<uint64_t>(hwy::SupportedTargets()); left != 0; left &= left - 1) {
    names.emplace_back(hwy::TargetName(static_cast<int64_t>(left & ~(left - 1))));
  }
  return names;
}

}  // namespace cacheinf
