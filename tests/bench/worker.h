#ifndef CACHEINF_TESTS_BENCH_WORKER_H_
#define CACHEINF_TESTS_BENCH_WORKER_H_

#include <sys/types.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cacheinf {

// Runs this process, and what it starts, on this many cores from now on.
void PinToCores(int count);

// The program for workers with a C++ engine (rivals/engines/main.cc).
std::string EngineWorker();

// A folder that is deleted with this object.
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

// A process with one engine, which answers each request line with a line of JSON (see
// rivals/peers/peers.py). So only the engine asked computes, and no engines share threads, memory
// or libraries.
class Worker {
 public:
  // Starts it on the cores of this process, with stderr going to a file.
  explicit Worker(const std::vector<std::string>& command);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // The first answer, which needs no request, and later ones. Throw std::runtime_error with the
  // program's reason if it ended or answers {"error"}.
  nlohmann::json FirstAnswer();
  nlohmann::json Ask(const std::string& request);

  // Milliseconds of `count` successive runs.
  std::vector<double> Time(int count);

  // Returns once all its threads sleep; throws std::runtime_error if they never do.
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
