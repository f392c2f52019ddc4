#include "sparse_ops/cpu/simd_targets.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sparse_ops/cpu/pixel_kernels.h"
#include "tests/sparse_ops/cpu_targets.h"

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

}  // namespace
}  // namespace cacheinf
