#include "client/reconnection.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Time = Reconnection::Time;

// How long a robot of this seed waits after a refusal.
Time PauseOf(uint64_t seed) {
  Reconnection reconnection(seed);
  reconnection.NoteEnd(seconds(1), /*has_refused=*/true);
  Time now = seconds(1);
  while (!reconnection.MayTry(now)) now += milliseconds(1);
  return now - seconds(1);
}

TEST(ReconnectionTest, RobotsDoNotKnockAllAtOnce) {
  std::set<Time> pauses;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Time pause = PauseOf(seed);
    EXPECT_GE(pause, milliseconds(1000));
    EXPECT_LE(pause, milliseconds(1250));
    EXPECT_EQ(pause, PauseOf(seed)) << "nothing else is random";
    pauses.insert(pause);
  }
  EXPECT_GT(pauses.size(), 10u);
}

TEST(ReconnectionTest, ALossNowAndThenCostsNoTrust) {
  Reconnection reconnection(1);
  for (int minute = 0; minute < 10; ++minute) {
    const Time now = std::chrono::minutes(minute);
    EXPECT_TRUE(reconnection.MayTry(now));
    reconnection.NoteMet(now);
    EXPECT_TRUE(reconnection.IsTrusted(now));
    reconnection.NoteEnd(now + seconds(40), false);
    EXPECT_TRUE(reconnection.MayTry(now + seconds(40)));
  }
}

TEST(ReconnectionTest, ALinkThatFlapsIsTrustedOnceItHasStoodForAWhile) {
  Reconnection reconnection(1);
  int trusted = 0;
  Time now(0);
  for (; now < seconds(60); now += seconds(2)) {
    ASSERT_TRUE(reconnection.MayTry(now));
    reconnection.NoteMet(now);
    trusted += reconnection.IsTrusted(now + milliseconds(1900)) ? 1 : 0;
    reconnection.NoteEnd(now + seconds(1), false);
    now += milliseconds(400);
  }
  EXPECT_EQ(trusted, 3);
  reconnection.NoteMet(now);
  EXPECT_FALSE(reconnection.IsTrusted(now + seconds(5)));
  EXPECT_TRUE(reconnection.IsTrusted(now + seconds(20)));
  reconnection.NoteEnd(now + seconds(60), false);
  reconnection.NoteMet(now + seconds(61));
  EXPECT_TRUE(reconnection.IsTrusted(now + seconds(61)));
}

}  // namespace
}  // namespace cacheinf
