#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "sparse_ops/cpu/thread_pool.h"

namespace cacheinf {
namespace {

TEST(ThreadPoolTest, EveryItemIsDoneExactlyOnceInEveryOfManyShortLoops) {
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int round = 0; round < 2000; ++round) {
      const int items = round % 17;
      // Plain integers: a race would be seen by ThreadSanitizer.
      std::vector<int> calls(static_cast<size_t>(items), 0);
      pool.ParallelFor(items, [&](int item, int thread) {
        ++calls[static_cast<size_t>(item)];
        EXPECT_GE(thread, 0);
        EXPECT_LT(thread, threads);
      });
      for (const int count : calls) ASSERT_EQ(count, 1) << "round " << round;
    }
  }
}

TEST(ThreadPoolTest, ALoopSeesWhatTheLoopBeforeWrote) {
  ThreadPool pool(3);
  std::vector<int> numbers(64, 0);
  for (int round = 0; round < 500; ++round) {
    pool.ParallelFor(64, [&](int item, int) { numbers[static_cast<size_t>(63 - item)] += 1; });
    pool.ParallelFor(64, [&](int item, int) { numbers[static_cast<size_t>(item)] += 1; });
  }
  for (const int number : numbers) EXPECT_EQ(number, 1000);
}

TEST(ThreadPoolTest, NoTwoCallsHaveTheSameThreadNumberAtOnce) {
  ThreadPool pool(4);
  std::atomic<bool> busy[4] = {};
  std::atomic<int> clashes{0};
  pool.ParallelFor(400, [&](int, int thread) {
    if (busy[thread].exchange(true)) ++clashes;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    busy[thread].store(false);
  });
  EXPECT_EQ(clashes.load(), 0);
}

TEST(ThreadPoolTest, ThreadsWakeUpAfterASleep) {
  ThreadPool pool(3);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> done{0};
    pool.ParallelFor(30, [&](int, int) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      ++done;
    });
    ASSERT_EQ(done.load(), 30);
  }
}

TEST(ThreadPoolTest, PoolsThatNeverWorkedEnd) {
  for (int i = 0; i < 50; ++i) ThreadPool pool(3);
}

}  // namespace
}  // namespace cacheinf
