// A text that robot and server send each other: a profile or a schedule. The first byte says
// whether it is compressed.

#include <string>
#include <vector>

#include "common/codec/compressed_text.h"
#include "common/plan/profile.h"
#include "common/plan/schedule.h"
#include "tests/fuzz/target.h"
#include "tests/plan/schedules.h"

namespace cacheinf::fuzz {
namespace {

constexpr size_t kMostTextBytes = 1 << 20;

std::vector<std::string> ProfileAndSchedule() {
  const ProfilePair pair = TwoOperators();
  std::vector<std::string> texts;
  for (const std::string& text : {ToJsonText(pair.robot), ToJsonText(MadeUp(pair))}) {
    const std::vector<uint8_t> compressed = CompressText(text);
    texts.push_back('\0' + text);
    texts.push_back('\1' + std::string(compressed.begin(), compressed.end()));
  }
  return texts;
}

template <typename Parse>
bool ComesBack(const std::string& text, const Parse& parse) {
  std::string written;
  if (!IsRead([&] { written = ToJsonText(parse(text)); })) return false;
  Promise(ToJsonText(parse(written)) == written, "a text does not come back");
  return true;
}

bool ReadsPlan(Bytes bytes) {
  if (bytes.empty()) return false;
  std::string text = ToText(bytes.subspan(1));
  if (bytes[0] % 2 == 1) {
    if (DecompressText(bytes.subspan(1), kMostTextBytes, &text) != nullptr) return false;
    Promise(text.size() <= kMostTextBytes, "a text is larger than allowed");
  }
  const bool is_profile =
      ComesBack(text, [](const std::string& json) { return ParseProfile(json, "fuzzed"); });
  const bool is_schedule = ComesBack(text, [](const std::string& json) {
    Schedule schedule = ParseSchedule(json, "fuzzed");
    (void)schedule.Lookup({7, 7, 4, 0.3, 0.3});
    return schedule;
  });
  return is_profile || is_schedule;
}

}  // namespace

const Target kPlan = {"plan",
                      ProfileAndSchedule,
                      {"-1", "1e999", "[]", "{}", "null", "\"", "0", ".", "e", ":", ","},
                      ReadsPlan};

}  // namespace cacheinf::fuzz
