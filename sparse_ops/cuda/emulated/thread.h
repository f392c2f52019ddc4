#ifndef CACHEINF_SPARSE_OPS_CUDA_EMULATED_THREAD_H_
#define CACHEINF_SPARSE_OPS_CUDA_EMULATED_THREAD_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "sparse_ops/cuda/emulated/processor.h"
#include "sparse_ops/cuda/numbers.h"

namespace cacheinf::cuda {

// What a kernel on the stand-in sees (device.h).
class EmulatedThread {
 public:
  EmulatedThread(Processor& processor, int index) : processor_(processor), index_(index) {}

  int ThreadIndex() const { return index_; }
  int Lane() const { return index_ % kWarp; }
  int Warp() const { return index_ / kWarp; }
  int BlockX() const { return processor_.block().x; }
  int BlockY() const { return processor_.block().y; }
  int BlockZ() const { return processor_.block().z; }
  int BlocksX() const { return processor_.launch().blocks.x; }
  int BlocksY() const { return processor_.launch().blocks.y; }
  int BlocksZ() const { return processor_.launch().blocks.z; }

  template <typename T>
  T* Shared(size_t byte_offset = 0) const {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the stand-in, not a pointer
    return reinterpret_cast<T*>(kSharedMemory + byte_offset);
  }

  template <typename T>
  T Load(const T* from, CACHEINF_PLACE) const {
    CheckType<T>();
    T value;
    std::memcpy(&value, processor_.Read(index_, Address(from), sizeof(T), alignof(T), place),
                sizeof(T));
    return value;
  }
  template <typename T>
  T LoadReadOnly(const T* from, CACHEINF_PLACE) const {
    return Load(from, place);
  }
  template <typename T>
  void Store(T* to, std::common_type_t<T> value, CACHEINF_PLACE) const {
    CheckType<T>();
    std::memcpy(processor_.Write(index_, Address(to), sizeof(T), alignof(T), place), &value,
                sizeof(T));
  }

  template <typename T>
  T AtomicAdd(T* at, std::common_type_t<T> value, CACHEINF_PLACE) const {
    return Update(at, place, [value](T old) { return static_cast<T>(old + value); });
  }
  template <typename T>
  T AtomicOr(T* at, std::common_type_t<T> value, CACHEINF_PLACE) const {
    return Update(at, place, [value](T old) { return old | value; });
  }
  template <typename T>
  T AtomicAnd(T* at, std::common_type_t<T> value, CACHEINF_PLACE) const {
    return Update(at, place, [value](T old) { return old & value; });
  }
  template <typename T>
  T AtomicMax(T* at, std::common_type_t<T> value, CACHEINF_PLACE) const {
    return Update(at, place, [value](T old) { return old < value ? value : old; });
  }
  template <typename T>
  T AtomicMin(T* at, std::common_type_t<T> value, CACHEINF_PLACE) const {
    return Update(at, place, [value](T old) { return value < old ? value : old; });
  }

  void Barrier(CACHEINF_PLACE) const { processor_.Barrier(index_, false, place); }
  bool BarrierAny(bool says_yes, CACHEINF_PLACE) const {
    return processor_.Barrier(index_, says_yes, place) != 0;
  }
  int BarrierCount(bool says_yes, CACHEINF_PLACE) const {
    return processor_.Barrier(index_, says_yes, place);
  }

  void SyncWarp(CACHEINF_PLACE) const {
    processor_.Meet(index_, "SyncWarp", nullptr, place,
                    [this](void* const*, int) { processor_.OrderWarp(index_); });
  }
  template <typename T>
  T Shuffle(T value, int lane, CACHEINF_PLACE) const {
    return Exchange(value, lane, "Shuffle", place);
  }
  template <typename T>
  T ShuffleUp(T value, int by, CACHEINF_PLACE) const {
    return Exchange(value, Lane() - by < 0 ? Lane() : Lane() - by, "ShuffleUp", place);
  }
  template <typename T>
  T ShuffleDown(T value, int by, CACHEINF_PLACE) const {
    return Exchange(value, Lane() + by >= kWarp ? Lane() : Lane() + by, "ShuffleDown", place);
  }
  template <typename T>
  T ShuffleXor(T value, int mask, CACHEINF_PLACE) const {
    return Exchange(value, Lane() ^ mask, "ShuffleXor", place);
  }
  unsigned Ballot(bool says_yes, CACHEINF_PLACE) const {
    struct Slot {
      bool says_yes;
      unsigned votes;
    } slot = {says_yes, 0};
    processor_.Meet(index_, "Ballot", &slot, place, [](void* const* slots, int lanes) {
      unsigned votes = 0;
      for (int i = 0; i < lanes; ++i) {
        if (static_cast<const Slot*>(slots[i])->says_yes) votes |= 1u << i;
      }
      for (int i = 0; i < lanes; ++i) static_cast<Slot*>(slots[i])->votes = votes;
    });
    return slot.votes;
  }
  bool Any(bool says_yes, CACHEINF_PLACE) const { return Ballot(says_yes, place) != 0; }
  bool All(bool says_yes, CACHEINF_PLACE) const { return Ballot(!says_yes, place) == 0; }
  int Sum(int value, CACHEINF_PLACE) const {
    processor_.Meet(index_, "Sum", &value, place, [&](void* const* slots, int lanes) {
      if (lanes != kWarp) processor_.Fail(index_, place, "sums over part of a warp");
      int sum = 0;
      for (int i = 0; i < lanes; ++i) sum += *static_cast<const int*>(slots[i]);
      for (int i = 0; i < lanes; ++i) *static_cast<int*>(slots[i]) = sum;
    });
    return value;
  }

