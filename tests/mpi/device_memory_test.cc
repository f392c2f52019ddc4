#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/testing/command.h"
#include "tests/testing/places.h"

// Exchanges device memory over MPI, on the stand-in for GPUs.

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kEverySize = {"1",     "64",     "1000",    "4096",
                                             "65536", "262144", "1048576", "4194304"};

TEST(DeviceMemoryTest, WithoutMpirunItSaysWhatToDo) {
  const CommandResult result = RunCommand({ProgramPath("cacheinf-gpu-mpi"), "--stand-in"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.error, "cacheinf-gpu-mpi: mpirun starts it: mpirun -n 2 cacheinf-gpu-mpi\n");
}

TEST(DeviceMemoryTest, GpuCheckReportsTheExchange) {
  const fs::path build = fs::path(ProgramPath("cacheinf-gpu-mpi")).parent_path().parent_path();
  const CommandResult result = RunCommand(
      {(SourceFolder() / "scripts" / "gpu-check").string(), "mpi", "--build", build.string()});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.error;
  std::ifstream file(build / "report.md");
  const std::string report{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(report.find("\n## mpi\n"), std::string::npos) << report;
  for (const std::string& bytes : kEverySize) {
    EXPECT_NE(report.find("\n| " + bytes + " | "), std::string::npos) << report;
  }
  EXPECT_NE(report.find("Every byte arrived"), std::string::npos) << report;
}

}  // namespace
}  // namespace cacheinf
