#ifndef CACHEINF_TESTS_TESTING_PROCESS_H_
#define CACHEINF_TESTS_TESTING_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cacheinf {

// A program that runs beside the test. The destructor kills it if it still runs.
class Process {
 public:
  // The first word is a path, or a name in $PATH. Standard output and error go to one file;
  // standard input is empty.
  explicit Process(const std::vector<std::string>& words,
                   const std::map<std::string, std::string>& environment = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return id_; }
  // Whether it has a handler for the signal before the time is up.
  bool Catches(int number, std::chrono::milliseconds at_most) const;
  void Signal(int number) const;

  // The exit code, or 128 plus the number of the signal that ended it; nothing if it still runs.
  std::optional<int> Wait(std::chrono::milliseconds at_most);

  // Whether it prints this text before the time is up.
  bool HasPrinted(const std::string& text, std::chrono::milliseconds at_most) const;
  // All that it has printed so far.
  std::string output() const;

 private:
  std::filesystem::path folder_;
  pid_t id_ = -1;
  std::optional<int> exit_code_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_PROCESS_H_
