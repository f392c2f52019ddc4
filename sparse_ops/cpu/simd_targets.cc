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

std::vector<std::string> CompiledSimdTargets() {
  std::vector<std::string> names;
  for (int64_t targets = HWY_TARGETS & ~HWY_SCALAR; targets != 0; targets &= targets - 1) {
    names.emplace_back(hwy::TargetName(targets & -targets));
  }
  return names;
}

bool OnlyScalarKernelsRun() { return (hwy::SupportedTargets() & HWY_TARGETS & ~HWY_SCALAR) == 0; }

}  // namespace cacheinf
