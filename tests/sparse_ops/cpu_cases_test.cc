#include <gtest/gtest.h>

#include <string>

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
  ForEachCpuFamily([](const OperatorFamily& family) { ExpectReferenceBits(family, 20260401); });
}

TEST(CpuCasesTest, EveryMapCaseComputesTheActivePixelsAndWritesNothingElse) {
  ForEachCpuFamily([](const OperatorFamily& family) { ExpectOnlyActivePixels(family, 20260402); });
}

TEST(CpuCasesTest, AChangeTestFindsAndStoresWhatTheReferenceDoes) {
  ForEachCpuFamily(
      [](const OperatorFamily& family) { ExpectChangesAsTheReference(family, 20260403); });
}

}  // namespace
}  // namespace cacheinf
