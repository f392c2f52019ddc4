#ifndef CACHEINF_COMMON_CONFIG_ROBOT_CONFIG_H_
#define CACHEINF_COMMON_CONFIG_ROBOT_CONFIG_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/log.h"
#include "common/base/objective.h"
#include "common/base/words.h"
#include "common/config/cache_config.h"
#include "common/config/fields.h"
#include "common/config/guard_config.h"
#include "common/config/model_config.h"
#include "common/config/record_config.h"
#include "common/config/server_link_config.h"
#include "common/config/tracker_config.h"

namespace cacheinf {

class ConfigOptions;

// Where a run's results go; empty: nowhere.
struct OutputConfig {
  std::string answers;  // "-": to standard output, which then gets nothing else
  std::string dump_outputs;
  std::string overlay;
  std::string picture;
  std::string summary;

  bool answers_on_stdout() const { return answers == "-"; }

  FieldTable Fields();
};

// The whole configuration of `cacheinf-robot run`.
struct RobotConfig {
  enum class Mode : uint8_t { kDense, kCache, kRemote, kSplit, kCacheinf };
  enum class Backend : uint8_t {
    kCpu,
    kReference,
    kCuda,
    kCudaTf32,
    kCudaFp16,
    kCudaBf16,
    kCudaEmulated,
    kCudaEmulatedTf32,
    kCudaEmulatedFp16,
    kCudaEmulatedBf16,
  };
  enum class Scheme : uint8_t { kDirect, kAuto };

  std::string model;
  std::vector<std::string> smaller_models;  // FILE or FILE@SHAPE
  std::vector<std::string> shapes;
  std::vector<std::string> inputs;  // as ReadConstantInputs reads them
  std::string source;
  Mode mode = Mode::kDense;
  int track = 1;  // one of so many frames is computed, and the others get its answer, moved
  int check = 0;
  std::string against;  // the model whose dense answers `check` takes; empty: `model`
  int threads = 0;
  int64_t frames = 0;
  double deadline_ms = 0;
  std::optional<Objective> objective;  // nothing: on time if there is a deadline, else latency
  double agreement = 0.9;
  double camera_wait_s = 60;
  bool realtime = false;
  Backend backend = Backend::kCpu;
  Scheme scheme = Scheme::kDirect;
  LogLevel log_level = LogLevel::kInfo;
  CacheConfig cache;      // mode cache
  TrackerConfig tracker;  // likewise
  GuardConfig guard;      // that, and modes with a server
  ModelConfig model_config;
  OutputConfig output;
  RecordConfig record;
  ServerLinkConfig server;

  // Whether the mode has a server answer frames or parts of them. Other modes may have a server,
  // too.
  bool UsesServer() const {
    return mode == Mode::kRemote || mode == Mode::kSplit || mode == Mode::kCacheinf;
  }
  // Whether anything reads more of the model's outputs than the answers hold.
  bool ReadsWholeOutputs() const {
    return check > 0 || !output.dump_outputs.empty() || !record.folder.empty();
  }
  // Whether a frame's results are used for the next.
  bool KeepsResults() const { return mode == Mode::kCache || UsesServer(); }

  // Whether the robot chooses among several models.
  bool HasLadder() const { return mode == Mode::kCacheinf && !smaller_models.empty(); }

  // For a robot beside this one: a check, a trial, a replay.
  RobotConfig WithoutServer() const;
  // The same, but it computes all of every frame.
  RobotConfig InDenseMode() const;

  // With one of the smaller models in place of the first, and without anything that is only the
  // first's. REQUIRES: checked.
  RobotConfig WithSmallerModel(const std::string& smaller) const;

  // With another network for the same frames and answers, in place of the model and everything that
  // goes with it.
  RobotConfig WithModel(const std::string& other) const;

  // The shapes in `shapes`. REQUIRES: checked.
  std::vector<Shape> InputShapes() const;

  Objective EffectiveObjective() const;

  std::string ModeName() const;  // "dense", "track:3 cache"

  // Replaces every path of a file or folder that the configuration names.
  void ChangePaths(const std::function<std::string(const std::string& path)>& changed);

  // The table lies over this object, which must outlive it.
  FieldTable Fields();

  // Throws InputError that names the key, as "NAME: preprocess.width must be …".
  void Check(std::string_view name = "configuration") const;

 private:
  FieldTable CacheFields();
};

constexpr Words<5> WordsOf(RobotConfig::Mode) {
  return {"dense", "cache", "remote", "split", "cacheinf"};
}
constexpr Words<10> WordsOf(RobotConfig::Backend) {
  return {"cpu",
          "reference",
          "cuda",
          "cuda-tf32",
          "cuda-fp16",
          "cuda-bf16",
          "cuda-emulated",
          "cuda-emulated-tf32",
          "cuda-emulated-fp16",
          "cuda-emulated-bf16"};
}
// Explains the key to users of the robot and of the server.
inline constexpr const char* kBackendHelp =
    "Whose kernels compute: this processor's or a GPU's. Those of a GPU (cuda) give the same bits "
    "as those of the processor (cpu), which are checked against slow and obvious ones (reference). "
    "From compute "
    "capability 8.0 on a GPU can round the inputs and weights of convolutions to ten bits of "
    "fraction (cuda-tf32), to ten bits and at most 65504 (cuda-fp16), or to seven bits "
    "(cuda-bf16); sums stay FP32, and all else is exact. cuda-emulated, cuda-emulated-tf32 and so "
    "on run, slowly, on a stand-in for a GPU.";
inline const std::vector<std::string> kEmulatedBackends = {
    "cuda-emulated", "cuda-emulated-tf32", "cuda-emulated-fp16", "cuda-emulated-bf16"};
// Whether it takes a GPU, not a stand-in for one.
constexpr bool IsOnGpu(RobotConfig::Backend backend) {
  return backend >= RobotConfig::Backend::kCuda && backend <= RobotConfig::Backend::kCudaBf16;
}
constexpr Words<2> WordsOf(RobotConfig::Scheme) { return {"direct", "auto"}; }

// What a plan calls a smaller model: "yolov5n_192x320" or "yolov5n@1x3x192x320".
std::string NameOfSmallerModel(const std::string& smaller);

// The defaults, overridden by the file, whose relative paths start at its folder. Throws InputError
// that names file and key.
RobotConfig LoadRobotConfig(const std::filesystem::path& path);

// Writes what LoadRobotConfig reads from any working directory, with paths that start at the file's
// folder. Throws InputError if the file cannot be written.
void WriteRobotConfig(RobotConfig config, const std::filesystem::path& path);

// Reads the options' file and overrides it with the other options, whose relative paths start at
// the working directory. Throws InputError.
RobotConfig EffectiveConfig(const ConfigOptions& options);

// What LoadRobotConfig and ParseRobotConfig give, with the mode that EffectiveConfig takes if none
// is named: for callers without options.
RobotConfig EffectiveConfig(const std::filesystem::path& path);
RobotConfig EffectiveConfig(std::string_view text, std::string_view name);

// The defaults, overridden by a file's text. Paths stay as they are.
RobotConfig ParseRobotConfig(std::string_view text, std::string_view name);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_ROBOT_CONFIG_H_
