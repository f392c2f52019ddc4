#include "sparse_ops/cuda/conv.h"

#include "sparse_ops/cuda/conv-inl.h"
#include "sparse_ops/cuda/emulated/device.h"
#include "sparse_ops/cuda/winograd-inl.h"
#ifdef CACHEINF_HAS_CUDA
#include "sparse_ops/cuda/real/device.h"
#endif

namespace cacheinf::cuda {

template class Conv<EmulatedDevice>;
template class Winograd<EmulatedDevice>;
#ifdef CACHEINF_HAS_CUDA
template class Conv<RealDevice>;
template class Winograd<RealDevice>;
#endif

}  // namespace cacheinf::cuda
