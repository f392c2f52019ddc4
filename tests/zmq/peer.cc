#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "common/base/error.h"
#include "common/base/program.h"
#include "common/link/zmq_link.h"
#include "tests/link/exchange.h"

// A robot or a server that only exchanges packets, for tests that kill it.
//
//   zmq_peer server ADDRESS KEY ROBOTS PACKETS    one robot after the other, until SIGTERM
//   zmq_peer robot ADDRESS KEY SERVER_KEY PACKETS

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

void Say(const std::string& line) { std::cout << line + "\n" << std::flush; }

void Serve(const LinkAddress& address, int packets) {
  const std::atomic<bool>& stop = StopOnSignals();
  ZmqListener listener(address);
  Say("ready at " + std::to_string(listener.port()) + ".");
  while (!stop) {
    const std::unique_ptr<Link> link = listener.Accept(milliseconds(100));
    if (!link) continue;
    Say("connected");
    Say("exchanged: " + Exchange(link.get(), packets, kServerSeed, kRobotSeed));
  }
}

void Drive(const LinkAddress& address, int packets) {
  ZmqConnector connector(address);
  std::unique_ptr<Link> link;
  for (const auto until = steady_clock::now() + milliseconds(10000); !link;) {
    if (steady_clock::now() > until) throw std::runtime_error(connector.problem());
    link = connector.Poll();
    std::this_thread::sleep_for(milliseconds(1));
  }
  Say("connected");
  Say("exchanged: " + Exchange(link.get(), packets, kRobotSeed, kServerSeed));
}

int Run(const std::vector<std::string>& words) {
  if (words.size() != 5) throw InputError("zmq_peer server|robot ADDRESS KEY TRUSTED PACKETS");
  const LinkAddress address =
      ParseLinkAddress("ADDRESS", words[1], {.key = words[2], .trusted = words[3]});
  (words[0] == "server" ? Serve : Drive)(address, std::stoi(words[4]));
  return 0;
}

}  // namespace
}  // namespace cacheinf

int main(int argc, char** argv) {
  return cacheinf::RunProgram(
      "zmq_peer", [&] { return cacheinf::Run(std::vector<std::string>(argv + 1, argv + argc)); });
}
