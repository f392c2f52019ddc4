#ifndef CACHEINF_SPARSE_OPS_CUDA_EMULATED_WARPGROUP_H_
#define CACHEINF_SPARSE_OPS_CUDA_EMULATED_WARPGROUP_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/emulated/place.h"

namespace cacheinf::cuda {

class Processor;

// The matrix instructions of a block that is a warpgroup (device.h), as strict as the PTX ISA or
// stricter. Results land in registers when their warp waits for them; until then the registers hold
// garbage. Throws KernelFault if
//   - registers were not fenced, or changed since; or sums change while an instruction is under way
//   - b was not shown to the warpgroup, or changes while an instruction is under way
//   - the warps do not execute the same instructions
class Warpgroup {
 public:
  static constexpr int kWarps = 4;

  // What each lane passes to Fence, and to Multiply.
  struct Registers {
    float* sums;
    size_t sum_count;
    unsigned* a;
    size_t a_count;
  };
  struct Factors {
    float* sums;  // four per eight columns
    const unsigned* a;
    uint64_t b;
  };

  // The numbers of a and b; number(word, i) is number i of a word.
  struct Format {
    const char* operation;
    int per_word;
    float (*number)(unsigned word, int i);
  };

  explicit Warpgroup(Processor& processor) : processor_(processor) {}

  // The beginning and end of a block.
  void Begin();
  void End() const;

  // For a whole warp, of which `thread` is one; slot i is what lane i passed.
  void Fence(int thread, void* const* slots);
  void Multiply(int thread, const Format& format, int columns, void* const* slots, Place place);
  void Commit(int thread) { ++Of(thread).committed; }
  void Wait(int thread, int but_last, Place place);
  void CheckNothingIsUnderWay(int thread, Place place) const;

 private:
  // What a lane's registers held when they were fenced.
  struct Fenced {
    Registers registers = {};
    std::vector<float> sums;
    std::vector<unsigned> a;
  };
  // All lanes' sums of instructions that their warp has not waited for.
  struct UnderWay {
    int group;  // of the last instruction
    std::array<float*, kWarp> sums;
    std::array<std::vector<float>, kWarp> values;
  };
  struct Reading {
    int group;
    uint64_t moment;
    uint64_t b;
    int columns;
  };
  struct Warp {
    std::array<Fenced, kWarp> fenced;
    std::vector<UnderWay> under_way;
    std::vector<Reading> readings;
    int committed = 0;
    size_t calls = 0;
  };
  // Must be the same in all warps.
  struct Call {
    uint64_t b;
    int columns;
    Place place;
  };

  Warp& Of(int thread) { return warps_[static_cast<size_t>(thread / kWarp)]; }
  void Compare(int thread, const Call& call);
  void CheckRegisters(int thread, int lane, const Factors& factors, int sums, bool are_under_way,
                      Place place);
  UnderWay& Begun(int thread, int columns, void* const* slots, Place place);
  // Calls visit(half of k, column, address of 16 bytes) for all of b.
  template <typename Visit>
  static void ForEachRow(uint64_t b, int columns, const Visit& visit);

  Processor& processor_;
  std::array<Warp, kWarps> warps_;
  std::vector<Call> calls_;
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_EMULATED_WARPGROUP_H_
