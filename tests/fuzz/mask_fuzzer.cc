// A libFuzzer target: any bytes are refused or a mask that takes no more bytes when encoded again.
// It needs no corpus: now and then it returns to a good mask and damages it. Half of the time it
// repairs the header's size, so that the payload is read.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "sparse_ops/mask/wire.h"
#include "tests/sparse_ops/mask/wire_seeds.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  static const std::vector<std::string> seeds = cacheinf::MaskSeeds();
  constexpr size_t kHeader = 16;
  constexpr size_t kPayloadBytes = 12;  // where the header says how many they are
  constexpr unsigned int kOneIn = 32;
  const std::string& fresh = seeds[seed / kOneIn % seeds.size()];
  if ((size < kHeader || seed % kOneIn == 0) && fresh.size() <= max_size) {
    std::memcpy(data, fresh.data(), fresh.size());
    size = fresh.size();
  }
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 2 == 0 && size >= kHeader) {
    for (int i = 0; i < 4; ++i) {
      data[kPayloadBytes + i] = static_cast<uint8_t>((size - kHeader) >> (8 * i));
    }
  }
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMostWords = 1 << 14;
  cacheinf::Mask mask;
  if (cacheinf::DecodeMask(data, size, kMostWords, &mask) != nullptr) return 0;
  const std::string bytes = cacheinf::Encoded(mask);
  if (bytes.size() > size) std::abort();
  cacheinf::Mask again(mask.view().height, mask.view().width);
  const auto* encoded = reinterpret_cast<const uint8_t*>(bytes.data());
  if (cacheinf::DecodeMask(encoded, bytes.size(), again) != nullptr) std::abort();
  if (!cacheinf::AreEqual(mask, again)) std::abort();
  return 0;
}
