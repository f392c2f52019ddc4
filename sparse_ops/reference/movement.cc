#include "sparse_ops/reference/reference.h"
#include "sparse_ops/reference/tensor_walk.h"
#include "sparse_ops/view_transforms.h"

namespace cacheinf::reference {

void Compute(const CopyArgs& args) {
  TensorIndex from = {};
  ForEachIndex(args.output, [&](const TensorIndex& to) {
    *ElementAt(args.output, to) = *ElementAt(args.input, args.in_logical_order ? from : to);
    Advance(from, args.input);
  });
}

void Compute(const GatherArgs& args) {
  ForEachIndex(args.output, [&](const TensorIndex& to) {
    TensorIndex from = to;
    from[args.axis] = args.indices[to[args.axis]];
    *ElementAt(args.output, to) = *ElementAt(args.input, from);
  });
}

void Compute(const GatherElementsArgs& args) {
  const ConstTensorView indices = BroadcastTo(args.indices, args.output);
  ForEachIndex(args.output, [&](const TensorIndex& to) {
    TensorIndex from = to;
    from[args.axis] = PlaceOf(*ElementAt(indices, to), args.input.dims[args.axis]);
    *ElementAt(args.output, to) = *ElementAt(args.input, from);
  });
}

void Compute(const PadArgs& args) {
  ForEachIndex(args.output, [&](const TensorIndex& to) {
    TensorIndex from = {};
    bool is_inside = true;
    for (int axis = 0; axis < args.output.rank; ++axis) {
      from[axis] = PaddedIndex(args.mode, to[axis] - args.begins[axis], args.input.dims[axis]);
      is_inside = is_inside && from[axis] >= 0;
    }
    *ElementAt(args.output, to) = is_inside ? *ElementAt(args.input, from) : args.value;
  });
}

}  // namespace cacheinf::reference
