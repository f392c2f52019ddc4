#ifndef CACHEINF_SPARSE_OPS_CPU_TARGETS_H_
#define CACHEINF_SPARSE_OPS_CPU_TARGETS_H_

// Include before hwy/foreach_target.h. Compiles only targets with a fused multiply-add (AVX2,
// AVX-512, NEON) and Highway's scalar fallback, where Fma (simd-inl.h) is std::fma, so that all
// give the same bits. Tiles of vectors in registers rule out targets of unknown vector length.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_EMU128 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#define HWY_BROKEN_EMU128 1  // the fallback is HWY_SCALAR with every compiler

// Ends a file of kernels, under HWY_ONCE: defines ChooseNAME(), which returns the result of
// TargetNAME() for this machine's best target.
#define CACHEINF_DISPATCH(NAME)                                               \
  namespace cacheinf {                                                        \
  namespace cpu {                                                             \
  HWY_EXPORT(Target##NAME);                                                   \
  const NAME& Choose##NAME() { return HWY_DYNAMIC_DISPATCH(Target##NAME)(); } \
  }                                                                           \
  }

#endif  // CACHEINF_SPARSE_OPS_CPU_TARGETS_H_
