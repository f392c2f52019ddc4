#include "tests/bench/bench_server.h"

#include <fmt/core.h>
#include <sched.h>

#include <csignal>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "tests/testing/places.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

constexpr const char* kThisMachine = "tcp://127.0.0.1:";

std::string NewAddress(bool is_mpi) {
  static int count = 0;
  return is_mpi ? fmt::format("mpi:bench-{}", ++count) : kThisMachine + std::string("0");
}

std::vector<std::string> ServerWords(const std::string& address,
                                     const std::filesystem::path& name_server,
                                     const std::filesystem::path& models, int core,
                                     const std::string& link) {
  // The server ends with the bench, however the bench ends.
  std::vector<std::string> words = {"setpriv",
                                    "--pdeathsig",
                                    "TERM",
                                    "taskset",
                                    "-c",
                                    std::to_string(core),
                                    ProgramPath("cacheinf-server"),
                                    "--listen",
                                    address,
                                    "--threads",
                                    "1",
                                    "--models",
                                    models};
  if (!name_server.empty()) words.insert(words.end(), {"--name-server", name_server});
  if (!link.empty()) words.insert(words.end(), {"--emulate", link});
  return words;
}

}  // namespace

Cores TwoCores() {
  cpu_set_t usable;
  sched_getaffinity(0, sizeof(usable), &usable);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &usable)) cores.push_back(core);
  }
  return {cores.front(), cores[cores.size() > 1 ? 1 : 0]};
}

void PinToCore(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof(cores), &cores);
}

BenchServer::BenchServer(const std::filesystem::path& name_server,
                         const std::filesystem::path& models, int core, const std::string& link)
    : address_(NewAddress(!name_server.empty())),
      process_(ServerWords(address_, name_server, models, core, link)) {
  if (!process_.HasPrinted("robots may come", milliseconds(10000))) {
    throw std::runtime_error("cacheinf-server does not start: " + process_.output());
  }
  if (name_server.empty()) {
    const std::string output = process_.output();
    const size_t begin = output.find(kThisMachine);
    address_ = output.substr(
        begin, output.find_first_not_of("0123456789", begin + std::strlen(kThisMachine)) - begin);
  }
}

BenchServer::~BenchServer() {
  process_.Signal(SIGTERM);
  process_.Wait(milliseconds(3000));
}

void BenchServer::Kill() const { process_.Signal(SIGKILL); }

Limit::Limit(const BenchServer* server, std::chrono::seconds at_most)
    : thread_([this, server, at_most] {
        std::unique_lock lock(mutex_);
        if (!over_.wait_for(lock, at_most, [this] { return is_over_; }) && server) server->Kill();
      }) {}

Limit::~Limit() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_one();
  thread_.join();
}

}  // namespace cacheinf
