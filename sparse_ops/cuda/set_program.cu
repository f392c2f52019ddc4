#include "sparse_ops/cuda/set_program.h"

#include "sparse_ops/cuda/real/launch.cuh"

namespace cacheinf {
namespace cuda {

CACHEINF_INSTANTIATE(SetProgram);

}  // namespace cuda
}  // namespace cacheinf
