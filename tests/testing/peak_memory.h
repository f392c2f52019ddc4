#ifndef CACHEINF_TESTS_TESTING_PEAK_MEMORY_H_
#define CACHEINF_TESTS_TESTING_PEAK_MEMORY_H_

#include <sys/resource.h>

#include <cstdint>

namespace cacheinf {

// The most memory that this process has held so far.
inline int64_t PeakMebibytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_PEAK_MEMORY_H_
