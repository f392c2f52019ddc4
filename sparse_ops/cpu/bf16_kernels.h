#ifndef CACHEINF_SPARSE_OPS_CPU_BF16_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CPU_BF16_KERNELS_H_

#include "sparse_ops/cpu/pixel_kernels.h"

// The inner kernels of convolutions in BF16. They take the lists and blocks of pixel_kernels.h, in
// which every float holds the bits of a pair: channel 2i in its lower half, 2i + 1 in its upper.

namespace cacheinf {
namespace cpu {

struct Bf16Kernels {
  // Rounds `count` numbers; the last of an odd count is paired with +0.
  void (*to_pairs)(const float* numbers, int count, float* pairs) = nullptr;
  // As PixelKernels::conv: block.inputs counts pairs.
  void (*conv)(const ConvBlock& block, const PixelList& list) = nullptr;
};

// Whether the processor reports AVX512-BF16.
bool HasBf16Instructions();

// The kernels that use AVX512-BF16 where the processor has it, else those that emulate it with
// ordinary instructions: the same bits, several times slower. For the blocks of
// ChoosePixelKernels().
const Bf16Kernels& ChooseBf16Kernels();

// How ChooseBf16Kernels chooses, for tests and benchmarks.
enum class Bf16Choice : uint8_t {
  kAsProcessorSays,
  kEmulated,
  kInstructions,  // even if the processor does not report them, as under some hypervisors
};
void SetBf16Choice(Bf16Choice choice);

// Kernels with the instructions. REQUIRES: a processor that has them; PixelKernels of 16 lanes.
const Bf16Kernels& InstructionBf16Kernels();

}  // namespace cpu
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_BF16_KERNELS_H_
