#ifndef CACHEINF_SPARSE_OPS_CPU_CORE_CLAIMS_H_
#define CACHEINF_SPARSE_OPS_CPU_CORE_CLAIMS_H_

#include <map>
#include <vector>

namespace cacheinf {

// Shares cores among thread pools, which may work at the same time or take turns: free ones first,
// then those that the fewest pools have.
class CoreClaims {
 public:
  // `count` cores of `allowed` for one pool, in ascending order, but shared ones first: the first
  // core stands for the thread that uses the pool, which is not pinned.
  // REQUIRES: `allowed` in ascending order, and at least `count` of them.
  std::vector<int> Claim(const std::vector<int>& allowed, int count);

  // What Claim returned.
  void Release(const std::vector<int>& cores);

 private:
  int PoolsOf(int core) const;

  std::map<int, int> pools_of_core_;
};

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_CORE_CLAIMS_H_
