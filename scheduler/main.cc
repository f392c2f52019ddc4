#include <CLI/CLI.hpp>

#include "common/base/command_line.h"
#include "common/base/program.h"
#include "scheduler/commands.h"

// Finds the best plan for every situation, from measured costs.

namespace {

int Main(int argc, char** argv) {
  CLI::App app("Finds the best plan for every situation from two profiles, and explains it.",
               "cacheinf-schedule");
  app.require_subcommand(1);
  cacheinf::AddSchedulerCommands(app);
  return cacheinf::ParseCommandLine(app, CACHEINF_VERSION, argc, argv).value_or(0);
}

}  // namespace

int main(int argc, char** argv) {
  return cacheinf::RunProgram("cacheinf-schedule", [&] { return Main(argc, argv); });
}
