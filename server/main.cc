#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/base/command_line.h"
#include "common/base/log.h"
#include "common/base/program.h"
#include "common/config/config_options.h"
#include "common/link/keys.h"
#include "common/link/link_ends.h"
#include "common/pair/model_store.h"
#include "server/server.h"
#include "server/server_config.h"

namespace cacheinf {
namespace {

int Run(int argc, char** argv) {
  CLI::App app(
      "CacheInf's server: computes for robots, and keeps what it computed from frame to frame.",
      "cacheinf-server");
  std::string key_name;
  CLI::App* const keygen =
      app.add_subcommand("keygen", "Make a key pair: NAME.key, which is secret, and NAME.pub.");
  keygen->add_option("NAME", key_name, "a path without an ending")->required();
  ServerConfig config;
  ConfigOptions options;
  options.AddTo(app, config.Fields());
  if (const auto exit_code = ParseCommandLine(app, CACHEINF_VERSION, argc, argv)) return *exit_code;
  if (keygen->parsed()) {
    WriteKeyPair(MakeKeyPair(), key_name);
    std::cout << key_name << ".key is this machine's secret; " << key_name
              << ".pub is for the other machines\n";
    return 0;
  }
  config.Load(options);
  if (options.Print(app.get_name(), ServerConfig().Fields(), config.Fields())) return 0;
  SetLogLevel(config.log_level);
  const std::atomic<bool>& stop = StopOnSignals();
  const SteadyClock clock;
  ModelStore::MakeFolder(config.models);
  LinkListener listener(config.Address());
  if (!config.emulate.empty()) LogInfo("emulated: " + config.emulate);
  LogInfo("robots may come");
  std::atomic<bool> have_all_left = false;
  const auto accept = [&] {
    std::unique_ptr<Link> link = listener.Accept(std::chrono::milliseconds(100));
    if (!link) have_all_left = listener.is_finished();
    return link;
  };
  const int robots = ServeRobots(accept, config, clock, [&] { return stop || have_all_left; });
  if (!config.once || robots > 0 || stop) return 0;
  LogWarning("no robot came that could be served");
  return 1;
}

}  // namespace
}  // namespace cacheinf

int main(int argc, char** argv) {
  return cacheinf::RunProgram("cacheinf-server", [&] { return cacheinf::Run(argc, argv); });
}
