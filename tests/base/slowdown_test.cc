#include "common/base/slowdown.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(SlowdownTest, EachPieceOfWorkIsSleptForOnce) {
  ManualClock clock;
  nanoseconds slept{};
  const Slowdown slowdown(3, clock, [&](nanoseconds time) {
    slept += time;
    clock.Advance(time);
  });
  slowdown.Begin();
  clock.Advance(milliseconds(5));
  slowdown.CatchUp();
  EXPECT_EQ(slept, milliseconds(10));
  const std::vector<Slowdown> copies(2, slowdown);
  clock.Advance(milliseconds(2));
  copies[0].CatchUp();
  slowdown.CatchUp();
  EXPECT_EQ(slept, milliseconds(14));
}

TEST(SlowdownTest, ASleepThatTakesTooLongIsMadeUpFor) {
  ManualClock clock;
  nanoseconds slept{};
  const Slowdown slowdown(2, clock, [&](nanoseconds time) {
    slept += time + milliseconds(3);
    clock.Advance(time + milliseconds(3));
  });
  for (int i = 0; i < 10; ++i) {
    clock.Advance(milliseconds(1));
    slowdown.CatchUp();
  }
  EXPECT_GE(slept, milliseconds(10));
  EXPECT_LE(slept, milliseconds(13));
}

TEST(SlowdownTest, WhatIsNoWorkIsNotSleptFor) {
  ManualClock clock;
  nanoseconds slept{};
  const Slowdown slowdown(3, clock, [&](nanoseconds time) { slept += time; });
  clock.Advance(milliseconds(5));
  slowdown.Begin();
  slowdown.CatchUp();
  EXPECT_EQ(slept, nanoseconds(0));
  Slowdown(1, clock, [&](nanoseconds) { FAIL(); }).CatchUp();
  Slowdown().CatchUp();
}

}  // namespace
}  // namespace cacheinf
