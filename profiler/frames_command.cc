#include "profiler/frames_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "common/answer/outputs.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/npy.h"
#include "common/config/configured_model.h"
#include "common/config/model_setup.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/model/passes/passes.h"
#include "common/model/picture.h"
#include "common/source/frame_source.h"
#include "common/source/opencv_picture.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

// Takes frames from a source of any length: every frame up to twice `count`, then every second one,
// and so on.
std::vector<Frame> SpreadFrames(const std::string& source, size_t count) {
  const SteadyClock clock;
  const std::unique_ptr<FrameSource> opened = OpenSource(source, clock);
  if (opened->is_live()) throw InputError(source, " has no end: give a recorded clip");
  std::vector<Frame> frames;
  int64_t step = 1;
  int64_t index = 0;
  for (; std::optional<Frame> frame = opened->Next(); ++index) {
    if (frame->picture.empty()) throw InputError(source, " gives no pictures");
    if (index % step != 0) continue;
    frames.push_back(std::move(*frame));
    if (frames.size() < 2 * count) continue;
    for (size_t i = 1; 2 * i < frames.size(); ++i) frames[i] = std::move(frames[2 * i]);
    frames.resize(count);
    step *= 2;
  }
  if (frames.empty()) throw InputError(source, " gives no frame");
  if (frames.size() <= count) return frames;
  std::vector<Frame> some;
  for (size_t i = 0; i < count; ++i) some.push_back(std::move(frames[i * frames.size() / count]));
  return some;
}

// The operators before the network's own first one, with the network's input as the only output.
Graph BeginningOf(const RobotConfig& config) {
  Graph graph = LoadNetwork(config, /*has_tensors=*/false);
  if (graph.picture.width != 0) {
    throw InputError(config.model,
                     " is packed and brings its own preprocessing: take the file that it was made "
                     "of");
  }
  const ValueId own = graph.inputs.front();
  AddPicture(graph, config.model_config);
  graph.outputs = {own};
  Optimise(graph);
  return graph;
}

fs::path MakeFolder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder)) throw InputError(folder.string(), ": cannot be made");
  return folder;
}

}  // namespace

std::string RunFramesCommand(const FramesCommand& command) {
  const RobotConfig& config = command.config;
  const auto model = std::make_shared<const CompiledModel>(
      std::make_shared<const Graph>(BeginningOf(config)), MakeBackend(config, 1));
  const Graph& graph = model->graph();
  const std::string source = config.source.empty() ? "generated" : config.source;
  const std::vector<Frame> frames =
      SpreadFrames(source, static_cast<size_t>(std::max(1, command.count)));
  const fs::path pictures = MakeFolder(command.out_folder / "frames");
  const fs::path inputs = MakeFolder(command.out_folder / "inputs");
  ModelState state(model);
  OutputNumbers numbers;
  std::optional<PictureFit> fit;
  for (const Frame& frame : frames) {
    fit.emplace(graph.picture, frame.picture.width, frame.picture.height);
    RunFrame(frame.picture, *fit, state);
    ReadOutputs(state, numbers);
    const std::string name = fmt::format("{:06}", frame.index);
    WriteNpy(inputs / (name + ".npy"), graph.value(graph.outputs.front()).shape, numbers.front());
    WritePng(pictures / (name + ".png"), ImageOf(frame.picture));
  }
  return fmt::format("{} frames of {}, and what {} gets of them: {}\n", frames.size(), source,
                     config.model, command.out_folder.string());
}

}  // namespace cacheinf
