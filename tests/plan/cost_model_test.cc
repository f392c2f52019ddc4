// Read this first: predicts from two profiles what a plan takes, over the rows that robot and
// server compile.

#include "common/plan/cost_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/exec/cache_choice.h"
#include "common/model/graph/geometry.h"
#include "common/plan/profiled_graph.h"
#include "common/plan/split.h"
#include "tests/plan/profiles.h"
#include "tests/testing/networks.h"

namespace cacheinf {
namespace {

Plan RandomSplit(std::mt19937& random, const std::vector<int>& places) {
  Plan plan;
  plan.kind = Plan::Kind::kSplit;
  for (const int place : places) {
    if (random() % places.size() > 2) continue;
    const int share = static_cast<int>(random() % 3);
    plan.cuts.push_back({place, share == 2 ? 1000 : static_cast<int>(share * (random() % 1001))});
  }
  return plan;
}

// The cost model counts the rows that robot and server compile.
void ExpectCompiledRows(const Graph& graph, const Layout& layout, uint32_t seed) {
  SCOPED_TRACE(graph.name + ", seed " + std::to_string(seed));
  std::mt19937 random(seed);
  // A row takes its own time and bytes.
  std::vector<ProfiledOperator> operators = DescribeOperators(graph, layout);
  std::vector<int> places = {-1};
  for (size_t id = 0; id < operators.size(); ++id) {
    ProfiledOperator& op = operators[id];
    op.row_bytes = static_cast<int64_t>(random() % 10000);
    if (!op.is_kept) continue;  // whose rows follow from others'
    op.dense_ms = static_cast<double>(random() % 10000) * op.rows;
    places.push_back(static_cast<int>(id));
  }
  const int picture_rows = HeightOf(graph.value(graph.inputs[0]));
  ProfilePair pair = PairOf(operators, 1, 1000);
  pair.robot.picture_slice_bytes = Curve::Constant(12345.0 * picture_rows);
  for (Profile* const profile : {&pair.robot, &pair.server}) {
    profile->picture_encode_ms = profile->picture_decode_ms = {};
    profile->fit_ms = profile->read_ms = 0;
  }
  const CostModel model(pair.robot, pair.server, {.mbit_up = 10, .mbit_down = 10});
  const RowCompiler compiler(graph, layout);
  for (int trial = 0; trial < 40; ++trial) {
    Plan plan = RandomSplit(random, trial % 2 == 0 ? places : model.cut_places());
    plan.keeps = false;
    SCOPED_TRACE(ToText(plan));
    std::vector<int> robot_rows;
    for (const Cut& cut : plan.cuts) {
      robot_rows.push_back(PictureRowsOf(cut.robot_thousandths, picture_rows));
    }
    const SplitRows compiled = compiler.Compile(plan.cuts, robot_rows);
    BySide<double> ms;
    BySide<double> sent_bytes;
    for (const Side side : kSides) {
      for (const Stage& stage : layout.stages) {
        const ProfiledOperator& op = operators[stage.root];
        ms[side] += op.dense_ms / op.rows * compiled[side].computed[stage.root].size();
      }
    }
    for (const Transfer& transfer : compiled.transfers) {
      const OpId producer = graph.value(transfer.value).producer;
      sent_bytes[transfer.from] +=
          transfer.rows.size() *
          (producer == kNone ? 12345.0 : static_cast<double>(operators[producer].row_bytes));
    }
    const Prediction prediction = model.Predict(plan);
    EXPECT_NEAR(prediction.robot_ms, ms.robot, 1e-3);
    EXPECT_NEAR(prediction.server_ms, ms.server, 1e-3);
    EXPECT_NEAR(prediction.up_bytes, sent_bytes.robot, 1e-3);
    EXPECT_NEAR(prediction.down_bytes, sent_bytes.server, 1e-3);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(CostModel, CountsTheRowsThatBothSidesCompile) {
  for (const Network& network : TenNetworks()) {
    const auto graph = MakeNetwork(network, 64, 32);
    ExpectCompiledRows(*graph, MakeLayout(*graph, {}, Keep::kAll), 1);
    ExpectCompiledRows(*graph, MakeLayout(*graph, {}, Keep::kAllApart), 2);
    const CacheChoice choice =
        ChooseCaches(*graph, MemoryOfExtremes(*graph).no_cache_bytes * 3 / 2);
    ExpectCompiledRows(*graph, MakeLayout(*graph, choice.kept, Keep::kChosen), 3);
  }
}

// Four operators of eight rows in a chain, without halos; everything costs round numbers.
ProfilePair Chain() {
  std::vector<ProfiledOperator> operators(4);
  for (size_t id = 0; id < operators.size(); ++id) {
    ProfiledOperator& op = operators[id];
    op.name = "op" + std::to_string(id);
    op.inputs = {{static_cast<int>(id) - 1, AxisWindow::Identity(8)}};
    op.rows = 8;
    op.row_bytes = 1000;
    op.ms = {{{0.0, 1.0}, {1.0, 9.0}}};
    op.dense_ms = 8;
    op.active = {{{0.0, 0.0}, {1.0, 1.0}}};
    op.slice_bytes = {{{0.0, 0.0}, {1.0, 8000.0}}};
    op.whole_bytes = 8000;
    op.whole_encode_ms = 0.75;
    op.whole_decode_ms = 0.375;
    op.encode_ms = Curve::Constant(0.5);
    op.decode_ms = Curve::Constant(0.25);
  }
  operators.back().is_output = true;
  Profile robot;
  robot.operators = operators;
  robot.fit_ms = 1;
  robot.decide_ms = {{{0.0, 1.0}, {1.0, 3.0}}};
  robot.read_ms = 3;
  robot.picture_slice_bytes = {{{0.0, 0.0}, {1.0, 16000.0}}};
  robot.picture_encode_ms = robot.picture_decode_ms = {{{0.0, 0.0}, {1.0, 0.125}}};
  robot.codecs = {{"jpeg:85", {{{0.0, 0.0}, {1.0, 2000.0}}}, 0.75, 9}};
  robot.answer_bytes = 1000;
  robot.answer_decode_ms = 0.5;
  robot.computing_watts = 10;
  robot.sending_watts = 4;
  robot.waiting_watts = 2;
  Profile server = robot;
  server.side = Side::kServer;
  for (ProfiledOperator& op : server.operators) {
    op.ms = {{{0.0, 0.5}, {1.0, 1.5}}};
    op.dense_ms = 1;
  }
  server.decide_ms = {{{0.0, 0.5}, {1.0, 1.0}}};
  server.codecs[0].decode_ms = 0.5;
  server.answer_encode_ms = 0.25;
  return {robot, server};
}

// 8 Mbit/s: a kilobyte a millisecond.
const Situation kSituation = {8, 8, 4, 0.5, 1};

Plan SplitAt(std::vector<Cut> cuts) {
  Plan plan;
  plan.kind = Plan::Kind::kSplit;
  plan.cuts = std::move(cuts);
  return plan;
}

TEST(CostModel, TheRobotAlone) {
  const ProfilePair pair = Chain();
  const CostModel model(pair.robot, pair.server, kSituation);
  Plan plan;
  EXPECT_DOUBLE_EQ(model.Ms(plan), 1 + 2 + 4 * 5 + 3);
  EXPECT_DOUBLE_EQ(model.Predict(plan).energy_j, 0.26);
  plan.keeps = false;
  EXPECT_DOUBLE_EQ(model.Ms(plan), 1 + 4 * 8 + 3);
}

TEST(CostModel, TheServerAlone) {
  ProfilePair pair = Chain();
  const CostModel model(pair.robot, pair.server, kSituation);
  Plan plan;
  plan.kind = Plan::Kind::kRemote;
  plan.codec = "jpeg:85";
  // fit, encode, send, half a round trip, decode, decide, network, encode, send, half a round trip,
  // decode, read.
  const Prediction prediction = model.Predict(plan);
  EXPECT_DOUBLE_EQ(prediction.latency_ms,
                   1 + 0.75 + 2 + 2 + 0.5 + 1 + 4 * 1.5 + 0.25 + 1 + 2 + 0.5 + 3);
  EXPECT_DOUBLE_EQ(prediction.robot_ms, 1 + 0.75 + 0.5 + 3);
  EXPECT_DOUBLE_EQ(prediction.server_ms, 0.5 + 1 + 6 + 0.25);
  EXPECT_DOUBLE_EQ(prediction.link_ms, 3);
  EXPECT_DOUBLE_EQ(prediction.up_bytes, 2000);
  // Computing, then sending and receiving, then waiting.
  EXPECT_DOUBLE_EQ(prediction.energy_j, (10 * 5.25 + 4 * 3 + 2 * 11.75) / 1000);
  plan.keeps = false;
  EXPECT_DOUBLE_EQ(model.Ms(plan), prediction.latency_ms - 1 - 4 * 0.5);
  plan.codec = "png";
  EXPECT_EQ(model.Ms(plan), INFINITY);
  // The server does not see half of the changes: it decides and computes less.
  pair.robot.codecs[0].seen = {{{0.0, 0.0}, {1.0, 0.5}}};
  plan = {.kind = Plan::Kind::kRemote, .codec = "jpeg:85"};
  EXPECT_DOUBLE_EQ(CostModel(pair.robot, pair.server, kSituation).Ms(plan),
                   prediction.latency_ms - 0.25 - 4 * 0.5);
}

TEST(CostModel, OneCut) {
  const ProfilePair pair = Chain();
  const CostModel model(pair.robot, pair.server, kSituation);
  // The bytes to send depend on the server's pixels, the answer on the robot's.
  const Prediction prediction = model.Predict(SplitAt({{1, 0}}));
  EXPECT_DOUBLE_EQ(prediction.up_bytes, 8000);
  EXPECT_DOUBLE_EQ(prediction.down_bytes, 4000);
  EXPECT_DOUBLE_EQ(prediction.latency_ms,
                   3 + 2 * 5 + 0.5 + 8 + 2 + 0.25 + 2 * 1.5 + 0.5 + 4 + 2 + 0.25 + 3);
  EXPECT_DOUBLE_EQ(prediction.server_ms, 0.25 + 3 + 0.5);
}

TEST(CostModel, WhatNoSliceWasMeasuredOfCrossesAsFloats) {
  ProfilePair pair = Chain();
  pair.robot.operators[1].slice_bytes = {};
  pair.robot.operators[1].whole_bytes = 0;
  pair.robot.operators[1].row_bytes = 500;
  CostModel model(pair.robot, pair.server, {8, 8, 4, 0.5, 0.25});
  Plan plan = SplitAt({{1, 0}});
  EXPECT_DOUBLE_EQ(model.Predict(plan).up_bytes, 0.25 * 8 * 500);
  plan.keeps = false;
  EXPECT_DOUBLE_EQ(model.Predict(plan).up_bytes, 8 * 500);
}

TEST(CostModel, SharedRowsOverlap) {
  const ProfilePair pair = Chain();
  const CostModel model(pair.robot, pair.server, kSituation);
  // After the first operator each side takes half of the rows: the robot sends rows 4 to 8 and goes
  // on.
  const Plan plan = SplitAt({{0, 500}});
  const Prediction prediction = model.Predict(plan);
  const double sent_ms = 3 + 5 + 0.25 + 4 + 2;
  const double server_ms = sent_ms + 0.125 + 3 * 1.0 + 0.25;
  const double robot_ms = 3 + 5 + 0.25 + 3 * 3;
  EXPECT_DOUBLE_EQ(prediction.up_bytes, 4000);
  EXPECT_DOUBLE_EQ(prediction.down_bytes, 2000);
  EXPECT_DOUBLE_EQ(prediction.latency_ms, std::max(robot_ms, server_ms + 2 + 2) + 0.125 + 3);
  EXPECT_DOUBLE_EQ(prediction.robot_ms, robot_ms + 0.125 + 3);
  EXPECT_DOUBLE_EQ(prediction.link_ms, 4 + 2);
  // It computes while it sends, and waits only for the end of the answer.
  EXPECT_DOUBLE_EQ(prediction.energy_j,
                   (10 * prediction.robot_ms + 4 * (server_ms + 2 + 2 - robot_ms)) / 1000);
  // The lanes end where the prediction does.
  double end_ms = 0;
  for (const Timeline::Piece& piece : model.PredictTimeline(plan).pieces) {
    end_ms = std::max(end_ms, piece.end_ms);
    EXPECT_LE(piece.begin_ms, piece.end_ms) << piece.name;
  }
  EXPECT_DOUBLE_EQ(end_ms, prediction.latency_ms);
}

// A slice waits for those that were sent before it.
TEST(CostModel, TheLinkIsAQueue) {
  ProfilePair pair = Chain();
  // The second operator reads the picture, too, and has a small output.
  pair.robot.operators[1].inputs.push_back({-1, AxisWindow::Identity(8)});
  const CostModel model(pair.robot, pair.server, kSituation);
  const Prediction prediction = model.Predict(SplitAt({{0, 0}}));
  EXPECT_DOUBLE_EQ(prediction.up_bytes, 24000);
  // The picture leaves first, and both must have arrived.
  EXPECT_DOUBLE_EQ(prediction.latency_ms,
                   3 + 0.125 + 16 + 8 + 2 + 0.25 + 0.125 + 3 * 1.5 + 0.5 + 4 + 2 + 0.25 + 3);
}

// Slices that go up do not wait for those that come down.
TEST(CostModel, EachWayIsAQueueOfItsOwn) {
  ProfilePair pair = Chain();
  // Each side needs one of the other's rows of the first operator.
  pair.robot.operators[1].inputs[0].rows = AxisWindow::Sliding(8, 8, {3, 1, 1, 1, 1});
  const CostModel model(pair.robot, pair.server, kSituation);
  const Plan plan = SplitAt({{-1, 500}, {0, 500}});
  // Half of the picture goes up, then a row; the server's row comes down later.
  const double picture_sent_ms = 3 + 0.0625 + 8;
  const double server_row_ms = picture_sent_ms + 2 + 0.0625 + 1 + 0.0625;
  const Timeline timeline = model.PredictTimeline(plan);
  const auto begin_of = [&](Timeline::Lane lane) {
    const auto piece = std::ranges::find_if(timeline.pieces, [&](const Timeline::Piece& one) {
      return one.lane == lane && one.name == "op0";
    });
    return piece == timeline.pieces.end() ? -1 : piece->begin_ms;
  };
  EXPECT_DOUBLE_EQ(begin_of(Timeline::Lane::kUp), picture_sent_ms);
  EXPECT_DOUBLE_EQ(begin_of(Timeline::Lane::kDown), server_row_ms);
  EXPECT_DOUBLE_EQ(model.Ms(plan), server_row_ms + 0.5 + 2 + 0.03125 + 3 * 3 + 0.125 + 3);
}

TEST(CostModel, EachWayHasItsBandwidth) {
  const ProfilePair pair = Chain();
  const CostModel same(pair.robot, pair.server, kSituation);
  Situation situation = kSituation;
  situation.mbit_down = 4;
  const CostModel model = same.At(situation);
  // The way back (4000 bytes of a split, 1000 of an answer) takes twice as long.
  const Plan split = SplitAt({{1, 0}});
  const Plan remote = {.kind = Plan::Kind::kRemote, .codec = "jpeg:85"};
  EXPECT_NEAR(model.Ms(split), same.Ms(split) + 4, 1e-9);
  EXPECT_NEAR(model.Ms(remote), same.Ms(remote) + 1, 1e-9);
  EXPECT_NEAR(model.CrossingMs(Side::kRobot, 1, true), same.CrossingMs(Side::kRobot, 1, true) + 4,
              1e-9);
  EXPECT_NEAR(model.CrossingMs(Side::kServer, 1, true), same.CrossingMs(Side::kServer, 1, true),
              1e-9);
}

TEST(CostModel, FactorsAndQueue) {
  const ProfilePair pair = Chain();
  Situation situation = kSituation;
  situation.robot_factor = 2;
  situation.server_factor = 3;
  situation.link_factor = 1.5;
  situation.server_queue_ms = 7;
  const CostModel same(pair.robot, pair.server, kSituation);
  const CostModel model = same.At(situation);
  EXPECT_DOUBLE_EQ(model.Ms(SplitAt({{1, 0}})), 2 * (3 + 2 * 5 + 0.5) + 1.5 * 8 + 2 + 7 +
                                                    3 * (0.25 + 2 * 1.5 + 0.5) + 1.5 * 4 + 2 +
                                                    2 * (0.25 + 3));
  // Split at the picture, by halves of the rows, and by a codec.
  EXPECT_DOUBLE_EQ(model.Ms(SplitAt({{-1, 0}})), 2 * (3 + 0.125) + 1.5 * 16 + 2 + 7 +
                                                     3 * (0.125 + 4 * 1.5 + 0.5) + 1.5 * 4 + 2 +
                                                     2 * (0.25 + 3));
  EXPECT_DOUBLE_EQ(model.Ms(SplitAt({{0, 500}})), 2 * (3 + 5 + 0.25) + 1.5 * 4 + 2 + 7 +
                                                      3 * (0.125 + 3 * 1.0 + 0.25) + 1.5 * 2 + 2 +
                                                      2 * (0.125 + 3));
  EXPECT_DOUBLE_EQ(model.Ms({.kind = Plan::Kind::kRemote, .codec = "jpeg:85"}),
                   2 * (1 + 0.75) + 1.5 * 2 + 2 + 7 + 3 * (0.5 + 1 + 4 * 1.5 + 0.25) + 1.5 * 1 + 2 +
                       2 * (0.5 + 3));
  // A frame waits for the server once, however often it comes there.
  situation = kSituation;
  situation.server_queue_ms = 7;
  const Plan to_and_fro = SplitAt({{-1, 0}, {0, 1000}, {1, 0}});
  EXPECT_DOUBLE_EQ(same.At(situation).Ms(to_and_fro), same.Ms(to_and_fro) + 7);
}

TEST(CostModel, SlowedDownProfilesAreSlowMachines) {
  const ProfilePair pair = Chain();
  Situation situation = kSituation;
  const CostModel slowed(SlowedDown(pair.robot, 2), SlowedDown(pair.server, 3), situation);
  situation.robot_factor = 2;
  situation.server_factor = 3;
  const CostModel model(pair.robot, pair.server, situation);
  for (const bool keeps : {true, false}) {
    for (const Plan::Kind kind : {Plan::Kind::kLocal, Plan::Kind::kRemote, Plan::Kind::kSplit}) {
      const Plan plan = {kind, keeps, "jpeg:85", {{-1, 500}, {1, 0}}};
      EXPECT_NEAR(slowed.Ms(plan), model.Ms(plan), 1e-9) << ToText(plan);
    }
  }
}

TEST(CostModel, WithoutALinkOnlyTheRobotAnswers) {
  const ProfilePair pair = Chain();
  const CostModel model = CostModel(pair.robot, pair.server, kSituation).At({});
  EXPECT_TRUE(std::isfinite(model.Ms(Plan())));
  EXPECT_EQ(model.Ms(SplitAt({{1, 0}})), INFINITY);
  EXPECT_EQ(model.Predict(SplitAt({{1, 0}})).energy_j, INFINITY);
  EXPECT_EQ(model.Predict({.kind = Plan::Kind::kRemote, .codec = "jpeg:85"}).energy_j, INFINITY);
  EXPECT_EQ(model.Ms(SplitAt({{1, 1000}})), model.Ms(Plan()));
}

// Cuts stand where everything that crosses is kept.
TEST(CostModel, PlacesOfCuts) {
  ProfilePair pair = Chain();
  EXPECT_EQ(CostModel(pair.robot, pair.server, {}).cut_places(), (std::vector<int>{-1, 0, 1, 2}));
  pair.robot.operators[3].inputs.push_back({0, AxisWindow::Identity(8)});
  EXPECT_EQ(CostModel(pair.robot, pair.server, {}).cut_places(), (std::vector<int>{-1, 0, 1, 2}));
  pair.robot.operators[0].is_kept = false;
  EXPECT_EQ(CostModel(pair.robot, pair.server, {}).cut_places(), (std::vector<int>{-1}));
}

TEST(CostModel, ProfilesOfDifferentNetworksAreRefused) {
  const auto expect_refused = [](const auto& change) {
    ProfilePair pair = Chain();
    change(pair);
    EXPECT_THROW(CostModel(pair.robot, pair.server, {}), InputError);
  };
  expect_refused([](ProfilePair& pair) { std::swap(pair.robot, pair.server); });
  expect_refused([](ProfilePair& pair) { pair.server.model_checksum = 1; });
  expect_refused([](ProfilePair& pair) { pair.server.operators.pop_back(); });
  expect_refused([](ProfilePair& pair) { pair.server.operators[2].rows = 7; });
  expect_refused([](ProfilePair& pair) { pair.server.operators[2].name = "another"; });
  expect_refused([](ProfilePair& pair) { pair.server.settings = "policy exact"; });
}

}  // namespace
}  // namespace cacheinf
