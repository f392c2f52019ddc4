#include "common/base/program.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "common/base/error.h"
#include "common/base/failure.h"

namespace cacheinf {
namespace {

std::string said;

template <typename Error>
int ExitCodeOf(const Error& error) {
  testing::internal::CaptureStderr();
  const int exit_code = RunProgram("program", [&]() -> int { throw error; });
  said = testing::internal::GetCapturedStderr();
  return exit_code;
}

TEST(ProgramTest, AnExceptionIsALineAndAnExitCode) {
  EXPECT_EQ(ExitCodeOf(InputError("no file ", 3)), 2);
  EXPECT_EQ(said, "program: no file 3\n");
  EXPECT_EQ(ExitCodeOf(std::logic_error("wrong")), 1);
  EXPECT_EQ(said, "program: wrong\n");
  EXPECT_EQ(ExitCodeOf(std::bad_alloc()), 1);
  EXPECT_EQ(said, "program: there is not enough memory\n");
  EXPECT_EQ(ExitCodeOf(Stopped("stopped early")), 128 + SIGTERM);
  EXPECT_EQ(said, "program: stopped early\n");
}

// Exits as a program that a signal stops.
void StopBy(int signal, bool is_ignored = false) {
  if (is_ignored) std::signal(signal, SIG_IGN);
  const std::atomic<bool>& stop = StopOnSignals();
  std::raise(signal);
  std::_Exit(stop ? RunProgram("program", []() -> int { throw Stopped("stopped"); }) : 0);
}

TEST(ProgramDeathTest, SignalsStopAProgramAndNameTheExitCode) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EXIT(StopBy(signal), testing::ExitedWithCode(128 + signal), "stopped");
  }
  EXPECT_EXIT(StopBy(SIGHUP, /*is_ignored=*/true), testing::ExitedWithCode(0), "") << "nohup";
}

// Exits with 3, unless the second signal ends the program before.
void StopAgainAfter(std::chrono::milliseconds pause) {
  (void)StopOnSignals();
  std::raise(SIGTERM);
  std::this_thread::sleep_for(pause);
  std::raise(SIGTERM);
  std::_Exit(3);
}

TEST(ProgramDeathTest, ASignalThatIsSentTwiceAtOnceCountsOnce) {
  EXPECT_EXIT(StopAgainAfter(std::chrono::milliseconds(0)), testing::ExitedWithCode(3), "");
  EXPECT_EXIT(StopAgainAfter(std::chrono::milliseconds(1100)), testing::KilledBySignal(SIGTERM),
              "");
}

}  // namespace
}  // namespace cacheinf
