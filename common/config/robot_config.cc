#include "common/config/robot_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <system_error>
#include <utility>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/codec/picture_codec.h"
#include "common/config/config_options.h"
#include "common/config/source_name.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargestFile = 1 << 20;
constexpr double kMostFrames = 1e15;
constexpr double kMostBetween = 1e9;
constexpr double kMostWait = 1e9;

void CheckChecking(const RobotConfig& config, std::string_view name) {
  if (config.check == 0 && !config.against.empty()) {
    throw InputError(
        fmt::format("{}: against names a model, but nothing is checked: set check too, such as "
                    "--check 10",
                    name));
  }
  if (config.check == 0) return;
  if (config.frames > 0 && config.check > config.frames) {
    throw InputError(
        fmt::format("{}: check is {}, but the run has {} frames: none would be checked", name,
                    config.check, config.frames));
  }
  // Mode cacheinf tracks as its plans say.
  const bool tracks = config.mode != RobotConfig::Mode::kCacheinf;
  if (tracks && std::gcd(config.check, config.track) > 1) {
    throw InputError(
        fmt::format("{}: check {} and track {} have a common divisor: some frames between two "
                    "computed ones would never be checked",
                    name, config.check, config.track));
  }
}

// The file of one of the smaller models, and the shape of its input, if that is given.
std::pair<std::string, std::string> FileAndShape(const std::string& smaller) {
  const size_t at = smaller.rfind('@');
  const bool has_shape = at != std::string::npos && at + 1 < smaller.size() &&
                         smaller.find_first_not_of("0123456789x", at + 1) == std::string::npos;
  if (!has_shape) return {smaller, ""};
  return {smaller.substr(0, at), smaller.substr(at + 1)};
}

void CheckLadder(const RobotConfig& config, std::string_view name) {
  std::set<std::string> names;
  for (const std::string& smaller : config.smaller_models) {
    const auto [file, shape] = FileAndShape(smaller);
    if (file.empty()) throw InputError(fmt::format("{}: smaller_models names no file", name));
    if (!shape.empty()) ParseShape(shape, std::string(name) + ": smaller_models");
    if (!names.insert(NameOfSmallerModel(smaller)).second) {
      throw InputError(fmt::format(
          "{}: smaller_models names {} twice; plans tell models apart by their files' names", name,
          NameOfSmallerModel(smaller)));
    }
  }
  if (!config.HasLadder()) return;
  if (config.cache.policy == CacheConfig::Policy::kExact) {
    throw InputError(
        fmt::format("{}: smaller_models give no answer the bits that policy exact promises: leave "
                    "out one of both",
                    name));
  }
  if (!config.output.dump_outputs.empty()) {
    throw InputError(fmt::format(
        "{}: output.dump_outputs writes one model's outputs: leave out smaller_models", name));
  }
}

void CheckServer(const RobotConfig& config, std::string_view name) {
  (void)ParsePictureCodec(config.server.codec);
  if (!config.UsesServer()) return;
  const char* const mode = NameOf(config.mode);
  if (config.server.address.empty() && !config.HasLadder()) {
    throw InputError(fmt::format("{}: mode {} needs a server, such as --server mpi{}", name, mode,
                                 config.mode == RobotConfig::Mode::kCacheinf
                                     ? ", or smaller models to choose from (--smaller-model)"
                                     : ""));
  }
  if (!config.record.folder.empty()) {
    throw InputError(fmt::format("{}: mode {} cannot be recorded", name, mode));
  }
  if (config.mode == RobotConfig::Mode::kSplit && config.server.cuts.empty()) {
    throw InputError(fmt::format("{}: mode split needs a cut, such as --cut VALUE", name));
  }
  if (!config.server.model.empty() && config.mode != RobotConfig::Mode::kRemote) {
    throw InputError(
        fmt::format("{}: server.model is for mode remote; in mode {} robot and server compute one "
                    "model: leave it out",
                    name, mode));
  }
  const bool is_on_time = config.mode == RobotConfig::Mode::kCacheinf &&
                          config.EffectiveObjective() == Objective::kOnTime;
  if (is_on_time && config.deadline_ms == 0) {
    throw InputError(
        fmt::format("{}: objective on-time needs a deadline, such as --deadline-ms 100", name));
  }
}

