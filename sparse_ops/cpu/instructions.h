#ifndef CACHEINF_SPARSE_OPS_CPU_INSTRUCTIONS_H_
#define CACHEINF_SPARSE_OPS_CPU_INSTRUCTIONS_H_

namespace cacheinf::cpu {

// What this machine has beyond the instruction sets that Highway tells apart. (Highway decides
// whether the system keeps wide registers.)
struct Instructions {
  bool has_avx_vnni = false;
  bool has_avx512_vnni = false;
  bool has_avx512_vbmi = false;
};
Instructions MachineInstructions();

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_INSTRUCTIONS_H_
