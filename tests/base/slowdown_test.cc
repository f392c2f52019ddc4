#include "common/base/slowdown.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(EmulatedSlowdownTest, EachPieceOfWorkIsWaitedForOnce) {
  ManualClock clock;
  nanoseconds waited{};
  const Slowdown slowdown(3, clock, [&](nanoseconds time) {
    waited += time;
    clock.Advance(time);
  });
  slowdown.Begin();
  clock.Advance(milliseconds(5));
  slowdown.CatchUp();
  EXPECT_EQ(waited, milliseconds(10));
  const std::vector<Slowdown> copies(2, slowdown);
  clock.Advance(milliseconds(2));
  copies[0].CatchUp();
  slowdown.CatchUp();
  EXPECT_EQ(waited, milliseconds(14));
}

TEST(EmulatedSlowdownTest, AWaitThatTakesTooLongIsMadeUpFor) {
  ManualClock clock;
  nanoseconds waited{};
  const Slowdown slowdown(2, clock, [&](nanoseconds time) {
    waited += time + milliseconds(3);
    clock.Advance(time + milliseconds(3));
  });
  for (int i = 0; i < 10; ++i) {
    clock.Advance(milliseconds(1));
    slowdown.CatchUp();
  }
  EXPECT_GE(waited, milliseconds(10));
  EXPECT_LE(waited, milliseconds(13));
}

TEST(EmulatedSlowdownTest, WhatIsNoWorkIsNotWaitedFor) {
  ManualClock clock;
  nanoseconds waited{};
  const Slowdown slowdown(3, clock, [&](nanoseconds time) { waited += time; });
  clock.Advance(milliseconds(5));
  slowdown.Begin();
  slowdown.CatchUp();
  EXPECT_EQ(waited, nanoseconds(0));
  Slowdown(1, clock, [&](nanoseconds) { FAIL(); }).CatchUp();
  Slowdown().CatchUp();
}

}  // namespace
}  // namespace cacheinf