using Change = std::function<std::string(const std::string& path)>;

// Changes each of the texts that commas separate.
std::string ChangeEach(const std::string& texts, const Change& changed) {
  std::string all;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = texts.find(',', begin);
    all += begin == 0 ? "" : ",";
    all += changed(texts.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return all;
}

// Changes those of a server's keys that are files: others are hexadecimal digits.
std::string ChangeKeys(const std::string& keys, const Change& changed) {
  return ChangeEach(keys, [&changed](const std::string& key) {
    const bool is_file = key.find_first_not_of("0123456789abcdef") != std::string::npos;
    return is_file ? changed(key) : key;
  });
}

// Changes those of the constant inputs that are arrays: "NAME=FILE.npy".
std::string ChangeArrays(const std::string& inputs, const Change& changed) {
  return ChangeEach(inputs, [&changed](const std::string& input) {
    const size_t value = input.find('=') + 1;  // 0: it only goes on with a list of numbers
    if (value == 0 || !input.ends_with(".npy")) return input;
    return input.substr(0, value) + changed(input.substr(value));
  });
}

// If `at` has a folder with the name of a camera, makes a path of the name.
void NameFolder(const fs::path& at, std::string& source) {
  std::error_code error;
  if (IsCamera(source) && fs::is_directory(at / source, error)) source = "./" + source;
}

// Sets the mode that a configuration with plans to choose from means if it names none.
void TakeUsualMode(RobotConfig& config) {
  const bool has_plans = !config.server.address.empty() || !config.smaller_models.empty();
  if (has_plans) config.mode = RobotConfig::Mode::kCacheinf;
}

void StartPathsAt(const fs::path& folder, RobotConfig& config) {
  NameFolder(folder, config.source);
  config.ChangePaths([&](const std::string& path) { return (folder / path).string(); });
}

void TakeFile(const fs::path& path, RobotConfig& config) {
  config.file = path.string();
  StartPathsAt(path.parent_path(), config);
}

RobotConfig Read(std::string_view text, std::string_view name) {
  RobotConfig config;
  ReadJson(text, name, config.Fields());
  return config;
}

}  // namespace

FieldTable OutputConfig::Fields() {
  return {
      Field{"answers", &answers,
            "File for the answers, one JSON object per line; \"-\": standard output. The summary "
            "then goes to standard error.",
            "Set it to use the answers."}
          .Flag("--answers"),
      Field{"dump_outputs", &dump_outputs,
            "Folder for every output of the model for every frame, as 000000.NAME.npy. It gets "
            "what the decoder makes of them and what the network gives.",
            "Set it to compare numbers with another run or another engine."}
          .Flag("--dump-outputs"),
      Field{"overlay", &overlay,
            "Video file (.mp4, H.264) with the answers drawn in. A caption says how each was made; "
            "lines show what was recomputed and, in mode \"split\", where the server's rows begin.",
            "Set it to see the answers."}
          .Flag("--overlay"),
      Field{"picture", &picture,
            "PNG file that shows the last frame and its answer side by side. Beside them is the "
            "truth, if known, and in mode \"cache\" what was recomputed.",
            "Set it to see one answer."}
          .Flag("--picture"),
      Field{"summary", &summary, "File for the run's summary, as JSON.",
            "Set it to read the summary with a program."}
          .Flag("--summary"),
  };
}

