#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>

#include "common/base/clock.h"
#include "common/base/command_line.h"
#include "common/base/log.h"
#include "common/base/program.h"
#include "common/config/config_options.h"
#include "common/link/address.h"
#include "common/link/mpi_link.h"
#include "server/server.h"
#include "server/server_config.h"

namespace cacheinf {
namespace {

int Run(int argc, char** argv) {
  CLI::App app("CacheInf's server: computes for robots, beside which it keeps what it computed.",
               "cacheinf-server");
  app.set_version_flag("--version", "cacheinf-server " CACHEINF_VERSION);
  ServerConfig config;
  ConfigOptions options;
  options.AddTo(app, config.Fields());
  bool print_config = false;
  app.add_flag("--print-config", print_config,
               "Prints the configuration in effect, as JSON that --config takes, and ends.");
  try {
    ParseCommandLine(app, argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  }
  config.Load(options);
  if (print_config) {
    std::cout << WriteJson(config.Fields());
    return 0;
  }
  SetLogLevel(config.log_level);
  const std::atomic<bool>& stop = StopOnSignals();
  const SteadyClock clock;
  MpiListener listener(ParseLinkAddress("--listen", config.listen, config.name_server));
  LogInfo("robots may come");
  std::atomic<bool> have_all_left = false;
  const auto accept = [&] {
    std::unique_ptr<Link> link = listener.Accept(std::chrono::milliseconds(100));
    if (!link) have_all_left = listener.is_finished();
    return link;
  };
  const int robots = ServeRobots(accept, config, clock, [&] { return stop || have_all_left; });
  return config.once && robots == 0 ? 1 : 0;
}

}  // namespace
}  // namespace cacheinf

int main(int argc, char** argv) {
  return cacheinf::RunProgram("cacheinf-server", [&] { return cacheinf::Run(argc, argv); });
}
