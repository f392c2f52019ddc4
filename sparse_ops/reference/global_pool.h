#ifndef CACHEINF_SPARSE_OPS_REFERENCE_GLOBAL_POOL_H_
#define CACHEINF_SPARSE_OPS_REFERENCE_GLOBAL_POOL_H_

#include "sparse_ops/active_pixels.h"
#include "sparse_ops/global_pool.h"

// global_pool.h, slow and obvious: the definition.

namespace cacheinf {
namespace reference {

// Takes the pixels' numbers out of the sums, unless the next update will sum the whole map.
void GlobalPoolTakeOut(const GlobalPoolArgs& args, const ActivePixels& pixels,
                       const GlobalPoolState& state);

// Puts the pixels' numbers in, or sums the whole map if it is time for that or any sum is not a
// finite number; then compares the means with the output.
GlobalPoolResult GlobalPoolUpdate(const GlobalPoolArgs& args, const ActivePixels& pixels,
                                  GlobalPoolState& state);

}  // namespace reference
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_REFERENCE_GLOBAL_POOL_H_
