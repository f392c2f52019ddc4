#include "common/config/robot_config.h"

#include <fmt/core.h>

#include <numeric>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/config/config_options.h"

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

void CheckServer(const RobotConfig& config, std::string_view name) {
  if (!config.UsesServer()) return;
  const char* const mode = NameOf(config.mode);
  if (config.server.address.empty()) {
    throw InputError(fmt::format("{}: mode {} needs a server, such as --server mpi", name, mode));
  }
  if (!config.record.folder.empty()) {
    throw InputError(fmt::format("{}: mode {} cannot be recorded", name, mode));
  }
  if (config.mode != RobotConfig::Mode::kSplit) return;
  if (config.server.cuts.empty()) {
    throw InputError(fmt::format("{}: mode split needs a cut, such as --cut VALUE", name));
  }
}

}  // namespace

FieldTable OutputConfig::Fields() {
  return {
      Field{"answers", &answers, "File to write the answers to, one JSON object a line.",
            "Set it to use the answers."}
          .Flag("--answers"),
      Field{"dump_outputs", &dump_outputs,
            "Folder to write every output of the model for every frame to, as 000000.NAME.npy.",
            "Set it to compare numbers with another run or another engine."}
          .Flag("--dump-outputs"),
      Field{"overlay", &overlay,
            "Video file (.mp4) to draw the answers into; in mode \"cache\" with an outline of what "
            "was recomputed.",
            "Set it to see the answers."}
          .Flag("--overlay"),
      Field{"picture", &picture,
            "PNG file for the last frame, its answer, where known the truth, and in mode \"cache\" "
            "what was recomputed, side by side.",
            "Set it to see one answer."}
          .Flag("--picture"),
      Field{"summary", &summary, "File to write the run's summary to, as JSON.",
            "Set it to read the summary with a program."}
          .Flag("--summary"),
  };
}

FieldTable RobotConfig::Fields() {
  return {
      Field{"model", &model, "The model's file: ONNX, TorchScript, or packed by cacheinf-profile.",
            "Always set it."}
          .Flag("--model"),
      Field{"shapes", &shapes,
            "Shapes of the model's inputs, like 1x3x384x640, for what its file leaves open.",
            "Set it where the file leaves a dimension open, or states none."}
          .AtMostItems(16)
          .Flag("--shape"),
      Field{"source", &source,
            "Where frames come from: a video, a stream's address (rtsp://…), a picture, a folder "
            "of pictures or of "
            ".npy tensors, a camera's number, a GStreamer pipeline (\"… ! appsink\"), or "
            "generated[:seed=7,width=640,…].",
            "Always set it."}
          .Flag("--source"),
      Field{"mode", MakeChoice(mode),
            "What is computed: every frame; of every frame what changed; every frame, but answered "
            "at once with what the frame "
            "before came to; every k-th frame, whose answer is repeated for those between; every "
            "frame, by a server; of every frame what changed, by robot and server; or whichever of "
            "these a schedule says is quickest for the frame.",
            "Take cache where much of the picture stays as it is. With a server cacheinf is the "
            "default; the others are what these are compared with."}
          .Flag("--mode"),
      Field{"every", &every, "The k of mode \"every-k\".", "Set it for that mode."}
          .Between(1, kMostBetween)
          .Flag("--every"),
      Field{"check", &check,
            "Every so many-th frame is also computed densely, outside of all times, and the answer "
            "scored with that; 0: none.",
            "Set it to learn how far answers agree with dense ones."}
          .Between(0, kMostBetween)
          .Flag("--check"),
      Field{"threads", &threads, "Threads that compute; 0: one a core.",
            "Lower it where other programs need cores."}
          .Between(0, 1024)
          .Flag("--threads"),
      Field{"frames", &frames, "Frames after which the run ends; 0: at the end of the source.",
            "Set it for short trials."}
          .Between(0, kMostFrames)
          .Flag("--frames"),
      Field{"deadline_ms", &deadline_ms,
            "Milliseconds that an answer may take since its frame was there; later ones are "
            "counted, and recorded where "
            "\"record\" says so; 0: any.",
            "Set it to learn how many answers come too late."}
          .Between(0, 1e9)
          .Flag("--deadline-ms"),
      Field{"camera_wait", &camera_wait_s,
            "Seconds for which a camera that gives no more frames is opened again and again before "
            "the run ends; 0: it ends at once. As for a stream from a network, and a pipeline that "
            "says of no end.",
            "Raise it for cameras and links that fail for longer."}
          .Between(0, kMostWait)
          .Flag("--camera-wait"),
      Field{
          "backend", MakeChoice(backend),
          "Kernels: our fast ones, the slow and obvious ones that they are checked against, those "
          "for this machine's GPU, or the same on a stand-in for it, slowly.",
          "Take cuda on a machine with a GPU, reference to check an answer that you do not "
          "trust."}
          .Flag("--backend"),
      Field{
          "scheme", MakeChoice(scheme),
          "How the cpu backend computes convolutions: directly, with the exact bits of the "
          "definition; directly or by Winograd, whichever is measured to be faster, layer by "
          "layer, once for each machine and model; or by LibTorch. With auto a GPU measures which "
          "tiles are the faster ones for how many pixels, which changes no answer.",
          "Take auto for networks with many 3x3 layers, libtorch to compare with it."}
          .Flag("--scheme"),
      Field{"log_level", MakeChoice(log_level),
            "The least important messages that are written to stderr.",
            "Set it to debug to see more, to warning to see less."}
          .Flag("--log-level"),
      Field{"cache", CacheFields(), "What is computed in mode \"cache\"."},
      Field{"guard", guard.Fields(), "What watches over mode \"cache\"."},
      Field{"preprocess", model_config.preprocess.Fields(),
            "How a frame becomes the model's input. A packed model brings its own."},
      Field{"decoder", model_config.decoder.Fields(), "How the model's output becomes an answer."},
      Field{"output", output.Fields(), "Where results go."},
      Field{"record", record.Fields(), "What is kept for when something looks wrong."},
      Field{"server", server.Fields(), "Who computes in modes \"remote\" and \"split\"."},
  };
}

