// The kernels of operators.h, compiled for GPUs.

#include "sparse_ops/cuda/change_kernels.h"
#include "sparse_ops/cuda/detection_kernels.h"
#include "sparse_ops/cuda/group_kernels.h"
#include "sparse_ops/cuda/pointwise_kernels.h"
#include "sparse_ops/cuda/product_kernels.h"
#include "sparse_ops/cuda/real/launch.cuh"
#include "sparse_ops/cuda/row_kernels.h"
#include "sparse_ops/cuda/warp_kernels.h"
#include "sparse_ops/cuda/window_kernels.h"

namespace cacheinf::cuda {

CACHEINF_INSTANTIATE(MapElements);
CACHEINF_INSTANTIATE(CombineElements);
CACHEINF_INSTANTIATE(PickElements);
CACHEINF_INSTANTIATE(PadElements);
CACHEINF_INSTANTIATE(ReshapeElements);
CACHEINF_INSTANTIATE(PackPixels);
CACHEINF_INSTANTIATE(PoolWindows);
CACHEINF_INSTANTIATE(PoolCells);
CACHEINF_INSTANTIATE(ResizeMap);
CACHEINF_INSTANTIATE(MoveBlocks);
CACHEINF_INSTANTIATE(NormalizeRows);
CACHEINF_INSTANTIATE(SoftmaxRows);
CACHEINF_INSTANTIATE(FindLargestOfRows);
CACHEINF_INSTANTIATE(ListLargestOfRows);
CACHEINF_INSTANTIATE(ReduceRowsOfAxis);
CACHEINF_INSTANTIATE(ReduceGroups);
CACHEINF_INSTANTIATE(NormalizeGroups);
CACHEINF_INSTANTIATE(MultiplyMatrices);
CACHEINF_INSTANTIATE(DecodeRows);
CACHEINF_INSTANTIATE(ClearCount);
CACHEINF_INSTANTIATE(CollectCandidates);
CACHEINF_INSTANTIATE(KeepBestCandidates);
CACHEINF_INSTANTIATE(SettlePixels);
CACHEINF_INSTANTIATE(WarpMap);

}  // namespace cacheinf::cuda
