#include <atomic>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "common/base/error.h"
#include "common/base/program.h"
#include "common/link/mpi_link.h"
#include "tests/link/exchange.h"
#include "tests/testing/heap.h"

// A robot or a server that only exchanges packets, for the tests of MPI.
//
//   mpi_peer server ADDRESS NAME_SERVER PACKETS    until SIGTERM, or all robots of mpirun have left
//   mpi_peer robot ADDRESS NAME_SERVER PACKETS [LINKS]

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Prints once, so that threads do not mix their lines.
void Say(const std::string& line) { std::cout << line + "\n" << std::flush; }

void ServeOne(std::unique_ptr<Link> link, int packets) {
  const std::string difference = Exchange(link.get(), packets, kServerSeed, kRobotSeed);
  Say(difference.empty() ? "served" : "failed: " + difference);
  Say("left: " + FaultOf(link.get()));
}

// Links that have ended keep nothing, but for the last few.
class Holdings {
 public:
  void Note(int links) {
    if (links == kFew) before_ = HeapBytes();
    if (links <= kFew || HeapBytes() < before_ + (size_t{12} << 20)) return;
    throw std::runtime_error(std::to_string(links) + " links hold more memory than five");
  }

 private:
  static constexpr int kFew = 5;
  size_t before_ = 0;
};

int Serve(const LinkAddress& address, int packets) {
  const std::atomic<bool>& stop = StopOnSignals();
  MpiListener listener(address);
  Say("ready");
  std::vector<std::thread> sessions;
  Holdings holdings;
  while (!stop && !listener.is_finished()) {
    std::unique_ptr<Link> link = listener.Accept(milliseconds(100));
    if (!link) continue;
    holdings.Note(static_cast<int>(sessions.size()));
    Say("connected");
    sessions.emplace_back(ServeOne, std::move(link), packets);
  }
  for (std::thread& session : sessions) session.join();
  Say("ended");
  return 0;
}

int Drive(const LinkAddress& address, int packets, int links) {
  MpiConnector connector(address);
  Holdings holdings;
  for (int i = 0; i < links; ++i) {
    holdings.Note(i);
    std::unique_ptr<Link> link;
    const auto until = steady_clock::now() + milliseconds(10000);
    while (!(link = connector.Poll())) {
      if (steady_clock::now() > until) throw std::runtime_error(connector.problem());
      std::this_thread::sleep_for(milliseconds(5));
    }
    Say("connected");
    const std::string difference = Exchange(link.get(), packets, kRobotSeed, kServerSeed);
    if (!difference.empty()) throw std::runtime_error(difference);
    Say("exchanged");
  }
  return 0;
}

int Run(const std::vector<std::string>& words) {
  if (words.size() < 4)
    throw InputError("mpi_peer server|robot ADDRESS NAME_SERVER PACKETS [LINKS]");
  const LinkAddress address = ParseLinkAddress("ADDRESS", words[1], {.name_server = words[2]});
  const int packets = std::stoi(words[3]);
  if (words[0] == "server") return Serve(address, packets);
  return Drive(address, packets, words.size() > 4 ? std::stoi(words[4]) : 1);
}

}  // namespace
}  // namespace cacheinf

int main(int argc, char** argv) {
  return cacheinf::RunProgram(
      "mpi_peer", [&] { return cacheinf::Run(std::vector<std::string>(argv + 1, argv + argc)); });
}
