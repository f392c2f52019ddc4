#include "common/base/status_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

TEST(StatusLineTest, OnATerminalChangesInPlaceAndNotTooOften) {
  ManualClock clock;
  ::testing::internal::CaptureStderr();
  {
    StatusLine status(clock, /*on_terminal=*/true);
    for (int frame = 1; frame <= 100; ++frame) {
      clock.Advance(milliseconds(10));
      status.Show([&] { return "frame " + std::to_string(frame); });
    }
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 10);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_NE(text.find("frame 100"), std::string::npos);
}

TEST(StatusLineTest, WithoutATerminalIsALineInTheLogEveryFewSeconds) {
  ManualClock clock;
  ::testing::internal::CaptureStderr();
  {
    StatusLine status(clock, /*on_terminal=*/false);
    clock.Advance(milliseconds(4999));
    status.Show([] { return "too early"; });
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace cacheinf
