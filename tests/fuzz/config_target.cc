// A robot's configuration.

#include <filesystem>
#include <string>
#include <vector>

#include "common/base/file.h"
#include "common/config/robot_config.h"
#include "tests/fuzz/target.h"
#include "tests/testing/places.h"

namespace cacheinf::fuzz {
namespace {

std::vector<std::string> ShippedConfigurations() {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(SourceFolder() / "configs")) {
    const bool is_configuration =
        entry.path().extension() == ".json" && !entry.path().string().ends_with(".schema.json");
    if (is_configuration) texts.push_back(ReadFile(entry.path()));
  }
  return texts;
}

bool ReadsConfiguration(Bytes bytes) {
  return IsRead([&] { ParseRobotConfig(ToText(bytes), "fuzzed"); });
}

}  // namespace

const Target kConfig = {"config",
                        ShippedConfigurations,
                        {"{",
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
                         std::string("\0", 1)},
                        ReadsConfiguration};

}  // namespace cacheinf::fuzz
