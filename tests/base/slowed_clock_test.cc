#include "common/base/slowed_clock.h"

#include <gtest/gtest.h>

#include <chrono>

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(SlowedClockTest, WorkIsWaitedForOnceBeforeItsTimeIsTold) {
  ManualClock clock;
  const SlowedClock slowed(3, clock, [&](nanoseconds time) { clock.Advance(time); });
  for (const int work_ms : {5, 2, 0}) {
    const nanoseconds begin = slowed.Now();
    EXPECT_EQ(begin, clock.Now());
    clock.Advance(milliseconds(work_ms));
    EXPECT_EQ(slowed.Now() - begin, milliseconds(3 * work_ms));
  }
}

TEST(SlowedClockTest, AWaitThatTakesTooLongIsMadeUpFor) {
  ManualClock clock;
  nanoseconds waited{};
  const SlowedClock slowed(2, clock, [&](nanoseconds time) {
    waited += time + milliseconds(3);
    clock.Advance(time + milliseconds(3));
  });
  for (int i = 0; i < 10; ++i) {
    clock.Advance(milliseconds(1));
    slowed.Now();
  }
  EXPECT_GE(waited, milliseconds(10));
  EXPECT_LE(waited, milliseconds(13));
}

TEST(SlowedClockTest, WhatIsNoWorkIsNotWaitedFor) {
  ManualClock clock;
  const SlowedClock slowed(3, clock, [](nanoseconds) { FAIL(); });
  clock.Advance(milliseconds(5));
  slowed.EndWait();
  EXPECT_EQ(slowed.Now(), clock.Now());
  const SlowedClock as_fast(1, clock, [](nanoseconds) { FAIL(); });
  clock.Advance(milliseconds(5));
  EXPECT_EQ(as_fast.Now(), clock.Now());
}

}  // namespace
}  // namespace cacheinf
