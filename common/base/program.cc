#include "common/base/program.h"

#include <csignal>
#include <cstdint>
#include <ctime>
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
std::atomic<int64_t> stopped_at_ms = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
                  std::atomic<int64_t>::is_always_lock_free,
              "set by a signal handler");

// timeout(1) sends its signal to the program and then to its group.
constexpr int64_t kSentTwiceMs = 1000;

void OnSignal(int number) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t now_ms = int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
  if (!stop) {
    stopped_at_ms = now_ms;
    stopped_by = number;
    stop = true;
  } else if (now_ms - stopped_at_ms > kSentTwiceMs) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
}

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
  action.sa_handler = OnSignal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  return stop;
}

void IgnoreClosedPipes() { std::signal(SIGPIPE, SIG_IGN); }

}  // namespace cacheinf
