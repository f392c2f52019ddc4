#ifndef CACHEINF_TESTS_SERVER_APART_WORLD_H_
#define CACHEINF_TESTS_SERVER_APART_WORLD_H_

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "common/model/graph/pack.h"
#include "tests/server/programs.h"
#include "tests/testing/command.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"
#include "tests/testing/process.h"

namespace cacheinf {

// Robot, server and name server as programs that are started apart.
class ApartTest : public FolderTest {
 protected:
  ApartTest() {
    WritePack(*graph_, folder_ / "model");
    NameServer("start");
  }
  ~ApartTest() override { NameServer("stop"); }

  void NameServer(const std::string& command) const {
    const CommandResult result = RunCommand(
        {SourceFolder() / "scripts/name-server", command, "--file", folder_ / "name-server"});
    EXPECT_EQ(result.exit_code, 0) << result.error;
  }

  void KillNameServer() const { kill(std::stoi(LinesOf(folder_ / "name-server").at(2)), SIGKILL); }

  std::unique_ptr<Process> StartServer(
      const Arguments& more = {},
      const std::map<std::string, std::string>& environment = kEnvironment) const {
    auto server = std::make_unique<Process>(
        Server(folder_ / "models",
               Arguments{"--listen", "mpi:lab", "--name-server", folder_ / "name-server"} + more),
        environment);
    EXPECT_TRUE(server->HasPrinted("robots may come", kLong)) << server->output();
    return server;
  }

  Arguments Robot(int frames, const Arguments& how) const {
    return ExactRobot(folder_, Generated(frames),
                      Arguments{"--check", "7", "--server", "mpi:lab"} +
                          Arguments{"--name-server", folder_ / "name-server"} +
                          Arguments{"--summary", folder_ / "summary"} +
                          Arguments{"--answers", folder_ / "answers"} + how);
  }

  bool AnswersCome(bool are_served, int count = 30) const {
    return cacheinf::AnswersCome(folder_ / "answers", are_served, count);
  }

  const std::shared_ptr<const Graph> graph_ = MakeNetwork(TenNetworks().front(), 64, 96);
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SERVER_APART_WORLD_H_
