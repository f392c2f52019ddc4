#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/testing/command.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

CommandResult RunProgram(const std::string& program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), ProgramPath(program));
  return RunCommand(arguments);
}

// Expects what all programs do with bad input: exit code 2, and one sentence on stderr that names
// it.
void ExpectRefusal(const CommandResult& result, const std::string& named) {
  EXPECT_EQ(result.exit_code, 2) << result.error;
  EXPECT_NE(result.error.find(named), std::string::npos) << result.error;
  EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
}

class ProgramTest : public testing::TestWithParam<const char*> {};

TEST_P(ProgramTest, HelpSaysHowToCallIt) {
  const CommandResult result = RunProgram(GetParam(), {"--help"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_NE(result.out.find("Usage: "), std::string::npos) << result.out;
  EXPECT_TRUE(result.error.empty()) << result.error;
}

TEST_P(ProgramTest, VersionIsTheProjects) {
  const CommandResult result = RunProgram(GetParam(), {"--version"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_NE(result.out.find(CACHEINF_VERSION), std::string::npos) << result.out;
}

TEST_P(ProgramTest, RefusesAnUnknownCommandAndNone) {
  ExpectRefusal(RunProgram(GetParam(), {"no-such-command"}), GetParam());
  ExpectRefusal(RunProgram(GetParam(), {}), GetParam());
}

TEST(ServerProgramTest, RefusesAnUnknownOption) {
  ExpectRefusal(RunProgram("cacheinf-server", {"--bogus"}),
                "unknown option \"--bogus\"; see --help");
}

INSTANTIATE_TEST_SUITE_P(All, ProgramTest,
                         testing::Values("cacheinf-robot", "cacheinf-profile", "cacheinf-schedule"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

class ServerConfigTest : public FolderTest {};

TEST_F(ServerConfigTest, PathsStartAtTheFilesFolder) {
  WriteText("trace.csv", "seconds,mbit\n0,10\n1,10\n");
  WriteText("server.json",
            R"({"listen": "mpi", "models": "models", "dump_pictures": "/seen",
                "emulate": "2x,trace.csv,3ms"})");
  const CommandResult printed =
      RunCommand({ProgramPath("cacheinf-server"), "--config", Path("server.json"), "--name-server",
                  "here", "--print-config"});
  EXPECT_EQ(printed.exit_code, 0) << printed.error;
  const auto config = nlohmann::json::parse(printed.out);
  EXPECT_EQ(config["models"], Path("models"));
  EXPECT_EQ(config["dump_pictures"], "/seen");
  EXPECT_EQ(config["emulate"], "2x," + Path("trace.csv") + ",3ms");
  EXPECT_EQ(config["name_server"], "here") << "as the command line says it";
}

TEST(ProfileProgramTest, DescribesTheMachine) {
  const CommandResult result = RunProgram("cacheinf-profile", {"machine"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_NE(result.out.find("fingerprint"), std::string::npos) << result.out;
}

TEST(RobotProgramTest, RefusesAModelThatIsNotThere) {
  ExpectRefusal(RunProgram("cacheinf-robot",
                           {"run", "--model", "/no/such/model.onnx", "--source", "generated"}),
                "/no/such/model.onnx");
}

}  // namespace
}  // namespace cacheinf
