#ifndef CACHEINF_SPARSE_OPS_CUDA_REAL_THREAD_CUH_
#define CACHEINF_SPARSE_OPS_CUDA_REAL_THREAD_CUH_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/numbers.h"

#if __CUDA_ARCH__ >= 800
#define CACHEINF_MULTIPLY_WARP(types)                                       \
  asm volatile("mma.sync.aligned.m16n8" types                               \
               " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"     \
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#else
#define CACHEINF_MULTIPLY_WARP(types) __trap()  // unreachable (DeviceFacts)
#endif

// A warpgroup's instruction for n × 8 columns; no GPU has run one yet. b has k ascending, which the
// instructions of 16-bit numbers must be told: `not_transposed`.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define CACHEINF_SUMS_OF_EIGHT(j) \
  "+f"(sums[j][0]), "+f"(sums[j][1]), "+f"(sums[j][2]), "+f"(sums[j][3])
#define CACHEINF_MULTIPLY_WARPGROUP(types, not_transposed)                                      \
  static_assert(n == 4 || n == 8, "32 or 64 columns");                                          \
  if constexpr (n == 4) {                                                                       \
    asm volatile("wgmma.mma_async.sync.aligned.m64n32" types                                    \
                 " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, "                   \
                 "{%16,%17,%18,%19}, %20, 1, 1, 1" not_transposed ";"                           \
                 : CACHEINF_SUMS_OF_EIGHT(0), CACHEINF_SUMS_OF_EIGHT(1),                        \
                   CACHEINF_SUMS_OF_EIGHT(2), CACHEINF_SUMS_OF_EIGHT(3)                         \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                         \
  } else {                                                                                      \
    asm volatile("wgmma.mma_async.sync.aligned.m64n64" types                                    \
                 " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20," \
                 "%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, "                               \
                 "{%32,%33,%34,%35}, %36, 1, 1, 1" not_transposed ";"                           \
                 : CACHEINF_SUMS_OF_EIGHT(0), CACHEINF_SUMS_OF_EIGHT(1),                        \
                   CACHEINF_SUMS_OF_EIGHT(2), CACHEINF_SUMS_OF_EIGHT(3),                        \
                   CACHEINF_SUMS_OF_EIGHT(4), CACHEINF_SUMS_OF_EIGHT(5),                        \
                   CACHEINF_SUMS_OF_EIGHT(6), CACHEINF_SUMS_OF_EIGHT(7)                         \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                         \
  }
#else
#define CACHEINF_MULTIPLY_WARPGROUP(types, not_transposed) __trap()  // unreachable (DeviceFacts)
#endif

namespace cacheinf::cuda {

// What a kernel on a GPU sees (device.h).
class RealThread {
 public:
  __device__ __forceinline__ int ThreadIndex() const { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ int Lane() const { return ThreadIndex() % kWarp; }
  __device__ __forceinline__ int Warp() const { return ThreadIndex() / kWarp; }
  __device__ __forceinline__ int BlockX() const { return static_cast<int>(blockIdx.x); }
  __device__ __forceinline__ int BlockY() const { return static_cast<int>(blockIdx.y); }
  __device__ __forceinline__ int BlockZ() const { return static_cast<int>(blockIdx.z); }
  __device__ __forceinline__ int BlocksX() const { return static_cast<int>(gridDim.x); }
  __device__ __forceinline__ int BlocksY() const { return static_cast<int>(gridDim.y); }
  __device__ __forceinline__ int BlocksZ() const { return static_cast<int>(gridDim.z); }

  template <typename T>
  __device__ __forceinline__ T* Shared(size_t byte_offset = 0) const {
    extern __shared__ uint4 cacheinf_shared[];
    return reinterpret_cast<T*>(reinterpret_cast<char*>(cacheinf_shared) + byte_offset);
  }

  template <typename T>
  __device__ __forceinline__ T Load(const T* from) const {
    return Cast<T>(*reinterpret_cast<const Word<sizeof(T)>*>(from));
  }
  template <typename T>
  __device__ __forceinline__ T LoadReadOnly(const T* from) const {
    return Cast<T>(__ldg(reinterpret_cast<const Word<sizeof(T)>*>(from)));
  }
  template <typename T>
  __device__ __forceinline__ void Store(T* to, std::common_type_t<T> value) const {
    *reinterpret_cast<Word<sizeof(T)>*>(to) = Cast<Word<sizeof(T)>>(value);
  }

#define CACHEINF_ATOMIC(Name, instruction)                                             \
  template <typename T>                                                                \
  __device__ __forceinline__ T Name(T* at, std::common_type_t<T> value) const {        \
    return static_cast<T>(instruction(Atomic(at), static_cast<AtomicType<T>>(value))); \
  }
  CACHEINF_ATOMIC(AtomicAdd, atomicAdd)
  CACHEINF_ATOMIC(AtomicOr, atomicOr)
  CACHEINF_ATOMIC(AtomicAnd, atomicAnd)
  CACHEINF_ATOMIC(AtomicMax, atomicMax)
  CACHEINF_ATOMIC(AtomicMin, atomicMin)
#undef CACHEINF_ATOMIC

  __device__ __forceinline__ void Barrier() const { __syncthreads(); }
  __device__ __forceinline__ bool BarrierAny(bool says_yes) const {
    return __syncthreads_or(says_yes ? 1 : 0) != 0;
  }
  __device__ __forceinline__ int BarrierCount(bool says_yes) const {
    return __syncthreads_count(says_yes ? 1 : 0);
  }

  __device__ __forceinline__ void SyncWarp() const { __syncwarp(); }
  template <typename T>
  __device__ __forceinline__ T Shuffle(T value, int lane) const {
    return Cast<T>(__shfl_sync(kAllLanes, Cast<ShuffleType<T>>(value), lane));
  }
  template <typename T>
  __device__ __forceinline__ T ShuffleUp(T value, int by) const {
    return Cast<T>(
        __shfl_up_sync(kAllLanes, Cast<ShuffleType<T>>(value), static_cast<unsigned>(by)));
  }
  template <typename T>
  __device__ __forceinline__ T ShuffleDown(T value, int by) const {
    return Cast<T>(
        __shfl_down_sync(kAllLanes, Cast<ShuffleType<T>>(value), static_cast<unsigned>(by)));
  }
  template <typename T>
  __device__ __forceinline__ T ShuffleXor(T value, int mask) const {
    return Cast<T>(__shfl_xor_sync(kAllLanes, Cast<ShuffleType<T>>(value), mask));
  }
  __device__ __forceinline__ unsigned Ballot(bool says_yes) const {
    return __ballot_sync(kAllLanes, says_yes ? 1 : 0);
  }
  __device__ __forceinline__ bool Any(bool says_yes) const {
    return __any_sync(kAllLanes, says_yes ? 1 : 0) != 0;
  }
  __device__ __forceinline__ bool All(bool says_yes) const {
    return __all_sync(kAllLanes, says_yes ? 1 : 0) != 0;
  }
  __device__ __forceinline__ int Sum(int value) const {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(kAllLanes, value);
#else
    for (int mask = kWarp / 2; mask > 0; mask /= 2) value += ShuffleXor(value, mask);
    return value;
#endif
  }

  template <typename T>
  __device__ __forceinline__ void CopyAsync(T* to, const T* from) const {
    CopyAsyncOrZero(to, from, true);
  }
  template <typename T>
  __device__ __forceinline__ void CopyAsyncOrZero(T* to, const T* from, bool copies) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "as cp.async has it");
#if __CUDA_ARCH__ >= 800
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    const int bytes = copies ? static_cast<int>(sizeof(T)) : 0;
    if constexpr (sizeof(T) == 16) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
                   "r"(bytes)
                   : "memory");
    } else {
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from),
                   "n"(sizeof(T)), "r"(bytes)
                   : "memory");
    }
#else
    Word<sizeof(T)> value = {};
    if (copies) value = *reinterpret_cast<const Word<sizeof(T)>*>(from);
    *reinterpret_cast<Word<sizeof(T)>*>(to) = value;
#endif
  }
  __device__ __forceinline__ void CommitCopies() const {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
  }
  template <int but_last>
  __device__ __forceinline__ void WaitForCopies() const {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(but_last) : "memory");
