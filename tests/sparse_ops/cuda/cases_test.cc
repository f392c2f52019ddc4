// Every kernel for GPUs against the reference, over the one table of cases, on the stand-in, and on
// a GPU where there is one.

#include "tests/sparse_ops/cases.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "sparse_ops/cuda/emulated/device.h"
#include "tests/sparse_ops/case_checks.h"
#include "tests/sparse_ops/cuda/family.h"
#ifdef CACHEINF_HAS_CUDA
#include "sparse_ops/cuda/real/device.h"
#endif

namespace cacheinf {
namespace {

using cuda::EmulatedDevice;

// conv_test.cc has the larger convolutions: the stand-in takes a second for some ten million.
constexpr int64_t kFewProducts = 700000;

void ExpectReferenceBitsOnTheStandIn(unsigned seeds) {
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    EmulatedDevice::Options options;
    options.seed = seed;
    EmulatedDevice device(options);
    ExpectReferenceBits(OperatorCases(), OnlyFamily(CudaFamily(device, {}, kFewProducts)),
                        20261100 + seed);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// With another seed another third.
std::vector<OperatorCase> AThirdOf(const std::vector<OperatorCase>& cases, unsigned seed) {
  std::vector<OperatorCase> third;
  for (size_t i = seed % 3; i < cases.size(); i += 3) third.push_back(cases[i]);
  return third;
}

void ExpectChangesOnTheStandIn(unsigned seeds) {
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    EmulatedDevice::Options options;
    options.seed = seed;
    EmulatedDevice device(options);
    ExpectChangesAsTheReference(AThirdOf(OperatorCases(), seed),
                                OnlyFamily(CudaFamily(device, {}, kFewProducts)), 20261200 + seed);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(CudaCasesTest, EveryCaseHasTheReferencesBitsInAnyRowsAndAtAnyPixels) {
  ExpectReferenceBitsOnTheStandIn(1);
}

TEST(CudaCasesTest, AChangeTestFindsAndStoresWhatTheReferenceDoes) { ExpectChangesOnTheStandIn(1); }

TEST(SlowCudaCasesTest, EveryCaseHasTheReferencesBitsWithAnySeed) {
  ExpectReferenceBitsOnTheStandIn(20);
}

TEST(SlowCudaCasesTest, AChangeTestDoesWhatTheReferenceDoesWithAnySeed) {
  ExpectChangesOnTheStandIn(20);
}

TEST(CudaCasesTest, AGpuDoesTheSame) {
#ifdef CACHEINF_HAS_CUDA
  if (cuda::RealDevice::Count() == 0) GTEST_SKIP() << "no GPU, or no driver for one";
  cuda::RealDevice device;
  ExpectReferenceBits(OperatorCases(), OnlyFamily(CudaFamily(device)), 20261301);
  ExpectReferenceBits(TimedCases(), OnlyFamily(CudaFamily(device)), 20261302);
  ExpectChangesAsTheReference(OperatorCases(), OnlyFamily(CudaFamily(device)), 20261303);
#else
  GTEST_SKIP() << "this build has no CUDA";
#endif
}

}  // namespace
}  // namespace cacheinf
