// Robot and server over MPI, with every change of plans.

#include <gtest/gtest.h>

#include <string>

#include "tests/server/programs.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"
#include "tests/testing/process.h"

namespace cacheinf {
namespace {

class Plans : public FolderTest, public testing::WithParamInterface<Network> {};

INSTANTIATE_TEST_SUITE_P(Of, Plans, testing::ValuesIn(TenNetworks()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Plans, AfterAnyChangeOfPlanTheAnswerHasTheBitsOfADenseRun) {
  Process both(Together({ProgramPath("plan_robot"), GetParam().name}, Server(folder_, {"--once"})),
               kEnvironment);
  EXPECT_EQ(both.Wait(kLong), 0) << both.output();
}

}  // namespace
}  // namespace cacheinf