  template <typename T>
  void CopyAsync(T* to, const T* from, CACHEINF_PLACE) const {
    CopyAsyncOrZero(to, from, true, place);
  }
  template <typename T>
  void CopyAsyncOrZero(T* to, const T* from, bool copies, CACHEINF_PLACE) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "as cp.async has it");
    processor_.CopyAsync(index_, Address(to), copies ? Address(from) : 0, sizeof(T), place);
  }
  void CommitCopies() const { processor_.CommitCopies(index_); }
  template <int but_last>
  void WaitForCopies() const {
    processor_.WaitForCopies(index_, but_last);
  }

  void MultiplyTf32(float (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                    CACHEINF_PLACE) const {
    Multiply(sums, a, b, 8, "MultiplyTf32", place, &Tf32Of);
  }
  void MultiplyHalf(float (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                    CACHEINF_PLACE) const {
    Multiply(sums, a, b, 16, "MultiplyHalf", place, &HalfOf);
  }
  void MultiplyBfloat16(float (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                        CACHEINF_PLACE) const {
    Multiply(sums, a, b, 16, "MultiplyBfloat16", place, &Bfloat16Of);
  }

  void ShowToWarpgroup() const { processor_.ShowToWarpgroup(index_); }
  template <class Sums, class Inputs>
  void FenceWarpgroup(Sums& sums, Inputs& a, CACHEINF_PLACE) const {
    Warpgroup::Registers registers = {reinterpret_cast<float*>(&sums), sizeof(sums) / sizeof(float),
                                      reinterpret_cast<unsigned*>(&a),
                                      sizeof(a) / sizeof(unsigned)};
    MeetWarpgroup(
        "FenceWarpgroup", &registers, place,
        [&](Warpgroup& warpgroup, void* const* slots) { warpgroup.Fence(index_, slots); });
  }
  template <typename T>
  uint64_t WarpgroupMatrix(const T* shared, int leading_bytes, int stride_bytes,
                           CACHEINF_PLACE) const {
    const uintptr_t in_shared = Address(shared) - kSharedMemory;
    if (in_shared % 16 != 0 || leading_bytes % 16 != 0 || stride_bytes % 16 != 0) {
      processor_.Fail(index_, place, "describes a matrix that is not aligned to 16");
    }
    return MatrixDescriptor(static_cast<uint32_t>(in_shared), leading_bytes, stride_bytes);
  }
  template <size_t n>
  void MultiplyWarpgroupTf32(float (&sums)[n][4], const unsigned (&a)[4], uint64_t b,
                             CACHEINF_PLACE) const {
    MultiplyWarpgroup({"MultiplyWarpgroupTf32", 1, &Tf32Of}, sums, a, b, place);
  }
  template <size_t n>
  void MultiplyWarpgroupHalf(float (&sums)[n][4], const unsigned (&a)[4], uint64_t b,
                             CACHEINF_PLACE) const {
    MultiplyWarpgroup({"MultiplyWarpgroupHalf", 2, &HalfOf}, sums, a, b, place);
  }
  template <size_t n>
  void MultiplyWarpgroupBfloat16(float (&sums)[n][4], const unsigned (&a)[4], uint64_t b,
                                 CACHEINF_PLACE) const {
    MultiplyWarpgroup({"MultiplyWarpgroupBfloat16", 2, &Bfloat16Of}, sums, a, b, place);
  }
  void CommitWarpgroup(CACHEINF_PLACE) const {
    MeetWarpgroup("CommitWarpgroup", nullptr, place,
                  [&](Warpgroup& warpgroup, void* const*) { warpgroup.Commit(index_); });
  }
  template <int but_last, class Sums>
  void WaitForWarpgroup(Sums&, CACHEINF_PLACE) const {
    MeetWarpgroup("WaitForWarpgroup", nullptr, place, [&](Warpgroup& warpgroup, void* const*) {
      warpgroup.Wait(index_, but_last, place);
    });
  }

 private:
  struct Fragment {
    float* sums;
    const unsigned* a;
    const unsigned* b;
  };

  static uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

  // Number i of a word, of each format.
  static float Tf32Of(unsigned word, int /*i*/) {
    return FromBits(word & ~0x1fffu);  // the hardware ignores these bits
  }
  static float HalfOf(unsigned word, int i) {
    return FromHalf(static_cast<uint16_t>(word >> (16 * i)));
  }
  static float Bfloat16Of(unsigned word, int i) {
    return FromBfloat16(static_cast<uint16_t>(word >> (16 * i)));
  }

  template <typename T>
  static void CheckType() {
    static_assert(std::is_trivially_copyable_v<T>, "memory holds plain values");
    static_assert(sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0 && alignof(T) == sizeof(T),
                  "as one load or store moves it");
  }

  template <typename T, typename Change>
  T Update(T* at, Place place, const Change& change) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "as atomics have it");
    std::byte* const memory = processor_.Update(index_, Address(at), sizeof(T), place);
    T old;
    std::memcpy(&old, memory, sizeof(T));
    const T changed = change(old);
    std::memcpy(memory, &changed, sizeof(T));
    return old;
  }

  template <typename T>
  T Exchange(T value, int from, const char* operation, Place place) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "as shuffles have it");
    struct Slot {
      T value;
      int from;
      T result;
    } slot = {value, from, T()};
    processor_.Meet(index_, operation, &slot, place, [&](void* const* slots, int lanes) {
      for (int i = 0; i < lanes; ++i) {
        auto* const own = static_cast<Slot*>(slots[i]);
        if (own->from < 0 || own->from >= lanes) {
          processor_.Fail(
              index_ / kWarp * kWarp + i, place,
              "asks lane " + std::to_string(own->from) + " of a warp of " + std::to_string(lanes));
        }
        own->result = static_cast<const Slot*>(slots[own->from])->value;
      }
    });
    return slot.result;
  }

  // number(word, i): number i of a word.
  template <typename Number>
  void Multiply(float (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2], int depth,
                const char* operation, Place place, const Number& number) const {
    Fragment fragment = {sums, a, b};
    processor_.Meet(index_, operation, &fragment, place, [&](void* const* slots, int lanes) {
      if (lanes != kWarp) processor_.Fail(index_, place, "multiplies matrices in part of a warp");
      const auto lane = [&](int i) { return static_cast<const Fragment*>(slots[i]); };
      const int per_word = depth / 8;
      for (int row = 0; row < 16; ++row) {
        for (int column = 0; column < 8; ++column) {
          float& sum = lane(row % 8 * 4 + column / 2)->sums[row / 8 * 2 + column % 2];
          for (int k = 0; k < depth; ++k) {
            const int thread = k / per_word % 4;
            const int late = k / (depth / 2);  // 1: a word of k's second half
            const unsigned a_word = lane(row % 8 * 4 + thread)->a[late * 2 + row / 8];
            const unsigned b_word = lane(column * 4 + thread)->b[late];
            sum = Fma(number(a_word, k % per_word), number(b_word, k % per_word), sum);
          }
        }
      }
    });
  }

  template <typename Complete>
  void MeetWarpgroup(const char* operation, void* slot, Place place,
                     const Complete& complete) const {
    Warpgroup& warpgroup = processor_.CheckedWarpgroup(index_, place);
    processor_.Meet(index_, operation, slot, place,
                    [&](void* const* slots, int) { complete(warpgroup, slots); });
  }

  template <size_t n>
  void MultiplyWarpgroup(const Warpgroup::Format& format, float (&sums)[n][4],
                         const unsigned (&a)[4], uint64_t b, Place place) const {
    static_assert(n == 4 || n == 8, "as RealThread has it");
    Warpgroup::Factors factors = {&sums[0][0], a, b};
    MeetWarpgroup(format.operation, &factors, place, [&](Warpgroup& warpgroup, void* const* slots) {
      warpgroup.Multiply(index_, format, 8 * n, slots, place);
    });
  }

  Processor& processor_;
  int index_;
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_EMULATED_THREAD_H_
