#include <CLI/CLI.hpp>

#include "common/base/command_line.h"
#include "common/base/program.h"
#include "profiler/commands.h"

// The offline tool: inspects models, packs them, measures and describes the machine.

namespace {

int Main(int argc, char** argv) {
  CLI::App app("Looks into models, packs them, and describes the machine.", "cacheinf-profile");
  app.require_subcommand(1);
  cacheinf::AddProfilerCommands(app);
  return cacheinf::ParseCommandLine(app, CACHEINF_VERSION, argc, argv).value_or(0);
}

}  // namespace

int main(int argc, char** argv) {
  return cacheinf::RunProgram("cacheinf-profile", [&] { return Main(argc, argv); });
}
