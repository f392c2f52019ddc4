#include "common/plan/schedule.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/error.h"
#include "tests/plan/schedules.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

TEST(Schedule, IsReadAsItWasWritten) {
  const Schedule schedule = MadeUp(TwoOperators());
  const std::string text = ToJsonText(schedule);
  const Schedule read = ParseSchedule(text, "schedule.json");
  EXPECT_EQ(ToJsonText(read), text);
  ASSERT_EQ(read.buckets.size(), 18U);
  for (size_t i = 0; i < 18; ++i) EXPECT_EQ(read.buckets[i].plan, schedule.buckets[i].plan);
  EXPECT_EQ(read.seed, schedule.seed);
  EXPECT_EQ(read.SituationOf(17).robot_work, 1);
  EXPECT_EQ(read.SituationOf(16).server_work, 0.2);
  EXPECT_EQ(read.SituationOf(6).mbit_down, 10);
}

TEST(Schedule, LooksUpTheNearestPlansAndLatencyBetweenThem) {
  const Schedule schedule = MadeUp(TwoOperators());
  Situation situation = schedule.SituationOf(8);
  EXPECT_EQ(schedule.Lookup(situation).bucket, 8U);
  EXPECT_EQ(schedule.Lookup(situation).plans, std::vector<Plan>{schedule.buckets[8].plan});
  EXPECT_EQ(schedule.Lookup(situation).latency_ms, 108);
  // Half way to the next bandwidth on a logarithmic scale, and a little more than that.
  situation.mbit_up = situation.mbit_down = 31.623;
  const Schedule::Found between = schedule.Lookup(situation);
  EXPECT_NEAR(between.latency_ms, 111, 1e-3);
  ASSERT_EQ(between.plans.size(), 2U);
  EXPECT_EQ(between.plans[0], schedule.buckets[14].plan);
  EXPECT_EQ(between.plans[1], schedule.buckets[8].plan);
  // The slower way counts.
  situation.mbit_down = 10;
  EXPECT_EQ(schedule.Lookup(situation).bucket, 8U);
  // Beyond the axes their last steps count, and a link of next to nothing is none.
  situation = {1e6, 1e6, 4, 1, 1};
  EXPECT_EQ(schedule.Lookup(situation).bucket, 17U);
  situation = {0.5, 0.5, 4, 0, 0};
  EXPECT_EQ(schedule.Lookup(situation).bucket, 0U);
  Schedule edited = schedule;
  edited.mbit[1] = 1e-10;
  situation = {0, 0, 4, 0, 0};
  EXPECT_EQ(edited.Lookup(situation).latency_ms, edited.buckets[0].latency_ms);
}

TEST(Schedule, IsOfItsProfiles) {
  ProfilePair pair = TwoOperators();
  const Schedule schedule = MadeUp(pair);
  EXPECT_NO_THROW(CheckIsOf(schedule, "schedule.json", pair.robot, pair.server));
  pair.robot.fit_ms *= 1.01;
  EXPECT_THROW(CheckIsOf(schedule, "schedule.json", pair.robot, pair.server), InputError);
  pair = TwoOperators();
  pair.server.operators[1].dense_ms *= 1.01;
  EXPECT_EQ(RefusalOf([&] { CheckIsOf(schedule, "schedule.json", pair.robot, pair.server); }),
            "schedule.json: solved from another profile of the server; solve it again "
            "(cacheinf-schedule solve)");
}

TEST(Schedule, IsOfThePrecisionsThatItWasSolvedFor) {
  ProfilePair pair = TwoOperators();
  pair.server.backend = "cuda";
  const Schedule schedule = MadeUp(pair);
  EXPECT_NO_THROW(CheckIsOf(schedule, "schedule.json", pair.robot, pair.server));
  pair.server.backend = "cuda-tf32";
  EXPECT_THROW(CheckIsOf(schedule, "schedule.json", pair.robot, pair.server), InputError);
}

// A damaged file is refused by its name, with what to do about it.
TEST(Schedule, DamagedIsRefused) {
  const std::string sound = ToJsonText(MadeUp(TwoOperators()));
  const auto refusal = [&](const std::string& from, const std::string& to) {
    std::string text = sound;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const std::string sentence = RefusalOf([&] { ParseSchedule(text, "schedule.json"); });
    EXPECT_EQ(sentence.find("schedule.json: "), 0U) << sentence;
    EXPECT_NE(sentence.find("cacheinf-schedule solve"), std::string::npos) << sentence;
    return sentence;
  };
  EXPECT_NE(refusal("{", "").find("not a JSON object"), std::string::npos);
  EXPECT_NE(refusal("cacheinf schedule", "a shopping list").find("not a schedule"),
            std::string::npos);
  EXPECT_NE(refusal("\"version\": 2", "\"version\": 1").find("solve it again"), std::string::npos);
  EXPECT_NE(refusal("\"kind\":\"remote\"", "\"kind\":\"remove\"").find("one of"),
            std::string::npos);
  EXPECT_NE(refusal("[-1,0]", "[0,0]").find("ascend"), std::string::npos);
  EXPECT_NE(refusal("[-1,0]", "[0]").find("as long as"), std::string::npos);
  EXPECT_NE(refusal("[-1,0]", "[-1,2]").find("the operators of its profiles"), std::string::npos);
  EXPECT_NE(refusal("\"codec\":\"jpeg:85\",\"latency_ms\"", "\"codec\":\"png\",\"latency_ms\"")
                .find("the codecs of its profiles"),
            std::string::npos);
  EXPECT_NE(refusal(",1000]", ",1001]").find("between 0 and 1000"), std::string::npos);
  EXPECT_NE(refusal("\"latency_ms\":100.0", "\"latency_ms\":-1").find("at least 0"),
            std::string::npos);
  EXPECT_NE(refusal("\"mbit\": [\n  0.0,", "\"mbit\": [\n  50.0,").find("ascend"),
            std::string::npos);
  EXPECT_NE(refusal("\"mbit\": [\n  0.0,", "\"mbit\": [\n  -1.0,").find("ascend"),
            std::string::npos);
  EXPECT_NE(refusal("0.5,\n  1.0", "0.5,\n  1.5").find("ascend"), std::string::npos);
  EXPECT_NE(refusal("\"mbit\": [\n  0.0,", "\"mbit\": [").find("one for every step"),
            std::string::npos);
  EXPECT_NE(refusal("\"round_trip_ms\": 4.0", "\"round_trip_ms\": 1e300").find("at most"),
            std::string::npos);
  EXPECT_NE(refusal("\"settings\":\"\"", "\"settings\":\"x\"").find("different settings"),
            std::string::npos);
  const size_t bucket = sound.find("{\"kind\"", sound.find("\"buckets\""));
  EXPECT_NE(refusal(sound.substr(bucket, sound.find("},\n", bucket) + 1 - bucket), "null")
                .find("--resume"),
            std::string::npos);
  // A file cut off anywhere is refused.
  for (size_t size = 0; size + 2 < sound.size(); size += 97) {
    EXPECT_THROW(ParseSchedule(sound.substr(0, size), "schedule.json"), InputError) << size;
  }
}

}  // namespace
}  // namespace cacheinf
