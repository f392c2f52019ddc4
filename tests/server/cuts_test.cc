// Robot and server over MPI, at every cut of small networks and with every change of plans.

#include <gtest/gtest.h>

#include <string>

#include "tests/server/programs.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"
#include "tests/testing/process.h"

namespace cacheinf {
namespace {

class Cuts : public FolderTest, public testing::WithParamInterface<Network> {};

INSTANTIATE_TEST_SUITE_P(Of, Cuts, testing::ValuesIn(TenNetworks()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Cuts, AfterAnyChangeOfPlanTheAnswerHasTheBitsOfADenseRun) {
  Process both(Together({ProgramPath("plan_robot"), GetParam().name}, Server(folder_, {"--once"})),
               kEnvironment);
  EXPECT_EQ(both.Wait(kLong), 0) << both.output();
}

TEST_P(Cuts, WhereverItIsCutTheAnswerHasTheBitsOfADenseRun) {
  Process both(Together({ProgramPath("cut_robot"), GetParam().name}, Server(folder_, {"--once"})),
               kEnvironment);
  EXPECT_EQ(both.Wait(kLong), 0) << both.output();
}

}  // namespace
}  // namespace cacheinf
