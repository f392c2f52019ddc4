#include "common/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <string>

#include "common/base/error.h"
#include "tests/testing/folder_test.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

class WriteWholeTest : public FolderTest {};

TEST_F(WriteWholeTest, AFileGetsAllOrStaysAsItWas) {
  WriteWhole(Path("file"), "old");
  EXPECT_EQ(ReadFile(Path("file")), "old");
  const std::string longer(5000, 'x');
  // No file can grow past this limit, as on a full disk.
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = {};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit full = {4096, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  EXPECT_THROW(WriteWhole(Path("file"), longer), InputError);
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(ReadFile(Path("file")), "old");
  WriteWhole(Path("file"), longer);
  EXPECT_EQ(ReadFile(Path("file")), longer);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "something is left";
}

TEST_F(WriteWholeTest, APipeTakesAllAndStaysOne) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const int reader = open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  WriteWhole(Path("pipe"), "text");
  std::array<char, 9> bytes = {};
  EXPECT_EQ(read(reader, bytes.data(), bytes.size()), 4);
  close(reader);
  EXPECT_TRUE(fs::is_fifo(Path("pipe")));
}

}  // namespace
}  // namespace cacheinf
