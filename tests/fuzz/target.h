#ifndef CACHEINF_TESTS_FUZZ_TARGET_H_
#define CACHEINF_TESTS_FUZZ_TARGET_H_

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

// What parsers promise of any bytes: they read them or refuse them, and what was read stays the
// same when it is written and read again. fuzz_test.cc damages good bytes; fuzzer.cc makes a
// libFuzzer program of each target.

namespace cacheinf::fuzz {

using Bytes = std::span<const uint8_t>;

struct Target {
  const char* name;
  std::vector<std::string> (*good)();
  std::vector<std::string> tokens;  // that damage may put in
  // Whether the bytes were read; false: refused. Throws std::logic_error if a promise is broken.
  bool (*reads)(Bytes bytes);
};

extern const Target kCodec, kConfig, kMask, kMessage, kNotes, kOnnx, kPack, kPacket, kPlan,
    kSession;

inline std::string ToText(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

inline void Promise(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

// Whether `parse` throws no InputError; one must be a sentence that names the file, "fuzzed".
template <typename Parse>
bool IsRead(const Parse& parse) {
  constexpr size_t kLongestSentence = 600;
  try {
    parse();
    return true;
  } catch (const InputError& error) {
    const std::string_view sentence = error.what();
    Promise(sentence.find("fuzzed") != sentence.npos, error.what());
    Promise(sentence.size() < kLongestSentence, error.what());
    Promise(sentence.find('\n') == sentence.npos, error.what());
    return false;
  }
}

}  // namespace cacheinf::fuzz

#endif  // CACHEINF_TESTS_FUZZ_TARGET_H_
