#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/testing/places.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

std::string TextOf(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// What a build with CACHEINF_ONLY_GPU compiles, as paths from the root.
std::vector<std::string> Compiled() {
  const fs::path root = SourceFolder();
  std::vector<std::string> files = {"common/backend/torch_call_none.cc",
                                    "tests/testing/random_graph.cc", "tests/testing/run_graph.cc"};
  std::istringstream list(TextOf(root / "common" / "CMakeLists.txt"));
  for (std::string word; list >> word && word != "set(executor_sources";) {
  }
  for (std::string word; list >> word;) {
    const bool is_last = word.ends_with(")");
    files.push_back("common/" + word.substr(0, word.size() - (is_last ? 1 : 0)));
    if (is_last) break;
  }
  for (const char* folder : {"sparse_ops", "tests/sparse_ops", "tests/gpu"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string file = fs::relative(entry.path(), root).generic_string();
      if (file.ends_with(".cc") && !file.ends_with("_test.cc") &&
          file.find("sparse_ops/cpu/") == std::string::npos && file != "tests/gpu/cudnn.cc") {
        files.push_back(file);
      }
    }
  }
  return files;
}

// Where there is only a compiler, no header may include anything else, not even indirectly.
TEST(GpuOnlyTest, WhatAGpuMachineCompilesIncludesNoLibrary) {
  const std::vector<std::string> compiled = Compiled();
  ASSERT_GT(compiled.size(), 60u);
  std::deque<std::string> left(compiled.begin(), compiled.end());
  std::set<std::string> seen(compiled.begin(), compiled.end());
  const std::regex pattern(R"re(^\s*#\s*include\s*([<"])([^>"]+)[>"])re", std::regex::multiline);
  for (; !left.empty(); left.pop_front()) {
    const std::string& file = left.front();
    ASSERT_TRUE(fs::exists(SourceFolder() / file)) << file;
    const std::string text = TextOf(SourceFolder() / file);
    for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end;
         ++match) {
      const std::string included = (*match)[2];
      if ((*match)[1] == "\"") {
        EXPECT_FALSE(included.starts_with("sparse_ops/cpu/")) << file << " includes " << included;
        if (seen.insert(included).second) left.push_back(included);
        continue;
      }
      EXPECT_TRUE(included.find('/') == std::string::npos || included.starts_with("sys/") ||
                  included.starts_with("sanitizer/"))
          << file << " includes " << included;
    }
  }
}

}  // namespace
}  // namespace cacheinf
