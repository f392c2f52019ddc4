#ifndef CACHEINF_TESTS_BENCH_WORKER_H_
#define CACHEINF_TESTS_BENCH_WORKER_H_

#include <sys/types.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cacheinf {

// From now on this process, and what it starts, runs on as many cores.
void PinToCores(int count);

// The program that is a worker with an engine that is C++ (engines/main.cc).
std::string EngineWorker();

// A folder that goes with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A program with one engine in it, which is asked in lines and answers each with a line of JSON
// (see peers/peers.py). So only the engine that is asked computes, and none shares its threads,
// its memory or its libraries with another.
class Worker {
 public:
  // Starts it on the cores of this process; what it says on stderr goes to a file.
  explicit Worker(const std::vector<std::string>& command);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Its first answer, given without being asked, and those after. They throw std::runtime_error
  // with the reason that the program gave, if it ended or says {"error"}.
  nlohmann::json FirstAnswer();
  nlohmann::json Ask(const std::string& request);

  // Milliseconds of `count` runs, one after the other.
  std::vector<double> Time(int count);

  // Returns when all its threads sleep; throws std::runtime_error if they never do.
  void WaitUntilIdle() const;

 private:
  nlohmann::json ReadAnswer();
  std::string LastWords() const;

  TemporaryFolder folder_;
  pid_t process_ = -1;
  FILE* requests_ = nullptr;
  FILE* answers_ = nullptr;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_WORKER_H_
