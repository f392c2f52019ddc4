#ifndef CACHEINF_SPARSE_OPS_CPU_BYTE_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CPU_BYTE_KERNELS_H_

#include <cstdint>

#include "sparse_ops/specs.h"

namespace cacheinf::cpu {

// What operators on 8-bit maps do with contiguous numbers.
struct ByteKernels {
  // bytes[i] = ToSteps(floats[i])
  void (*to_bytes)(const float* floats, const Steps& steps, int64_t count,
                   uint8_t* bytes) = nullptr;
  // floats[i] = FromSteps(bytes[i])
  void (*to_floats)(const uint8_t* bytes, const Steps& steps, int64_t count,
                    float* floats) = nullptr;
  // out[i] = the largest of inputs[k][i], k < inputs. REQUIRES: inputs > 0.
  void (*largest)(const uint8_t* const* inputs, int input_count, bool is_signed, int64_t count,
                  uint8_t* out) = nullptr;
  // out[i] = table[bytes[i]], of 256 entries.
  void (*look_up)(const uint8_t* table, const uint8_t* bytes, int64_t count,
                  uint8_t* out) = nullptr;
};

// The kernels for the best target of this machine.
const ByteKernels& ChooseByteKernels();

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_BYTE_KERNELS_H_
