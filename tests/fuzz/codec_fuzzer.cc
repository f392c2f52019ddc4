// A libFuzzer target: any bytes are a coded picture or slice, or refused; what a slice holds fits
// into a value, or is refused. It needs no corpus: now and then it returns to a good one and
// damages it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/codec/pictures.h"
#include "tests/codec/slices.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

static const std::vector<std::string>& Seeds() {
  static const std::vector<std::string> seeds = [] {
    std::vector<std::string> all = cacheinf::PictureSeeds();
    for (std::string& slice : cacheinf::CodedSliceSeeds()) all.push_back(std::move(slice));
    return all;
  }();
  return seeds;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  constexpr unsigned int kOneIn = 16;
  const std::string& fresh = Seeds()[seed / kOneIn % Seeds().size()];
  if ((size == 0 || seed % kOneIn == 0) && fresh.size() <= max_size) {
    std::memcpy(data, fresh.data(), fresh.size());
    size = fresh.size();
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cacheinf::DecodesAsPicture({data, size});
  constexpr size_t kMostBytes = 1 << 16;
  std::vector<uint8_t> slice;
  if (cacheinf::DecodeSlice({data, size}, kMostBytes, &slice) == nullptr) {
    if (slice.size() > kMostBytes) std::abort();
    cacheinf::TakeSeedSlice(slice);
  }
  return 0;
}