FieldTable RobotConfig::Fields() {
  return {
      Field{"model", &model, "The model's file: ONNX, TorchScript, or packed by cacheinf-profile.",
            "Always set it."}
          .Flag("--model"),
      Field{"smaller_models", &smaller_models,
            "Quicker models that may answer in place of the first: FILE or FILE@SHAPE. In mode "
            "\"cacheinf\" they are plans of the robot alone, which needs no server for that. They "
            "have the same classes and give the same kind of answer, from smaller pictures or with "
            "fewer layers; preprocess and decoder count for them, too. How well they agree is "
            "judged by dense answers of the first model.",
            "Set it if the first model takes longer than answers may. The same file serves for a "
            "smaller picture, as model.onnx@1x3x192x320, where --shape could set that."}
          .AtMostItems(8)
          .Flag("--smaller-model"),
      Field{
          "shapes", &shapes,
          "Shapes of the model's inputs, like 1x3x384x640, if its file leaves them open.",
          "Set it if the file leaves a dimension open or states none, or for a picture of another "
          "size where nothing in an ONNX file's graph depends on that."}
          .AtMostItems(16)
          .Flag("--shape"),
      Field{"inputs", &inputs,
            "An input other than the picture, NAME=NUMBERS or NAME=FILE.npy, like "
            "im_shape=640,640. It is the same for all frames. The model is an ONNX file.",
            "Set it for a model that also asks for a size, a scale or the like."}
          .AtMostItems(4096)
          .Flag("--input"),
      Field{"source", &source,
            "A video, picture, folder, camera's number, stream's address or GStreamer pipeline. A "
            "folder holds pictures or .npy tensors; an address is like rtsp://…, a pipeline like "
            "\"… ! appsink\"; generated[:seed=7,width=640,…] makes moving shapes.",
            "Always set it."}
          .Flag("--source"),
      Field{
          "mode", MakeChoice(mode),
          "What to compute and where: all, what changed, on a server, shared with it, or by plan. "
          "Every frame (dense); what changed in every frame (cache); every frame, on a server "
          "(remote); what changed, shared by robot and server (split); or whichever of these is "
          "best for the frame by the objective (cacheinf).",
          "Use cache if much of the picture stays the same. With a server or smaller models "
          "cacheinf is the default. Take remote or split to keep to one way of sharing."}
          .Flag("--mode"),
      Field{"track", &track,
            "Computes every Nth frame as the mode says. Those between get its answer: boxes and "
            "keypoints moved as the scene has, anything else as it was. Mode \"cacheinf\" decides "
            "this by itself.",
            "Set it to 2 or 3 where moved answers agree well enough; calibrate says how well."}
          .Between(1, kMostBetween)
          .Flag("--track"),
      Field{"check", &check,
            "Scores every Nth answer against that of a dense run, outside of all times; 0: none.",
            "Set it to learn how far answers agree with dense ones."}
          .Between(0, kMostBetween)
          .Flag("--check"),
      Field{"against", &against,
            "The model whose dense answers \"check\" scores against, in place of the model's own. "
            "It takes the same frames and gives outputs of the same shapes.",
            "Set it to the network that a quantised model was made of."}
          .Flag("--against"),
      Field{"threads", &threads, "Threads that compute; 0: one per core.",
            "Lower it if other programs need cores."}
          .Between(0, 1024)
          .Flag("--threads"),
      Field{"frames", &frames, "Frames to run; 0: until the source ends.",
            "Set it for short trials."}
          .Between(0, kMostFrames)
          .Flag("--frames"),
      Field{
          "deadline_ms", &deadline_ms,
          "Milliseconds that an answer may take from when its frame was there; 0: no limit. "
          "Later ones are counted, and recorded if \"record\" says so. With a server it bounds how "
          "long that is waited for, and \"objective\" is on-time by default.",
          "Set it if answers are of use until then, or to learn how many come too late."}
          .Between(0, 1e9)
          .Flag("--deadline-ms"),
      Field{"objective", MakeChoice(objective),
            "How mode \"cacheinf\" chooses: the best answer at the deadline, or the quickest one. "
            "At the deadline a robot has its plan's answer or, if that is late, an earlier one "
            "moved with the scene. on-time follows the plan by which this is expected to agree "
            "best with a dense answer; if plans are within .005 of the best, the one that costs "
            "the robot least. latency follows the quickest plan whose answers agree well enough "
            "(\"agreement\"). auto is on-time if there is a deadline, else latency.",
            "Set it to latency if you have a deadline and the quickest answer is the best."}
          .Flag("--objective"),
      Field{"agreement", &agreement,
            "How well answers must agree with dense ones by objective latency, from 0 to 1. That "
            "is F1 of boxes, mIoU of maps and so on, as samples of the robot's own frames have "
            "shown it; a plan of which they have shown nothing may be followed. If no plan agrees "
            "well enough, the best one is followed.",
            "Raise it if the quickest answers are too rough."}
          .Between(0, 1)
          .Flag("--agreement"),
      Field{"camera_wait", &camera_wait_s,
            "Seconds to wait for a camera that is not there yet or gives no more frames. Then the "
            "run ends. Also applies to network streams, and to pipelines that do not report their "
            "end.",
            "Raise it for cameras and links that fail for longer."}
          .Between(0, kMostWait)
          .Flag("--camera-wait"),
      Field{"realtime", &realtime,
            "Plays a video as a camera would. Frames come when their times say, whether or not the "
            "robot is ready. As with a camera, only the newest waits while one is answered; the "
            "others are dropped and counted.",
            "Set it to learn from a file how the robot would do with a camera."}
          .Flag("--realtime"),
      Field{"backend", MakeChoice(backend), kBackendHelp,
            "Use cuda on a machine with a GPU, cuda-tf32 or cuda-fp16 if answers then agree well "
            "enough with those of cuda, reference to check an answer that you do not trust."}
          .Flag("--backend")
          .Unlisted(kEmulatedBackends),
      Field{"scheme", MakeChoice(scheme),
            "How the cpu backend computes convolutions. Directly, with the exact bits of the "
            "definition (direct); or directly or by Winograd, whichever measures faster for a "
            "layer, once per machine and model (auto). With auto a server measures for itself, "
            "unless the policy is exact, and a GPU measures how many pixels it takes for large "
            "tiles to win, which changes no answer.",
            "Use auto for networks with many 3x3 layers."}
          .Flag("--scheme"),
      Field{"log_level", MakeChoice(log_level), "The lowest level of messages to write to stderr.",
            "Set it to debug to see more, to warning to see less."}
          .Flag("--log-level"),
      Field{"cache", CacheFields(), "What is computed in mode \"cache\"."},
      Field{"guard", guard.Fields(),
            "What watches over answers that reuse results or come from a server."},
      Field{"preprocess", model_config.preprocess.Fields(),
            "How a frame becomes the model's input. A packed model brings its own."},
      Field{"decoder", model_config.decoder.Fields(), "How the model's output becomes an answer."},
      Field{"output", output.Fields(), "Where results go."},
      Field{"record", record.Fields(), "What to keep for when something looks wrong."},
      Field{"server", server.Fields(),
            "The server for modes \"remote\", \"split\" and \"cacheinf\"."},
  };
}

