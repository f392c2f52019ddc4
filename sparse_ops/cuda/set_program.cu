#include "sparse_ops/cuda/set_program.h"

#include "sparse_ops/cuda/real/launch.cuh"

namespace cacheinf::cuda {

CACHEINF_INSTANTIATE(SetProgram);

}  // namespace cacheinf::cuda
