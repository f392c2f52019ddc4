#include "sparse_ops/cpu/simd_targets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sparse_ops/cpu/pixel_kernels.h"
#include "tests/sparse_ops/cpu/targets.h"

namespace cacheinf {
namespace {

TEST(SimdTargetsTest, AreThoseOfTheKernelsAndTheFirstIsWhatTheyRunWith) {
  const cpu::PixelKernels* const chosen = &cpu::ChoosePixelKernels();
  std::vector<const cpu::PixelKernels*> kernels;
  ForEachCpuTarget([&] { kernels.push_back(&cpu::ChoosePixelKernels()); });
  const std::vector<std::string> names = SimdTargets();
  ASSERT_EQ(names.size(), kernels.size());
  EXPECT_EQ(chosen, kernels.front());
  for (const std::string& name : names) EXPECT_NE(name, "Unknown");
}

TEST(SimdTargetsTest, CompiledAreAllThatAMachineCanHaveButNotTheScalarKernels) {
  const std::vector<std::string> compiled = CompiledSimdTargets();
  EXPECT_EQ(std::count(compiled.begin(), compiled.end(), "SCALAR"), 0);
  for (const std::string& name : SimdTargets()) {
    EXPECT_EQ(std::count(compiled.begin(), compiled.end(), name), name == "SCALAR" ? 0 : 1) << name;
  }
}

TEST(SimdTargetsTest, OnlyScalarKernelsRunWhereThereIsNoOtherTarget) {
  ForEachCpuTarget([] { EXPECT_EQ(OnlyScalarKernelsRun(), SimdTargets().front() == "SCALAR"); });
  EXPECT_EQ(OnlyScalarKernelsRun(), SimdTargets().front() == "SCALAR");
}

}  // namespace
}  // namespace cacheinf
