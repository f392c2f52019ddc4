#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/testing/command.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

// Every script that people start: scripts/* and .ci/run, but not what those source or call.
std::vector<fs::path> Scripts() {
  std::vector<fs::path> scripts = {fs::path(CACHEINF_SOURCE_DIR) / ".ci" / "run"};
  for (const auto& entry : fs::directory_iterator(fs::path(CACHEINF_SOURCE_DIR) / "scripts")) {
    if (entry.is_regular_file()) scripts.push_back(entry.path());
  }
  return scripts;
}

std::string FirstLine(const fs::path& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  return line;
}

TEST(ScriptsTest, EveryScriptCanBeStartedAndExplainsItself) {
  ASSERT_GE(Scripts().size(), 4u);
  for (const fs::path& script : Scripts()) {
    EXPECT_TRUE(FirstLine(script).starts_with("#!/usr/bin/env ")) << script;
    const CommandResult result = RunCommand({script.string(), "--help"});
    EXPECT_EQ(result.exit_code, 0) << script << "\n" << result.error;
    EXPECT_NE(result.out.find(script.filename().string()), std::string::npos)
        << script << " --help does not name the script";
    EXPECT_TRUE(result.error.empty()) << script << "\n" << result.error;
  }
}

TEST(ScriptsTest, EveryScriptRefusesAnUnknownOption) {
  for (const fs::path& script : Scripts()) {
    const CommandResult result = RunCommand({script.string(), "--no-such-option"});
    EXPECT_EQ(result.exit_code, 2) << script;
    EXPECT_NE(result.error.find("--no-such-option"), std::string::npos) << script;
  }
}

}  // namespace
}  // namespace cacheinf
