#include "common/backend/arena.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace cacheinf {
namespace {

std::vector<BufferRequest> RandomRequests(std::mt19937& random) {
  std::vector<BufferRequest> requests(random() % 60);
  for (BufferRequest& request : requests) {
    request.floats = random() % 5 == 0 ? random() % 3 : random() % 5000;
    request.first_step = static_cast<int>(random() % 40);
    request.last_step = request.first_step + static_cast<int>(random() % 10);
    request.kept = random() % 8 == 0;
  }
  return requests;
}

bool MayNotOverlap(const BufferRequest& a, const BufferRequest& b) {
  return a.kept || b.kept || (a.first_step <= b.last_step && b.first_step <= a.last_step);
}

TEST(ArenaTest, BuffersAliveTogetherNeverOverlap) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const std::vector<BufferRequest> requests = RandomRequests(random);
    const ArenaLayout layout = LayOutArena(requests);
    ASSERT_EQ(layout.offsets.size(), requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(layout.offsets[i] % kArenaAlignmentFloats, 0u);
      EXPECT_LE(layout.offsets[i] + requests[i].floats, layout.floats);
      for (size_t j = 0; j < i; ++j) {
        if (!MayNotOverlap(requests[i], requests[j])) continue;
        EXPECT_TRUE(layout.offsets[i] + requests[i].floats <= layout.offsets[j] ||
                    layout.offsets[j] + requests[j].floats <= layout.offsets[i])
            << "buffers " << j << " and " << i;
      }
    }
  }
}

TEST(ArenaTest, SizeLiesBetweenLowerBoundAndSum) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const std::vector<BufferRequest> requests = RandomRequests(random);
    const ArenaLayout layout = LayOutArena(requests);
    size_t sum = 0;
    for (const BufferRequest& request : requests) {
      sum += AlignedFloats(request.floats);
    }
    EXPECT_LE(layout.lower_bound_floats, layout.floats);
    EXPECT_LE(layout.floats, sum);
    EXPECT_LE(layout.kept_floats, layout.floats);
  }
}

TEST(ArenaTest, EqualRequestsGiveEqualPlans) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const std::vector<BufferRequest> requests = RandomRequests(random);
    const ArenaLayout a = LayOutArena(requests);
    const ArenaLayout b = LayOutArena(requests);
    EXPECT_EQ(a.offsets, b.offsets);
    EXPECT_EQ(a.floats, b.floats);
  }
}

TEST(ArenaTest, AChainNeedsItsTwoLargestNeighbours) {
  std::vector<BufferRequest> requests;
  for (int i = 0; i < 10; ++i) requests.push_back({1600, i, i + 1, false});
  const ArenaLayout layout = LayOutArena(requests);
  EXPECT_EQ(layout.floats, 3200u);
  EXPECT_EQ(layout.lower_bound_floats, 3200u);
}

TEST(ArenaTest, WhatWasFreedIsUsedAgain) {
  const std::vector<BufferRequest> requests = {{1600, 0, 9, false},
                                               {1600, 0, 9, false},
                                               {1600, 0, 9, false},
                                               {800, 0, 1, false},
                                               {400, 5, 9, false}};
  const ArenaLayout layout = LayOutArena(requests);
  EXPECT_EQ(layout.floats, 5600u);
  EXPECT_EQ(layout.offsets[4], layout.offsets[3]);  // reuses what was freed at step 2
}

TEST(ArenaTest, NothingNeedsNothing) {
  const ArenaLayout layout = LayOutArena({});
  EXPECT_EQ(layout.floats, 0u);
  EXPECT_EQ(layout.lower_bound_floats, 0u);
}

}  // namespace
}  // namespace cacheinf
