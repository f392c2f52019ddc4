#include "common/base/program.h"

#include <csignal>
#include <exception>
#include <iostream>

#include "common/base/error.h"

namespace cacheinf {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitBadInput = 2;

std::atomic<bool> stop = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

}  // namespace

int RunProgram(std::string_view name, const std::function<int()>& run) {
  try {
    const int exit_code = run();
    if (!std::cout.flush()) throw InputError("standard output cannot be written");
    return exit_code;
  } catch (const InputError& error) {
    std::cerr << name << ": " << error.what() << '\n';
    return kExitBadInput;
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << '\n';
    return kExitFailure;
  }
}

const std::atomic<bool>& StopOnSignals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { stop = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return stop;
}

}  // namespace cacheinf
