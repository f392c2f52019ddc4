#include "sparse_ops/eight_bits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/backend/host/reference_backend.h"
#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "common/exec/spreads.h"
#include "common/model/graph/decode.h"
#include "common/model/passes/passes.h"
#include "sparse_ops/mask/mask.h"
#include "tests/exec/changing_frames.h"
#include "tests/exec/on_backends.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/networks.h"
#include "tests/testing/quantised_networks.h"
#include "tests/testing/random_eight_bits.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/refusal.h"
#include "tests/testing/run_graph.h"

// Networks with 8-bit maps, on every host backend: the bits of the reference, whatever was computed
// before.

namespace cacheinf {
namespace {

constexpr uint32_t kGraphs = 120;
constexpr uint32_t kManyGraphs = 10'000;

Graph Optimised(uint32_t seed) {
  Graph graph = RandomEightBitGraph(seed);
  Optimise(graph);
  graph.Validate();
  return graph;
}

// By bits, because words of bytes may look like any NaN.
std::string FirstOtherBits(const std::vector<float>& expected, const std::vector<float>& actual) {
  if (expected.size() != actual.size()) return "other sizes";
  for (size_t i = 0; i < expected.size(); ++i) {
    uint32_t bits[2];
    std::memcpy(&bits[0], &expected[i], sizeof(float));
    std::memcpy(&bits[1], &actual[i], sizeof(float));
    if (bits[0] != bits[1]) return "number " + std::to_string(i);
  }
  return "";
}

class EightBitTest : public OnBackends {
 protected:
  void ForEach(const auto& check, uint32_t graphs = kGraphs) {
    for (seed_ = 0; seed_ < graphs && !HasFailure(); ++seed_) {
      SCOPED_TRACE(testing::Message() << "seed " << seed_);
      graph_ = Optimised(seed_);
      inputs_ = RandomInputs(graph_, seed_);
      check();
    }
  }

  // Only what a change reaches is computed, or stored where a bit differs.
  void CheckFramesThatChangeInPart() {
    std::mt19937 random(seed_);
    const auto state =
        MakeState({RandomValues(graph_, random), seed_ % 2 == 0 ? Keep::kAll : Keep::kChosen});
    SetInputs(*state, inputs_);
    state->Run();
    ExpectDenseBits(*state);
    for (int frame = 0; frame < 4 && !HasFailure(); ++frame) {
      const std::vector<Tensor> next = NextFrame(inputs_, random);
      const ChangedMasks changed(inputs_, next);
      inputs_ = next;
      SetInputs(*state, inputs_);
      InsideState::RunChanged(*state, changed.views(), ChangePolicy(), {});
      ExpectDenseBits(*state);
    }
  }

