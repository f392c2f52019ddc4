#include <gtest/gtest.h>

#include <string>

#include "tests/sparse_ops/case_checks.h"
#include "tests/sparse_ops/cases.h"
#include "tests/sparse_ops/cpu_family.h"
#include "tests/sparse_ops/cpu_targets.h"

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

TEST(CpuCasesTest, EveryCaseHasTheReferencesBitsInAnyRows) {
  ForEachCpuFamily(
      [](const OperatorFamily& family) { ExpectReferenceBits(OperatorCases(), family, 20260401); });
}

TEST(CpuCasesTest, EveryTimedCaseHasTheReferencesBitsToo) {
  ThreadPool pool(2);
  ExpectReferenceBits(TimedCases(), CpuFamily(pool), 20260406);
  ExpectOnlyActivePixels(TimedCases(), CpuFamily(pool), 20260407);
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