#endif
  }

  __device__ __forceinline__ void MultiplyTf32(float (&sums)[4], const unsigned (&a)[4],
                                               const unsigned (&b)[2]) const {
    CACHEINF_MULTIPLY_WARP("k8.row.col.f32.tf32.tf32.f32");
  }
  __device__ __forceinline__ void MultiplyHalf(float (&sums)[4], const unsigned (&a)[4],
                                               const unsigned (&b)[2]) const {
    CACHEINF_MULTIPLY_WARP("k16.row.col.f32.f16.f16.f32");
  }
  __device__ __forceinline__ void MultiplyBfloat16(float (&sums)[4], const unsigned (&a)[4],
                                                   const unsigned (&b)[2]) const {
    CACHEINF_MULTIPLY_WARP("k16.row.col.f32.bf16.bf16.f32");
  }

  __device__ __forceinline__ void ShowToWarpgroup() const {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  }
  template <class Sums, class Inputs>
  __device__ __forceinline__ void FenceWarpgroup(Sums& sums, Inputs& a) const {
    Pin(sums);
    Pin(a);
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
  }
  template <typename T>
  __device__ __forceinline__ uint64_t WarpgroupMatrix(const T* shared, int leading_bytes,
                                                      int stride_bytes) const {
    return MatrixDescriptor(static_cast<uint32_t>(__cvta_generic_to_shared(shared)), leading_bytes,
                            stride_bytes);
  }
  template <int n>
  __device__ __forceinline__ void MultiplyWarpgroupTf32(float (&sums)[n][4], const unsigned (&a)[4],
                                                        uint64_t b) const {
    CACHEINF_MULTIPLY_WARPGROUP("k8.f32.tf32.tf32", "");
  }
  template <int n>
  __device__ __forceinline__ void MultiplyWarpgroupHalf(float (&sums)[n][4], const unsigned (&a)[4],
                                                        uint64_t b) const {
    CACHEINF_MULTIPLY_WARPGROUP("k16.f32.f16.f16", ", 0");
  }
  template <int n>
  __device__ __forceinline__ void MultiplyWarpgroupBfloat16(float (&sums)[n][4],
                                                            const unsigned (&a)[4],
                                                            uint64_t b) const {
    CACHEINF_MULTIPLY_WARPGROUP("k16.f32.bf16.bf16", ", 0");
  }
  __device__ __forceinline__ void CommitWarpgroup() const {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
  }
  template <int but_last, class Sums>
  __device__ __forceinline__ void WaitForWarpgroup(Sums& sums) const {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(but_last) : "memory");
