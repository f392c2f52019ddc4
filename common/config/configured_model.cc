#include "common/config/configured_model.h"

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/config/model_setup.h"
#include "common/exec/cuda_backend.h"
#include "common/exec/reference_backend.h"
#include "common/exec/torch_call.h"
#include "common/model/load.h"
#include "common/model/passes/passes.h"

namespace cacheinf {

Graph LoadGraph(const RobotConfig& config, bool has_tensors) {
  if (config.model.empty()) throw InputError("no model is given");
  LoadOptions options;
  options.input_shapes = config.InputShapes();
  Graph graph = LoadModel(config.model, options);
  const ModelConfig& model_config = config.model_config;
  RobotConfig defaults;
  const bool is_default = WriteJson(PreprocessConfig(model_config.preprocess).Fields()) ==
                          WriteJson(defaults.model_config.preprocess.Fields());
  if (graph.picture.width != 0) {
    if (!is_default) {
      LogInfo("the model brings its own picture; the configuration's preprocess is not used");
    }
  } else if (!has_tensors) {
    AddPicture(graph, model_config.preprocess);
    if (is_default)
      LogInfo("no preprocessing is configured: frames are stretched, RGB from 0 to 1");
  }
  AddDecoder(graph, model_config.decoder);
  Optimise(graph);
  graph.Validate();
  return graph;
}

std::unique_ptr<Backend> MakeBackend(const RobotConfig& config, int threads) {
  CpuBackendOptions cpu;
  cpu.threads = threads;
  cpu.libtorch_scheme = config.scheme == RobotConfig::Scheme::kLibTorch;
  return MakeBackend(config.backend, cpu);
}

std::unique_ptr<Backend> MakeBackend(RobotConfig::Backend kind, const CpuBackendOptions& cpu) {
  const auto let_libtorch_use_threads = [&cpu] {
    SetTorchThreads(cpu.pool ? cpu.pool->threads() : cpu.threads);
  };
  switch (kind) {
    case RobotConfig::Backend::kReference:
      return std::make_unique<ReferenceBackend>();
    case RobotConfig::Backend::kCuda:
      let_libtorch_use_threads();
      return MakeCudaBackend();
    case RobotConfig::Backend::kCudaEmulated:
      let_libtorch_use_threads();
      return MakeEmulatedCudaBackend();
    case RobotConfig::Backend::kCpu:
      break;
  }
  return std::make_unique<CpuBackend>(cpu);
}

}  // namespace cacheinf
