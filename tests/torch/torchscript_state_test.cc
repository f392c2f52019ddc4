#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/model/torchscript/torchscript.h"
#include "tests/testing/refusal.h"
#include "tests/testing/torch_module.h"
#include "tests/torch/script_file.h"

// Attributes that forward() changes. LibTorch keeps them from frame to frame, our graph does not: a
// module that depends on them is refused; any other gives LibTorch's answers for every frame.

namespace cacheinf::testing {
namespace {

struct StateCase {
  const char* name;
  const char* body;  // of forward(self, x), x being 1x2x3x4; self has n of shape 1, w of 1x2x1x1
};
void PrintTo(const StateCase& c, std::ostream* out) { *out << c.name; }

std::string Source(const StateCase& c) { return std::string("def forward(self, x):\n") + c.body; }

const std::vector<std::pair<std::string, at::Tensor>>& Attributes() {
  static const std::vector<std::pair<std::string, at::Tensor>> attributes = {
      {"n", at::ones({1})}, {"w", RandomWeights({1, 2, 1, 1}, 4)}};
  return attributes;
}

class HarmlessState : public ::testing::TestWithParam<StateCase> {};

TEST_P(HarmlessState, GivesLibTorchsAnswersOfThreeFrames) {
  const ScriptFile file(Source(GetParam()), Attributes());
  const TorchModule whole(file.path());
  for (uint64_t frame = 1; frame <= 3; ++frame) {
    const std::vector<Tensor> inputs = {RandomTensor({1, 2, 3, 4}, frame)};
    const std::vector<Tensor> expected = whole.Run(inputs);
    const OwnRun own = RunOwn(file.path(), inputs);
    ASSERT_EQ(own.outputs.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_LE(RelativeError(expected[i], own.outputs[i]), 1e-6)
          << "frame " << frame << ", output " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, HarmlessState,
    ::testing::Values(
        StateCase{"CounterThatNobodyReads", "  self.n = self.n + 1.0\n  return x * self.w\n"},
        StateCase{"CounterChangedInPlace", "  self.n += 1.0\n  return x * self.w\n"},
        StateCase{"CounterChangedOnlyInPlace", "  self.n.add_(1.0)\n  return x * self.w\n"},
        StateCase{"KeptFeatures", "  self.n = x * 2.0\n  return x * self.w\n"},
        StateCase{"WrittenThenRead", "  self.n = x * 2.0\n  return self.n + self.w\n"},
        StateCase{"WrittenThenChangedThenRead",
                  "  y = x * 2.0\n  self.n = y\n  self.n.add_(1.0)\n  return y + self.n\n"},
        StateCase{"CopyOfAnAttributeChanged",
                  "  v = self.w.clone()\n  v.mul_(2.0)\n  return x * v\n"}),
    [](const auto& info) { return std::string(info.param.name); });

struct RefusedState {
  StateCase state;
  const char* reason;
};
void PrintTo(const RefusedState& c, std::ostream* out) { *out << c.state.name; }

class RefusedStates : public ::testing::TestWithParam<RefusedState> {};

TEST_P(RefusedStates, AreNamed) {
  const ScriptFile file(Source(GetParam().state), Attributes());
  const std::string refusal = RefusalOf([&] {
    ImportTorchScript(file.path(), {{{1, 2, 3, 4}}, true});
  });
  EXPECT_NE(refusal.find(GetParam().reason), std::string::npos) << refusal;
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedStates,
    ::testing::Values(
        RefusedState{{"ReadThenWritten", "  y = x + self.n\n  self.n = y.mean()\n  return y\n"},
                     "prim::SetAttr changes the attribute 'n' after it was read"},
        RefusedState{{"CountedThenRead", "  self.n = self.n + 1.0\n  return x * self.n\n"},
                     "prim::SetAttr changes the attribute 'n' after it was read"},
        RefusedState{{"ChangedInPlace", "  self.n.add_(1.0)\n  return x * self.n\n"},
                     "aten::add_ changes the attribute 'n' in place"},
        RefusedState{{"ChangedByThePicture", "  self.w.mul_(x.mean())\n  return x * self.w\n"},
                     "aten::mul_ changes the attribute 'w' in place"},
        RefusedState{{"ChangedThroughAView",
                      "  v = self.w.view(2)\n  y = x * self.w\n  v.mul_(2.0)\n  return y\n"},
                     "aten::mul_ changes a constant in place"}),
    [](const auto& info) { return std::string(info.param.state.name); });

}  // namespace
}  // namespace cacheinf::testing
