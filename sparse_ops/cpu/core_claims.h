#ifndef CACHEINF_SPARSE_OPS_CPU_CORE_CLAIMS_H_
#define CACHEINF_SPARSE_OPS_CPU_CORE_CLAIMS_H_

#include <map>
#include <vector>

namespace cacheinf {

// Shares cores among thread pools, which may work at the same time or take turns. Hands out free
// cores first, then those that the fewest pools have.
class CoreClaims {
 public:
  // Claims `count` cores of `allowed` for one pool. Returns shared ones first, otherwise in
  // ascending order: the first core stands for the thread that uses the pool, which is not pinned.
  // REQUIRES: `allowed` is ascending and has at least `count` cores.
  std::vector<int> Claim(const std::vector<int>& allowed, int count);

  // Gives back what Claim returned.
  void Release(const std::vector<int>& cores);

 private:
  int PoolsOf(int core) const;

  std::map<int, int> pools_of_core_;
};

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_CORE_CLAIMS_H_
