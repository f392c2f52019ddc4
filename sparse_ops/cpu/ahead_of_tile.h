#ifndef CACHEINF_SPARSE_OPS_CPU_AHEAD_OF_TILE_H_
#define CACHEINF_SPARSE_OPS_CPU_AHEAD_OF_TILE_H_

#include <cstdint>

#include "sparse_ops/cpu/pixel_kernels.h"

namespace cacheinf {
namespace cpu {

// Prefetches for a tile, a few lines at each step over some channels.
class AheadOfTile {
 public:
  // Takes the share of pixels [first, last) of `count`, in `steps` steps; with no steps, nothing.
  AheadOfTile(const FetchAhead& ahead, int first, int last, int count, int steps) {
    const int64_t all = (ahead.end - ahead.begin) / kLineFloats;
    next_ = ahead.begin + all * first / count * kLineFloats;
    end_ = ahead.begin + all * last / count * kLineFloats;
    lines_ = steps == 0 ? 0 : static_cast<int>(((end_ - next_) / kLineFloats + steps - 1) / steps);
  }

  __attribute__((always_inline)) void Fetch() {
    for (int line = 0; line < lines_ && next_ < end_; ++line) {
      __builtin_prefetch(next_, 0, 2);  // to the second-level cache
      next_ += kLineFloats;
    }
  }

 private:
  static constexpr int kLineFloats = 16;  // the size of a cache line

  const float* next_;
  const float* end_;
  int lines_;
};

}  // namespace cpu
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_AHEAD_OF_TILE_H_
