#include "tests/bench/clips.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>

#include "common/base/clock.h"
#include "tests/testing/places.h"

namespace cacheinf {

namespace fs = std::filesystem;

std::vector<fs::path> FilesIn(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::is_directory(folder)) return files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<fs::path> ClipModels(const BenchOptions& options) {
  if (!options.models.empty()) return options.models;
  std::vector<fs::path> models = {SourceFolder() / "configs/models/demo_segmentation.onnx"};
  for (const fs::path& file : FilesIn(SharedData("models"))) {
    if (file.extension() == ".onnx") models.push_back(file);
  }
  return models;
}

fs::path ExportedModels() {
  if (const char* cache = std::getenv("CACHEINF_CACHE")) return fs::path(cache) / "models";
  const char* home = std::getenv("HOME");
  return fs::path(home != nullptr ? home : "") / ".cache/cacheinf/models";
}

std::vector<std::string> Clips(const BenchOptions& options) {
  if (!options.videos.empty()) return options.videos;
  std::vector<std::string> clips;
  for (const fs::path& file : FilesIn(SharedData("video"))) clips.push_back(file.string());
  if (!clips.empty()) return clips;
  for (const std::string_view camera : {"still", "handheld", "travel"}) {
    clips.push_back("generated:seed=11,width=640,height=480,camera=" + std::string(camera));
  }
  return clips;
}

std::string ClipName(const std::string& clip) {
  if (clip.starts_with("generated")) return clip.substr(clip.rfind('=') + 1);
  return fs::path(clip).stem().string();
}

RobotConfig ConfigFor(const fs::path& model, const BenchOptions& options) {
  RobotConfig config;
  for (const fs::path& file : FilesIn(SourceFolder() / "configs")) {
    const bool is_for_it =
        file.extension() == ".json" && model.stem().string().starts_with(file.stem().string());
    if (is_for_it && file.stem().extension() != ".schema") config = LoadRobotConfig(file);
  }
  config.model = model.string();
  config.log_level = LogLevel::kWarning;
  if (!options.input_shapes.empty()) config.shapes.clear();
  for (const Shape& shape : options.input_shapes) config.shapes.push_back(ToString(shape));
  return config;
}

std::vector<Frame> ReadFrames(const std::string& clip, int count) {
  const SteadyClock clock;
  const std::unique_ptr<FrameSource> source = OpenSource(clip, clock);
  std::vector<Frame> frames;
  while (static_cast<int>(frames.size()) < count) {
    std::optional<Frame> frame = source->Next();
    if (!frame) break;
    frames.push_back(std::move(*frame));
  }
  return frames;
}

std::pair<std::string, std::optional<double>> MeasureOf(const Agreement& agreement) {
  if (const auto* detections = agreement.detections()) return {"F1", detections->F1()};
  if (const auto* map = agreement.map()) return {"mIoU", map->MeanIou()};
  if (const auto* classes = agreement.classes()) return {"top-1", classes->top_1()};
  if (const auto* error = agreement.relative_error()) return {"relative L2", error->mean()};
  return {"-", std::nullopt};
}

}  // namespace cacheinf
