#include "client/run/line_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "tests/testing/folder_test.h"

namespace cacheinf {
namespace {

class LineFileTest : public FolderTest {};

// As where another program has set O_NONBLOCK for all that share the pipe.
TEST_F(LineFileTest, WaitsForASlowReaderOfAPipeThatDoesNot) {
  constexpr int kLines = 300;  // four times what a pipe holds
  const std::string line(999, 'x');
  std::array<int, 2> ends = {};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  std::fflush(stdout);
  const int kept = dup(STDOUT_FILENO);
  dup2(ends[1], STDOUT_FILENO);
  close(ends[1]);
  std::string read_back;
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::array<char, 4096> some = {};
    for (ssize_t count = 0; (count = read(ends[0], some.data(), some.size())) > 0;) {
      read_back.append(some.data(), static_cast<size_t>(count));
    }
  });
  EXPECT_NO_THROW({
    LineFile output;
    for (int i = 0; i < kLines; ++i) output.Write(line);
    EXPECT_EQ(output.Gap(), "");
  });
  dup2(kept, STDOUT_FILENO);
  close(kept);
  reader.join();
  close(ends[0]);
  EXPECT_EQ(read_back.size(), kLines * (line.size() + 1));
  EXPECT_EQ(std::ranges::count(read_back, '\n'), kLines);
}

TEST_F(LineFileTest, AtTheEndItDoesNotWaitForAReader) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const int reader = open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  std::atomic<bool> is_over = false;
  LineFile pipe(Path("pipe"), [&is_over] { return is_over.load(); });
  std::thread stopping([&is_over] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    is_over = true;
  });
  for (int i = 0; i < 300 && !pipe.is_left(); ++i) pipe.Write(std::string(999, 'x'));
  stopping.join();
  EXPECT_TRUE(pipe.is_left());
  EXPECT_EQ(pipe.Gap(), Path("pipe") + ": cannot be written");
  close(reader);
}

TEST_F(LineFileTest, APipesReaderMayLeave) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const int reader = open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  LineFile pipe(Path("pipe"));
  pipe.Write("read");
  EXPECT_FALSE(pipe.is_left());
  EXPECT_EQ(pipe.Gap(), "");
  close(reader);
  for (const char* line : {"lost", "lost, too"}) {
    pipe.Write(line);
    EXPECT_TRUE(pipe.is_left());
    EXPECT_EQ(pipe.Gap(), Path("pipe") + ": cannot be written");
  }
  std::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace cacheinf
