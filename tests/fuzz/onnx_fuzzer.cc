// A libFuzzer target: any bytes are either an ONNX model or refused with an InputError. It needs no
// corpus: now and then it returns to a small valid model and damages it.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/model/onnx/onnx.h"
#include "tests/model/onnx_seeds.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  static const std::vector<std::string> seeds = cacheinf::OnnxSeeds();
  constexpr size_t kSmallest = 16;
  constexpr unsigned int kOneIn = 32;
  const std::string& fresh = seeds[seed / kOneIn % seeds.size()];
  if ((size < kSmallest || seed % kOneIn == 0) && fresh.size() <= max_size) {
    std::memcpy(data, fresh.data(), fresh.size());
    size = fresh.size();
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    cacheinf::ImportOnnxBytes(bytes, "fuzzed");
  } catch (const cacheinf::InputError&) {
  }
  return 0;
}
