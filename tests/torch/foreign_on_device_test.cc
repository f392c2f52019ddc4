// Foreign operators on a device: LibTorch runs them on the host, between the device's kernels.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/backend/device/cuda_backend.h"
#include "common/backend/host/cpu_backend.h"
#include "common/exec/model_state.h"
#include "common/model/load.h"
#include "tests/exec/changing_frames.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/run_graph.h"
#include "tests/torch/script_file.h"

namespace cacheinf::testing {
namespace {

const Shape kPicture = {1, 3, 12, 10};

// The foreign operators follow a convolution; `body` computes z from y.
Graph WithForeign(const std::string& body, const std::string& result = "torch.conv2d(z, self.w)") {
  const ScriptFile file(
      "def forward(self, x):\n  y = torch.relu(torch.conv2d(x, self.v))\n  " + body +
          "\n  return " + result + "\n",
      {{"v", RandomWeights({4, 3, 3, 3}, 1)}, {"w", RandomWeights({2, 4, 3, 3}, 2)}});
  LoadOptions options;
  options.input_shapes = {kPicture};
  return LoadModel(file.path(), options);
}

ValueId FirstForeignOutput(const Graph& graph) {
  for (const Operator& op : graph.operators) {
    if (op.As<op::Foreign>()) return op.outputs[0];
  }
  ADD_FAILURE() << "nothing is foreign";
  return graph.outputs[0];
}

class ForeignOnDevice : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(ForeignOnDevice, WholeAndChangedFramesHaveTheBitsOfTheHost) {
  const Graph graph = WithForeign(GetParam().second);
  FirstForeignOutput(graph);
  const auto on_host = MakeState(graph, std::make_unique<CpuBackend>(), {{}, Keep::kAll});
  const auto on_device = MakeState(graph, MakeEmulatedCudaBackend(), {{}, Keep::kAll});
  constexpr unsigned kSeed = 20261125;
  RecordProperty("seed", std::to_string(kSeed));
  std::mt19937 random(kSeed);
  std::vector<Tensor> inputs;
  for (int frame = 0; frame < 24; ++frame) {
    SCOPED_TRACE(::testing::Message() << "frame " << frame);
    const bool is_whole = frame % 8 == 0;
    const std::vector<Tensor> before = std::exchange(
        inputs, is_whole ? std::vector{RandomTensor(kPicture, static_cast<uint64_t>(frame))}
                         : NextFrame(inputs, random));
    for (ModelState* state : {on_host.get(), on_device.get()}) {
      SetInputs(*state, inputs);
      if (is_whole) {
        state->Run();
      } else {
        const auto kind = frame < 16 ? ChangePolicy::Kind::kExact : ChangePolicy::Kind::kFixed;
        InsideState::RunChanged(*state, ChangedMasks(before, inputs).views(), {.kind = kind});
      }
    }
    ASSERT_EQ(FirstDifference(Outputs(*on_host)[0], Outputs(*on_device)[0]), "");
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ForeignOnDevice,
    ::testing::Values(
        std::pair("one_tensor", "z = torch.cumsum(y, 1)"),
        std::pair("two_outputs", "a, b = torch.sort(y, 3)\n  z = a + b"),
        std::pair("two_inputs", "z = torch.hstack([y, x[:, :1, 1:-1, 1:-1]])[:, :4]"),
        std::pair("part_of_a_map", "z = torch.cat([torch.cumsum(y[:, 1:3], 1), y[:, :2]], 1)"),
        std::pair("vectors", "z = y * torch.cumsum(torch.mean(y, [2, 3]), 1)[:, :, None, None]")),
    [](const auto& info) { return std::string(info.param.first); });

// The host cannot know beforehand that relu cuts off everything that has changed.
TEST(ForeignOnDeviceTest, NothingRunsWhereNothingIsActive) {
  const Graph graph = WithForeign("z = torch.cumsum(torch.relu(y - 1e6), 1)", "z");
  const ValueId foreign = FirstForeignOutput(graph);
  const auto state = MakeState(graph, MakeEmulatedCudaBackend(), {{}, Keep::kAll});
  const std::vector<Tensor> frames[] = {{RandomTensor(kPicture, 1)}, {RandomTensor(kPicture, 2)}};
  SetInputs(*state, frames[0]);
  state->Run();
  Fill(*state, foreign, 7.0f);
  SetInputs(*state, frames[1]);
  InsideState::RunChanged(*state, ChangedMasks(frames[0], frames[1]).views(), {});
  EXPECT_EQ(Numbers(*state, foreign)[0], 7.0f);
}

}  // namespace
}  // namespace cacheinf::testing
