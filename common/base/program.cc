#include "common/base/program.h"

#include <exception>
#include <iostream>

#include "common/base/error.h"

namespace cacheinf {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitBadInput = 2;

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

}  // namespace cacheinf
