#ifndef CACHEINF_SPARSE_OPS_CPU_SIMD_TARGETS_H_
#define CACHEINF_SPARSE_OPS_CPU_SIMD_TARGETS_H_

#include <string>
#include <vector>

namespace cacheinf {

// The instruction sets that this machine has and the CPU kernels know, best first, as Highway names
// them: "AVX3", "AVX2", "NEON". The first is the one they run with.
std::vector<std::string> SimdTargets();

// All instruction sets that the kernels are compiled for, here or elsewhere, named the same way.
// "SCALAR", the kernels without vectors, is none.
std::vector<std::string> CompiledSimdTargets();

// Whether this machine has none of them, so that the kernels compute number by number.
bool OnlyScalarKernelsRun();

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_SIMD_TARGETS_H_