// The cache's fields, and those that say how its changes are found.
FieldTable RobotConfig::CacheFields() {
  FieldTable fields = cache.Fields();
  const FieldTable more = FieldsOf(tracker);
  fields.insert(fields.begin() + 2, more.begin(), more.end());
  return fields;
}

RobotConfig RobotConfig::WithoutServer() const {
  RobotConfig alone = *this;
  alone.server = {};
  return alone;
}

RobotConfig RobotConfig::WithModel(const std::string& other) const {
  RobotConfig with = InDenseMode();
  with.model = other;
  with.smaller_models.clear();
  return with;
}

RobotConfig RobotConfig::WithSmallerModel(const std::string& smaller) const {
  RobotConfig other = WithoutServer();
  const auto [file, shape] = FileAndShape(smaller);
  other.model = file;
  other.smaller_models.clear();
  other.shapes.clear();
  if (!shape.empty()) other.shapes.push_back(shape);
  return other;
}

std::string NameOfSmallerModel(const std::string& smaller) {
  const auto [file, shape] = FileAndShape(smaller);
  const std::string stem = fs::path(file).stem().string();
  return shape.empty() ? stem : fmt::format("{}@{}", stem, shape);
}

RobotConfig RobotConfig::InDenseMode() const {
  RobotConfig dense = WithoutServer();
  dense.mode = Mode::kDense;
  dense.track = 1;
  return dense;
}

std::vector<Shape> RobotConfig::InputShapes() const {
  std::vector<Shape> parsed;
  for (const std::string& shape : shapes) parsed.push_back(ParseShape(shape, "shapes"));
  return parsed;
}

Objective RobotConfig::EffectiveObjective() const {
  return objective.value_or(deadline_ms > 0 ? Objective::kOnTime : Objective::kLatency);
}

std::string RobotConfig::ModeName() const {
  const bool tracks = track > 1 && mode != Mode::kCacheinf;
  return tracks ? fmt::format("track:{} {}", track, NameOf(mode)) : NameOf(mode);
}

