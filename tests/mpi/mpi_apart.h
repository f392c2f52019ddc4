#ifndef CACHEINF_TESTS_MPI_MPI_APART_H_
#define CACHEINF_TESTS_MPI_MPI_APART_H_

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "common/link/mpi_child_protocol.h"
#include "common/link/mpi_link.h"
#include "tests/testing/command.h"
#include "tests/testing/places.h"

namespace cacheinf {

inline constexpr std::chrono::milliseconds kLong(15000);

// Robot and server that mpirun did not start. Each test has a name server of its own.
class ApartTest : public testing::Test {
 protected:
  ApartTest() {
    std::string folder = (std::filesystem::temp_directory_path() / "cacheinf_mpi_XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = folder;
    address_.name = "lab";
    address_.files.name_server = folder_ / "name-server";
    NameServerScript("start");
  }

  ~ApartTest() override {
    NameServerScript("stop");
    RemoveFolder(folder_);
  }

  void NameServerScript(const std::string& command) const {
    const CommandResult result = RunCommand(
        {SourceFolder() / "scripts/name-server", command, "--file", address_.files.name_server});
    EXPECT_EQ(result.exit_code, 0) << result.error;
  }

  void KillNameServer() const {
    std::ifstream file(address_.files.name_server);
    std::string line;
    for (int i = 0; i < 3; ++i) std::getline(file, line);
    kill(std::stoi(line), SIGKILL);
  }

  std::vector<std::string> Peer(const std::string& role, int packets) const {
    return {ProgramPath("mpi_peer"), role, "mpi:lab", address_.files.name_server,
            std::to_string(packets)};
  }

  // Polls until there is a link; accepts meanwhile if there is a listener. No poll may take long.
  static std::unique_ptr<Link> Connect(MpiConnector* connector, MpiListener* listener = nullptr,
                                       std::unique_ptr<Link>* accepted = nullptr,
                                       std::chrono::milliseconds at_most = kLong) {
    const auto until = std::chrono::steady_clock::now() + at_most;
    std::unique_ptr<Link> link;
    while (std::chrono::steady_clock::now() < until &&
           (!link || (listener != nullptr && !*accepted))) {
      const auto before = std::chrono::steady_clock::now();
      if (!link) link = connector->Poll();
      EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(300));
      if (listener != nullptr && !*accepted)
        *accepted = listener->Accept(std::chrono::milliseconds(0));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return link;
  }

  std::filesystem::path folder_;
  LinkAddress address_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_MPI_MPI_APART_H_
