#include <gtest/gtest.h>
#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
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
      // Plain integers, so that ThreadSanitizer sees a race.
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

// If all threads are equally fast (here they run in step), each does its own part of a loop and
// nothing else.
TEST(ThreadPoolTest, EachThreadBeginsWithTheSamePartOfEveryLoop) {
  constexpr int kThreads = 3;
  constexpr int kParts = 4 * kThreads;
  ThreadPool pool(kThreads);
  std::vector<int> thread_of_part(kParts, -1);
  for (int round = 0; round < 60; ++round) {
    const int items_a_part = 1 + round % 3;
    const int items = items_a_part * kParts;
    std::vector<int> thread_of(static_cast<size_t>(items), -1);
    std::vector<int> done(kThreads, 0);
    std::atomic<int> begun{0};
    pool.ParallelFor(items, [&](int item, int thread) {
      thread_of[static_cast<size_t>(item)] = thread;
      const int in_step = kThreads * ++done[static_cast<size_t>(thread)];
      ++begun;
      while (begun < std::min(in_step, items)) std::this_thread::yield();
    });
    for (int item = 0; item < items; ++item) {
      int& thread = thread_of_part[static_cast<size_t>(item / items_a_part)];
      if (thread == -1) thread = thread_of[static_cast<size_t>(item)];
      ASSERT_EQ(thread_of[static_cast<size_t>(item)], thread)
          << "item " << item << " of " << items << " in round " << round;
    }
  }
}

TEST(ThreadPoolTest, PoolsThatNeverWorkedEnd) {
  for (int i = 0; i < 50; ++i) ThreadPool pool(3);
}

#if defined(__linux__)

using Cores = std::set<int>;

// The cores that the calling thread may run on.
Cores OwnCores() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof(set), &set);
  Cores cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.insert(core);
  }
  return cores;
}

void RunOnlyOn(const Cores& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
}

// The cores that each worker of a pool may run on.
std::vector<Cores> CoresOfWorkers(ThreadPool& pool) {
  std::vector<Cores> cores(static_cast<size_t>(pool.threads()));
  const auto all_were_seen = [&] {
    return std::none_of(cores.begin() + 1, cores.end(), [](const Cores& c) { return c.empty(); });
  };
  for (int round = 0; round < 1000 && !all_were_seen(); ++round) {
    pool.ParallelFor(8 * pool.threads(), [&](int, int thread) {
      cores[static_cast<size_t>(thread)] = OwnCores();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    });
  }
  EXPECT_TRUE(all_were_seen());
  return {cores.begin() + 1, cores.end()};
}

TEST(ThreadPoolTest, WorkersArePinnedToCoresThatTheMakerMayUse) {
  const Cores allowed = OwnCores();
  if (allowed.size() < 2) GTEST_SKIP() << "there is only one core";
  ThreadPool pool(static_cast<int>(allowed.size()));
  Cores taken;
  for (const Cores& cores : CoresOfWorkers(pool)) {
    ASSERT_EQ(cores.size(), 1u);
    EXPECT_EQ(allowed.count(*cores.begin()), 1u);
    EXPECT_TRUE(taken.insert(*cores.begin()).second) << "two workers on a core";
  }
}

TEST(ThreadPoolTest, WithTooFewCoresWorkersMayUseAllThatTheMakerMay) {
  const Cores allowed = OwnCores();
  const Cores last = {*allowed.rbegin()};
  RunOnlyOn(last);
  ThreadPool pool(2);
  EXPECT_EQ(CoresOfWorkers(pool), std::vector<Cores>{last});
  RunOnlyOn(allowed);
}

TEST(ThreadPoolTest, ACallerLeavesTheCoreOfAWorkerAndMayRunWhereItMightBefore) {
  const Cores allowed = OwnCores();
  if (allowed.size() < 2) GTEST_SKIP() << "there is only one core";
  ThreadPool pool(2);
  const Cores core_of_worker = CoresOfWorkers(pool).front();
  for (int round = 0; round < 20; ++round) {
    RunOnlyOn(core_of_worker);
    RunOnlyOn(allowed);
    std::atomic<int> core_of_caller = -1;
    pool.ParallelFor(2, [&](int, int thread) {
      if (thread == 0) core_of_caller = sched_getcpu();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    });
    ASSERT_NE(core_of_caller, -1);
    EXPECT_EQ(core_of_worker.count(core_of_caller), 0u) << "round " << round;
    EXPECT_EQ(OwnCores(), allowed);
  }
}

TEST(ThreadPoolTest, PoolsTakeDifferentCoresWhereThereAreEnough) {
  if (OwnCores().size() < 4) GTEST_SKIP() << "there are fewer than four cores";
  ThreadPool first(2);
  ThreadPool second(2);
  EXPECT_NE(CoresOfWorkers(first), CoresOfWorkers(second));
}

#endif

}  // namespace
}  // namespace cacheinf
