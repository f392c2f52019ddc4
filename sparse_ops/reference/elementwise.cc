#include <cmath>

#include "sparse_ops/reference/channel_function.h"
#include "sparse_ops/reference/reference.h"
#include "sparse_ops/reference/tensor_walk.h"

namespace cacheinf::reference {

void Compute(const ActivationArgs& args) {
  ForEachIndex(args.output, [&](const TensorIndex& index) {
    *ElementAt(args.output, index) =
        Apply(args.activation, *ElementAt(args.input, index), index[1]);
  });
}

void Compute(const ScaleShiftArgs& args) {
  ForEachIndex(args.output, [&](const TensorIndex& index) {
    const int64_t channel = index[1];
    TensorIndex from = index;
    if (args.channel_order != nullptr) from[1] = args.channel_order[channel];
    const float x = *ElementAt(args.input, from);
    *ElementAt(args.output, index) =
        Apply(args.activation, std::fma(x, args.scale[channel], args.shift[channel]), channel);
  });
}

void Compute(const BinaryArgs& args) {
  const ConstTensorView a = BroadcastTo(args.a, args.output);
  const ConstTensorView b = BroadcastTo(args.b, args.output);
  ForEachIndex(args.output, [&](const TensorIndex& index) {
    const float value = Combine(args.kind, *ElementAt(a, index), *ElementAt(b, index));
    *ElementAt(args.output, index) = cacheinf::Apply(args.activation, value);
  });
}

}  // namespace cacheinf::reference
