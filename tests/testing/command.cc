#include "tests/testing/command.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <stdexcept>

namespace cacheinf {
namespace {

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void Redirect(const char* path, int flags, int descriptor) {
  const int file = open(path, flags, 0600);
  if (file < 0 || dup2(file, descriptor) < 0) _exit(126);
}

using Run = std::function<void(std::vector<char*>& arguments)>;

CommandResult RunInChild(const std::vector<std::string>& arguments, const Run& run) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "cacheinf_command_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  const std::string out_file = folder + "/out";
  const std::string error_file = folder + "/error";
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);

  // What waits to be printed must not be printed twice.
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Redirect("/dev/null", O_RDONLY, STDIN_FILENO);
    Redirect(out_file.c_str(), O_WRONLY | O_CREAT, STDOUT_FILENO);
    Redirect(error_file.c_str(), O_WRONLY | O_CREAT, STDERR_FILENO);
    run(pointers);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);

  CommandResult result;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  result.out = ReadFile(out_file);
  result.error = ReadFile(error_file);
  std::filesystem::remove_all(folder);
  return result;
}

}  // namespace

CommandResult RunCommand(const std::vector<std::string>& arguments) {
  return RunInChild(arguments, [](std::vector<char*>& words) { execv(words[0], words.data()); });
}

CommandResult RunLinked(int (*main)(int argc, char** argv),
                        const std::vector<std::string>& arguments) {
  return RunInChild(arguments, [main](std::vector<char*>& words) {
    const int exit_code = main(static_cast<int>(words.size()) - 1, words.data());
    std::cout.flush();
    std::fflush(nullptr);
    _exit(exit_code);
  });
}

}  // namespace cacheinf
