#ifndef CACHEINF_SPARSE_OPS_REFERENCE_WARP_H_
#define CACHEINF_SPARSE_OPS_REFERENCE_WARP_H_

#include "sparse_ops/warp.h"

// warp.h, slow and obvious: the definition.

namespace cacheinf {
namespace reference {

// Writes the pixels of `rows` that are in `needed` but not in `active`, in every image, if they are
// in view; else sets them in `out_of_view`. All other pixels and bits stay unchanged.
// REQUIRES: masks as large as the map that do not overlap, except that `out_of_view` may be
// `active`: then what has no old value becomes active.
void HaloFetch(const WarpArgs& args, ConstMaskView needed, ConstMaskView active, Range rows,
               MaskView out_of_view);

// The same for all pixels that are not in `active`.
void WarpAndMerge(const WarpArgs& args, ConstMaskView active, Range rows, MaskView out_of_view);

}  // namespace reference
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_REFERENCE_WARP_H_