// With what its changes are found by.
FieldTable RobotConfig::CacheFields() {
  FieldTable fields = cache.Fields();
  const FieldTable more = {
      Field{"tracker", MakeChoice(tracker.kind),
            "How a moving camera is followed: by a homography, or by one translation of blocks.",
            "Take block where the camera only shifts and blocks are faster; calibrate tries both."}
          .Flag("--tracker"),
      Field{"threshold", &tracker.change.threshold,
            "Mean difference of a cell of 4x4 pixels from what is stored, of full scale, from "
            "which on it counts as changed; 0: any byte that differs. Without a stem, and not "
            "under the policy exact.",
            "Lower it where small or faint things are missed, raise it for a noisy camera."}
          .Between(0, 1)
          .Flag("--threshold"),
  };
  fields.insert(fields.begin() + 2, more.begin(), more.end());
  return fields;
}

RobotConfig RobotConfig::WithoutServer() const {
  RobotConfig alone = *this;
  alone.server = {};
  return alone;
}

std::vector<Shape> RobotConfig::InputShapes() const {
  std::vector<Shape> parsed;
  for (const std::string& shape : shapes) parsed.push_back(ParseShape(shape, "shapes"));
  return parsed;
}

std::string RobotConfig::ModeName() const {
  return mode == Mode::kEveryK ? fmt::format("every-{}", every) : NameOf(mode);
}

void RobotConfig::Check(std::string_view name) const {
  RobotConfig copy = *this;
  CheckBounds(name, copy.Fields());
  for (const std::string& shape : shapes) ParseShape(shape, std::string(name) + ": shapes");
  CheckChecking(*this, name);
  CheckServer(*this, name);
  cache.Check(name);
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

RobotConfig EffectiveConfig(const ConfigOptions& options) {
  RobotConfig config;
  bool says_mode = options.Sets("mode");
  if (!options.file().empty()) {
    const std::string text = ReadFile(options.file(), kLargestFile);
    config = ParseRobotConfig(text, options.file());
    says_mode = says_mode || HasKey(text, "mode");
  }
  options.Override(config.Fields());
  const bool has_server = !config.server.address.empty();
  if (has_server && !says_mode) config.mode = RobotConfig::Mode::kCacheinf;
  config.Check();
  return config;
}

}  // namespace cacheinf
