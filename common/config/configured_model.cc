#include "common/config/configured_model.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "common/backend/device/cuda_backend.h"
#include "common/backend/host/reference_backend.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/config/constant_inputs.h"
#include "common/config/model_setup.h"
#include "common/model/load.h"
#include "common/model/passes/passes.h"
#include "common/model/torchscript/libtorch.h"

namespace cacheinf {
namespace {

cuda::ConvOptions ConvOptionsOf(RobotConfig::Backend kind) {
  using Kind = RobotConfig::Backend;
  cuda::ConvOptions options;
  if (kind == Kind::kCudaTf32 || kind == Kind::kCudaEmulatedTf32) {
    options.precision = cuda::Precision::kTf32;
  } else if (kind == Kind::kCudaFp16 || kind == Kind::kCudaEmulatedFp16) {
    options.precision = cuda::Precision::kHalf;
  } else if (kind == Kind::kCudaBf16 || kind == Kind::kCudaEmulatedBf16) {
    options.precision = cuda::Precision::kBfloat16;
  }
  return options;
}

void SayRecognised(const Graph& graph, const HeadSpec& spec) {
  const Recognition found = Recognise(graph, spec.class_count);
  if (found.kind != HeadKind::kRaw) {
    LogInfo(fmt::format("decoder.kind is {}, by {}", NameOf(found.kind), found.reason));
    return;
  }
  std::vector<const char*> names;
  for (const HeadKind kind : found.candidates) names.push_back(NameOf(kind));
  LogWarning(fmt::format(
      "answers are raw numbers: nothing says for certain what {} means; {}", found.reason,
      names.empty() ? "set decoder.kind if you know"
                    : fmt::format("set decoder.kind; by their shapes the outputs "
                                  "could be {}",
                                  fmt::join(names, ", "))));
}

}  // namespace

Graph LoadNetwork(const RobotConfig& config, bool has_tensors) {
  if (config.model.empty()) throw InputError("no model is given");
  LoadOptions options;
  options.input_shapes = config.InputShapes();
  options.takes_one_picture = !has_tensors;
  options.constants = ReadConstantInputs(config.inputs, "inputs");
  Graph graph = LoadModel(config.model, options);
  if (graph.inputs.size() > 1) {
    throw InputError(fmt::format(
        "{} has {} inputs, but a frame can feed only one; if '{}' is the same for all frames, give "
        "it as a constant: --input {}=NUMBERS",
        config.model, graph.inputs.size(), graph.value(graph.inputs[1]).name,
        graph.value(graph.inputs[1]).name));
  }
  return graph;
}

namespace {

void WarnOfTinyPicture(const Graph& graph) {
  constexpr int kTiny = 64;
  const bool has_boxes = RowOf(graph.head.kind).answer == HeadRow::Answer::kBoxes;
  const PictureSpec& picture = graph.picture;
  if (!has_boxes || picture.width == 0 || std::min(picture.width, picture.height) > kTiny) return;
  LogWarning(fmt::format(
      "a detector's picture of {}x{} pixels is tiny: if the network was trained for larger ones, "
      "give it one, such as --shape 1x3x640x640",
      picture.height, picture.width));
}

}  // namespace

Graph CompleteNetwork(Graph graph, const RobotConfig& config, bool has_tensors) {
  const ModelConfig& model_config = config.model_config;
  if (graph.picture.width != 0 && WriteJson(PreprocessConfig(model_config.preprocess).Fields()) !=
                                      WriteJson(PreprocessConfig().Fields())) {
    LogInfo("the model brings its own picture; the configuration's preprocess is not used");
  }
  if (!has_tensors) {
    const std::string doubt = DoubtOfDivisor(graph, model_config.preprocess);
    LogInfo(AddPicture(graph, model_config));
    if (!doubt.empty()) LogWarning(doubt);
  }
  if (graph.head.kind == HeadKind::kAuto && model_config.decoder.kind == HeadKind::kAuto) {
    SayRecognised(graph, HeadSpecOf(model_config.decoder, graph.notes));
  }
  const std::vector<ValueId> own = graph.outputs;
  AddDecoder(graph, model_config.decoder);
  WarnOfTinyPicture(graph);
  if (!config.output.dump_outputs.empty()) {
    for (const ValueId output : own) {
      if (!std::ranges::count(graph.outputs, output)) graph.outputs.push_back(output);
    }
  }
  Optimise(graph);
  graph.Validate();
  return graph;
}

Graph LoadInPlaceOf(const Graph& first, const std::string& model, const RobotConfig& config,
                    bool has_tensors) {
  Graph other = LoadGraph(config.WithModel(model), has_tensors);
  const auto shape = [](const Graph& graph, ValueId id) {
    return graph.value(id).shape_of_numbers();
  };
  const auto refuse = [&](const char* what) {
    throw InputError(
        fmt::format("{} cannot stand in for {}, as {}: take the network that it was made of", model,
                    config.model, what));
  };
  const bool sees_same = shape(other, other.inputs[0]) == shape(first, first.inputs[0]) &&
                         other.picture.fit == first.picture.fit &&
                         other.picture.channels == first.picture.channels;
  if (!sees_same) refuse("it does not see the same pictures");
  const bool gives_same =
      std::ranges::equal(other.outputs, first.outputs,
                         [&](ValueId a, ValueId b) { return shape(other, a) == shape(first, b); });
  if (!gives_same || other.head.kind != first.head.kind) {
    refuse("its outputs are of other shapes or another kind");
  }
  return other;
}

std::unique_ptr<Backend> MakeBackend(const RobotConfig& config, int threads) {
  CpuBackendOptions cpu;
  cpu.threads = threads;
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
    case RobotConfig::Backend::kCudaTf32:
    case RobotConfig::Backend::kCudaFp16:
    case RobotConfig::Backend::kCudaBf16:
      let_libtorch_use_threads();
      return MakeCudaBackend(ConvOptionsOf(kind));
    case RobotConfig::Backend::kCudaEmulated:
    case RobotConfig::Backend::kCudaEmulatedTf32:
    case RobotConfig::Backend::kCudaEmulatedFp16:
    case RobotConfig::Backend::kCudaEmulatedBf16:
      let_libtorch_use_threads();
      return MakeEmulatedCudaBackend(1, ConvOptionsOf(kind));
    case RobotConfig::Backend::kCpu:
      break;
  }
  return std::make_unique<CpuBackend>(cpu);
}

}  // namespace cacheinf
