#ifndef CACHEINF_SPARSE_OPS_CPU_SIMD_TARGETS_H_
#define CACHEINF_SPARSE_OPS_CPU_SIMD_TARGETS_H_

#include <string>
#include <vector>

namespace cacheinf {

// This machine's instruction sets that the CPU kernels know, best first, by Highway's names:
// "AVX3", "AVX2", "NEON". The kernels run with the first.
std::vector<std::string> SimdTargets();

// All instruction sets that the kernels are compiled for, here or elsewhere, by the same names.
// "SCALAR", the kernels without vectors, is not one of them.
std::vector<std::string> CompiledSimdTargets();

// Whether this machine has none of them, so that the kernels compute number by number.
bool OnlyScalarKernelsRun();

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_SIMD_TARGETS_H_
