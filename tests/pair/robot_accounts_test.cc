#include "common/pair/robot_accounts.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "common/base/clock.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class RobotAccountsTest : public testing::Test {
 protected:
  std::string RefusalOfMeasuring(const std::string& key) {
    return RefusalOf([&] { accounts_.CheckMeasuring(key); });
  }

  ManualClock clock_;
  RobotAccounts accounts_{
      {.memory_bytes = 100 << 20, .disk_bytes = 10 << 20, .measuring = seconds(60)}, clock_};
};

TEST_F(RobotAccountsTest, RobotsOfOneKeyShareItsMemory) {
  std::optional<RobotAccounts::Share> first = accounts_.MemoryOf("arm");
  first->Take(50 << 20);
  first->Take(20 << 20);
  RobotAccounts::Share second = accounts_.MemoryOf("arm");
  EXPECT_EQ(RefusalOf([&] { second.Take(31 << 20); }),
            "with this model the robots of its key take 101.0 MB of the server's memory, and may "
            "take 100.0 MB: start the server with a larger --robot-memory-mb, or fewer robots");
  second.Take(30 << 20);
  EXPECT_NE(RefusalOf([&] { second.Take(1); }), "");
  accounts_.MemoryOf("leg").Take(100 << 20);
  RobotAccounts::Share moved = std::move(*first);
  first.reset();
  EXPECT_NE(RefusalOf([&] { second.Take(1); }), "") << "it has only been moved";
  moved = {};
  second.Take(70 << 20);
  EXPECT_NE(RefusalOf([&] { second.Take(UINT64_MAX); }), "");
}

TEST_F(RobotAccountsTest, ModelsOnTheirWayShareTheDisk) {
  RobotAccounts::Share first = accounts_.ArrivingOf("arm");
  first.Take(8 << 20);
  EXPECT_EQ(RefusalOf([&] { accounts_.ArrivingOf("arm").Take(3 << 20); }),
            "with this model the robots of its key take 11.0 MB of the server's disk, and may take "
            "10.0 MB: start the server with a larger --robot-disk-mb, or fewer robots");
  first = {};
  accounts_.ArrivingOf("arm").Take(10 << 20);
}

TEST_F(RobotAccountsTest, TimeToMeasureComesBackAfterAnHour) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(RefusalOfMeasuring("arm"), "");
    accounts_.NoteMeasuring("arm", seconds(25));
    clock_.Advance(minutes(10));
  }
  EXPECT_EQ(RefusalOfMeasuring("arm"),
            "robots with this key have had the server measure and solve for 75 s within an hour, "
            "their share of it: wait, or start it with a larger --robot-measuring-s");
  EXPECT_EQ(RefusalOfMeasuring("leg"), "");
  clock_.Advance(minutes(29));
  EXPECT_NE(RefusalOfMeasuring("arm"), "");
  clock_.Advance(minutes(2));
  EXPECT_EQ(RefusalOfMeasuring("arm"), "");
}

TEST_F(RobotAccountsTest, WhoHasNoKeyIsNotLimited) {
  accounts_.NoteMeasuring("", minutes(50));
  EXPECT_EQ(RefusalOfMeasuring(""), "");
  EXPECT_EQ(RefusalOf([&] { accounts_.MemoryOf("").Take(UINT64_MAX); }), "");
}

}  // namespace
}  // namespace cacheinf
