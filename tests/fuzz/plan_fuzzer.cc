// A libFuzzer target: any bytes are refused, or a text that robot and server send each other, a
// profile or a schedule, that stays the same when it is written and read again. The first byte says
// whether the text is compressed. It needs no corpus: now and then it returns to a good text and
// damages it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/codec/compressed_text.h"
#include "common/plan/profile.h"
#include "common/plan/schedule.h"
#include "tests/plan/schedules.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace cacheinf {
namespace {

constexpr size_t kMostTextBytes = 1 << 20;

std::vector<std::string> PlanSeeds() {
  const ProfilePair pair = TwoOperators();
  std::vector<std::string> seeds;
  for (const std::string& text : {ToJsonText(pair.robot), ToJsonText(MadeUp(pair))}) {
    const std::vector<uint8_t> compressed = CompressText(text);
    seeds.push_back('\0' + text);
    seeds.push_back('\1' + std::string(compressed.begin(), compressed.end()));
  }
  return seeds;
}

template <typename Parse>
void Read(const std::string& text, const Parse& parse) {
  std::string written;
  try {
    written = ToJsonText(parse(text));
  } catch (const InputError&) {
    return;
  }
  if (ToJsonText(parse(written)) != written) std::abort();
}

}  // namespace
}  // namespace cacheinf

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  static const std::vector<std::string> seeds = cacheinf::PlanSeeds();
  constexpr unsigned int kOneIn = 16;
  const std::string& fresh = seeds[seed / kOneIn % seeds.size()];
  if ((size == 0 || seed % kOneIn == 0) && fresh.size() <= max_size) {
    std::memcpy(data, fresh.data(), fresh.size());
    size = fresh.size();
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1) {
    const char* const fault =
        cacheinf::DecompressText({data + 1, size - 1}, cacheinf::kMostTextBytes, &text);
    if (fault != nullptr) return 0;
    if (text.size() > cacheinf::kMostTextBytes) std::abort();
  }
  cacheinf::Read(text,
                 [](const std::string& json) { return cacheinf::ParseProfile(json, "fuzzed"); });
  cacheinf::Read(text,
                 [](const std::string& json) { return cacheinf::ParseSchedule(json, "fuzzed"); });
  return 0;
}
