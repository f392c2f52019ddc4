#include <gtest/gtest.h>

#include <string>

#include "common/backend/host/cpu_backend.h"
#include "sparse_ops/cpu/simd_targets.h"
#include "sparse_ops/cpu/targets.h"
// Must follow the choice of targets.
#include "hwy/highway.h"

namespace cacheinf {
namespace {

// What three backends in a row log if kernels may use only these targets; 0: the machine's.
std::string LogOfBackends(int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) CpuBackend backend;
  return testing::internal::GetCapturedStderr();
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

[[noreturn]] void ExitWith(bool is_as_expected) { std::_Exit(is_as_expected ? 0 : 1); }

// Each runs in its own process, where nothing has warned yet.
class ScalarWarningDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ScalarWarningDeathTest, ComesOnceAndNamesTheInstructionSets) {
  const auto check = [] {
    const std::string log = LogOfBackends(HWY_SCALAR);
    bool names_all = !log.empty();
    for (const std::string& name : CompiledSimdTargets()) names_all &= Count(log, name) > 0;
    ExitWith(names_all && Count(log, "warning") == 1 && Count(log, "scalar") == 1 &&
             Count(log, "\n") == 1);
  };
  EXPECT_EXIT(check(), testing::ExitedWithCode(0), "");
}

TEST_F(ScalarWarningDeathTest, DoesNotComeWhereKernelsHaveVectors) {
  if (OnlyScalarKernelsRun()) GTEST_SKIP() << "this machine has no vectors that kernels know";
  EXPECT_EXIT(ExitWith(LogOfBackends(0).empty()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace cacheinf
