#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "common/exec/slice.h"
#include "common/model/graph/geometry.h"
#include "tests/testing/clip.h"
#include "tests/testing/networks.h"
#include "tests/testing/outputs.h"
#include "tests/testing/run_graph.h"
#include "tests/testing/walk_pair.h"

// What one side takes from another: slices, as bytes that cross. tests/pair has two sides that
// share frames.

namespace cacheinf {
namespace {

class SlicesTest : public testing::Test {
 protected:
  SlicesTest() { robot_.Apply(clip_.Next(), clip_.picture(), {}); }

  std::vector<uint8_t> Packed(Range rows) {
    std::vector<uint8_t> bytes;
    robot_.Pack(value_, rows, &bytes);
    return bytes;
  }

  std::shared_ptr<const CompiledModel> model_ = ModelOf(TenNetworks()[1]);
  const StateOptions options_ = {{}, Keep::kAll, false, true};
  ModelState robot_{model_, options_};
  ModelState server_{model_, options_};
  const Operator& op_ = model_->graph().operators[2];
  const ValueId value_ = op_.outputs[0];
  Clip clip_{kHeight, kWidth, 0, 11};
};

// Whatever arrives is taken as a whole slice or refused in one sentence.
TEST_F(SlicesTest, DamagedOnesAreRefusedAndWhatArrivesDoesNotGoBack) {
  std::mt19937 random(11);
  const Range rows = {2, 9};
  const std::vector<uint8_t> bytes = Packed(rows);
  const auto before = Numbers(server_, value_);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<uint8_t> damaged = bytes;
    if (random() % 3 == 0) damaged.resize(random() % (bytes.size() + 1));
    const size_t header = std::min<size_t>(damaged.size(), 48);
    for (uint32_t n = random() % 3; n-- > 0 && header > 0;)
      damaged[random() % header] ^= 1 << random() % 8;
    if (damaged == bytes) continue;
    const char* error = server_.Unpack(value_, rows, damaged);
    if (error == nullptr) {
      Fill(server_, value_, 0.0f);
      continue;
    }
    ++refused;
    if (refused == 1) {
      EXPECT_EQ(FirstDifference(before, Numbers(server_, value_)), "");
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_EQ(server_.Unpack(value_, rows, bytes), nullptr);
  std::vector<uint8_t> echo;
  server_.Pack(value_, rows, &echo);
  EXPECT_LE(echo.size(), 64) << "what has arrived goes back";
}

// The peer may confirm a frame when the robot is at a later one.
TEST_F(SlicesTest, WhatIsWrittenAfterItWasPackedIsSentAgain) {
  const auto cross = [&] {
    const Range rows = {0, RowCount(model_->graph(), op_)};
    EXPECT_EQ(server_.Unpack(value_, rows, Packed(rows)), nullptr);
    return FirstDifference(Numbers(robot_, value_), Numbers(server_, value_));
  };
  EXPECT_EQ(cross(), "");
  robot_.Apply(clip_.Change(12, 12), clip_.picture(), {});
  ASSERT_NE(FirstDifference(Numbers(robot_, value_), Numbers(server_, value_)), "");
  robot_.ConfirmSent();
  EXPECT_EQ(cross(), "");
}

TEST_F(SlicesTest, WhatWasLostIsSentAgain) {
  const Range rows = {0, RowCount(model_->graph(), op_)};
  EXPECT_EQ(server_.Unpack(value_, rows, Packed(rows)), nullptr);
  robot_.ConfirmSent();
  robot_.Apply(clip_.Change(12, 12), clip_.picture(), {});
  Packed(rows);
  robot_.ForgetSent();
  EXPECT_EQ(server_.Unpack(value_, rows, Packed(rows)), nullptr);
  EXPECT_EQ(FirstDifference(Numbers(robot_, value_), Numbers(server_, value_)), "");
}

class ScrolledStates : public testing::TestWithParam<Network> {};

INSTANTIATE_TEST_SUITE_P(Of, ScrolledStates, testing::ValuesIn(TenNetworks()),
                         [](const auto& info) { return std::string(info.param.name); });

// Also computes what an abandoned frame left, but nothing else that the camera's move left valid.
TEST_P(ScrolledStates, AScrollWithStalePixelsStaysSparse) {
  const auto model = ModelOf(GetParam());
  ModelState at_once(model, {{}, Keep::kAll});
  ModelState later(model, {{}, Keep::kAll});
  ModelState dense(model);
  const int step = ShiftStep(model->graph(), kHeight / 2);
  ASSERT_GT(step, 0);
  Clip clip(kHeight, kWidth, step, 7);
  const FrameDecision& first = clip.Next();
  for (ModelState* state : {&at_once, &later}) state->Apply(first, clip.picture(), {});
  int64_t in_two_frames = 0;
  int64_t in_one = 0;
  int64_t of_all = 0;
  for (int i = 0; i < 20; ++i) {
    const FrameDecision& changed = clip.ChangeSquare(6);
    in_two_frames += at_once.Apply(changed, clip.picture(), {}).done;
    later.BeginFrame(changed, clip.picture(), {});
    later.Abandon();
    const FrameDecision& scrolled = clip.Scroll();
    in_two_frames += at_once.Apply(scrolled, clip.picture(), {}).done;
    const ChangedWork work = later.Apply(scrolled, clip.picture(), {});
    in_one += work.done;
    of_all += work.of_all;
    ASSERT_EQ(Outputs(later), DenseOutputs(dense, clip.picture())) << "frame " << i;
  }
  EXPECT_LE(in_one, in_two_frames);
  EXPECT_LT(in_one, of_all);
}

// Nothing that it has computed counts.
TEST_P(ScrolledStates, AfterAnAbandonedDenseRunAllIsComputed) {
  const auto model = ModelOf(GetParam());
  ModelState state(model, {{}, Keep::kAll});
  ModelState dense(model);
  Clip clip(kHeight, kWidth, 0, 7);
  state.Apply(clip.Next(), clip.picture(), {});
  for (size_t stages = 0; stages <= state.stage_count(); stages += 3) {
    state.BeginFrame(clip.Whole(), clip.picture(), {});
    for (size_t i = 0; i < stages; ++i) state.Step();
    state.Abandon();
    state.Apply(clip.Change(1, 1), clip.picture(), {});
    ASSERT_EQ(Outputs(state), DenseOutputs(dense, clip.picture()))
        << "after " << stages << " stages";
  }
}

}  // namespace
}  // namespace cacheinf
