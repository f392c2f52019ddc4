#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "client/run/run.h"
#include "common/source/frame_queue.h"
#include "tests/testing/heap.h"
#include "tests/testing/random_graph.h"

// Robot, guard and check share one model; each has a state of its own.

namespace cacheinf {
namespace {

constexpr int64_t kChannels = 256;
constexpr size_t kWeightBytes = 3 * kChannels * kChannels * 9 * sizeof(float);

// Weights that are far larger than the maps.
Graph HeavyGraph() {
  std::mt19937 random(5);
  Graph graph;
  ValueId map = graph.AddInput("in", {1, 3, 16, 16});
  for (int i = 0; i < 4; ++i) {
    op::Conv conv;
    conv.spec.rows = conv.spec.columns = {3, 1, 1, 1, 1};
    const std::string name = "conv" + std::to_string(i);
    const Shape shape = {kChannels, i == 0 ? 3 : kChannels, 3, 3};
    const ValueId weights =
        graph.AddConstant(name + ".weights", RandomTensor(shape, random, -0.02f, 0.02f));
    map = graph.AddOne(name, conv, {map, weights});
  }
  graph.outputs = {map};
  return graph;
}

// Measures the heap whenever the time is asked for.
class HeapWatch final : public Clock {
 public:
  std::chrono::nanoseconds Now() const override {
    most_bytes_ = std::max<size_t>(most_bytes_, HeapBytes());
    return steady_.Now();
  }
  size_t most_bytes() const { return most_bytes_; }

 private:
  SteadyClock steady_;
  mutable std::atomic<size_t> most_bytes_ = 0;
};

size_t MostBytesOf(const RobotConfig& config) {
  const size_t before = HeapBytes();
  const HeapWatch watch;
  const std::atomic<bool> stop = false;
  FrameQueue frames(OpenSource("generated:camera=still,width=16,height=16", watch), 2);
  const Summary summary = RunRobotOn(frames, HeavyGraph(), config, watch, stop);
  EXPECT_EQ(summary.frames, config.frames);
  EXPECT_EQ(summary.guard.has_value(), config.guard.is_on);
  EXPECT_EQ(summary.agreement.has_value(), config.check > 0);
  return watch.most_bytes() - before;
}

TEST(SharedModelTest, RobotGuardAndCheckHoldOneSetOfWeights) {
  if (!IsHeapCounted()) GTEST_SKIP() << "a sanitizer's heap cannot be counted";
  RobotConfig config;
  config.mode = RobotConfig::Mode::kCache;
  config.threads = 1;
  config.frames = 4;
  config.guard.is_on = false;
  const size_t alone = MostBytesOf(config);
  EXPECT_GT(alone, kWeightBytes);
  config.guard.is_on = true;
  config.check = 1;
  EXPECT_LT(MostBytesOf(config), alone + kWeightBytes / 2);
}

}  // namespace
}  // namespace cacheinf
