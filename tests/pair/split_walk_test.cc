// Read this first: robot and server walk the same frames, each over its own rows, and trade slices.
// Whoever is faster and whatever is late, the answer has the bits of a robot that runs alone.

#include "common/pair/split_walk.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/backend/device/cuda_backend.h"
#include "common/model/graph/geometry.h"
#include "common/plan/split.h"
#include "sparse_ops/cuda/emulated/device.h"
#include "sparse_ops/mask/mask.h"
#include "tests/pair/cuts.h"
#include "tests/testing/clip.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/networks.h"
#include "tests/testing/outputs.h"
#include "tests/testing/refusal.h"
#include "tests/testing/run_graph.h"
#include "tests/testing/walk_pair.h"

namespace cacheinf {
namespace {

WalkPair OnADevice(const Network& network) {
  const auto model = ModelOf(network, MakeEmulatedCudaBackend(/*seed=*/5));
  return {model, model, ModelOf(network), {{}, Keep::kAll}, {}};
}

class SplitWalks : public testing::TestWithParam<Network> {};

INSTANTIATE_TEST_SUITE_P(Of, SplitWalks, testing::ValuesIn(TenNetworks()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(SplitWalks, WhateverIsCutLateOrLostTheAnswerHasTheBitsOfADenseRun) {
  for (const bool keeps_all : {true, false}) {
    StateOptions options = {{}, Keep::kAll};
    if (!keeps_all) {
      options.keep = Keep::kChosen;
      const auto graph = MakeNetwork(GetParam(), kHeight, kWidth);
      std::mt19937 random(3);
      for (const Operator& op : graph->operators) {
        if (random() % 2 == 0) options.chosen.push_back(op.outputs[0]);
      }
    }
    WalkPair pair(GetParam(), options);
    pair.Begin();
    const std::vector<int> places = PlacesOfCuts(pair.robot());
    std::vector<Cut> cuts;
    for (int i = 0; i < 150; ++i) {
      SCOPED_TRACE(testing::Message() << (keeps_all ? "all kept" : "some kept") << ", frame " << i);
      std::mt19937& random = pair.random();
      if (random() % 20 == 0) pair.ReplaceServer();
      if (random() % 2 == 0) cuts = RandomCuts(places, random);
      const bool gives_up = random() % 4 == 0;
      const bool is_shared = random() % 6 != 0;
      pair.Frame(cuts, is_shared, gives_up ? random() % 100 : SIZE_MAX);
      ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseAnswer());
      ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseBitsWhereHeld(pair.robot()));
      if (is_shared) {
        ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseBitsWhereHeld(pair.server()));
      }
    }
    EXPECT_GT(pair.slices(), 50u);
  }
}

// Both sides' slices are copied beside both sides' kernels.
TEST_P(SplitWalks, OnADeviceTheAnswerHasTheBitsOfADenseRun) {
  WalkPair pair = OnADevice(GetParam());
  pair.Begin();
  const std::vector<int> places = PlacesOfCuts(pair.robot());
  for (int i = 0; i < 6; ++i) {
    SCOPED_TRACE(testing::Message() << "frame " << i);
    std::mt19937& random = pair.random();
    pair.Frame(RandomCuts(places, random), true, i == 3 ? random() % 20 : SIZE_MAX);
    ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseAnswer());
  }
  EXPECT_GT(pair.slices(), 6u);
}

// The server's frame stays open, so another server takes over.
TEST_P(SplitWalks, AfterASliceThatCouldNotLeaveTheAnswerHasTheBitsOfADenseRun) {
  for (const bool is_on_device : {false, true}) {
    int faults = 0;
    for (size_t i = 0; i < (is_on_device ? 2 : 4); ++i) {
      SCOPED_TRACE(testing::Message() << (is_on_device ? "device" : "CPU") << ", fault " << i);
      WalkPair pair = is_on_device ? OnADevice(GetParam()) : WalkPair(GetParam());
      pair.random().seed(static_cast<unsigned>(i));
      pair.Begin();
      const std::vector<int> places = PlacesOfCuts(pair.robot());
      pair.FailAfter(i % 4);
      try {
        pair.Frame(pair.clip().Change(24, 24), RandomCuts(places, pair.random()), true,
                   i % 3 == 0 ? i : SIZE_MAX);
      } catch (const std::runtime_error&) {
        ++faults;
      }
      pair.FailAfter(SIZE_MAX);
      pair.ReplaceServer();
      pair.Frame(pair.clip().Change(0, 0), RandomCuts(places, pair.random()));
      ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseAnswer());
    }
    EXPECT_GT(faults, 0);
  }
}

