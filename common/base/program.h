#ifndef CACHEINF_COMMON_BASE_PROGRAM_H_
#define CACHEINF_COMMON_BASE_PROGRAM_H_

#include <atomic>
#include <functional>
#include <string_view>

namespace cacheinf {

// Calls `run` and returns the exit code for `main`. An exception becomes one line on stderr that
// begins with the program's name: exit code 2 for an InputError, 1 for anything else. Standard
// output that did not take everything written counts as an InputError.
int RunProgram(std::string_view name, const std::function<int()>& run);

// From now on the first SIGINT or SIGTERM sets the result, and the second ends the program.
const std::atomic<bool>& StopOnSignals();

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_PROGRAM_H_
