#ifndef CACHEINF_TESTS_TESTING_HEAP_H_
#define CACHEINF_TESTS_TESTING_HEAP_H_

#include <malloc.h>

#include <cstddef>
#include <cstdlib>

namespace cacheinf {

// The bytes of heap that the process holds.
inline size_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// The heaps of sanitizers cannot be counted.
inline bool IsHeapCounted() {
  constexpr size_t kProbe = 1 << 20;
  const size_t before = HeapBytes();
  volatile auto* const probe = static_cast<char*>(std::malloc(kProbe));
  probe[0] = 1;  // otherwise the compiler removes both calls
  const bool is_counted = HeapBytes() >= before + kProbe;
  std::free(const_cast<char*>(probe));
  return is_counted;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_HEAP_H_
