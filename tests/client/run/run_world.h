#ifndef CACHEINF_TESTS_CLIENT_RUN_RUN_WORLD_H_
#define CACHEINF_TESTS_CLIENT_RUN_RUN_WORLD_H_

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/model/graph/graph.h"
#include "common/model/graph/pack.h"
#include "tests/testing/folder_test.h"

namespace cacheinf {

// Runs with a cache, models and outputs in the test's folder.
class RunWorld : public FolderTest {
 protected:
  RunWorld() { setenv("CACHEINF_CACHE", folder_.c_str(), 1); }
  ~RunWorld() override { unsetenv("CACHEINF_CACHE"); }

  // A model that returns its input.
  std::string WriteEcho(const Shape& shape = {1, 3, 16, 16}) const {
    Graph graph;
    const ValueId input = graph.AddInput("x", shape);
    graph.outputs = {graph.AddOne("same", op::Activation{}, {input})};
    WritePack(graph, Path("model.cacheinf"));
    return Path("model.cacheinf");
  }

  static std::vector<nlohmann::json> Lines(const std::string& path) {
    std::ifstream file(path);
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }

  std::atomic<bool> stop_ = false;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_CLIENT_RUN_RUN_WORLD_H_
