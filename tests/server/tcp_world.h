#ifndef CACHEINF_TESTS_SERVER_TCP_WORLD_H_
#define CACHEINF_TESTS_SERVER_TCP_WORLD_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "common/model/graph/pack.h"
#include "tests/server/programs.h"
#include "tests/testing/command.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"
#include "tests/testing/process.h"

namespace cacheinf {

// Robot and server as programs over ZeroMQ that know each other by their keys.
class TcpTest : public FolderTest {
 protected:
  TcpTest() {
    WritePack(*graph_, folder_ / "model");
    for (const char* const name : {"server", "arm"}) {
      EXPECT_EQ(Keygen(name).exit_code, 0);
    }
    List();
  }

  CommandResult Keygen(const std::string& name) const {
    return RunCommand({ProgramPath("cacheinf-server"), "keygen", Path(name)});
  }

  void List() const { std::filesystem::copy_file(Path("arm.pub"), Path("robots")); }

  // At the port of the last one, if there was one.
  std::unique_ptr<Process> StartServer(const std::string& models = "models",
                                       const std::string& program = {}) {
    Arguments words = Server(folder_ / models, {"--listen", where_ + std::to_string(port_), "--key",
                                                Path("server.key"), "--robots", Path("robots")});
    if (!program.empty()) words[0] = program;
    auto server = std::make_unique<Process>(before_server_ + words);
    EXPECT_TRUE(server->HasPrinted("robots may come", kLong)) << server->output();
    const std::string output = server->output();
    port_ = std::stoi(output.substr(output.find(where_) + where_.size()));
    return server;
  }

  Arguments Robot(int frames, const std::string& outputs, const Arguments& how) const {
    return before_robot_ + DumpingRobot(folder_, Generated(frames), outputs, how);
  }

  Arguments ToServer() const {
    return {"--server",     where_ + std::to_string(port_),
            "--robot-key",  Path("arm.key"),
            "--server-key", Path("server.pub")};
  }

  const std::shared_ptr<const Graph> graph_ = MakeNetwork(TenNetworks().front(), 64, 96);
  std::string where_ = "tcp://127.0.0.1:";
  int port_ = 0;
  Arguments before_server_;  // words of a command that runs it elsewhere
  Arguments before_robot_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SERVER_TCP_WORLD_H_
