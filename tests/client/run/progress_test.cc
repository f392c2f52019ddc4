#include "client/run/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

LatencyHistogram TenMilliseconds(int count) {
  LatencyHistogram latency;
  for (int i = 0; i < count; ++i) latency.Add(milliseconds(10));
  return latency;
}

TEST(ProgressTest, LineNamesFrameRateAndPercentiles) {
  EXPECT_EQ(ProgressLine(20, 80, milliseconds(500), TenMilliseconds(20)),
            "frame 20/80  40.0 fps  p50 10.0 ms  p95 10.0 ms  p99 10.0 ms");
  EXPECT_EQ(ProgressLine(0, 0, milliseconds(0), LatencyHistogram()),
            "frame 0  0.0 fps  p50 0.0 ms  p95 0.0 ms  p99 0.0 ms");
}

TEST(ProgressTest, LineOfACacheNamesWhatWasReusedAndWhatWasComputed) {
  WorkShares work;
  FrameWork frame;
  frame.is_dense = false;
  frame.active = 0.25;
  frame.operators = {.done = 1, .of_all = 10};
  work.Add(frame);
  EXPECT_EQ(ProgressLine(1, 0, milliseconds(10), TenMilliseconds(1), work),
            "frame 1  100.0 fps  p50 10.0 ms  p95 10.0 ms  p99 10.0 ms  reuse 75 %  work 10 %");
}

TEST(ProgressTest, TerminalLineChangesInPlaceAndNotTooOften) {
  ManualClock clock;
  ::testing::internal::CaptureStderr();
  {
    Progress progress(clock, 100, /*on_terminal=*/true);
    for (int frame = 1; frame <= 100; ++frame) {
      clock.Advance(milliseconds(10));
      progress.Update(frame, milliseconds(20 * frame), TenMilliseconds(1));
    }
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 10);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_NE(text.find("frame 100/100  50.0 fps"), std::string::npos);
}

TEST(ProgressTest, WithoutATerminalNothingChangesInPlace) {
  ManualClock clock;
  ::testing::internal::CaptureStderr();
  {
    Progress progress(clock, 0, /*on_terminal=*/false);
    clock.Advance(milliseconds(4999));
    progress.Update(1, milliseconds(4999), TenMilliseconds(1));
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace cacheinf
