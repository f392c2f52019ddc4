// Read this first: a clock that runs by itself, and one that tests advance.

#include "common/base/clock.h"

#include <gtest/gtest.h>

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

TEST(ClockTest, ManualClockMovesOnlyWhenTold) {
  ManualClock clock;
  const auto start = clock.Now();
  EXPECT_EQ(clock.Now(), start);
  clock.Advance(milliseconds(5));
  EXPECT_EQ(clock.Now() - start, milliseconds(5));
  EXPECT_DOUBLE_EQ(Milliseconds(clock.Now() - start), 5.0);
}

}  // namespace
}  // namespace cacheinf
