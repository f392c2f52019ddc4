#include "common/exec/spreads.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/exec/model_state.h"
#include "sparse_ops/mask/mask.h"
#include "tests/model/model_builder.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {
namespace {

// A map whose channels are weighted by a function of its mean over the picture.
class GateTest : public testing::Test {
 protected:
  static constexpr int kChannels = 8;
  static constexpr int kSide = 40;

  GateTest() {
    ModelBuilder b;
    const ValueId x = b.Input({1, kChannels, kSide, kSide});
    const ValueId map = b.Conv(x, kChannels, 1);
    mean_ = b.Mean(map, {2, 3});
    gate_ = b.Apply(Function::Kind::kSigmoid, b.Conv(mean_, kChannels, 1));
    gated_ = b.Multiply(map, gate_);
    graph_ = b.Finish({gated_});
    state_ =
        MakeState(graph_, std::make_unique<CpuBackend>(CpuBackendOptions{1}), {{}, Keep::kAll});
    input_ = RandomInputs(graph_, 1)[0];
    state_->SetInput(0, input_.view());
    state_->Run();
  }

  // Adds `change` to a pixel of the input, runs, and returns how many output pixels differ.
  int64_t Change(float change) {
    std::vector<float> numbers(input_.data(), input_.data() + input_.count());
    for (size_t channel = 0; channel < kChannels; ++channel) {
      numbers[(channel * kSide + 7) * kSide + 9] += change;
    }
    input_ = Tensor(input_.shape(), std::move(numbers));
    state_->SetInput(0, input_.view());
    Mask changed(kSide, kSide);
    changed.view().Set(7, 9);
    ChangePolicy policy = {.kind = ChangePolicy::Kind::kChange, .threshold = 0.1f};
    policy.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(*state_));
    const std::vector<ConstMaskView> masks = {std::as_const(changed).view()};
    InsideState::RunChanged(*state_, masks, policy);
    return CountActive(state_->changed(gated_));
  }

  Graph graph_;
  ValueId mean_ = 0;
  ValueId gate_ = 0;
  ValueId gated_ = 0;
  std::unique_ptr<ModelState> state_;
  Tensor input_;
};

TEST_F(GateTest, OnePixelHasTheSpreadOfItsChannelsAmongThemselves) {
  const InverseSpreads spreads = MeasureSpreads(*state_);
  const std::vector<float> means = Numbers(*state_, mean_);
  double sum = 0;
  double squares = 0;
  for (const float mean : means) {
    sum += mean;
    squares += double{mean} * mean;
  }
  const double deviation = std::sqrt(squares / kChannels - std::pow(sum / kChannels, 2));
  ASSERT_EQ(spreads[mean_].size(), static_cast<size_t>(kChannels));
  for (const float inverse : spreads[mean_]) EXPECT_NEAR(inverse * deviation, 1.0, 1e-4);
}

TEST_F(GateTest, EachChannelOfAMapHasItsOwnSpread) {
  // Channels differ in mean and width, and none is silent.
  std::vector<float> numbers(input_.data(), input_.data() + input_.count());
  constexpr size_t kPixels = size_t{kSide} * kSide;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t number = i / kPixels;
    const auto channel = static_cast<float>(number);
    numbers[i] = numbers[i] * (1 + channel / 4) + 10 * channel;
  }
  input_ = Tensor(input_.shape(), numbers);
  state_->SetInput(0, input_.view());
  state_->Run();
  const InverseSpreads spreads = MeasureSpreads(*state_);
  const ValueId map = graph_.operators[0].outputs[0];
  const std::vector<float> stored = Numbers(*state_, map);
  ASSERT_EQ(spreads[map].size(), static_cast<size_t>(kChannels));
  for (size_t channel = 0; channel < kChannels; ++channel) {
    double sum = 0;
    double squares = 0;
    for (size_t i = channel * kPixels; i < (channel + 1) * kPixels; ++i) {
      sum += stored[i];
      squares += double{stored[i]} * stored[i];
    }
    const double pixels = kPixels;
    const double deviation = std::sqrt(squares / pixels - std::pow(sum / pixels, 2));
    EXPECT_NEAR(spreads[map][channel] * deviation, 1.0, 1e-3) << "channel " << channel;
  }
}

TEST_F(GateTest, AGateThatHardlyMovesLeavesTheMapAlone) { EXPECT_EQ(Change(1.0f), 1); }

// Asks of each pixel whether the gate moved it.
TEST_F(GateTest, AGateThatMovesChangesTheMapEverywhere) {
  EXPECT_GT(Change(3000.0f), kSide * kSide * 9 / 10);
}

}  // namespace
}  // namespace cacheinf
