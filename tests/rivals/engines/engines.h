#ifndef CACHEINF_TESTS_RIVALS_ENGINES_ENGINES_H_
#define CACHEINF_TESTS_RIVALS_ENGINES_ENGINES_H_

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/model/graph/graph.h"

namespace cacheinf {

// What a worker process should do.
struct WorkerOptions {
  std::string engine;  // "cacheinf", "cacheinf-auto", "libtorch", "onednn-layer"
  std::filesystem::path model;
  std::vector<Shape> input_shapes;
  std::filesystem::path input_file;  // the numbers of all inputs
  int threads = 1;
};

// Does for C++ engines what peers/peers.py does: answers the requests on stdin.
void ServeEngine(const WorkerOptions& options);

// One convolution as LibTorch itself runs it best: oneDNN with prepacked weights and, if oneDNN has
// it, the activation in the epilogue, on a channels-last map of fixed random numbers. `layer` is as
// in peers/peers.py.
std::function<void()> OneDnnLayer(const nlohmann::json& layer);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_RIVALS_ENGINES_ENGINES_H_
