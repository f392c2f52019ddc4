// Read this first: every fast kernel against the reference, on the one table of cases.

#include "tests/sparse_ops/cases.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sparse_ops/cpu/simd_targets.h"
#include "tests/sparse_ops/case_checks.h"
#include "tests/sparse_ops/case_memory.h"
#include "tests/sparse_ops/cpu/family.h"
#include "tests/sparse_ops/cpu/targets.h"

namespace cacheinf {
namespace {

// One thread on every target, and three on the best; named so.
void ForEachCpuFamily(const CheckFamily& check) {
  static ThreadPool alone(1);
  static ThreadPool three(3);
  const auto check_with = [&](ThreadPool& pool) {
    OperatorFamily family = CpuFamily(pool);
    const std::vector<std::string> targets = SimdTargets();
    family.name += " on " + (targets.empty() ? "SCALAR" : targets.front()) + " with " +
                   std::to_string(pool.threads()) + " threads";
    check(family);
  };
  ForEachCpuTarget([&] { check_with(alone); });
  check_with(three);
}

TEST(CpuCasesTest, EveryCaseHasTheReferencesBitsInAnyRowsAndAtAnyPixels) {
  EXPECT_EQ(CheckReferenceBits(OperatorCases(), ForEachCpuFamily, 20260401), "");
}

TEST(SlowCpuCasesTest, TimedCasesHaveTheReferencesBitsToo) {
  ThreadPool pool(2);
  EXPECT_EQ(CheckReferenceBits(TimedCases(), OnlyFamily(CpuFamily(pool)), 20260406), "");
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

TEST(CpuCasesTest, AChangeTestFindsAndStoresWhatTheReferenceDoes) {
  EXPECT_EQ(CheckChanges(OperatorCases(), ForEachCpuFamily, 20260403), "");
}

}  // namespace
}  // namespace cacheinf