// The robot computes all rows up to the cut, so that it waits for nobody there.
TEST(SplitWalkTest, TheNextStageIsOnTheDeviceBeforeTheHostWaitsForASlice) {
  const auto device = std::make_shared<cuda::EmulatedDevice>();
  const auto model = std::make_shared<const CompiledModel>(
      MakeNetwork(TenNetworks()[1], kHeight, kWidth), MakeEmulatedCudaBackend(device));
  ModelState robot(model, {{}, Keep::kAll, false, true});
  const auto asked = [&] { return device->counts().launches + device->counts().replays; };
  int before_frame = 0;
  int before_step = 0;
  int in_earlier_steps = -1;  // when the first slice was sent
  int in_this_step = -1;
  SplitWalk walk(Side::kRobot, robot, [&](uint32_t, const std::vector<uint8_t>&) {
    if (in_this_step >= 0) return;
    in_earlier_steps = before_step - before_frame;
    in_this_step = asked() - before_step;
  });
  Clip clip(kHeight, kWidth, ShiftStep(model->graph(), kHeight / 2), 7);
  const std::vector<Cut> cuts = {{2, 500}};
  FrameDecision decision = clip.Next();
  decision.robot_rows = RobotRowsOf(cuts, std::as_const(decision.changed));
  walk.Begin(decision, cuts, {}, clip.picture());
  before_frame = asked();
  do {
    before_step = asked();
  } while (walk.Step() == Progress::kStepped);
  EXPECT_GT(in_earlier_steps, 0) << "the slice is packed";
  EXPECT_GT(in_this_step, 0) << "and then the next stage is begun";
}

TEST(SplitWalkTest, ASliceLeavesOnceThoughSendingItThrows) {
  const auto model = std::make_shared<const CompiledModel>(
      MakeNetwork(TenNetworks()[1], kHeight, kWidth), MakeEmulatedCudaBackend(1));
  ModelState robot(model, {{}, Keep::kAll, false, true});
  int sent = 0;
  SplitWalk walk(Side::kRobot, robot, [&](uint32_t, const std::vector<uint8_t>&) {
    ++sent;
    throw std::runtime_error("no room");
  });
  Clip clip(kHeight, kWidth, ShiftStep(model->graph(), kHeight / 2), 7);
  const std::vector<Cut> cuts = {{2, 500}};
  FrameDecision decision = clip.Next();
  decision.robot_rows = RobotRowsOf(cuts, std::as_const(decision.changed));
  walk.Begin(decision, cuts, {}, clip.picture());
  const auto step_all = [&] {
    while (walk.Step() == Progress::kStepped) continue;
  };
  EXPECT_THROW(step_all(), std::runtime_error);
  walk.Abandon();
  EXPECT_EQ(sent, 1);
}

TEST_P(SplitWalks, UnderChangeBothSidesKeepThePromise) {
  WalkPair pair(GetParam(), {{}, Keep::kAll},
                {.kind = ChangePolicy::Kind::kChange, .threshold = 0.3f});
  pair.Begin();
  const std::vector<int> places = PlacesOfCuts(pair.robot());
  for (int i = 0; i < 100; ++i) {
    SCOPED_TRACE(testing::Message() << "frame " << i);
    std::mt19937& random = pair.random();
    if (random() % 40 == 0) pair.ReplaceServer();
    const bool gives_up = random() % 4 == 0;
    const bool is_shared = random() % 6 != 0;
    pair.Frame(RandomCuts(places, random), is_shared, gives_up ? random() % 100 : SIZE_MAX);
    if (pair.is_whole()) {
      ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseAnswer());
    }
    for (ModelState* side : {&pair.robot(), &pair.server()}) {
      if (!is_shared && side == &pair.server()) continue;
      EXPECT_FALSE(InsideState::CheckStored(*side, 200, static_cast<uint32_t>(i)))
          << (side == &pair.robot() ? "robot" : "server");
    }
  }
}

