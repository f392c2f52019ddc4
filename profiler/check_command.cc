#include "profiler/check_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "common/answer/answers.h"
#include "common/answer/head_trial.h"
#include "common/answer/outputs.h"
#include "common/answer/overlay.h"
#include "common/answer/seen_picture.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/output_files.h"
#include "common/config/configured_model.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/model/picture.h"
#include "common/source/frame_source.h"
#include "common/source/opencv_picture.h"
#include "profiler/machine.h"

namespace cacheinf {
namespace {

constexpr size_t kMostLines = 10;  // of an answer

Picture FirstFrame(const std::string& source) {
  const SteadyClock clock;
  const std::unique_ptr<FrameSource> opened = OpenSource(source, clock);
  const std::optional<Frame> frame = opened->Next();
  if (!frame) throw InputError(source, " gives no frame");
  if (frame->picture.empty()) throw InputError(source, " gives no pictures");
  return frame->picture;
}

// The first frame's answer, a line for each thing in it.
class AnswerText {
 public:
  explicit AnswerText(const AnswerReader& reader) : reader_(reader) {}

  std::string operator()(const RawOutputs& raw) const {
    std::string text;
    for (const RawOutputs::Output& output : raw.outputs) {
      text += fmt::format("  {}: from {:.4g} to {:.4g}, mean {:.4g}\n", output.name, output.minimum,
                          output.maximum, output.mean);
    }
    return text;
  }
  std::string operator()(const Classification& classification) const {
    std::string text;
    for (const ScoredClass& scored : classification.best) {
      text += fmt::format("  {:.3f} {}\n", scored.score, reader_.ClassName(scored.index));
    }
    return text;
  }
  std::string operator()(const ClassMap& map) const {
    std::vector<int64_t> counts(static_cast<size_t>(std::max(1, reader_.class_count())));
    for (const int32_t index : map.classes) {
      if (static_cast<size_t>(index) >= counts.size())
        counts.resize(static_cast<size_t>(index) + 1);
      ++counts[static_cast<size_t>(index)];
    }
    std::string text = fmt::format("  a map of {}x{}\n", map.height, map.width);
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      text += fmt::format(
          "  {:5.1f} % {}\n",
          100.0 * static_cast<double>(counts[i]) / static_cast<double>(map.classes.size()),
          reader_.ClassName(static_cast<int>(i)));
    }
    return text;
  }
  std::string operator()(const Detections& detections) const {
    if (detections.boxes.empty()) {
      return "  no box: try a --source that shows what the model knows\n";
    }
    std::string text = fmt::format("  {} boxes; left, top, right, bottom in the frame's pixels:\n",
                                   detections.boxes.size());
    for (size_t i = 0; i < std::min(kMostLines, detections.boxes.size()); ++i) {
      const Detection& box = detections.boxes[i];
      text += fmt::format(
          "  {:.3f} {:20} {:7.1f} {:7.1f} {:7.1f} {:7.1f}{}{}\n", box.label.score,
          reader_.ClassName(box.label.index), box.left, box.top, box.right, box.bottom,
          box.keypoints.empty() ? "" : fmt::format("  {} keypoints", box.keypoints.size()),
          box.mask.lengths.empty() ? "" : "  mask");
    }
    return text;
  }
  std::string operator()(const Keypoints& keypoints) const {
    std::string text;
    for (size_t i = 0; i < std::min(kMostLines, keypoints.points.size()); ++i) {
      const Keypoint& point = keypoints.points[i];
      text += fmt::format("  {:.3f} {:20} {:7.1f} {:7.1f}\n", point.score,
                          keypoints.has_order ? reader_.ClassName(static_cast<int>(i)) : "point",
                          point.x, point.y);
    }
    return text;
  }
  std::string operator()(const Embedding& embedding) const {
    return fmt::format("  a list of {} numbers\n", embedding.numbers.size());
  }

