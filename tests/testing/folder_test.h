#ifndef CACHEINF_TESTS_TESTING_FOLDER_TEST_H_
#define CACHEINF_TESTS_TESTING_FOLDER_TEST_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/base/log.h"

namespace cacheinf {

// A test with a temporary folder, and a silent log, because many such tests read broken files.
class FolderTest : public ::testing::Test {
 protected:
  FolderTest() {
    SetLogLevel(LogLevel::kOff);
    std::filesystem::create_directories(folder_);
  }
  ~FolderTest() override {
    std::filesystem::remove_all(folder_);
    SetLogLevel(LogLevel::kInfo);
  }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  void WriteText(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("cacheinf_test_" + std::to_string(getpid()));
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_FOLDER_TEST_H_
