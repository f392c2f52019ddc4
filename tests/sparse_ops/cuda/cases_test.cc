// Checks every kernel for GPUs against the reference over the table of cases, on the stand-in and
// on a GPU if there is one.

#include "tests/sparse_ops/cases.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sparse_ops/cuda/emulated/device.h"
#include "tests/sparse_ops/case_checks.h"
#include "tests/sparse_ops/case_memory.h"
#include "tests/sparse_ops/cpu/family.h"
#include "tests/sparse_ops/cuda/family.h"
#ifdef CACHEINF_HAS_CUDA
#include "sparse_ops/cuda/real/device.h"
#endif

namespace cacheinf {
namespace {

using cuda::EmulatedDevice;

// The stand-in takes about a second for ten million products.
constexpr int64_t kFewProducts = 300000;

// conv_test.cc does the same with convolutions, and by every shape of tiles.
std::vector<OperatorCase> CasesButConvolutions() {
  std::vector<OperatorCase> cases;
  for (const OperatorCase& c : OperatorCases()) {
    if (c.name.starts_with("conv_") || c.name.starts_with("random_conv_")) continue;
    cases.push_back(c);
  }
  return cases;
}

// Calls check(families, seed) for each seed of the stand-in.
template <typename Check>
void OnTheStandIn(unsigned seeds, const Check& check) {
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    EmulatedDevice::Options options;
    options.seed = seed;
    EmulatedDevice device(options);
    ASSERT_EQ(check(OnlyFamily(CudaFamily(device, {}, kFewProducts)), seed), "");
  }
}

std::string CheckBits(const Families& families, unsigned seed) {
  return CheckReferenceBits(CasesButConvolutions(), families, 20261100 + seed);
}

// Checks a third of the cases; the seed says which.
std::string CheckChangesOfAThird(const Families& families, unsigned seed) {
  const std::vector<OperatorCase> cases = CasesButConvolutions();
  std::vector<OperatorCase> third;
  for (size_t i = seed % 3; i < cases.size(); i += 3) third.push_back(cases[i]);
  return CheckChanges(third, families, 20261200 + seed);
}

TEST(CudaCasesTest, EveryCaseHasTheReferencesBitsInAnyRowsAndAtAnyPixels) {
  OnTheStandIn(1, CheckBits);
}

TEST(CudaCasesTest, AChangeTestFindsAndStoresWhatTheReferenceDoes) {
  OnTheStandIn(1, CheckChangesOfAThird);
}

// Winograd has bits of its own.
TEST(CudaCasesTest, WinogradHasTheBitsOfTheProcessor) {
  EmulatedDevice device;
  const OperatorFamily on_device = CudaFamily(device, {}, kFewProducts);
  ThreadPool pool(1);
  int checked = 0;
  for (const OperatorCase& c : OperatorCases()) {
    const PreparedCase expected = c.Prepare(CpuFamily(pool));
    const PreparedCase actual = c.Prepare(on_device);
    if (!expected.memory->winograd.has_value() || !actual.run) continue;
    expected.run(expected.rows(), nullptr);
    actual.run(actual.rows(), nullptr);
    EXPECT_EQ(Difference(actual, expected), "") << c.name;
    ++checked;
  }
  EXPECT_GT(checked, 5);
}

TEST(SlowCudaCasesTest, EveryCaseHasTheReferencesBitsWithAnySeed) { OnTheStandIn(20, CheckBits); }

TEST(SlowCudaCasesTest, AChangeTestDoesWhatTheReferenceDoesWithAnySeed) {
  OnTheStandIn(20, CheckChangesOfAThird);
}

TEST(CudaCasesTest, AGpuDoesTheSame) {
#ifdef CACHEINF_HAS_CUDA
  if (cuda::RealDevice::Count() == 0) GTEST_SKIP() << "no GPU, or no driver for one";
  cuda::RealDevice device;
  const Families families = OnlyFamily(CudaFamily(device));
  EXPECT_EQ(CheckReferenceBits(OperatorCases(), families, 20261301), "");
  EXPECT_EQ(CheckReferenceBits(TimedCases(), families, 20261302), "");
  EXPECT_EQ(CheckChanges(OperatorCases(), families, 20261303), "");
#else
  GTEST_SKIP() << "this build has no CUDA";
#endif
}

}  // namespace
}  // namespace cacheinf
