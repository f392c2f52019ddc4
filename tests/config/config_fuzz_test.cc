#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/config/robot_config.h"
#include "tests/fuzz/mutate.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

constexpr size_t kLongestSentence = 600;

std::vector<std::string> ShippedConfigurations() {
  std::vector<std::string> texts;
  const std::filesystem::path folder = SourceFolder() / "configs";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) texts.push_back(ReadFile(entry.path()));
  }
  return texts;
}

TEST(ConfigFuzzTest, DamagedFilesAreReadOrRefusedInOneSentence) {
  const uint64_t seed = 20240503;
  RecordProperty("seed", std::to_string(seed));
  const std::vector<std::string> tokens = {"{",
                                           "}",
                                           "[",
                                           "]",
                                           ",",
                                           ":",
                                           "\"",
                                           "null",
                                           "1e999",
                                           "-1",
                                           "0",
                                           "1e-400",
                                           "true",
                                           "\"\\ud800\"",
                                           "\xff\xfe",
                                           "\xef\xbb\xbf",
                                           "NaN",
                                           "\"mode\":",
                                           "// c",
                                           "99999999999999999999",
                                           std::string(64, '['),
                                           std::string("\0", 1)};
  Mutator mutator(ShippedConfigurations(), tokens, seed);
  int refused = 0;
  const int runs = FuzzRuns(5000);
  for (int run = 0; run < runs; ++run) {
    const std::string text = mutator.Next();
    try {
      ParseRobotConfig(text, "fuzzed.json");
    } catch (const InputError& error) {
      const std::string sentence = error.what();
      ASSERT_TRUE(sentence.starts_with("fuzzed.json: ")) << sentence << " seed " << seed;
      ASSERT_LT(sentence.size(), kLongestSentence) << sentence << " seed " << seed;
      ASSERT_EQ(sentence.find('\n'), std::string::npos) << sentence << " seed " << seed;
      ++refused;
    }
  }
  EXPECT_GT(refused, runs / 2);
}

}  // namespace
}  // namespace cacheinf
