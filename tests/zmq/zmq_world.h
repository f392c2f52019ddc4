#ifndef CACHEINF_TESTS_ZMQ_ZMQ_WORLD_H_
#define CACHEINF_TESTS_ZMQ_ZMQ_WORLD_H_

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/link/keys.h"
#include "common/link/zmq_link.h"
#include "tests/link/exchange.h"
#include "tests/testing/folder_test.h"

namespace cacheinf {

inline constexpr std::chrono::milliseconds kLong(15000);

// A server's key and those of two robots in a folder, and both ends on this machine.
class ZmqWorld : public FolderTest {
 protected:
  struct Pair {
    std::unique_ptr<Link> robot;
    std::unique_ptr<Link> server;
  };

  ZmqWorld() {
    for (const std::string name : {"server", "arm", "leg", "stranger"}) {
      WriteKeyPair(MakeKeyPair(), Path(name));
    }
    List({"arm", "leg"});
  }

  // Lists these robots, and no others.
  void List(const std::vector<std::string>& names) const {
    std::ofstream robots(Path("robots"));
    for (const std::string& name : names) robots << TextOf(name) << " " << name << "\n";
  }

  std::string TextOf(const std::string& name) const {
    return ToText(ReadPublicKey(Path(name + ".pub")));
  }

  LinkAddress ServerAddress(int port = 0) const {
    return ParseLinkAddress("--listen", "tcp://127.0.0.1:" + std::to_string(port),
                            {.key = Path("server.key"), .trusted = Path("robots")});
  }

  LinkAddress RobotAddress(int port, const std::string& name = "arm",
                           const std::string& server = "server") const {
    return ParseLinkAddress("--server", "tcp://127.0.0.1:" + std::to_string(port),
                            {.key = Path(name + ".key"), .trusted = Path(server + ".pub")});
  }

  // Polls until there is a link; accepts meanwhile if there is a listener. No poll may wait.
  static Pair Meet(ZmqConnector* connector, ZmqListener* listener = nullptr,
                   std::chrono::milliseconds at_most = kLong) {
    Pair pair;
    for (const auto until = std::chrono::steady_clock::now() + at_most;
         std::chrono::steady_clock::now() < until &&
         (!pair.robot || (listener != nullptr && !pair.server));) {
      const auto before = std::chrono::steady_clock::now();
      if (!pair.robot) pair.robot = connector->Poll();
      EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(300));
      if (listener != nullptr && !pair.server) pair.server = listener->Accept({});
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return pair;
  }

  // Empty if so many packets come through both ways, whole and in order.
  static std::string ExchangeBothWays(const Pair& pair, int packets) {
    std::string of_server;
    std::thread serving(
        [&] { of_server = Exchange(pair.server.get(), packets, kServerSeed, kRobotSeed); });
    const std::string of_robot = Exchange(pair.robot.get(), packets, kRobotSeed, kServerSeed);
    serving.join();
    return of_robot + of_server;
  }

  static bool ComesTrue(const std::function<bool()>& holds,
                        std::chrono::milliseconds at_most = kLong) {
    for (const auto until = std::chrono::steady_clock::now() + at_most; !holds();) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_ZMQ_ZMQ_WORLD_H_
