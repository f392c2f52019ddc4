#include "common/answer/head_trial.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "common/answer/outputs.h"
#include "common/base/picture_view.h"
#include "common/config/configured_model.h"
#include "common/config/constant_inputs.h"
#include "common/config/model_setup.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/model/heads/head_check.h"
#include "common/model/load.h"
#include "common/model/passes/passes.h"

namespace cacheinf {
namespace {

std::vector<std::vector<float>> OutputsOf(Graph graph, const RobotConfig& config,
                                          const Picture& frame, int threads) {
  const PictureFit fit(graph.picture, frame.width, frame.height);
  std::vector<uint8_t> pixels(static_cast<size_t>(graph.picture.width) *
                              static_cast<size_t>(graph.picture.height) *
                              static_cast<size_t>(fit.channels()));
  fit.Resize(frame, {0, graph.picture.height}, pixels.data());
  const auto model = std::make_shared<const CompiledModel>(
      std::make_shared<const Graph>(std::move(graph)), MakeBackend(config, threads));
  ModelState state(model);
  const PictureSpec& spec = model->graph().picture;
  state.SetPicture({pixels.data(), spec.width, spec.height, fit.channels()});
  state.Run();
  std::vector<std::vector<float>> numbers;
  ReadOutputs(state, numbers);
  return numbers;
}

}  // namespace

std::optional<HeadTrial> TryHead(const RobotConfig& config, const Picture& frame, int threads) {
  LoadOptions options;
  options.input_shapes = config.InputShapes();
  options.constants = ReadConstantInputs(config.inputs, "inputs");
  Graph graph = LoadModel(config.model, options);
  if (graph.head.kind != HeadKind::kAuto) return std::nullopt;
  HeadTrial trial;
  trial.picture = AddPicture(graph, config.model_config);
  HeadSpec spec = HeadSpecOf(config.model_config.decoder, graph.notes);
  trial.outputs = DescribeOutputs(graph);
  if (spec.kind == HeadKind::kAuto) {
    const Recognition found = Recognise(graph, spec.class_count);
    spec.kind = found.kind;
    trial.recognised_by = found.reason;
    trial.candidates = found.candidates;
  }
  trial.kind = spec.kind;
  const HeadCheck check(graph, spec);
  graph.head.kind = HeadKind::kRaw;
  Optimise(graph);
  graph.Validate();
  trial.numbers = OutputsOf(std::move(graph), config, frame, threads);
  trial.contradiction = check.Contradiction(trial.numbers);
  return trial;
}

std::string DescribeContradiction(const HeadTrial& trial, const std::string& model) {
  return fmt::format(
      "{}: its outputs contradict decoder.kind \"{}\": {}; the network gives {}; set decoder.kind "
      "to "
      "what it is, or to raw",
      model, NameOf(trial.kind), trial.contradiction, trial.outputs);
}

}  // namespace cacheinf
