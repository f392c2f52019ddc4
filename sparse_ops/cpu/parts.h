#ifndef CACHEINF_SPARSE_OPS_CPU_PARTS_H_
#define CACHEINF_SPARSE_OPS_CPU_PARTS_H_

#include <algorithm>
#include <cstdint>

#include "sparse_ops/views.h"

namespace cacheinf::cpu {

inline int DivideUp(int a, int b) { return (a + b - 1) / b; }
inline int RoundUp(int a, int b) { return DivideUp(a, b) * b; }

// The number of i >= 0 with first + i step < limit.
inline int StepsBelow(int limit, int first, int step) {
  return limit > first ? DivideUp(limit - first, step) : 0;
}

// Part `index` of [0, size), cut into `parts` equal ones in multiples of `grain`.
inline Range Part(int size, int grain, int index, int parts) {
  const int64_t grains = DivideUp(size, grain);
  const int64_t begin = grains * index / parts * grain;
  const int64_t end = grains * (index + 1) / parts * grain;
  return {static_cast<int>(begin), static_cast<int>(std::min<int64_t>(end, size))};
}

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_PARTS_H_
