#ifndef CACHEINF_SPARSE_OPS_REFERENCE_POOL_TAPS_H_
#define CACHEINF_SPARSE_OPS_REFERENCE_POOL_TAPS_H_

#include <algorithm>
#include <cstdint>

#include "sparse_ops/specs.h"

namespace cacheinf::reference {

// The taps of one axis of a pool's window: input indices begin, begin + step, … below end.
struct PoolTaps {
  int64_t begin;
  int64_t end;
  int64_t step;
  int64_t padded_count;  // taps inside the padded picture
};

inline int64_t CountBelow(int64_t begin, int64_t end, int64_t step) {
  return end > begin ? (end - begin + step - 1) / step : 0;
}

inline PoolTaps TapsOfPool(const WindowAxis& axis, int size, int out) {
  const int64_t step = axis.dilation;
  const int64_t first = static_cast<int64_t>(out) * axis.stride - axis.pad_begin;
  const int64_t end = first + axis.kernel * step;
  const int64_t skipped = first < 0 ? (-first + step - 1) / step : 0;
  const int64_t padded_end = std::min(end, static_cast<int64_t>(size) + axis.pad_end);
  return {first + skipped * step, std::min<int64_t>(end, size), step,
          CountBelow(first, padded_end, step)};
}

inline float PoolDivisor(const PoolSpec& spec, const PoolTaps& rows, const PoolTaps& columns) {
  if (spec.divisor != 0) return static_cast<float>(spec.divisor);
  if (spec.count_padding) return static_cast<float>(rows.padded_count * columns.padded_count);
  return static_cast<float>(CountBelow(rows.begin, rows.end, rows.step) *
                            CountBelow(columns.begin, columns.end, columns.step));
}

}  // namespace cacheinf::reference

#endif  // CACHEINF_SPARSE_OPS_REFERENCE_POOL_TAPS_H_
