#include "sparse_ops/cpu/instructions.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace cacheinf::cpu {

Instructions MachineInstructions() {
  Instructions has;
#if defined(__x86_64__)
  constexpr unsigned kFeatures = 7;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid_count(kFeatures, 0, &eax, &ebx, &ecx, &edx) == 0) return has;
  has.has_avx512_vbmi = (ecx >> 1 & 1) != 0;
  has.has_avx512_vnni = (ecx >> 11 & 1) != 0;
  const bool has_more = eax >= 1;
  if (has_more && __get_cpuid_count(kFeatures, 1, &eax, &ebx, &ecx, &edx) != 0) {
    has.has_avx_vnni = (eax >> 4 & 1) != 0;
  }
#endif
  return has;
}

}  // namespace cacheinf::cpu
