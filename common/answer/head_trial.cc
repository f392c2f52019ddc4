#include "common/answer/head_trial.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "common/answer/outputs.h"
#include "common/base/error.h"
#include "common/base/picture_view.h"
#include "common/config/configured_model.h"
#include "common/config/model_setup.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/model/heads/head_check.h"
#include "common/model/passes/passes.h"

namespace cacheinf {
namespace {

std::vector<std::vector<float>> OutputsOf(const std::shared_ptr<const CompiledModel>& model,
                                          const Picture& frame) {
  ModelState state(model);
  RunFrame(frame, PictureFit(model->graph().picture, frame.width, frame.height), state);
  std::vector<std::vector<float>> numbers;
  ReadOutputs(state, numbers);
  return numbers;
}

}  // namespace

HeadTrials::HeadTrials(const RobotConfig& config, Graph graph, int threads) {
  if (graph.head.kind != HeadKind::kAuto) return;
  described_.picture = AddPicture(graph, config.model_config);
  HeadSpec spec = HeadSpecOf(config.model_config.decoder, graph.notes);
  described_.outputs = DescribeOutputs(graph);
  if (spec.kind == HeadKind::kAuto) {
    const Recognition found = Recognise(graph, spec.class_count);
    spec.kind = found.kind;
    described_.recognised_by = found.reason;
    described_.candidates = found.candidates;
  }
  described_.kind = spec.kind;
  check_.emplace(graph, spec);
  if (!check_->IsConfirmed()) {
    described_.unconfirmed = fmt::format(
        "nothing in the model's file or graph confirms decoder.kind \"{}\" for {}: see whether the "
        "picture that cacheinf-profile check draws is right",
        NameOf(spec.kind), described_.outputs);
  }
  graph.head.kind = HeadKind::kRaw;
  Optimise(graph);
  graph.Validate();
  model_ = std::make_shared<const CompiledModel>(std::make_shared<const Graph>(std::move(graph)),
                                                 MakeBackend(config, threads));
}

bool HeadTrials::Fits(const Picture& frame) const {
  try {
    const PictureFit fit(model_->graph().picture, frame.width, frame.height);
  } catch (const InputError&) {
    return false;
  }
  return true;
}

HeadTrial HeadTrials::Try(const Picture& frame) const {
  HeadTrial trial = described_;
  trial.numbers = OutputsOf(model_, frame);
  trial.contradiction = check_->Contradiction(trial.numbers);
  trial.has_evidence = trial.contradiction.empty() && check_->HasEvidence(trial.numbers);
  std::erase_if(trial.candidates,
                [&](HeadKind kind) { return !check_->CouldBe(kind, trial.numbers); });
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
