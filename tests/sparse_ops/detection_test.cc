#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/reference/reference.h"

namespace cacheinf {
namespace {

constexpr int kCells = 400;
constexpr int kNumbers = 6;  // of a box with one class

// Separate boxes with a certain class and an objectness that rises in small steps from next to
// nothing to nearly certain, so that every threshold lies between two of them.
std::vector<float> Head() {
  std::vector<float> numbers;
  for (int cell = 0; cell < kCells; ++cell) {
    const float objectness = -6.0f + 12.0f * static_cast<float>(cell) / kCells;
    numbers.insert(numbers.end(), {0.0f, 0.0f, -4.0f, -4.0f, objectness, 30.0f});
  }
  return numbers;
}

template <typename Suppress>
std::vector<float> BoxesAt(float threshold, const Suppress& suppress) {
  std::vector<float> numbers = Head();
  const std::array<float, 2> anchor = {8.0f, 8.0f};
  DetectionHead head;
  head.map = AsImage(ConstTensorView{numbers.data(),
                                     4,
                                     {1, kNumbers, 1, kCells},
                                     {kCells * kNumbers, 1, kCells * kNumbers, kNumbers}});
  head.anchors = anchor.data();
  head.anchor_count = 1;
  std::vector<NonMaxSuppressionArgs::Candidate> scratch(kCells);
  std::vector<float> row(kNumbers);
  std::vector<float> output(int64_t{kCells} * 6);
  NonMaxSuppressionArgs args;
  args.heads = &head;
  args.head_count = 1;
  args.classes = 1;
  args.score_threshold = threshold;
  args.scratch = scratch.data();
  args.row = row.data();
  args.output = {output.data(), 2, {kCells, 6}, {6, 1}};
  suppress(args);
  return output;
}

TEST(DetectionTest, NoBoxThatScoresEnoughIsLeftOutUndecoded) {
  ThreadPool pool(1);
  for (const float threshold : {0.0f, 0.05f, 0.25f, 0.5f, 0.9f, 0.995f, 1.0f}) {
    const std::vector<float> expected =
        BoxesAt(threshold, [](const NonMaxSuppressionArgs& args) { reference::Compute(args); });
    const std::vector<float> actual =
        BoxesAt(threshold, [&](const NonMaxSuppressionArgs& args) { cpu::Compute(args, pool); });
    EXPECT_EQ(std::memcmp(expected.data(), actual.data(), expected.size() * sizeof(float)), 0)
        << "threshold " << threshold;
  }
}

}  // namespace
}  // namespace cacheinf
