#include "common/exec/stored_check.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/exec/model_state.h"
#include "common/exec/spreads.h"
#include "tests/exec/failing_backend.h"
#include "tests/exec/on_changing_frames.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

// Checks that recomputing stored pixels finds faults, and only faults.

namespace cacheinf {
namespace {

constexpr uint32_t kCheckedGraphs = 30;

class StoredCheckTest : public OnChangingFrames {};

INSTANTIATE_TEST_SUITE_P(On, StoredCheckTest, FewBackends(), BackendName);

TEST_P(StoredCheckTest, FramesKeepTheirPromiseUnderEveryPolicy) {
  ForEachGraph(kCheckedGraphs, MostlyLocal, [&] {
    const auto state = MakeState(RandomOptions());
    RunFirst(*state);
    ChangePolicy policy = {.threshold = 0.3f};
    policy.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(*state));
    for (int frame = 0; frame < 9; ++frame) {
      // A few frames of one policy, then all policies in turn.
      policy.kind = static_cast<ChangePolicy::Kind>((frame < 4 ? seed_ : frame) % 3);
      policy.stem_depth = static_cast<int>(seed_ % 2);
      Step(*state, policy);
      const std::optional<StoredPixel> fault = InsideState::CheckStored(*state, 30, frame);
      ASSERT_FALSE(fault) << "frame " << frame << ", map '" << graph_.value(fault->map).name
                          << "', pixel " << fault->row << ", " << fault->column;
    }
  });
}

// A picture and four convolutions, the second of which is not kept.
class StoredChainTest : public testing::Test {
 protected:
  StoredChainTest() {
    std::mt19937 random(7);
    ValueId map = graph_.AddInput("in", {1, 4, 12, 12});
    for (int i = 0; i < 4; ++i) {
      map = AddConv(graph_, "conv" + std::to_string(i), map, 4, 3, random, 0.3f);
      maps_.push_back(map);
    }
    graph_.outputs = {map};
    auto backend = std::make_unique<FailingBackend>(std::make_unique<CpuBackend>());
    backend_ = backend.get();
    state_ = MakeState(graph_, std::move(backend), {{maps_[0], maps_[2]}, Keep::kChosen});
    picture_ = RandomInputs(graph_, 1);
    SetInputs(*state_, picture_);
    state_->Run();
  }

  void RunUnchanged(const ChangePolicy& policy) {
    const ChangedMasks none(picture_, picture_);
    InsideState::RunChanged(*state_, none.views(), policy);
  }

  void Spoil(ValueId map, int row, int column, float by) {
    const TensorView view = state_->view(map);
    view.data[row * view.strides[2] + column * view.strides[3]] += by;
  }

  std::optional<StoredPixel> Fault() { return InsideState::CheckStored(*state_, 20000, 1); }

  Graph graph_;
  std::vector<ValueId> maps_;
  std::vector<Tensor> picture_;
  FailingBackend* backend_ = nullptr;
  std::unique_ptr<ModelState> state_;
};

TEST_F(StoredChainTest, ASpoiledPixelIsFound) {
  RunUnchanged({});
  EXPECT_FALSE(Fault());
  Spoil(maps_[3], 5, 7, 0.001f);
  const std::optional<StoredPixel> fault = Fault();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->map, maps_[3]);
  EXPECT_EQ(fault->row, 5);
  EXPECT_EQ(fault->column, 7);
}

TEST_F(StoredChainTest, WhatIsComputedFromASpoiledPixelIsFoundThroughMapsThatAreNotKept) {
  RunUnchanged({});
  // Nothing is promised about the first map: a caller may leave out changes of the picture.
  Spoil(maps_[0], 5, 7, 1.0f);
  const std::optional<StoredPixel> fault = Fault();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->map, maps_[2]);
}

TEST_F(StoredChainTest, OnlyUnderChangeThereIsAThreshold) {
  ChangePolicy policy = {.kind = ChangePolicy::Kind::kChange, .threshold = 0.5f};
  policy.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(*state_));
  RunUnchanged(policy);
  Spoil(maps_[3], 5, 7, 0.001f);
  EXPECT_FALSE(Fault());
  Spoil(maps_[3], 5, 7, 100.0f);
  EXPECT_TRUE(Fault());
  state_->Run();
  RunUnchanged({});
  Spoil(maps_[3], 5, 7, 0.001f);
  EXPECT_TRUE(Fault());
}

TEST_F(StoredChainTest, UnderFixedNothingIsPromisedAboutWhatWasNotComputed) {
  RunUnchanged({.kind = ChangePolicy::Kind::kFixed});
  Spoil(maps_[3], 5, 7, 1.0f);
  EXPECT_FALSE(Fault());
}

TEST_F(StoredChainTest, AfterAnAbandonedFrameNothingIsPromised) {
  const std::vector<Tensor> before = std::exchange(picture_, RandomInputs(graph_, 2));
  const ChangedMasks changed(before, picture_);
  SetInputs(*state_, picture_);
  backend_->FailAfter(0);
  EXPECT_THROW(InsideState::RunChanged(*state_, changed.views(), {}), std::runtime_error);
  Spoil(maps_[3], 5, 7, 1.0f);
  EXPECT_FALSE(Fault());
  backend_->FailAfter(-1);
  RunUnchanged({});
  EXPECT_FALSE(Fault());
  EXPECT_EQ(
      FirstDifference(EvaluateDirectly(graph_, picture_)[maps_[3]], Numbers(*state_, maps_[3])),
      "");
}

}  // namespace
}  // namespace cacheinf
