#include "common/config/robot_config.h"

#include <fmt/core.h>

#include <numeric>

#include "common/base/error.h"
#include "common/base/file.h"

namespace cacheinf {
namespace {

constexpr uint64_t kLargestFile = 1 << 20;
constexpr double kMostFrames = 1e15;
constexpr double kMostBetween = 1e9;
constexpr double kMostWait = 1e9;

void CheckChecking(const RobotConfig& config, std::string_view name) {
  if (config.check == 0) return;
  if (config.frames > 0 && config.check > config.frames) {
    throw InputError(
        fmt::format("{}: check is {}, but the run has {} frames: none would be checked", name,
                    config.check, config.frames));
  }
  if (config.mode == RobotConfig::Mode::kEveryK && std::gcd(config.check, config.every) > 1) {
    throw InputError(
        fmt::format("{}: check {} and every {} have a common divisor: of the frames between two "
                    "computed ones always the same would be checked",
                    name, config.check, config.every));
  }
}

}  // namespace

FieldTable OutputConfig::Fields() {
  return {
      Field{"answers", &answers, "File to write the answers to, one JSON object a line."}.Flag(
          "--answers"),
      Field{"dump_outputs", &dump_outputs,
            "Folder to write every output of the model for every frame to, as 000000.NAME.npy."}
          .Flag("--dump-outputs"),
      Field{"overlay", &overlay,
            "Video file (.mp4) to draw the answers into; in mode \"cache\" with an outline of what "
            "was computed anew."}
          .Flag("--overlay"),
      Field{"picture", &picture,
            "PNG file for the last frame, its answer, where known the truth, and in mode \"cache\" "
            "what was computed anew, side by side."}
          .Flag("--picture"),
      Field{"summary", &summary, "File to write the run's summary to, as JSON."}.Flag("--summary"),
  };
}

FieldTable RobotConfig::Fields() {
  return {
      Field{"model", &model, "The model's file: ONNX, TorchScript, or packed by cacheinf-profile."}
          .Flag("--model"),
      Field{"shapes", &shapes,
            "Shapes of the model's inputs, like 1x3x384x640, for what its file leaves open."}
          .AtMostItems(16)
          .Flag("--shape"),
      Field{"source", &source,
            "Where frames come from: a video, a stream's address (rtsp://…), a picture, a folder "
            "of pictures or of "
            ".npy tensors, a camera's number, a GStreamer pipeline (\"… ! appsink\"), or "
            "generated[:seed=7,width=640,…]."}
          .Flag("--source"),
      Field{"mode", MakeChoice(mode, {"dense", "cache", "stale", "every-k"}),
            "What is computed: every frame; of every frame what changed; every frame, but answered "
            "at once with what the frame "
            "before came to; or every k-th frame, whose answer is repeated for those between."}
          .Flag("--mode"),
      Field{"every", &every, "The k of mode \"every-k\"."}.Between(1, kMostBetween).Flag("--every"),
      Field{"check", &check,
            "Every so many-th frame is also computed densely, outside of all times, and the answer "
            "scored with that; 0: none."}
          .Between(0, kMostBetween)
          .Flag("--check"),
      Field{"threads", &threads, "Threads that compute; 0: one a core."}.Between(0, 1024).Flag(
          "--threads"),
      Field{"frames", &frames, "Frames after which the run ends; 0: at the end of the source."}
          .Between(0, kMostFrames)
          .Flag("--frames"),
      Field{"deadline_ms", &deadline_ms,
            "Milliseconds that an answer may take since its frame was there; later ones are "
            "counted, and recorded where "
            "\"record\" says so; 0: any."}
          .Between(0, 1e9)
          .Flag("--deadline-ms"),
      Field{"camera_wait", &camera_wait_s,
            "Seconds for which a camera that gives no more frames is opened again and again before "
            "the run ends; 0: it ends at once. As for a stream from a network, and a pipeline that "
            "says of no end."}
          .Between(0, kMostWait)
          .Flag("--camera-wait"),
      Field{"backend", MakeChoice(backend, {"cpu", "reference"}),
            "Kernels: our fast ones, or the slow and obvious ones that they are checked against."}
          .Flag("--backend"),
      Field{"scheme",
            MakeChoice(scheme, {"direct", "winograd", "analytic", "auto", "libtorch", "bf16"}),
            "How the cpu backend computes convolutions: directly, with the exact bits of the "
            "definition; by Winograd wherever it applies; by that of the two that takes less "
            "arithmetic, or (auto) that is measured to be faster, layer by layer, once for each "
            "machine and model; by LibTorch; or in BF16, those of one group and 16 input channels "
            "or more: emulated, and slow, where the processor has no AVX512-BF16."}
          .Flag("--scheme"),
      Field{"log_level",
            MakeChoice(log_level, {"trace", "debug", "info", "warning", "error", "off"}),
            "The least important messages that are written to stderr."}
          .Flag("--log-level"),
      Field{"cache", cache.Fields(), "What is computed in mode \"cache\"."},
      Field{"tracker", tracker.Fields(), "How mode \"cache\" follows the camera."},
      Field{"guard", guard.Fields(), "What watches over mode \"cache\"."},
      Field{"preprocess", model_config.preprocess.Fields(),
            "How a frame becomes the model's input. A packed model brings its own."},
      Field{"decoder", model_config.decoder.Fields(), "How the model's output becomes an answer."},
      Field{"output", output.Fields(), "Where results go."},
      Field{"record", record.Fields(), "What is kept for when something looks wrong."},
  };
}

std::vector<Shape> RobotConfig::InputShapes() const {
  std::vector<Shape> parsed;
  for (const std::string& shape : shapes) parsed.push_back(ParseShape(shape, "shapes"));
  return parsed;
}

std::string RobotConfig::ModeName() const {
  switch (mode) {
    case Mode::kDense:
      return "dense";
    case Mode::kCache:
      return "cache";
    case Mode::kStale:
      return "stale";
    case Mode::kEveryK:
      break;
  }
  return fmt::format("every-{}", every);
}

void RobotConfig::Check(std::string_view name) const {
  RobotConfig copy = *this;
  CheckBounds(name, copy.Fields());
  for (const std::string& shape : shapes) ParseShape(shape, std::string(name) + ": shapes");
  CheckChecking(*this, name);
  cache.Check(name);
  tracker.Check(name);
  guard.Check(name);
  model_config.Check(name);
}

RobotConfig ParseRobotConfig(std::string_view text, std::string_view name) {
  RobotConfig config;
  ReadJson(text, name, config.Fields());
  config.Check(name);
  return config;
}

RobotConfig LoadRobotConfig(const std::filesystem::path& path) {
  return ParseRobotConfig(ReadFile(path, kLargestFile), path.string());
}

std::string RobotConfigSchema() {
  return WriteJsonSchema("Configuration of cacheinf-robot", RobotConfig().Fields());
}

}  // namespace cacheinf
