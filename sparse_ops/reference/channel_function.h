#ifndef CACHEINF_SPARSE_OPS_REFERENCE_CHANNEL_FUNCTION_H_
#define CACHEINF_SPARSE_OPS_REFERENCE_CHANNEL_FUNCTION_H_

#include <cstdint>

#include "sparse_ops/function.h"
#include "sparse_ops/ops.h"

namespace cacheinf::reference {

inline float Apply(const ChannelFunction& activation, float x, int64_t channel) {
  Function function = activation.function;
  if (function.kind == Function::Kind::kPRelu) {
    function.alpha = activation.slopes[activation.one_slope ? 0 : channel];
  }
  return cacheinf::Apply(function, x);
}

}  // namespace cacheinf::reference

#endif  // CACHEINF_SPARSE_OPS_REFERENCE_CHANNEL_FUNCTION_H_