void RobotConfig::ChangePaths(const std::function<std::string(const std::string& path)>& changed) {
  if (IsFileOrFolder(source)) source = changed(source);
  if (!output.answers.empty() && !output.answers_on_stdout()) {
    output.answers = changed(output.answers);
  }
  for (std::string& smaller : smaller_models) smaller = changed(smaller);
  for (std::string* path :
       {&model, &against, &model_config.decoder.class_names_file, &output.dump_outputs,
        &output.overlay, &output.picture, &output.summary, &record.folder, &server.model,
        &server.name_server, &server.robot_key, &server.schedule}) {
    if (!path->empty()) *path = changed(*path);
  }
  server.server_key = ChangeKeys(server.server_key, changed);
  server.emulate = ChangeTrace(server.emulate, changed);
  for (std::string& input : inputs) input = ChangeArrays(input, changed);
}

std::vector<NamedPath> RobotConfig::PathsRead() const {
  std::vector<NamedPath> paths = {{"--config", file},
                                  {"--source", source},
                                  {"--model", model},
                                  {"--against", against},
                                  {"--class-names", model_config.decoder.class_names_file},
                                  {"--server-model", server.model},
                                  {"--name-server", server.name_server},
                                  {"--robot-key", server.robot_key},
                                  {"--schedule", server.schedule}};
  const auto into = [&paths](const char* option) {
    return [&paths, option](const std::string& path) {
      paths.push_back({option, path});
      return path;
    };
  };
  for (const std::string& smaller : smaller_models) {
    into("--smaller-model")(FileAndShape(smaller).first);
  }
  for (const std::string& input : inputs) (void)ChangeArrays(input, into("--input"));
  (void)ChangeKeys(server.server_key, into("--server-key"));
  (void)ChangeTrace(server.emulate, into("--emulate"));
  return paths;
}

void RobotConfig::Check(std::string_view name) const {
  RobotConfig copy = *this;
  CheckBounds(name, copy.Fields());
  for (const std::string& shape : shapes) ParseShape(shape, std::string(name) + ": shapes");
  CheckChecking(*this, name);
  CheckLadder(*this, name);
  CheckServer(*this, name);
  model_config.Check(name);
}

RobotConfig ParseRobotConfig(std::string_view text, std::string_view name) {
  RobotConfig config = Read(text, name);
  config.Check(name);
  return config;
}

RobotConfig LoadRobotConfig(const fs::path& path) {
  RobotConfig config = ParseRobotConfig(ReadFile(path, kLargestFile), path.string());
  TakeFile(path, config);
  return config;
}

std::string TextToLoad(RobotConfig config, const fs::path& path) {
  const fs::path folder = fs::absolute(path).parent_path();
  NameFolder(fs::current_path(), config.source);
  config.ChangePaths([&folder](const std::string& named) {
    const fs::path from_here = named;
    if (from_here.is_absolute()) return named;
    // Links among the folders are followed; the file's own name stays.
    const fs::path holder = fs::absolute(from_here).parent_path();
    return (fs::relative(holder, folder) / from_here.filename()).lexically_normal().string();
  });
  CheckUtf8(path.string(), config.Fields());
  return WriteJson(config.Fields());
}

void WriteRobotConfig(const RobotConfig& config, const fs::path& path) {
  WriteWhole(path, TextToLoad(config, path));
}

RobotConfig EffectiveConfig(std::string_view text, std::string_view name) {
  RobotConfig config = Read(text, name);
  if (!HasKey(text, "mode")) TakeUsualMode(config);
  config.Check(name);
  return config;
}

RobotConfig EffectiveConfig(const fs::path& path) {
  RobotConfig config = EffectiveConfig(ReadFile(path, kLargestFile), path.string());
  TakeFile(path, config);
  return config;
}

RobotConfig EffectiveConfig(const ConfigOptions& options) {
  RobotConfig config;
  bool says_mode = options.Sets("mode");
  if (!options.file().empty()) {
    const std::string text = ReadFile(options.file(), kLargestFile);
    config = Read(text, options.file());
    says_mode = says_mode || HasKey(text, "mode");
    RobotConfig alone = config;
    if (!HasKey(text, "mode")) alone.track = 1;  // the mode, still open, says whether that counts
    alone.Check(options.file());
    TakeFile(options.file(), config);
  }
  options.Override(config.Fields());
  if (!says_mode) TakeUsualMode(config);
  config.Check();
  return config;
}

}  // namespace cacheinf
