#include "common/base/program.h"

#include <csignal>
#include <exception>
#include <iostream>

#include "common/base/error.h"
#include "common/base/failure.h"

namespace cacheinf {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitBadInput = 2;
constexpr int kExitSignal = 128;  // as shells have it

std::atomic<bool> stop = false;
std::atomic<int> stopped_by = SIGTERM;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "set by a signal handler");

}  // namespace

int RunProgram(std::string_view name, const std::function<int()>& run) {
  try {
    const int exit_code = run();
    if (!std::cout.flush()) throw InputError("standard output cannot be written");
    return exit_code;
  } catch (const InputError& error) {
    std::cerr << name << ": " << error.what() << '\n';
    return kExitBadInput;
  } catch (const Stopped& error) {
    std::cerr << name << ": " << error.what() << '\n';
    return kExitSignal + stopped_by;
  } catch (const std::exception& error) {
    std::cerr << name << ": " << SentenceOf(error) << '\n';
    return kExitFailure;
  }
}

const std::atomic<bool>& StopOnSignals() {
  struct sigaction action = {};
  action.sa_handler = [](int number) {
    stopped_by = number;
    stop = true;
  };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  return stop;
}

}  // namespace cacheinf
