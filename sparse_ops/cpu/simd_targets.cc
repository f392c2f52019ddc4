#include "sparse_ops/cpu/simd_targets.h"

#include "sparse_ops/cpu/targets.h"
// After the choice of targets.
#include "hwy/highway.h"

namespace cacheinf {

std::vector<std::string> SimdTargets() {
  std::vector<std::string> names;
  // Highway lists better ones first.
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    names.emplace_back(hwy::TargetName(target));
  }
  return names;
}

}  // namespace cacheinf
