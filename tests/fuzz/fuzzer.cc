// A libFuzzer program of the target CACHEINF_FUZZ_TARGET. It needs no corpus: now and then it
// returns to good bytes and damages them.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  static const std::vector<std::string> good = cacheinf::fuzz::CACHEINF_FUZZ_TARGET.good();
  constexpr unsigned int kOneIn = 16;
  const std::string& fresh = good[seed / kOneIn % good.size()];
  if ((size == 0 || seed % kOneIn == 0) && fresh.size() <= max_size) {
    std::memcpy(data, fresh.data(), fresh.size());
    size = fresh.size();
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cacheinf::fuzz::CACHEINF_FUZZ_TARGET.reads({data, size});
  return 0;
}
