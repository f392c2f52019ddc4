#include "tests/testing/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Whether the condition becomes true before the time is up.
template <typename Condition>
bool WaitUntil(milliseconds at_most, const Condition& holds) {
  const auto until = steady_clock::now() + at_most;
  while (!holds()) {
    if (steady_clock::now() > until) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

}  // namespace

Process::Process(const std::vector<std::string>& words,
                 const std::map<std::string, std::string>& environment) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "cacheinf_process_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = folder;
  const std::string file = folder + "/output";
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  id_ = fork();
  if (id_ < 0) throw std::runtime_error("fork failed");
  if (id_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is killed leaves nothing that runs
    const int nothing = open("/dev/null", O_RDONLY);
    const int output = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (nothing < 0 || output < 0) _exit(126);
    dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execvp(pointers[0], pointers.data());
    _exit(127);
  }
}

Process::~Process() {
  if (!exit_code_) {
    Signal(SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  std::filesystem::remove_all(folder_);
}

void Process::Signal(int number) const {
  if (!exit_code_) kill(id_, number);
}

bool Process::Catches(int number, milliseconds at_most) const {
  return WaitUntil(at_most, [&] {
    std::ifstream status("/proc/" + std::to_string(id_) + "/status");
    const std::string key = "SigCgt:";
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with(key)) continue;
      return (std::stoull(line.substr(key.size()), nullptr, 16) >> (number - 1) & 1U) != 0;
    }
    return false;
  });
}

std::optional<int> Process::Wait(milliseconds at_most) {
  WaitUntil(at_most, [this] {
    int status = 0;
    if (!exit_code_ && waitpid(id_, &status, WNOHANG) == id_) {
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return exit_code_.has_value();
  });
  return exit_code_;
}

bool Process::HasPrinted(const std::string& text, milliseconds at_most) const {
  return WaitUntil(at_most, [&] { return output().find(text) != std::string::npos; });
}

std::string Process::output() const {
  std::ifstream stream(folder_ / "output", std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace cacheinf
