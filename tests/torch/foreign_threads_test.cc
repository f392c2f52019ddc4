#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <thread>

#include "common/backend/host/cpu_backend.h"
#include "common/exec/model_state.h"
#include "common/model/load.h"
#include "tests/torch/script_file.h"

namespace cacheinf::testing {
namespace {

int ThreadsOfProcess() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<int>(std::distance(begin(threads), end(threads)));
}

// A thread that was joined may stay listed for a moment.
bool ThreadsBecome(int count) {
  for (int wait = 0; wait < 2000 && ThreadsOfProcess() != count; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return ThreadsOfProcess() == count;
}

TEST(ForeignOperatorThreads, OfLibTorchEndWithTheCall) {
  const Shape shape = {1, 16, 128, 128};  // more than LibTorch gives to one thread
  const ScriptFile file(
      "def forward(self, x):\n"
      "  y = torch.relu(x)\n"
      "  return torch.relu(torch.where(x > 0.0, y, x * 2.0))\n");
  LoadOptions options;
  options.input_shapes = {shape};
  ModelState state(std::make_shared<const CompiledModel>(
      std::make_shared<const Graph>(LoadModel(file.path(), options)),
      std::make_unique<CpuBackend>(CpuBackendOptions{.threads = 2})));
  state.SetInput(0, RandomTensor(shape, 1).view());
  state.Run();  // which also ends the threads that the import may have left
  const int threads = ThreadsOfProcess();
  for (int i = 0; i < 20; ++i) state.Run();
  EXPECT_TRUE(ThreadsBecome(threads)) << ThreadsOfProcess() << " instead of " << threads;

  const at::Tensor x = at::ones(shape);
  const at::Tensor y = at::where(x > 0.0, x, x * 2.0);
  EXPECT_TRUE(ThreadsBecome(threads + 1)) << "a call of LibTorch's own does not start a thread";
}

}  // namespace
}  // namespace cacheinf::testing