  void ExpectDenseBits(const ModelState& state) {
    const auto expected = EvaluateDirectly(graph_, inputs_);
    for (const Operator& op : graph_.operators) {
      for (const ValueId output : op.outputs) {
        if (!state.is_kept(output)) continue;
        ASSERT_EQ(FirstOtherBits(expected[output], Numbers(state, output)), "")
            << KindName(op) << " '" << op.name << "'";
      }
    }
  }
};

class SlowEightBitTest : public EightBitTest {};

INSTANTIATE_TEST_SUITE_P(On, SlowEightBitTest, testing::Values(BackendChoice{"cpu", 1}),
                         BackendName);

INSTANTIATE_TEST_SUITE_P(On, EightBitTest,
                         testing::Values(kReference, BackendChoice{"cpu", 1},
                                         BackendChoice{"cpu_3_threads", 3},
                                         BackendChoice{"cpu_scalar", 1, Scheme::kDirect, true}),
                         BackendName);

TEST_P(EightBitTest, ADenseRunHasTheBitsOfTheReference) {
  ForEach([&] {
    const auto state = MakeState({{}, Keep::kAll});
    SetInputs(*state, inputs_);
    state->Run();
    ExpectDenseBits(*state);
  });
}

TEST_P(EightBitTest, FramesThatChangeInPartHaveTheBitsOfADenseRun) {
  ForEach([&] { CheckFramesThatChangeInPart(); });
}

TEST_P(SlowEightBitTest, FramesOfManyGraphsThatChangeInPartHaveTheBitsOfADenseRun) {
  ForEach([&] { CheckFramesThatChangeInPart(); }, kManyGraphs);
}

// What is stored differs from what the stored inputs give by the threshold at most, in spreads.
TEST_P(EightBitTest, UnderChangeSmallChangesAreNone) {
  int64_t done = 0;
  int64_t exactly = 0;
  ForEach([&] {
    std::mt19937 random(seed_);
    const auto state = MakeState({{}, Keep::kAll});
    SetInputs(*state, inputs_);
    state->Run();
    ChangePolicy policy = {.kind = ChangePolicy::Kind::kChange, .threshold = 0.3f};
    policy.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(*state));
    const auto exact = MakeState({{}, Keep::kAll});
    SetInputs(*exact, inputs_);
    exact->Run();
    for (int frame = 0; frame < 2 && !HasFailure(); ++frame) {
      const std::vector<Tensor> next = NextFrame(inputs_, random);
      const ChangedMasks changed(inputs_, next);
      inputs_ = next;
      SetInputs(*state, inputs_);
      SetInputs(*exact, inputs_);
      done += InsideState::RunChanged(*state, changed.views(), policy, {}).done;
      exactly += InsideState::RunChanged(*exact, changed.views(), {}, {}).done;
      EXPECT_FALSE(InsideState::CheckStored(*state, 300, seed_)) << "frame " << frame;
    }
  });
  EXPECT_LT(done, exactly) << "no change is small";
}

// A quantised network behind a picture with numbers of its own for each channel.
Graph BehindPicture(const Network& network, int height, int width) {
  Graph floats = network.build(height, width);
  Optimise(floats);
  Graph graph = Quantised(floats);
  PictureSpec picture;
  picture.channels = PictureSpec::Channels::kBgr;
  PrependPicture(graph, picture, {{120.0, 100.5, 90.0}, {80.0, 64.0, 70.0}, {}});
  return graph;
}

// The same, which takes the picture's levels as floats.
Graph BehindFloats(Graph graph) {
  graph.picture = {};
  return graph;
}

TEST_P(EightBitTest, APictureInBytesGivesTheBitsOfOneInFloats) {
  constexpr int kHeight = 32;
  constexpr int kWidth = 64;
  for (const Network& network : ThreeQuantisedNetworks()) {
    SCOPED_TRACE(network.name);
    Graph floats = BehindFloats(BehindPicture(network, kHeight, kWidth));
    Optimise(floats);
    Graph bytes = BehindPicture(network, kHeight, kWidth);
    Optimise(bytes);
    bytes.Validate();
    ASSERT_TRUE(floats.levels.empty());
    ASSERT_EQ(bytes.levels.size(), size_t{3} * 256);
    graph_ = floats;
    const auto expected = MakeState({{}, Keep::kAll});
    graph_ = bytes;
    const auto actual = MakeState({{}, Keep::kAll});
    EXPECT_LT(actual->memory().persistent_bytes, expected->memory().persistent_bytes);
    std::mt19937 random(3);
    std::vector<uint8_t> pixels(size_t{kHeight} * kWidth * 3);
    Mask changed(kHeight, kWidth);
    SetAll(changed);
    const Mask none(kHeight, kWidth);
    for (int frame = 0; frame < 4; ++frame) {
      for (int y = 0; y < kHeight; ++y) {
        for (int x = 0; x < kWidth; ++x) {
          if (!ConstMaskView(changed).Test(y, x)) continue;
          for (int c = 0; c < 3; ++c) {
            pixels[static_cast<size_t>((y * kWidth + x) * 3 + c)] = static_cast<uint8_t>(random());
          }
        }
      }
      const PictureView picture = {pixels.data(), kWidth, kHeight, 3};
      expected->SetPicture(picture);
      expected->Run();
      FrameDecision decision;
      decision.kind = frame == 0 ? FrameDecision::Kind::kWhole : FrameDecision::Kind::kChanged;
      decision.changed = changed;
      decision.forced = none;
      actual->Apply(decision, picture, {});
      ASSERT_EQ(Outputs(*actual), Outputs(*expected)) << "frame " << frame;
      ClearAll(changed);
      for (int y = 8; y < 20; ++y) changed.view().Set(y, 10 + y + frame);
    }
  }
}

TEST(EightBitPictureTest, NumbersThatAreNoLevelsAreRefused) {
  Graph graph = BehindPicture(ThreeQuantisedNetworks().front(), 32, 32);
  Optimise(graph);
  const auto state = MakeReferenceState(graph);
  const auto refusal_of = [&](float number) {
    const Tensor picture({1, 3, 32, 32}, std::vector<float>(size_t{3} * 32 * 32, number));
    return RefusalOf([&] { state->SetInput(0, picture.view()); });
  };
  EXPECT_EQ(refusal_of(0.0f), "");
  EXPECT_EQ(refusal_of(255.0f), "");
  for (const float number : {-1.0f, 256.0f, 0.5f, std::nanf("")}) {
    EXPECT_NE(refusal_of(number).find("whole numbers from 0 to 255"), std::string::npos) << number;
  }
}

// A map's pixels have as many numbers as its words have bytes.
TEST_P(EightBitTest, SpreadsAreThoseOfTheNumbersInSteps) {
  int checked = 0;
  ForEach([&] {
    const auto state = MakeState({{}, Keep::kAll});
    SetInputs(*state, inputs_);
    state->Run();
    const InverseSpreads spreads = MeasureSpreads(*state);
    for (const Operator& op : graph_.operators) {
      const ValueId output = op.outputs[0];
      const Value& map = graph_.value(output);
      const int64_t pixels = map.is_eight_bit() ? map.shape[2] * map.shape[3] : 0;
      if (pixels < 2 || pixels > 4096) continue;
      const std::vector<float> words = Numbers(*state, output);
      ASSERT_EQ(spreads[output].size(), static_cast<size_t>(4 * map.shape[1]));
      std::vector<double> variances;
      for (int c = 0; c < map.channels; ++c) {
        double sum = 0;
        double squares = 0;
        for (int64_t i = 0; i < pixels; ++i) {
          const float* const word = &words[static_cast<size_t>(c / 4 * pixels + i)];
          const double number = ByteOf(word, c % 4, map.steps.is_signed);
          sum += number;
          squares += number * number;
        }
        const auto count = static_cast<double>(pixels);
        variances.push_back(std::max(squares / count - sum / count * sum / count, 0.0));
      }
      double mean = 0;
      for (const double variance : variances) mean += variance;
      mean /= static_cast<double>(variances.size());
      const double least = std::max(0.1 * std::sqrt(mean), 10.0);
      const double larger = std::sqrt(4.0 * static_cast<double>(map.shape[1]) / map.channels);
      for (int c = 0; c < map.channels; ++c) {
        const double spread = std::max(std::sqrt(variances[static_cast<size_t>(c)]), least);
        EXPECT_NEAR(spreads[output][static_cast<size_t>(c)] * spread, larger, 1e-3) << map.name;
      }
      ++checked;
    }
  });
  EXPECT_GT(checked, 100);
}

TEST(EightBitGraphsTest, HaveOperatorsOfEveryKindAndStayNearTheirFloats) {
  std::set<std::string> kinds;
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Graph floats = RandomEightBitGraph(seed);
    const Graph graph = Optimised(seed);
    for (const Operator& op : graph.operators) kinds.insert(KindName(op));
    const std::vector<Tensor> inputs = RandomInputs(graph, seed);
    const auto expected = EvaluateDirectly(floats, inputs);
    const auto actual = EvaluateDirectly(graph, inputs);
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      const auto& a = expected[floats.outputs[i]];
      const auto& b = actual[graph.outputs[i]];
      ASSERT_EQ(a.size(), b.size());
      double error = 0.0;
      double size = 1e-6;
      for (size_t k = 0; k < a.size(); ++k) {
        error += std::fabs(double{a[k]} - b[k]);
        size += std::fabs(double{a[k]});
      }
      // A number on the edge between two steps may fall to either side.
      EXPECT_LT(error / size, 0.02) << "output " << i;
    }
  }
  for (const char* kind : {"quantise", "dequantise", "quant_conv", "table", "quant_add",
                           "quant_multiply", "quant_max_pool", "quant_average_pool", "quant_linear",
                           "concat", "slice", "resize_nearest"}) {
    EXPECT_TRUE(kinds.count(kind)) << kind;
  }
}

TEST(EightBitRefusalsTest, GpusAndWarpsAreRefusedInASentence) {
  const Graph graph = Optimised(1);
  ASSERT_TRUE(HasEightBitMaps(graph));
  EXPECT_NE(RefusalOf([&] {
              MakeState(graph, MakeEmulatedCudaBackend(1));
            }).find("computes 8-bit numbers, which GPUs cannot do here yet"),
            std::string::npos);
  StateOptions options{{}, Keep::kAll};
  options.moves = true;
  EXPECT_NE(RefusalOf([&] { MakeReferenceState(graph, options); }).find("cannot be warped"),
            std::string::npos);
}

}  // namespace
}  // namespace cacheinf
