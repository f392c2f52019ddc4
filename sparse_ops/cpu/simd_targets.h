#ifndef CACHEINF_SPARSE_OPS_CPU_SIMD_TARGETS_H_
#define CACHEINF_SPARSE_OPS_CPU_SIMD_TARGETS_H_

#include <string>
#include <vector>

namespace cacheinf {

// The instruction sets of this machine that the CPU kernels know, best first, by Highway's names:
// "AVX3", "AVX2", "NEON". The kernels run with the first.
std::vector<std::string> SimdTargets();

// All instruction sets that the kernels are compiled for, whatever this machine has, by the same
// names. Leaves out "SCALAR", the kernels without vectors.
std::vector<std::string> CompiledSimdTargets();

// Whether this machine has none of these sets, so that the kernels compute number by number.
bool OnlyScalarKernelsRun();

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_SIMD_TARGETS_H_