// The server does not hear of a difference that the robot calls no change, until it is refreshed.
TEST_P(SplitWalks, ARefreshReachesTheServersPicture) {
  for (const ChangePolicy& policy :
       {ChangePolicy{.kind = ChangePolicy::Kind::kChange, .threshold = 0.3f},
        ChangePolicy{.kind = ChangePolicy::Kind::kFixed}}) {
    WalkPair pair(GetParam(), {{}, Keep::kAll}, policy);
    pair.Begin();
    for (const int thousandths : {0, 500}) {
      const std::vector<Cut> cuts = {{-1, thousandths}};
      for (int i = 0; i < 3; ++i) pair.Frame(cuts);
      pair.Frame(pair.clip().Drift(), cuts);
      pair.Frame(pair.clip().RefreshAll(), cuts);
      ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseAnswer());
    }
  }
}

// The pixels of a kept map that the last frame changed.
Mask ChangedOf(const ModelState& side, ValueId id) {
  const ConstMaskView changed = side.changed(id);
  Mask copy(changed.height, changed.width);
  Copy(changed, copy);
  return copy;
}

// Cuts at every third value, for rows that stay where they are: the robot owns the upper half.
std::vector<Cut> CutsOfHalves(const ModelState& state) {
  std::vector<Cut> cuts;
  for (const int place : PlacesOfCuts(state)) {
    if (cuts.empty() || place % 3 == 0) cuts.push_back({place, 500});
  }
  return cuts;
}

TEST_P(SplitWalks, UnderFixedBothSidesTogetherComputeThePixelsOfOneState) {
  WalkPair pair(GetParam(), {{}, Keep::kAll}, {.kind = ChangePolicy::Kind::kFixed, .growth = 1});
  pair.Begin();
  const std::vector<Cut> cuts = CutsOfHalves(pair.robot());
  const std::vector<int> robot_rows(cuts.size(), kHeight / 2);
  ModelState one(ModelOf(GetParam()), {{}, Keep::kAll});
  one.Apply(pair.decision(), pair.clip().picture(), pair.policy());
  // Rows new to the server are computed whole, though nothing moves.
  pair.FrameOfRows(pair.clip().Change(0, 0), cuts, robot_rows);
  for (int i = 0; i < 20; ++i) {
    SCOPED_TRACE(testing::Message() << "frame " << i);
    pair.FrameOfRows(pair.clip().ChangeSquare(9), cuts, robot_rows);
    one.Apply(pair.decision(), pair.clip().picture(), pair.policy());
    ASSERT_EQ(FirstDifference(Outputs(one), Outputs(pair.robot())), "");
    const SplitRows rows = pair.RowsOf(cuts);
    for (OpId id = 0; id < static_cast<OpId>(pair.graph().operators.size()); ++id) {
      const Operator& op = pair.graph().operators[id];
      if (!IsLocal(pair.graph(), op)) continue;
      const Mask expected = ChangedOf(one, op.outputs[0]);
      for (const auto& [side, computed] : {std::pair(&pair.robot(), rows.robot.computed[id]),
                                           std::pair(&pair.server(), rows.server.computed[id])}) {
        if (computed.empty()) continue;
        const Mask actual = ChangedOf(*side, op.outputs[0]);
        EXPECT_TRUE(AreEqual(CutRows(expected.view(), computed), CutRows(actual.view(), computed)))
            << "'" << op.name << "'";
      }
    }
  }
}

