#include "common/source/scene_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/config/fields.h"
#include "common/source/scenes.h"

namespace cacheinf {
namespace {

constexpr std::string_view kName = "generated source";
constexpr int64_t kMostFrames = 1000000000;

struct Options {
  int64_t seed = 1;
  int64_t frames = 100;
  int64_t frames_per_scene = 0;
  double frame_rate = 30;
  SceneOptions scene;

  FieldTable Fields() {
    return {
        Field{"seed", &seed, "What the scene is drawn from."}.Between(0, 1e15),
        Field{"frames", &frames, "Length; 0: without end."}.Between(0, kMostFrames),
        Field{"cut", &frames_per_scene, "Frames until the scene of the next seed begins; 0: never."}
            .Between(0, kMostFrames),
        Field{"rate", &frame_rate, "Frames a second."}.Between(1, 1000),
        Field{"width", &scene.width, "Of the picture."},
        Field{"height", &scene.height, "Of the picture."},
        Field{"shapes", &scene.shapes, "In and around the picture."},
        Field{"moving", &scene.moving_share, "Share of the shapes that move."},
        Field{"camera", MakeChoice(scene.camera), "How the camera moves."},
        Field{"light", &scene.illumination, "Amplitude of the changing light."},
        Field{"noise", &scene.noise, "Standard deviation of the sensor's noise."},
    };
  }
};

Options Parse(std::string_view text) {
  Options options;
  const FieldTable fields = options.Fields();
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find(','));
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) {
      throw InputError(fmt::format("{}: \"{}\" is not of the form key=value", kName, pair));
    }
    SetField(pair.substr(0, equals), pair.substr(equals + 1), kName, fields);
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
  }
  options.scene.seed = static_cast<uint64_t>(options.seed);
  return options;
}

class SceneSource final : public FrameSource {
 public:
  explicit SceneSource(const Options& options) : options_(options), scene_(options.scene) {}

  std::optional<Frame> Next() override {
    if (options_.frames != 0 && next_ == options_.frames) return std::nullopt;
    const bool has_cuts = options_.frames_per_scene != 0;
    if (has_cuts && next_in_scene_ == options_.frames_per_scene) CutToNextScene();
    const int width = options_.scene.width;
    const int height = options_.scene.height;
    const auto pixels = static_cast<size_t>(width) * static_cast<size_t>(height);
    std::vector<uint8_t> bgr(3 * pixels);
    std::vector<uint8_t> labels(pixels);
    scene_.Render(static_cast<int>(next_in_scene_++), bgr.data(), labels.data());

    Frame frame;
    frame.index = next_++;
    frame.stamp = std::chrono::nanoseconds(
        static_cast<int64_t>(static_cast<double>(frame.index) * 1e9 / options_.frame_rate));
    frame.name = fmt::format("{}, frame {}", kName, frame.index);
    frame.picture = MakePicture(width, height, 3, std::move(bgr));
    frame.truth = MakePicture(width, height, 1, std::move(labels));
    return frame;
  }

  int64_t skipped() const override { return 0; }
  bool is_live() const override { return false; }
  bool has_tensors() const override { return false; }
  double frame_rate() const override { return options_.frame_rate; }
  int truth_class_count() const override { return kSceneClassCount; }

 private:
  void CutToNextScene() {
    ++options_.scene.seed;
    scene_ = Scene(options_.scene);
    next_in_scene_ = 0;
  }

  Options options_;
  Scene scene_;
  int64_t next_ = 0;
  int64_t next_in_scene_ = 0;
};

}  // namespace

std::unique_ptr<FrameSource> OpenSceneSource(std::string_view options) {
  return std::make_unique<SceneSource>(Parse(options));
}

}  // namespace cacheinf
