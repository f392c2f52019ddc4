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

// The same, of a program that is linked into this one (linked_programs.h): a copy of this process
// calls it, which saves loading LibTorch. Only for what runs no network, whose threads a copy
// lacks.
CommandResult RunLinked(int (*main)(int argc, char** argv),
                        const std::vector<std::string>& arguments);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_COMMAND_H_
