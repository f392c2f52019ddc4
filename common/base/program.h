#ifndef CACHEINF_COMMON_BASE_PROGRAM_H_
#define CACHEINF_COMMON_BASE_PROGRAM_H_

#include <atomic>
#include <functional>
#include <string_view>

namespace cacheinf {

// Calls `run` and returns the exit code for `main`. An exception becomes one line on stderr that
// begins with the program's name: exit code 2 for an InputError, 128 plus the signal's number for
// Stopped, 1 for anything else. If standard output did not take everything written, that counts as
// an InputError.
int RunProgram(std::string_view name, const std::function<int()>& run);

// From now on the first SIGINT, SIGTERM or SIGHUP sets the result, and one that comes more than a
// second later ends the program: some senders send a signal twice. SIGHUP stays ignored where it
// already is, as under nohup.
const std::atomic<bool>& StopOnSignals();

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_PROGRAM_H_
