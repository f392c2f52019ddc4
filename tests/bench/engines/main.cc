#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/config/model_config.h"
#include "tests/bench/engines/engines.h"

// A program of its own, so that its memory is that of an engine and of nothing else.
int main(int argc, char** argv) {
  CLI::App app{"One engine that cacheinf-bench measures; it starts and asks it.",
               "cacheinf-bench-engine"};
  cacheinf::WorkerOptions options;
  std::vector<std::string> shapes;
  app.add_option("ENGINE", options.engine, "cacheinf, libtorch or onednn-layer")->required();
  app.add_option("--model", options.model);
  app.add_option("--shape", shapes);
  app.add_option("--input", options.input_file);
  app.add_option("--threads", options.threads);
  CLI11_PARSE(app, argc, argv);
  try {
    for (const std::string& shape : shapes) {
      options.input_shapes.push_back(cacheinf::ParseShape(shape, "--shape"));
    }
  } catch (const cacheinf::InputError& error) {
    std::cerr << "cacheinf-bench-engine: " << error.what() << "\n";
    return 2;
  }
  cacheinf::ServeEngine(options);
  return 0;
}
