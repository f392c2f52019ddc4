#ifndef CACHEINF_TESTS_TESTING_COMMAND_H_
#define CACHEINF_TESTS_TESTING_COMMAND_H_

#include <string>
#include <vector>

namespace cacheinf {

struct CommandResult {
  int exit_code = -1;  // -1: ended by a signal
  std::string out;
  std::string error;
};

// Runs a program with these arguments and no standard input, and waits for it.
CommandResult RunCommand(const std::vector<std::string>& arguments);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_COMMAND_H_
