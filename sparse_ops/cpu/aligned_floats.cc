#include "sparse_ops/cpu/aligned_floats.h"

#include <algorithm>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace cacheinf::cpu {
namespace {

constexpr std::align_val_t kVectorAlignment{64};

// Weights of some megabytes, in no cache, are read in a tenth less time from large pages.
constexpr size_t kLargePageBytes = 2 * 1024 * 1024;
constexpr size_t kManyBytes = 2 * kLargePageBytes;

void AskForLargePages([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#if defined(__linux__)
  // If the system refuses, pages stay small.
  static_cast<void>(madvise(memory, bytes / kLargePageBytes * kLargePageBytes, MADV_HUGEPAGE));
#endif
}

}  // namespace

AlignedFloats::AlignedFloats(size_t count) {
  const size_t bytes = count * sizeof(float);
  const bool is_large = bytes >= kManyBytes;
  const std::align_val_t alignment =
      is_large ? std::align_val_t{kLargePageBytes} : kVectorAlignment;
  auto* const memory = static_cast<float*>(::operator new[](bytes, alignment));
  memory_ = std::unique_ptr<float[], Free>(memory, Free{alignment});
  if (is_large) AskForLargePages(memory, bytes);
  std::fill_n(memory, count, 0.0f);
}

}  // namespace cacheinf::cpu
