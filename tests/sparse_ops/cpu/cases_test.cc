#include "tests/sparse_ops/cases.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/sparse_ops/case_checks.h"
#include "tests/sparse_ops/case_memory.h"
#include "tests/sparse_ops/cpu/family.h"
#include "tests/sparse_ops/cpu/targets.h"

namespace cacheinf {
namespace {

// Calls check(family) for every target and for one and three threads.
template <typename Check>
void ForEachCpuFamily(const Check& check) {
  ForEachCpuTarget([&] {
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(std::to_string(threads) + " threads");
      ThreadPool pool(threads);
      check(CpuFamily(pool));
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

// The other tests pass over the operators that a family does not have.
TEST(CpuCasesTest, NoOperatorOfTheTableIsMissing) {
  ThreadPool pool(1);
  for (const OperatorCase& c : OperatorCases()) {
    EXPECT_NE(c.Prepare(CpuFamily(pool)).run, nullptr) << c.name;
  }
}

TEST(CpuCasesTest, EveryCaseHasTheReferencesBitsInAnyRows) {
  ForEachCpuFamily(
      [](const OperatorFamily& family) { ExpectReferenceBits(OperatorCases(), family, 20260401); });
}

TEST(CpuCasesTest, EveryTimedCaseHasTheReferencesBitsToo) {
  ThreadPool pool(2);
  ExpectReferenceBits(TimedCases(), CpuFamily(pool), 20260406);
  ExpectOnlyActivePixels(TimedCases(), CpuFamily(pool), 20260407);
  ExpectReferenceBitsCallAfterCall(TimedCases(), CpuFamily(pool), 20260408);
}

TEST(CpuCasesTest, CallAfterCallKeepsTheStateOfTheReference) {
  ForEachCpuFamily([](const OperatorFamily& family) {
    ExpectReferenceBitsCallAfterCall(OperatorCases(), family, 20260404);
  });
}

TEST(CpuCasesTest, WinogradHasTheSameBitsOnEveryTargetAndThreadCount) {
  ThreadPool alone(1);
  std::vector<OperatorCase> cases;
  std::vector<PreparedCase> expected;
  for (const OperatorCase& c : OperatorCases()) {
    const PreparedCase dense = c.Prepare(CpuFamily(alone));
    if (!dense.memory->winograd.has_value()) continue;
    dense.run(dense.rows(), nullptr);
    cases.push_back(c);
    expected.push_back(dense);
  }
  ASSERT_FALSE(cases.empty());
  ForEachCpuFamily([&](const OperatorFamily& family) {
    for (size_t i = 0; i < cases.size(); ++i) {
      const PreparedCase actual = cases[i].Prepare(family);
      actual.run(actual.rows(), nullptr);
      EXPECT_EQ(Difference(actual, expected[i]), "") << cases[i].name;
    }
  });
}

TEST(CpuCasesTest, EveryMapCaseComputesTheActivePixelsAndWritesNothingElse) {
  ForEachCpuFamily([](const OperatorFamily& family) {
    ExpectOnlyActivePixels(OperatorCases(), family, 20260402);
  });
}

TEST(CpuCasesTest, AChangeTestFindsAndStoresWhatTheReferenceDoes) {
  ForEachCpuFamily([](const OperatorFamily& family) {
    ExpectChangesAsTheReference(OperatorCases(), family, 20260403);
  });
}

}  // namespace
}  // namespace cacheinf
