#include "tests/torch/script_file.h"

#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>

#include "common/backend/host/cpu_backend.h"
#include "common/exec/model_state.h"
#include "common/model/load.h"

namespace cacheinf::testing {
namespace {

Tensor ToTensor(const at::Tensor& tensor) {
  const float* data = tensor.data_ptr<float>();
  return Tensor(tensor.sizes().vec(), std::vector<float>(data, data + tensor.numel()));
}

}  // namespace

ScriptFile::ScriptFile(const std::string& source,
                       const std::vector<std::pair<std::string, at::Tensor>>& weights) {
  static std::atomic<int> count = 0;
  path_ = std::filesystem::temp_directory_path() /
          ("cacheinf_" + std::to_string(getpid()) + "_" + std::to_string(count++) + ".pt");
  torch::jit::Module module("Net");
  module.register_attribute("training", c10::BoolType::get(), false);
  for (const auto& [name, tensor] : weights) {
    if (tensor.requires_grad()) {
      module.register_parameter(name, tensor, /*is_buffer=*/false);
    } else {
      module.register_buffer(name, tensor);
    }
  }
  module.define(source);
  module.save(path_.string());
}

ScriptFile::~ScriptFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

at::Tensor RandomWeights(const std::vector<int64_t>& shape, uint64_t seed) {
  at::manual_seed(seed);
  return at::randn(shape);
}

Tensor RandomTensor(const Shape& shape, uint64_t seed) {
  return ToTensor(RandomWeights(shape, seed));
}

Tensor RandomPicture(const Shape& shape, uint64_t seed) {
  at::manual_seed(seed);
  return ToTensor(at::rand(shape));
}

double RelativeError(const Tensor& expected, const Tensor& actual) {
  if (expected.shape() != actual.shape()) return std::numeric_limits<double>::infinity();
  if (expected.count() == 0) return 0.0;
  const float* end = expected.data() + expected.count();
  const auto [low, high] = std::minmax_element(expected.data(), end);
  const double range = std::max<double>(double{*high} - *low, std::abs(double{*high}));
  double worst = 0.0;
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double difference = std::abs(double{expected.data()[i]} - actual.data()[i]);
    if (!(difference <= std::numeric_limits<float>::max())) {
      return std::numeric_limits<double>::infinity();
    }
    worst = std::max(worst, difference);
  }
  return worst / std::max(range, 1e-6);
}

OwnRun RunOwn(const std::filesystem::path& path, const std::vector<Tensor>& inputs) {
  LoadOptions options;
  for (const Tensor& input : inputs) options.input_shapes.push_back(input.shape());
  auto graph = std::make_shared<const Graph>(LoadModel(path, options));
  ModelState state(std::make_shared<const CompiledModel>(graph, std::make_unique<CpuBackend>()));
  for (size_t i = 0; i < inputs.size(); ++i) state.SetInput(i, inputs[i].view());
  state.Run();
  OwnRun run{*graph, {}};
  for (size_t i = 0; i < graph->outputs.size(); ++i) {
    const Shape& shape = graph->value(graph->outputs[i]).shape;
    std::vector<float> numbers(ElementCount(shape));
    TensorView view;
    view.data = numbers.data();
    view.rank = static_cast<int>(shape.size());
    int64_t stride = 1;
    for (int d = view.rank - 1; d >= 0; --d) {
      view.dims[d] = shape[d];
      view.strides[d] = stride;
      stride *= shape[d];
    }
    state.GetOutput(i, view);
    run.outputs.emplace_back(shape, std::move(numbers));
  }
  return run;
}

}  // namespace cacheinf::testing
