#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "common/base/program.h"
#include "common/config/model_config.h"
#include "tests/rivals/engines/engines.h"

// A separate program, so that its memory is that of an engine alone.

namespace cacheinf {
namespace {

int Run(int argc, char** argv) {
  CLI::App app{"One engine that cacheinf-bench measures; it starts and asks it.",
               "cacheinf-bench-engine"};
  WorkerOptions options;
  std::vector<std::string> shapes;
  app.add_option("ENGINE", options.engine, "cacheinf, libtorch or onednn-layer")->required();
  app.add_option("--model", options.model);
  app.add_option("--shape", shapes);
  app.add_option("--input", options.input_file);
  app.add_option("--threads", options.threads);
  CLI11_PARSE(app, argc, argv);
  for (const std::string& shape : shapes) {
    options.input_shapes.push_back(ParseShape(shape, "--shape"));
  }
  ServeEngine(options);
  return 0;
}

}  // namespace
}  // namespace cacheinf

int main(int argc, char** argv) {
  return cacheinf::RunProgram("cacheinf-bench-engine", [&] { return cacheinf::Run(argc, argv); });
}
