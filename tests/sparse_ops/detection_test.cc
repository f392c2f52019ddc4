#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/eight_bits.h"
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

// A row of cells with `channels` floats, or words, each.
ConstImageView RowOfCells(const std::vector<float>& numbers, int64_t channels) {
  return AsImage(ConstTensorView{numbers.data(),
                                 4,
                                 {1, channels, 1, kCells},
                                 {kCells * channels, 1, kCells * channels, channels}});
}

// The boxes of a head with one class and perhaps several anchors.
template <typename Suppress>
std::vector<float> BoxesOf(DetectionHead head, float threshold, const Suppress& suppress) {
  const std::array<float, 4> anchors = {8.0f, 8.0f, 20.0f, 5.0f};
  head.anchors = anchors.data();
  const int boxes = kCells * head.anchor_count;
  std::vector<NonMaxSuppressionArgs::Candidate> scratch(static_cast<size_t>(boxes));
  std::vector<float> row(kNumbers);
  std::vector<float> output(static_cast<size_t>(boxes) * 6);
  NonMaxSuppressionArgs args;
  args.heads = &head;
  args.head_count = 1;
  args.classes = 1;
  args.score_threshold = threshold;
  args.scratch = scratch.data();
  args.row = row.data();
  args.output = {output.data(), 2, {boxes, 6}, {6, 1}};
  suppress(args);
  return output;
}

template <typename Suppress>
std::vector<float> BoxesAt(float threshold, const Suppress& suppress) {
  const std::vector<float> numbers = Head();
  DetectionHead head;
  head.map = RowOfCells(numbers, kNumbers);
  head.anchor_count = 1;
  return BoxesOf(head, threshold, suppress);
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

// The second anchor's numbers begin in the middle of a word.
TEST(DetectionTest, AHeadOfEightBitsGivesTheBoxesOfItsNumbers) {
  constexpr int kAnchors = 2;
  constexpr int kChannels = kAnchors * kNumbers;
  ThreadPool pool(1);
  std::mt19937 random(1);
  for (const Steps& steps : {Steps{0.05f, 150, false}, Steps{0.06f, 20, true}}) {
    std::vector<float> words(size_t{kCells} * WordCount(kChannels));
    std::vector<float> numbers;
    for (int cell = 0; cell < kCells; ++cell) {
      for (int c = 0; c < kChannels; ++c) {
        const int q = steps.low() + static_cast<int>(random() % 256);
        SetByte(&words[static_cast<size_t>(cell * WordCount(kChannels))], c, q);
        numbers.push_back(FromSteps(q, steps));
      }
    }
    DetectionHead floats;
    floats.map = RowOfCells(numbers, kChannels);
    floats.anchor_count = kAnchors;
    DetectionHead bytes = floats;
    bytes.map = RowOfCells(words, WordCount(kChannels));
    bytes.is_eight_bit = true;
    bytes.steps = steps;
    const auto on_reference = [](const NonMaxSuppressionArgs& args) { reference::Compute(args); };
    const auto on_cpu = [&](const NonMaxSuppressionArgs& args) { cpu::Compute(args, pool); };
    for (const float threshold : {0.0f, 0.25f, 0.9f}) {
      const std::vector<float> expected = BoxesOf(floats, threshold, on_reference);
      EXPECT_GT(expected[4], threshold);
      EXPECT_EQ(BoxesOf(bytes, threshold, on_reference), expected) << "threshold " << threshold;
      EXPECT_EQ(BoxesOf(bytes, threshold, on_cpu), expected) << "threshold " << threshold;
    }
  }
}

}  // namespace
}  // namespace cacheinf
