// Links are as slow and as late as they are told to be.

#include "common/link/emulated_link.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "tests/link/loopback.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kPacket = 25'000;

class EmulatedLinkTest : public FolderTest {
 protected:
  // When packets arrive, in ms, if each is sent as soon as there is room.
  std::vector<double> ArrivalsOf(int count, const LinkShape& shape) {
    ManualClock clock;
    auto [near, far] = MakeLoopback({}, clock);
    const std::unique_ptr<Link> link = EmulateLink(std::move(near), shape, clock);
    std::vector<double> arrivals;
    std::vector<uint8_t> packet;
    for (int sent = 0; static_cast<int>(arrivals.size()) < count;) {
      while (sent < count && link->Send(std::vector<uint8_t>(kPacket))) ++sent;
      link->Receive(&packet);
      while (far->Receive(&packet)) arrivals.push_back(Milliseconds(clock.Now()));
      clock.Advance(microseconds(100));
    }
    return arrivals;
  }

  // The sentence that refuses the text.
  static std::string Refused(const std::string& text) {
    return RefusalOf([&] { ParseLinkShape(text); });
  }
};

TEST_F(EmulatedLinkTest, DelaysByBandwidthAndDistance) {
  const std::vector<double> arrivals = ArrivalsOf(10, ParseLinkShape("20mbit,3ms"));
  for (int i = 0; i < 10; ++i) EXPECT_NEAR(arrivals[i], 3 + 10 * (i + 1), .11) << i;
}

TEST_F(EmulatedLinkTest, WithoutLimitsPassesOnAtOnce) {
  for (const double arrival : ArrivalsOf(10, {})) EXPECT_EQ(arrival, 0);
}

TEST_F(EmulatedLinkTest, HasRoomForTwoChunks) {
  ManualClock clock;
  auto [near, far] = MakeLoopback({}, clock);
  const auto link = EmulateLink(std::move(near), ParseLinkShape("20mbit,100ms"), clock);
  const std::vector<uint8_t> packet(kPacket);
  int sent = 0;
  while (sent < 10 && link->Send(packet)) ++sent;
  EXPECT_EQ(sent, 3);
  // A packet leaves every 10 ms, long before it arrives.
  clock.Advance(milliseconds(11));
  EXPECT_TRUE(link->Send(packet));
  EXPECT_FALSE(link->Send(packet));
}

TEST_F(EmulatedLinkTest, FollowsATraceAgainAndAgain) {
  WriteText("trace.csv",
            "seconds,megabits_per_second,other\n5,20,200\r\n5.1,0,1\n5.2,10,1\n5.3,20,7\n");
  const std::string path = Path("trace.csv");
  // A packet takes 10 ms at 20 Mbit/s: 10 of them, none for 100 ms, 5 at half the speed, 10.
  const std::vector<double> arrivals = ArrivalsOf(36, ParseLinkShape(path + ",1ms"));
  for (int i = 0; i < 10; ++i) EXPECT_NEAR(arrivals[i], 1 + 10 * (i + 1), .2);
  for (int i = 10; i < 15; ++i) EXPECT_NEAR(arrivals[i], 201 + 20 * (i - 9), .2);
  for (int i = 15; i < 25; ++i) EXPECT_NEAR(arrivals[i], 301 + 10 * (i - 14), .2);
  for (int i = 25; i < 35; ++i) EXPECT_NEAR(arrivals[i], 401 + 10 * (i - 24), .2);
  EXPECT_NEAR(arrivals[35], 601 + 20, .2);

  EXPECT_NEAR(ArrivalsOf(1, ParseLinkShape(path + ":other"))[0], 1, .11);
  const LinkShape by_name = ParseLinkShape(path + ":megabits_per_second,2us");
  EXPECT_EQ(by_name.delay, microseconds(2));
  ASSERT_EQ(by_name.bandwidth.size(), 4);
  EXPECT_EQ(by_name.bandwidth[3].duration, by_name.bandwidth[2].duration);
}

