#ifndef CACHEINF_TESTS_SPARSE_OPS_CPU_TARGETS_H_
#define CACHEINF_TESTS_SPARSE_OPS_CPU_TARGETS_H_

#include <gtest/gtest.h>

#include "sparse_ops/cpu/targets.h"
// After the choice of targets.
#include "hwy/highway.h"

namespace cacheinf {

// Calls check() once for every compiled target that this machine has, with kernels chosen for it.
template <typename Check>
void ForEachCpuTarget(Check&& check) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    check();
    hwy::SetSupportedTargetsForTest(0);
  }
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CPU_TARGETS_H_
