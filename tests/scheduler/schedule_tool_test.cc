#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/base/file.h"
#include "common/plan/profile.h"
#include "common/plan/schedule.h"
#include "tests/scheduler/random_networks.h"
#include "tests/testing/command.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/linked_programs.h"
#include "tests/testing/places.h"

// cacheinf-schedule, as a user runs it.

namespace cacheinf {
namespace {

class ScheduleTool : public FolderTest {
 protected:
  ScheduleTool() {
    const ProfilePair pair = MakeRandomNetwork(12, 6).pair;
    WriteText("robot.json", ToJsonText(pair.robot));
    WriteText("server.json", ToJsonText(pair.server));
  }

  CommandResult Run(const std::string& command, std::vector<std::string> arguments,
                    bool with_profiles = true) const {
    arguments.insert(arguments.begin(), {ProgramPath("cacheinf-schedule"), command});
    if (with_profiles) {
      arguments.insert(arguments.end(), {"--robot-profile", Path("robot.json"), "--server-profile",
                                         Path("server.json")});
    }
    return RunLinked(schedule_main, arguments);
  }

  void Solve() const {
    const CommandResult result =
        Run("solve", {"--out", Path("schedule.json"), "--bandwidths", "4", "--shares", "3"});
    ASSERT_EQ(result.exit_code, 0) << result.error;
    EXPECT_NE(result.out.find("36 situations solved"), std::string::npos) << result.out;
  }
};

class SlowScheduleTool : public ScheduleTool {};

using Line = std::string;
std::vector<Line> LinesAfter(const std::string& text, const std::string& heading) {
  std::istringstream rest(text.substr(text.find(heading) + heading.size()));
  std::vector<Line> lines;
  for (Line line; std::getline(rest, line);) lines.push_back(line);
  return lines;
}

void ExpectOneSentence(const CommandResult& result, const std::string& part) {
  EXPECT_EQ(result.exit_code, 2) << result.out;
  EXPECT_NE(result.error.find(part), std::string::npos) << result.error;
  EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
}

TEST_F(ScheduleTool, SolvesShowsExplainsComparesAndValidates) {
  Solve();
  const std::string schedule = Path("schedule.json");
  CommandResult result = Run("validate", {schedule});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_NE(result.out.find("36 situations, sound"), std::string::npos) << result.out;

  result = Run("show", {schedule});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_NE(result.out.find("local"), std::string::npos) << result.out;

  result =
      Run("show", {schedule, "--mbit", "40", "--robot-work", "0.4", "--trace", Path("trace.json")});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_NE(result.out.find("robot "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(" J; "), std::string::npos) << result.out;
  const nlohmann::json trace = nlohmann::json::parse(ReadFile(Path("trace.json")));
  EXPECT_GT(trace.at("traceEvents").size(), 5U);

  result = Run("explain", {schedule, "--mbit", "40", "--robot-work", "0.4"}, false);
  EXPECT_EQ(result.exit_code, 0) << result.error;
  for (const char* planner : {"schedule", "local", "remote", "ds", "ds-c", "hp", "cacheinf"}) {
    EXPECT_NE(result.out.find(std::string("\n") + planner + " "), std::string::npos)
        << planner << " is not in\n"
        << result.out;
  }
  EXPECT_NE(result.out.find(" follows\n"), std::string::npos) << result.out;
  // A line for every plan, with the cuts of those that have some.
  for (const Line& line : LinesAfter(result.out, " follows\n")) {
    EXPECT_NE(line.find(" with --mode "), std::string::npos) << line;
    EXPECT_EQ(line.find("  split ") == 0, line.find(" --cut ") != std::string::npos) << line;
  }

  result = Run("compare", {schedule, "--csv", Path("all.csv"), "--svg", Path("all.svg")});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  const std::string csv = ReadFile(Path("all.csv"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 6 * 36);
  const std::string svg = ReadFile(Path("all.svg"));
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
  for (const char* label : {">Mbit/s<", ">ms a frame<", ">ds-c<", ">cacheinf<", ">300<"}) {
    EXPECT_NE(svg.find(label), std::string::npos) << label;
  }
}

TEST_F(ScheduleTool, ExplainsPlannersWhereTheyAreNamed) {
  for (const char* command : {"solve", "compare", "explain", "follow"}) {
    const CommandResult help = RunCommand({ProgramPath("cacheinf-schedule"), command, "--help"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_NE(help.out.find("hp          Hybrid-Parallel"), std::string::npos) << help.out;
  }
}

TEST_F(ScheduleTool, ValidatesForASlowRobot) {
  const std::string schedule = Path("schedule.json");
  const std::vector<std::string> solve = {"--out",    schedule, "--bandwidths",     "2",
                                          "--shares", "2",      "--robot-slowdown", "5"};
  ASSERT_EQ(Run("solve", solve).exit_code, 0);
  EXPECT_EQ(Run("validate", {schedule, "--robot-slowdown", "5"}).exit_code, 0);
  ExpectOneSentence(Run("validate", {schedule}), "another profile of the robot");
  ExpectOneSentence(Run("validate", {schedule, "--robot-slowdown", "4"}), "another profile");
}

// Twice 10 Mbit/s and once 100, computed from what each bandwidth takes.
TEST_F(ScheduleTool, FollowsALink) {
  const auto follow = [&](const char* bandwidths, std::vector<std::string> more) {
    WriteText("link.csv", bandwidths);
    more.insert(more.begin(), {Path("link.csv"), "--json", Path("out.json")});
    const CommandResult result = Run("follow", more);
    EXPECT_EQ(result.exit_code, 0) << result.error;
    std::map<std::string, nlohmann::json> rows;
    for (const nlohmann::json& row : nlohmann::json::parse(ReadFile(Path("out.json")))) {
      rows[row.at("planner")] = row;
      EXPECT_NE(result.out.find(row.at("planner").get<std::string>() + " "), std::string::npos);
    }
    return rows;
  };
  const auto ms = [](const nlohmann::json& row, const char* key) {
    return row.at(key).get<double>();
  };
  const auto slow = follow("seconds,megabits_per_second\n0,10\n", {});
  const auto fast = follow("seconds,megabits_per_second\n0,100\n", {});
  const auto both =
      follow("seconds,megabits_per_second\r\n0,1\r\n1,10\n2,1\n", {"--mean-mbit", "40"});
  ASSERT_EQ(both.size(), slow.size());
  EXPECT_GE(both.size(), 6U);
  for (const auto& [planner, row] : both) {
    // A search begins with the plan for the step before, and may end elsewhere.
    const bool is_searched = planner == "hp" || planner == "cacheinf";
    const double error = is_searched ? 0.02 : 1e-9;
    for (const char* const mean : {"mean_ms", "robot_ms", "link_ms"}) {
      const double expected = (2 * ms(slow.at(planner), mean) + ms(fast.at(planner), mean)) / 3;
      EXPECT_NEAR(ms(row, mean), expected, error * ms(row, "mean_ms")) << planner << " " << mean;
    }
    for (const char* const percentile : {"p50_ms", "p95_ms"}) {
      const double expected = ms(slow.at(planner), "mean_ms");
      EXPECT_NEAR(ms(row, percentile), expected, error * expected) << planner << " " << percentile;
    }
    EXPECT_GT(ms(row, "plan_share"), 0.6) << planner;
    EXPECT_GE(ms(row, "mean_ms"), 0.99 * ms(both.at("cacheinf"), "mean_ms")) << planner;
  }
  EXPECT_EQ(ms(slow.at("local"), "mean_ms"), ms(fast.at("local"), "mean_ms"));
  EXPECT_GT(ms(slow.at("hp"), "mean_ms"), ms(fast.at("hp"), "mean_ms"));

  const auto headed = follow("seconds,megabits_per_second\n0,10\n1,100\n", {});
  EXPECT_NE(headed, fast);
  EXPECT_EQ(follow("0,10\n1,100\n", {}), headed) << "a heading may be missing";

  for (const char* wrong :
       {"seconds,megabits_per_second\n", "a,b\n0,fast\n", "a,b\n0,0\n", "0,0\n", "a,b\n5"}) {
    WriteText("link.csv", wrong);
    ExpectOneSentence(Run("follow", {Path("link.csv")}), "link.csv");
  }
}

TEST_F(ScheduleTool, StopsInTimeAndGoesOn) {
  const std::string schedule = Path("schedule.json");
  CommandResult result = Run(
      "solve", {"--out", schedule, "--bandwidths", "4", "--shares", "4", "--time-limit", "1e-6"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_NE(result.out.find("--resume"), std::string::npos) << result.out;
  ExpectOneSentence(Run("validate", {schedule}), "--resume");
  result = Run("solve", {"--out", schedule, "--resume"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(Run("validate", {schedule}).exit_code, 0);
}

TEST_F(ScheduleTool, GoesOnOnlyWithWhatWasBegun) {
  const std::string schedule = Path("schedule.json");
  const std::vector<std::string> begin = {"--out",        schedule, "--bandwidths", "4",
                                          "--shares",     "2",      "--planner",    "ds",
                                          "--time-limit", "1e-6"};
  ASSERT_EQ(Run("solve", begin).exit_code, 0);
  const std::string begun = ReadFile(schedule);
  const std::vector<std::pair<std::string, std::string>> others = {
      {"--planner", "hp"},      {"--seed", "2"},           {"--shares", "3"},
      {"--bandwidths", "3"},    {"--most-mbit", "77"},     {"--least-mbit", "2"},
      {"--round-trip-ms", "9"}, {"--server-queue-ms", "1"}};
  for (const auto& [option, value] : others) {
    ExpectOneSentence(Run("solve", {"--out", schedule, "--resume", option, value}),
                      "another " + option);
    EXPECT_EQ(ReadFile(schedule), begun);
  }
  EXPECT_EQ(Run("solve", {"--out", schedule, "--resume", "--planner", "ds"}).exit_code, 0);
  EXPECT_EQ(LoadSchedule(schedule).planner, "ds");

  // 100 / .3 is no exact number.
  std::filesystem::remove(schedule);
  std::vector<std::string> other = begin;
  other.insert(other.end(), {"--least-mbit", "0.3", "--most-mbit", "100"});
  ASSERT_EQ(Run("solve", other).exit_code, 0);
  EXPECT_EQ(Run("solve", {"--out", schedule, "--resume", "--most-mbit", "100"}).exit_code, 0);
}

TEST_F(ScheduleTool, RefusesBandwidthsThatNobodyCouldLoad) {
  ExpectOneSentence(
      Run("solve", {"--out", Path("s.json"), "--least-mbit", "50", "--most-mbit", "50"}),
      "--bandwidths");
}

TEST_F(ScheduleTool, ValidatesEnergyAsWell) {
  Solve();
  Schedule schedule = LoadSchedule(Path("schedule.json"));
  schedule.buckets[5].energy_j += 1;
  WriteText("schedule.json", ToJsonText(schedule));
  ExpectOneSentence(Run("validate", {Path("schedule.json")}), " J by the profiles");
}

TEST_F(ScheduleTool, ValidatesThatPlansCanBeFollowed) {
  Solve();
  Schedule schedule = LoadSchedule(Path("schedule.json"));
  ASSERT_EQ(schedule.mbit[0], 0.0);
  schedule.buckets[0].plan = {.kind = Plan::Kind::kRemote, .codec = schedule.robot.codecs[0].codec};
  WriteText("schedule.json", ToJsonText(schedule));
  ExpectOneSentence(Run("validate", {Path("schedule.json")}),
                    " cannot be followed at 0 Mbit/s; solve it again");
}

TEST_F(ScheduleTool, WritesOverNothingThatItReads) {
  const std::string before = ReadFile(Path("robot.json"));
  ExpectOneSentence(Run("solve", {"--out", Path("robot.json")}), "would overwrite");
  EXPECT_EQ(ReadFile(Path("robot.json")), before);
  Solve();
  const std::string schedule = Path("schedule.json");
  const std::string solved = ReadFile(schedule);
  ExpectOneSentence(Run("compare", {schedule, "--csv", schedule}), "would overwrite");
  ExpectOneSentence(Run("show", {schedule, "--mbit", "20", "--trace", schedule}),
                    "would overwrite");
  EXPECT_EQ(ReadFile(schedule), solved);
}

TEST_F(SlowScheduleTool, GoesOnAfterItWasKilled) {
  const std::string schedule = Path("schedule.json");
  // First from nothing, then from what was left.
  ptrdiff_t solved_before = 0;
  for (const char* resume : {"", " --resume"}) {
    const std::string solve = ProgramPath("cacheinf-schedule") + " solve --robot-profile '" +
                              Path("robot.json") + "' --server-profile '" + Path("server.json") +
                              "' --out '" + schedule + "' --shares 40 --threads 1" + resume;
    (void)RunCommand({"/bin/sh", "-c", "exec timeout -s KILL 5 " + solve});
    ASSERT_TRUE(std::filesystem::exists(schedule));
    const Schedule left = LoadSchedule(schedule, /*may_lack=*/true);
    const auto solved = std::ranges::count(left.buckets, true, &Schedule::Bucket::is_solved);
    EXPECT_GT(solved, solved_before);
    EXPECT_LT(solved, static_cast<ptrdiff_t>(left.buckets.size()));
    solved_before = solved;
  }
}

TEST_F(ScheduleTool, RefusesWhatIsStaleOrOtherwiseWrong) {
  Solve();
  const std::string schedule = Path("schedule.json");
  Profile server = LoadProfile(Path("server.json"));
  server.operators[0].dense_ms *= 2;
  WriteText("server.json", ToJsonText(server));
  ExpectOneSentence(Run("validate", {schedule}), "another profile of the server; solve it again");
  ExpectOneSentence(Run("solve", {"--out", schedule, "--resume"}), "solve it again");
  server.model_checksum += 1;
  WriteText("server.json", ToJsonText(server));
  ExpectOneSentence(Run("solve", {"--out", schedule}), "different models");
  WriteText("server.json", "{}");
  ExpectOneSentence(Run("solve", {"--out", schedule}), "server.json");
  ExpectOneSentence(Run("show", {Path("robot.json")}, false), "not a schedule");
  ExpectOneSentence(Run("solve", {"--out", schedule, "--planner", "best"}), "--planner");
  for (const char* wrong : {"nan", "-1", "inf", "four"}) {
    ExpectOneSentence(Run("solve", {"--out", schedule, "--round-trip-ms", wrong}),
                      "--round-trip-ms");
  }
}

}  // namespace
}  // namespace cacheinf
