// A libFuzzer target: any bytes are refused, or a message of robot and server that stays the same
// when it is written and read again. It needs no corpus: now and then it returns to a good message
// and damages it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/pair/message_seeds.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  static const std::vector<std::string> seeds = cacheinf::message::MessageSeeds();
  constexpr unsigned int kOneIn = 16;
  const std::string& fresh = seeds[seed / kOneIn % seeds.size()];
  if ((size == 0 || seed % kOneIn == 0) && fresh.size() <= max_size) {
    std::memcpy(data, fresh.data(), fresh.size());
    size = fresh.size();
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cacheinf::message::VisitMessage({data, size}, [](const auto& message) {
    const std::vector<uint8_t> bytes = cacheinf::message::Encode(message);
    auto again = message;
    if (!cacheinf::message::Decode(bytes, &again).empty()) std::abort();
    if (cacheinf::message::Encode(again) != bytes) std::abort();
  });
  return 0;
}
