#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <exception>
#include <iostream>
#include <string>

#include "client/run/run.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/config/config_options.h"
#include "common/config/robot_config.h"

// Runs robots one after the other in one process, which saves starting one for each. Each line of
// standard input is the command line of a `cacheinf-robot run`; each answer is a line, which is
// empty or says what went wrong.

namespace cacheinf {
namespace {

std::string ErrorOf(const std::string& arguments) {
  static const SteadyClock clock;
  static const std::atomic<bool> stop = false;
  try {
    CLI::App app;
    ConfigOptions options;
    options.AddTo(app, RobotConfig().Fields());
    app.parse(arguments);
    RunRobot(EffectiveConfig(options), clock, stop);
    return "";
  } catch (const std::exception& error) {
    std::string what = error.what();
    std::replace(what.begin(), what.end(), '\n', ' ');
    return what.empty() ? "an exception" : what;
  }
}

}  // namespace
}  // namespace cacheinf

int main() {
  cacheinf::SetLogLevel(cacheinf::LogLevel::kError);
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << cacheinf::ErrorOf(line) << std::endl;
  }
}