#endif
    Pin(sums);
  }

 private:
  static constexpr unsigned kAllLanes = 0xffffffffu;

  // Makes the compiler hold the value in a register here, and forget what it knew of it.
  __device__ static __forceinline__ void Pin(float& value) { asm volatile("" : "+f"(value)); }
  __device__ static __forceinline__ void Pin(unsigned& value) { asm volatile("" : "+r"(value)); }
  template <typename T, size_t n>
  __device__ static __forceinline__ void Pin(T (&values)[n]) {
    CACHEINF_UNROLL
    for (size_t i = 0; i < n; ++i) Pin(values[i]);
  }

  // The type that one instruction moves.
  template <size_t bytes>
  using Word = std::conditional_t<
      bytes == 1, unsigned char,
      std::conditional_t<
          bytes == 2, unsigned short,
          std::conditional_t<bytes == 4, unsigned, std::conditional_t<bytes == 8, uint2, uint4>>>>;

  // The types that atomicAdd and its like take.
  template <typename T>
  using AtomicType = std::conditional_t<
      sizeof(T) == 8, unsigned long long,
      std::conditional_t<std::is_floating_point<T>::value, float,
                         std::conditional_t<std::is_signed<T>::value, int, unsigned>>>;
  template <typename T>
  __device__ static __forceinline__ AtomicType<T>* Atomic(T* at) {
    static_assert(sizeof(T) == 4 || (sizeof(T) == 8 && std::is_unsigned<T>::value),
                  "as atomics have it");
    return reinterpret_cast<AtomicType<T>*>(at);
  }

  template <typename T>
  using ShuffleType = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;

  template <typename To, typename From>
  __device__ static __forceinline__ To Cast(const From& from) {
    static_assert(sizeof(To) == sizeof(From), "bits stay");
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
  }
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_REAL_THREAD_CUH_
