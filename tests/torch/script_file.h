#ifndef CACHEINF_TESTS_TORCH_SCRIPT_FILE_H_
#define CACHEINF_TESTS_TORCH_SCRIPT_FILE_H_

#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/model/graph/graph.h"

namespace cacheinf::testing {

// A TorchScript file made from source text; removed with the object.
class ScriptFile {
 public:
  // `source` defines forward(self, …); `weights` are attributes of self.
  ScriptFile(const std::string& source,
             const std::vector<std::pair<std::string, at::Tensor>>& weights = {});
  ~ScriptFile();
  ScriptFile(const ScriptFile&) = delete;
  ScriptFile& operator=(const ScriptFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Numbers of a standard normal distribution.
Tensor RandomTensor(const Shape& shape, uint64_t seed);
Tensor RandomPicture(const Shape& shape, uint64_t seed);  // uniform from 0 to 1
at::Tensor RandomWeights(const std::vector<int64_t>& shape, uint64_t seed);

// Largest difference over the range of `expected`; infinity when shapes differ or one is not finite
// where the other is.
double RelativeError(const Tensor& expected, const Tensor& actual);

// A TorchScript file, run by our importer and executor (on the CPU backend).
struct OwnRun {
  Graph graph;
  std::vector<Tensor> outputs;
};
OwnRun RunOwn(const std::filesystem::path& path, const std::vector<Tensor>& inputs);

}  // namespace cacheinf::testing

#endif  // CACHEINF_TESTS_TORCH_SCRIPT_FILE_H_
