#include "client/run/summary.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/answer/answer.h"
#include "client/robot_setup.h"
#include "common/answer/answers.h"
#include "common/config/robot_config.h"
#include "common/model/graph/graph.h"
#include "common/reuse/verdict.h"
#include "tests/client/demo_config.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

// The line of the summary that starts with `begin`.
std::string Line(const Summary& summary, const std::string& begin) {
  const std::string text = "\n" + ToText(summary);
  const size_t at = text.find("\n" + begin);
  if (at == std::string::npos) return "";
  return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

TEST(ProgressLineTest, NamesFrameRateAndPercentiles) {
  Summary summary;
  EXPECT_EQ(ProgressLine(summary, 0), "frame 0  0.0 fps  p50 0.0 ms  p95 0.0 ms  p99 0.0 ms");
  summary.frames = 20;
  summary.elapsed = milliseconds(500);
  summary.latency.Add(milliseconds(10));
  EXPECT_EQ(ProgressLine(summary, 80),
            "frame 20/80  40.0 fps  p50 10.0 ms  p95 10.0 ms  p99 10.0 ms");
}

TEST(ProgressLineTest, OfACacheNamesWhatWasReusedAndWhatWasComputed) {
  Summary summary;
  FrameWork frame;
  frame.is_dense = false;
  frame.active = 0.25;
  frame.share = 0.1;
  summary.work.Add(frame);
  EXPECT_EQ(ProgressLine(summary, 0),
            "frame 0  0.0 fps  p50 0.0 ms  p95 0.0 ms  p99 0.0 ms  reuse 75 %  work 10 %");
}

TEST(SummaryTest, CountsFramesAndTheirRate) {
  Summary summary;
  for (int i = 0; i < 30; ++i) summary.Add(Answer{});
  summary.skipped = 2;
  summary.elapsed = milliseconds(1500);
  EXPECT_EQ(Line(summary, "frames"), "frames   30 answered, 2 skipped, 1.5 s, 20.0 fps");
  summary.interrupted = true;
  EXPECT_EQ(Line(summary, "frames"),
            "frames   30 answered, 2 skipped, interrupted, 1.5 s, 20.0 fps");
}

TEST(SummaryTest, CountsWhatABurstLeftWaitingAndDropped) {
  Summary summary;
  summary.queue = {.most_waiting = 4, .dropped = 12, .most_dropped = 9};
  EXPECT_EQ(Line(summary, "frames"),
            "frames   0 answered, 0 skipped, 12 dropped (at most 9 at once), at most 4 waiting, "
            "0.0 s, 0.0 fps");
  summary.queue.most_dropped = 0;  // by the robot, which had no answer to move
  EXPECT_NE(Line(summary, "frames").find(", 12 dropped, at most"), std::string::npos);
}

TEST(SummaryTest, CountsNoMovedAnswerAsALateComputedOne) {
  Summary summary;
  summary.deadline_ms = 50;
  Answer answer;
  answer.deadline_ms = 50;
  answer.times.compute = milliseconds(60);
  summary.Add(answer);
  answer.is_moved = true;
  summary.Add(answer);
  EXPECT_EQ(summary.late, 1);
}

TEST(SummaryTest, GivesPercentilesOfTheWholeLatency) {
  Summary summary;
  for (int i = 1; i <= 100; ++i) {
    Answer answer;
    answer.times.preprocess = milliseconds(1);
    answer.times.compute = milliseconds(i);
    answer.times.decode = milliseconds(2);
    summary.Add(answer);
  }
  const std::string line = Line(summary, "latency");
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
  ASSERT_EQ(
      std::sscanf(line.c_str(), "latency p50 %lf ms, p95 %lf ms, p99 %lf ms", &p50, &p95, &p99), 3)
      << line;
  EXPECT_NEAR(p50, 53, 0.4);
  EXPECT_NEAR(p95, 98, 0.4);
  EXPECT_NEAR(p99, 102, 0.4);
  EXPECT_NEAR(summary.times.at("preprocess_ms").PercentileMs(0.99), 1, 0.01);
  EXPECT_NEAR(summary.times.at("compute_ms").PercentileMs(0.99), 99, 0.4);
  EXPECT_NEAR(summary.times.at("decode_ms").PercentileMs(0.99), 2, 0.01);
}

TEST(SummaryTest, NamesPlansAndHowFarTheirPredictionsWereOff) {
  Summary summary;
  for (int i = 1; i <= 20; ++i) {
    Answer answer;
    answer.times.waited = milliseconds(500);  // predictions leave it out
    answer.times.compute = milliseconds(20 + i);
    answer.plan = "local cache";
    answer.predicted = milliseconds(i < 11 ? 20 : 40 + 2 * i);
    summary.Add(answer);
  }
  EXPECT_EQ(Line(summary, "plan"), "plan     local cache in 20 frames");
  double p50 = 0;
  double p95 = 0;
  const std::string line = Line(summary, "error");
  ASSERT_EQ(std::sscanf(line.c_str(), "error    %lf ms in the median, %lf ms at most in 95 %%",
                        &p50, &p95),
            2)
      << line;
  EXPECT_NEAR(p50, 10, 0.2);
  EXPECT_NEAR(p95, 39, 0.4);
}

TEST(SummaryTest, TellsHowManyAnswersAreOfTheirOwnFrame) {
  Summary summary;
  summary.mode = "track:3 dense";
  for (int i = 0; i < 5; ++i) {
    Answer answer;
    answer.frame = i;
    answer.computed_from = i / 3 * 3;
    summary.Add(answer);
  }
  EXPECT_EQ(summary.fresh, 2);
  EXPECT_EQ(Line(summary, "mode"), "mode     track:3 dense: own frame computed for 2 of 5 answers");
  Summary dense;
  dense.Add(Answer{});
  EXPECT_EQ(Line(dense, "mode"), "");
}

TEST(SummaryTest, TellsWhyFramesWereComputedWhole) {
  Summary summary;
  FrameWork frame;
  summary.work.Add(frame);
  EXPECT_EQ(Line(summary, "rested"), "");
  EXPECT_EQ(Line(summary, "dense"), "");
  frame.rest = Rest::kTooMuchChanged;
  summary.work.Add(frame);
  frame.rest = Rest::kTooSlow;
  summary.work.Add(frame);
  summary.work.Add(frame);
  EXPECT_EQ(Line(summary, "rested"),
            "rested   1 frames whole, as too much changed for reuse to pay");
  EXPECT_EQ(Line(summary, "dense"),
            "dense    2 frames whole, as reusing results took longer than computing everything");
  summary.guard.emplace();
  EXPECT_EQ(Line(summary, "guard"),
            "guard    normal, 0 samples, 0 of them bad, 0 changes of level");
  summary.guard->state.level = SafetyLevel::kDense;
  EXPECT_EQ(Line(summary, "guard"),
            "guard    dense, frames are computed whole, as reused results did not agree, 0 "
            "samples, 0 of them bad, 0 changes of level");
}

TEST(SummaryTest, TellsWhatIsDoneAfterAnAnswer) {
  Summary summary;
  EXPECT_EQ(Line(summary, "refresh"), "");
  summary.refresh.Add(milliseconds(8));
  EXPECT_EQ(Line(summary, "refresh"), "refresh  p50 8.00 ms, p95 8.00 ms after an answer is out");
}

TEST(SummaryTest, TellsTheAgreementOfWhatWasChecked) {
  Summary summary;
  EXPECT_EQ(Line(summary, "checked"), "");
  summary.agreement.emplace();
  EXPECT_EQ(Line(summary, "checked"), "checked  0 frames against dense");
  const Detections box = {{{{0, 0.5f}, 0, 0, 9, 9}}};
  summary.agreement->Add(box, {{}}, box, {{}});
  summary.agreement->Add(Detections(), {{}}, box, {{}});
  EXPECT_EQ(Line(summary, "checked"), "checked  2 frames against dense, F1 0.6667");
  summary.against = "floats.onnx";
  EXPECT_EQ(Line(summary, "checked"), "checked  2 frames against dense floats.onnx, F1 0.6667");
  summary.against.clear();
  summary.agreement->Add(Detections(), {{}}, Detections(), {{}});
  EXPECT_EQ(Line(summary, "checked"),
            "checked  3 frames against dense, 2 had anything to compare, F1 0.6667");
  summary.agreement.emplace();
  summary.agreement->Add(Detections(), {{}}, Detections(), {{}});
  EXPECT_EQ(Line(summary, "checked"),
            "checked  1 frames against dense, none of which had anything to compare");
  summary.agreement.emplace();
  const std::vector<float> nan = {std::numeric_limits<float>::quiet_NaN()};
  summary.agreement->Add(RawOutputs(), {{3}}, RawOutputs(), {{2}});
  summary.agreement->Add(RawOutputs(), {nan}, RawOutputs(), {{2}});
  EXPECT_EQ(Line(summary, "checked"),
            "checked  2 frames against dense, relative L2 0.5000, 1 of them without a finite "
            "relative L2");
}

TEST(SummaryTest, TellsWhatTheGuardKnows) {
  Summary summary;
  summary.guard.emplace();
  summary.guard->samples = 9;
  summary.guard->state.is_in_doubt = true;
  EXPECT_EQ(
      Line(summary, "guard"),
      "guard    normal, in doubt, 9 samples, none of which had anything to compare, 0 of them "
      "bad, 0 changes of level");
  summary.guard->samples_with_evidence = 8;
  summary.guard->state = {SafetyLevel::kNormal, 0.95};
  EXPECT_EQ(
      Line(summary, "guard"),
      "guard    normal, 9 samples, 8 had anything to compare, 0 of them bad, 0 changes of level, "
      "agreement 0.9500");
  summary.guard->changes = 2;
  EXPECT_TRUE(
      Line(summary, "guard").ends_with("2 changes of level, agreement 0.9500 since the last"));
  EXPECT_EQ(Line(summary, "warning"), "");
  summary.guard->least = 0.9;
  summary.guard->plans = {{"remote jpeg:1 dense", {9, 8, 0.25, true}},
                          {"split cache", {5, 1, 0.97, false}}};
  EXPECT_EQ(Line(summary, "warning"),
            "warning  remote jpeg:1 dense: agreement with dense answers 0.2500, below the least of "
            "0.9, in 9 samples, 8 of them bad");
  EXPECT_EQ(
      Line(summary, "sampled"),
      "sampled  split cache: agreement with dense answers 0.9700, in 5 samples, 1 of them bad");
}

TEST(SummaryTest, AsJsonTellsWhatItsAgreementRestsOn) {
  const RobotConfig config = DemoConfig("1x3x96x128");
  const Graph graph = LoadGraph(config, /*has_tensors=*/false);
  const AnswerReader reader(graph, config.model_config.decoder);
  const auto json_of = [&](const Summary& summary) {
    return nlohmann::json::parse(ToJsonText(summary, config, reader));
  };
  Summary summary;
  EXPECT_FALSE(json_of(summary).contains("guard"));
  summary.guard.emplace();
  summary.guard->samples = 9;
  summary.guard->state.is_in_doubt = true;
  summary.agreement.emplace();
  summary.agreement->Add(Detections(), {{}}, Detections(), {{}});
  nlohmann::json json = json_of(summary);
  EXPECT_EQ(json["guard"]["samples"], 9);
  EXPECT_EQ(json["guard"]["samples_with_evidence"], 0);
  EXPECT_EQ(json["guard"]["in_doubt"], true);
  EXPECT_FALSE(json["guard"].contains("agreement")) << "nothing was compared";
  EXPECT_FALSE(json["guard"].contains("plans")) << "there was no server";
  EXPECT_EQ(json["agreement"]["frames"], 1);
  EXPECT_EQ(json["agreement"]["frames_with_evidence"], 0);
  EXPECT_FALSE(json["agreement"].contains("f1")) << "nothing was compared";

  const Detections box = {{{{0, 0.5f}, 0, 0, 9, 9}}};
  summary.agreement->Add(box, {{}}, box, {{}});
  summary.guard->samples_with_evidence = 8;
  summary.guard->state = {SafetyLevel::kNormal, 0.95};
  summary.guard->plans["split cache"] = {5, 1, 0.97, false};
  json = json_of(summary);
  EXPECT_EQ(
      json["guard"]["plans"]["split cache"],
      nlohmann::json({{"samples", 5}, {"bad_samples", 1}, {"agreement", 0.97}, {"fails", false}}));
  EXPECT_EQ(json["guard"]["samples_with_evidence"], 8);
  EXPECT_EQ(json["guard"]["in_doubt"], false);
  EXPECT_EQ(json["guard"]["agreement"], 0.95);
  EXPECT_EQ(json["agreement"]["frames_with_evidence"], 1);
  EXPECT_EQ(json["agreement"]["f1"], 1.0);
}

TEST(AnswerLineTest, TellsWhetherItsGuardIsInDoubt) {
  const RobotConfig config = DemoConfig("1x3x96x128");
  const Graph graph = LoadGraph(config, /*has_tensors=*/false);
  const AnswerReader reader(graph, config.model_config.decoder);
  Answer answer;
  answer.content = ClassMap{1, 1, {0}};
  const auto guard_of = [&] { return nlohmann::json::parse(ToJsonLine(answer, reader))["guard"]; };
  EXPECT_TRUE(guard_of().is_null()) << "there is none";
  answer.guard = GuardState{SafetyLevel::kNormal, {}, true};
  EXPECT_EQ(guard_of(), nlohmann::json({{"level", "normal"}, {"in_doubt", true}}));
  answer.guard = GuardState{SafetyLevel::kSafer, 0.5};
  EXPECT_EQ(guard_of(), nlohmann::json({{"level", "safer"}, {"agreement", 0.5}}));
}

TEST(SummaryTest, SaysThatNoServerWasMet) {
  Summary summary;
  summary.server.emplace().missed = "mpi:labb";
  EXPECT_EQ(Line(summary, "server"),
            "server   0 frames, as no server was met at mpi:labb; the robot answered alone");
  summary.server->why_alone = "nobody listens there";
  EXPECT_EQ(Line(summary, "server"),
            "server   0 frames, as no server was met at mpi:labb; the robot answered alone: nobody "
            "listens there");
}

TEST(SummaryTest, SaysWhyNoServerTookPartAtTheEnd) {
  Summary summary;
  summary.server.emplace().why_alone = "there is no room for a model of 7 bytes";
  EXPECT_NE(
      ToText(summary).find("at the end the robot answered alone: there is no room for a model "
                           "of 7 bytes\n"),
      std::string::npos)
      << ToText(summary);
}

TEST(SummaryTest, PrintsNoBandwidthThatIsAGuess) {
  using std::chrono::seconds;
  Summary summary;
  ChannelStatistics& link = summary.server.emplace().link.emplace();
  link.round_trip = {milliseconds(2), seconds(1)};
  link.bandwidth = {1951e6, seconds(1), BandwidthBasis::kTooLittle};
  link.bandwidth_back = {1.2e6, seconds(2), BandwidthBasis::kAtLeast};
  EXPECT_EQ(
      Line(summary, "link"),
      "link     not measured yet, back at least 1.2 Mbit/s 2.0 s ago, round trip 2.00 ms 1.0 s "
      "ago");
  link.bandwidth->basis = BandwidthBasis::kMeasured;
  link.bandwidth_back.reset();
  EXPECT_EQ(
      Line(summary, "link"),
      "link     1951.0 Mbit/s 1.0 s ago, back not measured yet, round trip 2.00 ms 1.0 s ago");
}

TEST(SummaryTest, TellsTheScoreWhereThereIsOne) {
  Summary summary;
  EXPECT_EQ(Line(summary, "mIoU"), "");
  summary.score.Add(0, 0);
  summary.score.Add(0, 0);
  summary.score.Add(1, 0);
  summary.score.Add(1, 1);
  EXPECT_EQ(Line(summary, "mIoU"), "mIoU     0.5833");  // 2/3 and 1/2
}

TEST(SummaryTest, SaysWhyThereIsNoScore) {
  Summary summary;
  summary.why_not_scored = "the classes differ";
  EXPECT_EQ(Line(summary, "mIoU"), "mIoU     not scored: the classes differ");
}

TEST(SummaryTest, SetsTheMemoryInUseBesideTheSumOfAllActivations) {
  Summary summary;
  summary.memory.arena_bytes = 1'500'000;
  summary.memory.activation_bytes = 27'000'000;
  EXPECT_EQ(Line(summary, "memory"), "memory   1.5 MB for activations of 27.0 MB in all");
  summary.memory.second_bytes = 700'000;
  EXPECT_EQ(Line(summary, "memory"),
            "memory   1.5 MB for activations of 27.0 MB in all, 0.7 MB of it a second place for "
            "maps that move with the camera");
}

}  // namespace
}  // namespace cacheinf
