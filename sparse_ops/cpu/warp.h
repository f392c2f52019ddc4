#ifndef CACHEINF_SPARSE_OPS_CPU_WARP_H_
#define CACHEINF_SPARSE_OPS_CPU_WARP_H_

#include "sparse_ops/cpu/thread_pool.h"
#include "sparse_ops/warp.h"

// warp.h on this machine's vectors and threads: the contracts and bits of reference/warp.h for any
// pool and any rows. Nothing here allocates.

namespace cacheinf {
namespace cpu {

void HaloFetch(const WarpArgs& args, ConstMaskView needed, ConstMaskView active, Range rows,
               MaskView out_of_view, ThreadPool& pool);

// A caller that may be interrupted asks for some rows at a time.
void WarpAndMerge(const WarpArgs& args, ConstMaskView active, Range rows, MaskView out_of_view,
                  ThreadPool& pool);

}  // namespace cpu
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_WARP_H_
