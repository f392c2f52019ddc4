#include "client/calibrate/frontier_report.h"

#include <gtest/gtest.h>

#include <string>

#include "common/config/robot_config.h"

namespace cacheinf {
namespace {

ClipScore Score(double work, double agreement, double latency, double time) {
  return {42, work, agreement, latency, time};
}

// Settings that reach F1 .96 for .4 of the work and .7 of the time, beside dense runs and rivals
// that do not.
FrontierReport Report() {
  FrontierReport report;
  report.target = 0.95;
  report.is_reached = true;
  report.measure = "F1";
  report.dense_ms = 30;
  report.frontier = {{RobotConfig(), Score(0.4, 0.96, 0.5, 0.7), Score(0.4, 0.97, 0.5, 0.7),
                      /*is_chosen=*/true, /*has_times=*/true}};
  const auto add = [&report](const std::string& name, const std::string& options, double work,
                             double agreement) {
    report.rivals.push_back(
        {name, options, Score(work, agreement, 0, work), Score(work, agreement, 0, work)});
  };
  add("dense", "--mode dense", 1, 1);
  add("track-2", "--mode dense --track 2", 0.5, 0.94);
  add("track-3", "--mode dense --track 3", 1.0 / 3, 0.9);
  return report;
}

FrontierRival& Rival(FrontierReport& report, size_t index) { return report.rivals[index]; }

TEST(AdviceTest, IsForReuseWhereThatReachesTheTargetForLeast) {
  FrontierReport report = Report();
  EXPECT_EQ(Advice(report),
            "mode cache is the better choice: F1 0.9600 for 40.0 % of a dense run's work; tracking "
            "does not reach the target for less than dense runs\n");
  Rival(report, 0).chosen_by.work = 0.9999;
  EXPECT_NE(Advice(report).find("tracking does not reach"), std::string::npos)
      << "dense runs move nothing: " << Advice(report);
  Rival(report, 1).chosen_by.agreement = 0.95;
  EXPECT_EQ(Advice(report),
            "mode cache is the better choice: F1 0.9600 for 40.0 % of a dense run's work; tracking "
            "reaches F1 0.9500 for 50.0 % of a dense run's work\n");
}

TEST(AdviceTest, IsForTrackingWhereThatReachesTheTargetForLess) {
  FrontierReport report = Report();
  Rival(report, 2).chosen_by.agreement = 0.95;
  EXPECT_EQ(
      Advice(report),
      "tracking is the better choice on this clip: --mode dense --track 3 reaches "
      "F1 0.9500 for 33.3 % of a dense run's work, mode cache F1 0.9600 for 40.0 % of a dense "
      "run's work; mode cache is written all the same, because no guard watches over moved "
      "answers\n");
  report.is_reached = false;
  EXPECT_EQ(
      Advice(report),
      "tracking is the better choice on this clip: --mode dense --track 3 reaches "
      "F1 0.9500 for 33.3 % of a dense run's work\n"
      "mode cache is not: no settings reach F1 0.95 for less than dense runs, so mode dense is "
      "written, with the safest of them\n");
}

TEST(AdviceTest, IsForDenseRunsWhereNothingReachesTheTargetForLess) {
  FrontierReport report = Report();
  report.is_reached = false;
  EXPECT_EQ(
      Advice(report),
      "dense runs are the better choice: no settings of mode cache reach F1 0.95 for less, so "
      "mode dense is written, with the safest of them\n");
}

// Work and time are never compared with each other.
TEST(AdviceTest, SaysWhenLessWorkTakesMoreTime) {
  FrontierReport report = Report();
  report.frontier[0].chosen_by.time = 1.1;
  EXPECT_NE(Advice(report).find("by time dense runs are the better choice: a frame and its refresh "
                                "take 1.10 times as long here"),
            std::string::npos)
      << Advice(report);
  report.frontier[0].has_times = false;
  EXPECT_EQ(Advice(report).find("by time"), std::string::npos) << "nothing was measured";
  report = Report();
  report.is_by_time = true;
  Rival(report, 1).chosen_by.agreement = 0.95;
  EXPECT_TRUE(Advice(report).starts_with(
      "tracking is the better choice on this clip: --mode dense --track 2 reaches F1 "
      "0.9500 for 50.0 % of a dense run's time, mode cache F1 0.9600 for 70.0 % of a dense run's "
      "time"))
      << Advice(report);
}

TEST(AdviceTest, SaysWhenTheChoiceDoesNotHold) {
  FrontierReport report = Report();
  report.frontier[0].held_out->agreement = 0.9;
  EXPECT_NE(Advice(report).find("fall short on the held-out frames: 0.9000 instead of 0.95"),
            std::string::npos)
      << Advice(report);
  report.frontier[0].held_out->agreement.reset();
  EXPECT_NE(Advice(report).find("the held-out frames show nothing to compare"), std::string::npos)
      << Advice(report);
}

TEST(FrontierTableTest, RanksAllByOneMeasureAndExplainsItsColumns) {
  FrontierReport report = Report();
  const auto place = [&report](const std::string& row) { return ToTable(report).find(row); };
  const std::string reuse = "change, no geometry";
  EXPECT_LT(place("--track 3"), place(reuse));
  EXPECT_LT(place(reuse), place("--track 2"));
  EXPECT_LT(place("--track 2"), place("--mode dense\n"));
  EXPECT_NE(place("ranked by work"), std::string::npos);
  EXPECT_NE(place("in dense runs of 30.0 ms"), std::string::npos);
  EXPECT_NE(place("0.70 x"), std::string::npos);
  report.is_by_time = true;
  EXPECT_LT(place("--track 2"), place(reuse));
  EXPECT_NE(place("ranked by time"), std::string::npos);
  report.frontier[0].has_times = false;
  EXPECT_EQ(place("0.70 x"), std::string::npos) << "was not measured beside dense runs";
}

}  // namespace
}  // namespace cacheinf
