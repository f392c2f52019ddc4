#ifndef CACHEINF_SPARSE_OPS_CPU_CPU_H_
#define CACHEINF_SPARSE_OPS_CPU_CPU_H_

#include <cstddef>

#include "sparse_ops/cpu/thread_pool.h"
#include "sparse_ops/ops.h"

// The operators of ops.h on this machine's vectors and threads, but for convolutions (conv.h) and
// Linear (linear.h), which keep their weights packed. Bits are those of reference::, whatever the
// pool and the rows. Nothing here allocates.
//
// What is fast is what networks do: channels contiguous, or the last dimension of a tensor that is
// not a map. Rare layouts (a norm over strided numbers, a sum over several axes that are not a
// picture's) are left to reference::, which has the same bits.

namespace cacheinf {
namespace cpu {

void Pool(const PoolArgs& args, Range rows, ThreadPool& pool);
void AdaptivePool(const AdaptivePoolArgs& args, Range rows, ThreadPool& pool);
void Resize(const ResizeArgs& args, Range rows, ThreadPool& pool);
void DepthToSpace(const BlockArgs& args, Range rows, ThreadPool& pool);
void SpaceToDepth(const BlockArgs& args, Range rows, ThreadPool& pool);

void Activation(const ActivationArgs& args, ThreadPool& pool);
void ScaleShift(const ScaleShiftArgs& args, ThreadPool& pool);
void Binary(const BinaryArgs& args, ThreadPool& pool);

void Copy(const CopyArgs& args, ThreadPool& pool);
void Pad(const PadArgs& args, ThreadPool& pool);

void LayerNorm(const LayerNormArgs& args, ThreadPool& pool);
void GroupNorm(const GroupNormArgs& args, ThreadPool& pool);
void Softmax(const SoftmaxArgs& args, ThreadPool& pool);
void ArgMax(const ArgMaxArgs& args, ThreadPool& pool);
void Reduce(const ReduceArgs& args, ThreadPool& pool);

}  // namespace cpu
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_CPU_H_
