#ifndef CACHEINF_SPARSE_OPS_CPU_GLOBAL_POOL_H_
#define CACHEINF_SPARSE_OPS_CPU_GLOBAL_POOL_H_

#include "sparse_ops/active_pixels.h"
#include "sparse_ops/cpu/thread_pool.h"
#include "sparse_ops/global_pool.h"

// global_pool.h on this machine's vectors and threads: the contracts and bits of
// reference/global_pool.h, whatever the pool. Nothing here allocates.

namespace cacheinf {
namespace cpu {

void GlobalPoolTakeOut(const GlobalPoolArgs& args, const ActivePixels& pixels,
                       const GlobalPoolState& state, ThreadPool& pool);

GlobalPoolResult GlobalPoolUpdate(const GlobalPoolArgs& args, const ActivePixels& pixels,
                                  GlobalPoolState& state, ThreadPool& pool);

}  // namespace cpu
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_GLOBAL_POOL_H_
