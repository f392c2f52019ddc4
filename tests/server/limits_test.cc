// A server that lacks a thread or memory for another robot tells that robot, and goes on.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/link/address.h"
#include "common/link/channel.h"
#include "common/link/link_ends.h"
#include "common/pair/say.h"
#include "common/pair/server_connection.h"
#include "tests/server/programs.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"
#include "tests/testing/process.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

// The server's limits are those of a user of its own.
constexpr char kUser[] = "54321";

// A robot that has come, and what happened to it.
class Guest {
 public:
  // `prepares`: it wants frames to be computed.
  Guest(const std::string& address, const Graph& graph, const Clock& clock, bool prepares = true)
      : connector_(ParseLinkAddress("--server", address)) {
    std::unique_ptr<Link> link;
    ComesTrue([&] {
      link = connector_.Poll();
      return link != nullptr;
    });
    if (!link) return;
    channel_ = std::make_unique<Channel>(std::move(link), clock);
    channel_->StartPumping();
    connection_ = std::make_unique<ServerConnection>(*channel_, message::Hello{.robot = "rover"},
                                                     PackForServers(graph));
    message::Settings settings;
    settings.mode = message::Settings::Mode::kRemote;
    if (prepares) connection_->Use(std::move(settings));
    ComesTrue([&] {
      (void)connection_->Receive();
      return (prepares ? connection_->is_ready() : connection_->has_model()) ||
             !connection_->fault().empty();
    });
    (void)connection_->Receive();  // last words
  }

  std::string fault() const { return connection_ ? connection_->fault() : connector_.problem(); }

  // Whether the server still answers it.
  bool IsServed() {
    if (!connection_) return false;
    (void)connection_->Receive();
    const uint64_t before = channel_->statistics().received.payload;
    Say(*channel_, message::Probe{1000, {}});
    return ComesTrue([&] {
             (void)connection_->Receive();
             return channel_->statistics().received.payload >= before + 1000 || !fault().empty();
           }) &&
           fault().empty();
  }

 private:
  LinkConnector connector_;
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<ServerConnection> connection_;
};

class LimitsTest : public FolderTest {
 protected:
  // Runs what follows with one limit, as a user of its own.
  static Arguments Limited(const std::string& user, const std::string& limit) {
    return {"setpriv",
            "--reuid",
            user,
            "--regid",
            user,
            "--clear-groups",
            "--inh-caps",
            "+dac_override",
            "--ambient-caps",
            "+dac_override",
            "prlimit",
            limit};
  }
  // Returns its address.
  std::string StartLimited(const std::string& limit) { return Start(Limited(kUser, limit)); }

  std::string Start(const Arguments& before = {}) {
    server_ = std::make_unique<Process>(
        before + Server(folder_ / "models", {"--listen", "tcp://127.0.0.1:0"}));
    EXPECT_TRUE(server_->HasPrinted("robots may come", kLong)) << server_->output();
    const std::string output = server_->output();
    const size_t begin = output.find("tcp://");
    return output.substr(begin, output.find(' ', begin) - begin);
  }

  // Limits the server's memory to what it has, and so many bytes.
  void LeaveRoomFor(rlim_t bytes) const {
    std::ifstream file("/proc/" + std::to_string(server_->id()) + "/statm");
    rlim_t pages = 0;
    file >> pages;
    const rlim_t most = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + bytes;
    const rlimit limit = {most, most};
    ASSERT_EQ(prlimit(server_->id(), RLIMIT_AS, &limit, nullptr), 0);
  }

  const SteadyClock clock_{};
  const std::shared_ptr<const Graph> graph_ = MakeNetwork(TenNetworks().front(), 64, 96);
  std::unique_ptr<Process> server_;
};

TEST_F(LimitsTest, ARobotForWhichThereIsNoThreadIsToldSoAndTheOthersAreServed) {
  if (getuid() != 0) GTEST_SKIP() << "only root may become a user whose limits are its own";
  for (const bool prepares : {true, false}) {  // on a thread of its own
    SCOPED_TRACE(prepares);
    const std::string address = StartLimited("--nproc=9");
    std::vector<std::unique_ptr<Guest>> guests;
    const auto come = [&] {
      guests.push_back(std::make_unique<Guest>(address, *graph_, clock_, prepares));
      return guests.back()->fault().empty();
    };
    while (guests.size() < 12 && come()) continue;
    EXPECT_EQ(guests.back()->fault(),
              "no further thread or process can be had: raise their limit (ulimit -u)");
    ASSERT_GE(guests.size(), 2U);
    guests.pop_back();
    for (const auto& guest : guests) EXPECT_TRUE(guest->IsServed()) << guest->fault();
    guests.pop_back();
    EXPECT_TRUE(ComesTrue([&] {
      if (come()) return true;
      guests.pop_back();
      return false;
    })) << "there is a thread again";
    server_->Signal(SIGTERM);
    EXPECT_EQ(server_->Wait(kLong), 0) << server_->output();
  }
}

// The libraries abort if they cannot start their threads.
TEST_F(LimitsTest, AServerThatLacksThreadsOfItsOwnSaysSo) {
  if (getuid() != 0) GTEST_SKIP() << "only root may become a user whose limits are its own";
  int refused = 0;
  for (const int threads : {1, 2, 3, 4, 5, 6}) {
    SCOPED_TRACE(threads);
    Process server(Limited("54322", "--nproc=" + std::to_string(threads)) +
                   Server(folder_ / "models", {"--listen", "tcp://127.0.0.1:0"}));
    EXPECT_TRUE(ComesTrue([&] {
      return server.Wait(milliseconds(0)) || server.HasPrinted("robots may come", milliseconds(0));
    })) << server.output();
    if (!server.Wait(milliseconds(200))) server.Signal(SIGTERM);
    if (server.Wait(kLong) == 0) continue;
    ++refused;
    EXPECT_EQ(server.Wait(kLong), 1) << server.output();
    EXPECT_NE(server.output().find("no further thread or process can be had"), std::string::npos)
        << server.output();
  }
  EXPECT_GE(refused, 2);
}

TEST_F(LimitsTest, ARobotForWhichThereIsNoMemoryIsToldSoAndTheOthersAreServed) {
  const std::string address = Start();
  Guest small(address, *graph_, clock_);
  ASSERT_TRUE(small.IsServed()) << small.fault();
  LeaveRoomFor(rlim_t{256} << 20);
  const auto large = MakeNetwork(TenNetworks().front(), 4096, 4096);
  Guest refused(address, *large, clock_);
  EXPECT_EQ(refused.fault(), "there is not enough memory") << server_->output();
  EXPECT_TRUE(small.IsServed()) << small.fault();
  server_->Signal(SIGTERM);
  EXPECT_EQ(server_->Wait(kLong), 0) << server_->output();
}

}  // namespace
}  // namespace cacheinf