 private:
  const AnswerReader& reader_;
};

std::string InputsText(const Graph& graph) {
  std::string text = "inputs\n";
  for (const ValueId id : graph.inputs) {
    text += fmt::format("  {} {}\n", graph.value(id).name,
                        ToString(graph.value(id).shape_of_numbers()));
  }
  return text;
}

// Says where the names of classes come from.
std::string NamesText(const DecoderConfig& decoder, const ModelNotes& notes) {
  if (const size_t count = decoder.ReadClassNames().size(); count > 0) {
    return fmt::format("{} names, of decoder.class_names", count);
  }
  if (notes.class_names.empty()) {
    return "no names: classes have numbers (decoder.class_names gives them names)";
  }
  return fmt::format("{} names, of the model's file", notes.class_names.size());
}

bool HasPlaces(const AnswerContent& content) {
  return !std::holds_alternative<RawOutputs>(content) &&
         !std::holds_alternative<Embedding>(content);
}

// What a robot would answer; drawn, too, if there is something to draw.
std::string AnswerToFrame(Graph graph, const RobotConfig& config, const Picture& frame, int threads,
                          const std::filesystem::path& picture, bool* contradicts) {
  const auto model = std::make_shared<const CompiledModel>(
      std::make_shared<const Graph>(std::move(graph)), MakeBackend(config, threads));
  const PictureFit fit(model->graph().picture, frame.width, frame.height);
  ModelState state(model);
  RunFrame(frame, fit, state);
  AnswerReader reader(model->graph(), config.model_config.decoder);
  SeenPicture seen;
  seen.fit = &fit;
  const AnswerContent content = reader.Read(state, seen);
  std::string text = std::visit(AnswerText(reader), content);
  if (!reader.contradiction().empty()) {
    *contradicts = true;
    text += fmt::format("refused\n  {}: its answers contradict decoder.kind \"{}\": {}\n",
                        config.model, NameOf(reader.kind()), reader.contradiction());
  }
  if (!HasPlaces(content)) return text;
  WritePng(picture, ImageOf(DrawAnswer(frame, fit, content, reader)));
  return text + fmt::format("  drawn in {}\n", picture.string());
}

}  // namespace

std::string RunCheckCommand(const RobotConfig& config, const std::filesystem::path& picture,
                            bool* contradicts) {
  const std::filesystem::path drawn =
      picture.empty() ? std::filesystem::path(config.model).stem().concat(".check.png") : picture;
  CheckOverwriting({{"--source", config.source}, {"MODEL", config.model}}, {{"--picture", drawn}});
  CheckWritable({{"--picture", drawn}});
  CheckExtension({"--picture", drawn}, ".png");
  const int threads = config.threads == 0 ? CoresToUse(DescribeMachine()) : config.threads;
  const std::string source = config.source.empty() ? "generated" : config.source;
  const Picture frame = FirstFrame(source);
  const Graph network = LoadNetwork(config, /*has_tensors=*/false);
  Graph graph = CompleteNetwork(network, config, /*has_tensors=*/false);
  std::string text = InputsText(graph);
  const HeadTrials trials(config, network, threads);
  *contradicts = false;
  if (!trials.is_needed()) {
    text += "decoder\n  part of the model's file\n";
  } else {
    const HeadTrial trial = trials.Try(frame);
    *contradicts = !trial.contradiction.empty();
    text += "picture\n  " + trial.picture + "\n";
    text += "outputs\n  " + trial.outputs + "\n";
    text += fmt::format("decoder\n  kind {}, {}\n  {}\n", NameOf(trial.kind),
                        trial.recognised_by.empty() ? "as configured" : "by " + trial.recognised_by,
                        NamesText(config.model_config.decoder, network.notes));
    if (!trial.unconfirmed.empty()) text += "  " + trial.unconfirmed + "\n";
    for (const HeadKind kind : trial.candidates) {
      text += fmt::format("  by shapes and numbers the outputs could be {}\n", NameOf(kind));
    }
    if (*contradicts) {
      return text + "refused\n  " + DescribeContradiction(trial, config.model) + "\n";
    }
  }
  return text +
         fmt::format("the answer to the first frame of {} ({}x{})\n", source, frame.width,
                     frame.height) +
         AnswerToFrame(std::move(graph), config, frame, threads, drawn, contradicts);
}

}  // namespace cacheinf