TEST_F(EmulatedLinkTest, KnowsUnits) {
  const auto rate = [](const std::string& text) {
    return ParseLinkShape(text).bandwidth.at(0).bytes_per_second;
  };
  EXPECT_DOUBLE_EQ(rate("93mbit"), 93 * 125e3);
  EXPECT_DOUBLE_EQ(rate("1.5gbit,3ms"), 1500 * 125e3);
  EXPECT_DOUBLE_EQ(rate("500kbit,3ms"), .5 * 125e3);
  EXPECT_EQ(ParseLinkShape("93mbit").delay, seconds(0));
  EXPECT_EQ(ParseLinkShape("93mbit,2.5ms").delay, microseconds(2500));
  EXPECT_EQ(ParseLinkShape("93mbit,1s").delay, seconds(1));
}

TEST_F(EmulatedLinkTest, RefusesInOneSentence) {
  EXPECT_EQ(Refused("fast,3ms"),
            "link \"fast,3ms\": \"fast\" is neither a bandwidth such as 93mbit nor a trace such as "
            "trace.csv");
  EXPECT_EQ(Refused("93mbit,soon"),
            "link \"93mbit,soon\": \"soon\" is not a delay such as 3ms, of at most a minute");
  for (const char* text : {"", ",", "93", "mbit", "-1mbit", "93 mbit", "nanmbit", "infmbit",
                           "93mbit,", "93mbit,3", "93mbit,-3ms", "93mbit,61s", "93mbit,3ms,4ms"}) {
    EXPECT_NE(Refused(text), "") << text;
  }
  EXPECT_EQ(Refused("0mbit"), "link \"0mbit\": a bandwidth lies between 1kbit and 1000gbit");

  const std::string path = Path("trace.csv");
  EXPECT_NE(Refused(path).find("trace.csv"), std::string::npos);
  WriteText("trace.csv", "seconds,rate\n0,5\n1,x\n");
  EXPECT_EQ(Refused(path),
            path + ", line 3: needs a time later than the one before, and a bandwidth in Mbit/s");
  EXPECT_EQ(Refused(path + ":speed,3ms"), path + ": has no column \"speed\"");
  for (const char* text :
       {"", "seconds\n0\n1\n", "seconds,rate\n", "seconds,rate\n0,5\n", "seconds,rate\n0,0\n1,0\n",
        "seconds,rate\n1,5\n1,5\n", "seconds,rate\n0,-5\n1,5\n", "seconds,rate\n0,5\n1\n",
        "seconds,rate\n0,5\n1e-10,5\n", "seconds,rate\n0,5\n1e12,5\n"}) {
    WriteText("trace.csv", text);
    EXPECT_NE(Refused(path), "") << text;
  }
}

TEST_F(EmulatedLinkTest, AnEmulationIsASlowdownOrALinkOrBoth) {
  EXPECT_EQ(ParseEmulation("").slowdown, 1);
  EXPECT_FALSE(ParseEmulation("").link);
  EXPECT_EQ(ParseEmulation("2.5x").slowdown, 2.5);
  EXPECT_FALSE(ParseEmulation("2.5x").link);
  EXPECT_EQ(ParseEmulation("20mbit,3ms").slowdown, 1);
  EXPECT_EQ(ParseEmulation("20mbit,3ms").link->delay, milliseconds(3));
  const Emulation both = ParseEmulation("5x,20mbit,3ms");
  EXPECT_EQ(both.slowdown, 5);
  EXPECT_EQ(both.link->bandwidth.front().bytes_per_second, 2.5e6);
  EXPECT_EQ(both.link->delay, milliseconds(3));

  const auto refused = [](const std::string& text) -> std::string {
    return RefusalOf([&] { ParseEmulation(text); });
  };
  for (const char* bad : {"0.5x", "1001x", "-1x", "nanx", "0.5x,20mbit"}) {
    EXPECT_EQ(refused(bad), std::string("emulate \"") + bad + "\": work takes 1x to 1000x as long");
  }
  for (const char* bad : {"x", "5", "5 x", "5xx", "20mbit,5x", "5x,5x", ",", "5x,,"}) {
    EXPECT_TRUE(refused(bad).starts_with("link \"")) << bad;
  }
  EXPECT_EQ(refused("5x,"), "emulate \"5x,\": no link such as 93mbit,3ms follows the comma");
}

}  // namespace
}  // namespace cacheinf
