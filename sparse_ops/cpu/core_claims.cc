#include "sparse_ops/cpu/core_claims.h"

#include <algorithm>
#include <cstddef>

namespace cacheinf {

std::vector<int> CoreClaims::Claim(const std::vector<int>& allowed, int count) {
  std::vector<int> cores = allowed;
  std::stable_sort(cores.begin(), cores.end(),
                   [&](int a, int b) { return PoolsOf(a) < PoolsOf(b); });
  cores.resize(static_cast<size_t>(count));
  std::stable_sort(cores.begin(), cores.end(),
                   [&](int a, int b) { return PoolsOf(a) > PoolsOf(b); });
  for (const int core : cores) ++pools_of_core_[core];
  return cores;
}

void CoreClaims::Release(const std::vector<int>& cores) {
  for (const int core : cores) --pools_of_core_[core];
}

int CoreClaims::PoolsOf(int core) const {
  const auto found = pools_of_core_.find(core);
  return found == pools_of_core_.end() ? 0 : found->second;
}

}  // namespace cacheinf