TEST_P(SplitWalks, UnderFixedTheErrorIsThatOfOneStateWhereverTheRowsGo) {
  WalkPair pair(GetParam(), {{}, Keep::kAll}, {.kind = ChangePolicy::Kind::kFixed, .growth = 1});
  pair.Begin();
  const std::vector<int> places = PlacesOfCuts(pair.robot());
  const auto model = ModelOf(GetParam());
  ModelState one(model, {{}, Keep::kAll});
  ModelState dense(model);
  one.Apply(pair.decision(), pair.clip().picture(), pair.policy());
  double error_of_one = 0;
  double error_of_pair = 0;
  for (int i = 0; i < 40; ++i) {
    const bool gives_up = pair.random()() % 8 == 0;
    const std::vector<Cut> cuts = RandomCuts(places, pair.random());
    pair.Frame(pair.clip().ChangeSquare(9), cuts, true, gives_up ? 30 : SIZE_MAX);
    one.Apply(pair.decision(), pair.clip().picture(), pair.policy());
    const auto exact = DenseOutputs(dense, pair.clip().picture());
    error_of_one += RelativeErrorOf(Outputs(one), exact);
    error_of_pair += RelativeErrorOf(Outputs(pair.robot()), exact);
  }
  EXPECT_GT(error_of_one, 0) << "nothing is tested";
  EXPECT_LE(error_of_pair, 1.02 * error_of_one);
}

// Nothing is computed or sent for pixels that stand still, and for those that changed, nothing
// beyond the rows that are owned and their halo.
TEST_P(SplitWalks, WhatStandsStillIsNeitherComputedNorSent) {
  constexpr size_t kSliceBytes = 64;  // enough for a slice without pixels
  WalkPair pair(GetParam());
  pair.Begin();
  const std::vector<Cut> cuts = CutsOfHalves(pair.robot());
  const std::vector<int> robot_rows(cuts.size(), kHeight / 2);
  for (int i = 0; i < 20; ++i) {
    SCOPED_TRACE(testing::Message() << "frame " << i);
    const bool is_still = i % 4 != 1;
    const int size = is_still ? 0 : 10;
    const size_t bytes_before = pair.bytes();
    pair.FrameOfRows(pair.clip().Change(size, size), cuts, robot_rows);
    if (i == 0) continue;
    const SplitRows rows = pair.RowsOf(cuts);
    if (is_still) {
      EXPECT_EQ(pair.done(), 0);
      EXPECT_LE(pair.bytes() - bytes_before, rows.transfers.size() * kSliceBytes);
      continue;
    }
    for (OpId id = 0; id < static_cast<OpId>(pair.graph().operators.size()); ++id) {
      const ValueId output = pair.graph().operators[id].outputs[0];
      for (const bool is_robot : {true, false}) {
        Mask mine = ChangedOf(is_robot ? pair.robot() : pair.server(), output);
        const Range columns = {0, mine.view().width};
        for (const Transfer& transfer : rows.transfers) {
          if (transfer.value != output || (transfer.from == Side::kRobot) == is_robot) continue;
          ClearRectangle(transfer.rows, columns, mine);
        }
        ClearRectangle((is_robot ? rows.robot : rows.server).computed[id], columns, mine);
        EXPECT_TRUE(IsEmpty(std::as_const(mine)))
            << (is_robot ? "robot" : "server") << ", '" << pair.graph().operators[id].name << "'";
      }
    }
  }
}

// All maps' mask is made from the stem's output, and neither side sees all of that.
TEST(SplitPolicyTest, FixedWithAStemIsRefused) {
  WalkPair pair(TenNetworks()[1], {{}, Keep::kAll},
                {.kind = ChangePolicy::Kind::kFixed, .stem_depth = 1});
  pair.Begin();
  EXPECT_FALSE(pair.policy().can_split());
  EXPECT_EQ(RefusalOf([&] {
              pair.Frame({{pair.graph().inputs[0], 500}});
            }),
            "policy fixed with a stem cannot be split: neither side sees all that comes out of "
            "the stem");
  for (const ChangePolicy& policy :
       {ChangePolicy{.kind = ChangePolicy::Kind::kFixed},
        ChangePolicy{.kind = ChangePolicy::Kind::kChange, .stem_depth = 1}}) {
    EXPECT_TRUE(policy.can_split());
  }
}

}  // namespace
}  // namespace cacheinf
