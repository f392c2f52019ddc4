#ifndef CACHEINF_TESTS_BENCH_BENCH_SERVER_H_
#define CACHEINF_TESTS_BENCH_BENCH_SERVER_H_

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "tests/testing/process.h"

namespace cacheinf {

// The cores of a robot and of its server; the same one if there is no second.
struct Cores {
  int robot = 0;
  int server = 0;
};
Cores TwoCores();

// Runs the calling thread, and threads that it starts, on that core from now on.
void PinToCore(int core);

// A cacheinf-server with one thread, which robots find through the name server; without one, over
// ZeroMQ on this machine.
class BenchServer {
 public:
  // Emulates the link if there is one. Throws std::runtime_error if the server does not start.
  BenchServer(const std::filesystem::path& name_server, const std::filesystem::path& models,
              int core, const std::string& link);
  ~BenchServer();
  BenchServer(const BenchServer&) = delete;
  BenchServer& operator=(const BenchServer&) = delete;

  // What a robot needs as its server's address.
  const std::string& address() const { return address_; }
  void Kill() const;
  bool is_running() { return !process_.Wait(std::chrono::milliseconds(0)); }

 private:
  std::string address_;
  Process process_;
};

// Ends a server that takes too long; its robot then answers alone.
class Limit {
 public:
  // `server`: null if there is none.
  Limit(const BenchServer* server, std::chrono::seconds at_most);
  ~Limit();
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_BENCH_SERVER_H_
