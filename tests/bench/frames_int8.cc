#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "client/calibrate/calibrate.h"
#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/answer/agreement.h"
#include "common/answer/outputs.h"
#include "common/base/clock.h"
#include "common/config/configured_model.h"
#include "common/config/model_setup.h"
#include "common/reuse/reuse_timing.h"
#include "common/source/frame_source.h"
#include "tests/bench/bench.h"
#include "tests/bench/clips.h"
#include "tests/bench/worker.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr int kFrames = 64;
constexpr int kFramesInFull = 240;
constexpr double kCalibrateSeconds = 60;
constexpr double kMostLost = 0.02;  // of agreement, by calibrated settings
constexpr double kMegabyte = 1e6;
constexpr int kRepeats[] = {2, 3, 5};

// One network in both forms.
struct Network {
  RobotConfig fp32;
  RobotConfig int8;
  std::shared_ptr<const CompiledModel> fp32_model;
  std::shared_ptr<const CompiledModel> int8_model;
};

struct Given {
  AnswerContent content;
  OutputNumbers numbers;
  double ms = 0;
  double work = 0;  // of the answer, as a share of a dense frame's
};

// A robot that knows by the clock whether reuse pays, as LiveRobot does.
class TimedRobot {
 public:
  TimedRobot(std::shared_ptr<const CompiledModel> model, const RobotConfig& config)
      : robot_(std::move(model), config, clock_) {}

  Given AnswerOf(const Frame& frame) {
    Given given;
    Answer answer = robot_.Process(frame, {.is_slow = timing_.is_slow()});
    ReadOutputs(robot_.outputs(), given.numbers);
    given.content = std::move(answer.content);
    given.ms = Milliseconds(answer.latency());
    given.work = answer.work ? answer.work->share : 1.0;
    const auto refresh = robot_.Refresh(frame);
    const auto refresh_took = refresh ? refresh->took : std::chrono::nanoseconds(0);
    if (answer.work) {
      timing_.Note(*answer.work, answer.times.compute, refresh_took, frame.index);
    }
    return given;
  }

  double memory_mb() const {
    return static_cast<double>(robot_.state().memory().arena_bytes) / kMegabyte;
  }

 private:
  SteadyClock clock_;
  Robot robot_;
  ReuseTiming timing_;
};

RobotConfig Dense(RobotConfig config) {
  config.mode = RobotConfig::Mode::kDense;
  return config;
}

RobotConfig Cached(RobotConfig config) {
  config.mode = RobotConfig::Mode::kCache;
  return config;
}

RobotConfig Fixed(RobotConfig config) {
  config.mode = RobotConfig::Mode::kCache;
  config.cache.policy = CacheConfig::Policy::kFixed;
  config.cache.stem = 0;
  return config;
}

// What is measured of a clip, beside fp32 dense frames.
struct Contender {
  std::string name;
  std::unique_ptr<TimedRobot> robot = {};
  std::unique_ptr<Worker> worker = {};  // a rival, which computes a fixed picture
  int every = 0;                        // answers of fp32 dense frames are repeated
  Samples ratios = {};
  Samples int8_ratios = {};  // to dense frames of 8 bits
  Samples ms = {};
  std::vector<double> work = {};
  Agreement agreement = {};
  std::optional<Given> kept = {};
  double memory_mb = 0;
};

// The settings that calibrate finds on the earlier half of a clip; none if nothing reaches the
// agreement for less than dense runs.
std::optional<RobotConfig> Calibrated(const Network& network, const std::string& clip, int frames,
                                      const fs::path& folder) {
  CalibrationOptions options;
  options.agreement = 1.0 - kMostLost;
  options.by = CalibrationOptions::By::kTime;
  options.frames = frames / 2;
  options.budget_s = kCalibrateSeconds;
  options.out = folder / "calibrated.json";
  const std::atomic<bool> stop = false;
  const CalibrationResult result = Calibrate(network.int8, clip, options, SteadyClock(), stop);
  if (!result.is_reached) return std::nullopt;
  RobotConfig config = LoadRobotConfig(options.out);
  config.guard.is_on = false;
  return config;
}

std::unique_ptr<Worker> Rival(const std::string& engine, const fs::path& model, const char* floats,
                              const Network& network, int threads, const fs::path& folder,
                              const BenchOptions& options) {
  const Graph graph = LoadNetwork(network.fp32, /*has_tensors=*/false);
  std::vector<std::string> command = {options.peers_python.string(),
                                      (SourceFolder() / "tests/rivals/peers/peers.py").string(),
                                      engine,
                                      "--model",
                                      model.string(),
                                      "--precision",
                                      floats,
                                      "--cache",
                                      options.cache.string(),
                                      "--threads",
                                      std::to_string(threads),
                                      "--input",
                                      (folder / "input").string()};
  std::ofstream file(folder / "input", std::ios::binary);
  for (const ValueId id : graph.inputs) {
    const Shape& shape = graph.value(id).shape;
    const std::vector<float> numbers(static_cast<size_t>(ElementCount(shape)), 0.5f);
    file.write(reinterpret_cast<const char*>(numbers.data()),
               static_cast<std::streamsize>(numbers.size() * sizeof(float)));
    command.insert(command.end(), {"--shape", ToString(shape)});
  }
  file.close();
  auto worker = std::make_unique<Worker>(command);
  worker->FirstAnswer();
  worker->WaitUntilIdle();
  return worker;
}

void AddRivals(const Network& network, int threads, const fs::path& folder,
               const BenchOptions& options, std::vector<Contender>* contenders,
               BenchReport* report) {
  if (options.peers_python.empty()) {
    return report->AddNote("rivals are measured through scripts/bench alone");
  }
  struct Form {
    const char* name;
    const char* engine;
    std::string model;
    const char* floats;
  };
  for (const Form& form : {Form{"onnxruntime int8", "onnxruntime", network.int8.model, "f32"},
                           Form{"openvino int8", "openvino", network.int8.model, "f32"},
                           Form{"openvino bf16", "openvino", network.fp32.model, "bf16"}}) {
    try {
      Contender rival{form.name};
      rival.worker = Rival(form.engine, form.model, form.floats, network, threads, folder, options);
      contenders->push_back(std::move(rival));
    } catch (const std::runtime_error& error) {
      report->AddNote(std::string(form.name) + " is not measured: " + error.what());
    }
  }
}

// Gives every contender a turn at the frame, after the fp32 network's. The first is int8 dense.
void TakeTurns(const Frame& frame, size_t number, bool counts, TimedRobot& dense,
               std::vector<Contender>& contenders) {
  const Given expected = dense.AnswerOf(frame);
  double int8_ms = 0;
  for (Contender& contender : contenders) {
    Given given;
    if (contender.worker) {
      given.ms = contender.worker->Time(1).front();
      given.work = 1;
    } else if (contender.robot) {
      given = contender.robot->AnswerOf(frame);
    } else if (number % static_cast<size_t>(contender.every) == 0) {
      given = *(contender.kept = expected);
    } else {
      given = *contender.kept;
      given.ms = given.work = 0;
    }
    if (&contender == &contenders.front()) int8_ms = given.ms;
    if (!counts) continue;
    contender.ms.ms.push_back(given.ms);
    contender.work.push_back(given.work);
    contender.ratios.ms.push_back(given.ms / expected.ms);
    contender.int8_ratios.ms.push_back(given.ms / int8_ms);
    if (!contender.worker) {
      contender.agreement.Add(given.content, given.numbers, expected.content, expected.numbers);
    }
  }
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

void MeasureClip(const Network& network, const std::string& clip, int threads,
                 const BenchOptions& options, BenchReport* report) {
  const std::vector<Frame> frames = ReadFrames(clip, options.full ? kFramesInFull : kFrames);
  if (frames.size() < 8) return report->AddNote(clip + " has fewer than eight frames");
  const TemporaryFolder folder;
  std::vector<Contender> contenders;
  const auto add = [&](const std::string& name, std::shared_ptr<const CompiledModel> model,
                       const RobotConfig& config) {
    Contender contender{name};
    contender.robot = std::make_unique<TimedRobot>(std::move(model), config);
    contender.memory_mb = contender.robot->memory_mb();
    contenders.push_back(std::move(contender));
  };
  add("int8 dense", network.int8_model, Dense(network.int8));
  add("int8 cache", network.int8_model, Cached(network.int8));
  add("int8 fixed", network.int8_model, Fixed(network.int8));
  std::cerr << ClipName(clip) << ": calibrating\n";
  const auto calibrated = Calibrated(network, clip, static_cast<int>(frames.size()), folder.path());
  if (calibrated) {
    add("int8 calibrated", network.int8_model, *calibrated);
  } else {
    report->AddNote(ClipName(clip) + ": calibration finds nothing that is quicker than dense runs");
  }
  add("fp32 cache", network.fp32_model, Cached(network.fp32));
  for (const int every : kRepeats) {
    Contender repeated{"fp32 every-" + std::to_string(every)};
    repeated.every = every;
    contenders.push_back(std::move(repeated));
  }
  AddRivals(network, threads, folder.path(), options, &contenders, report);

  TimedRobot dense(network.fp32_model, Dense(network.fp32));
  std::cerr << ClipName(clip) << ": " << frames.size() << " frames\n";
  for (size_t i = 0; i < frames.size(); ++i) {
    TakeTurns(frames[i], i, i >= frames.size() / 2, dense, contenders);
  }
  for (const Contender& contender : contenders) {
    const auto [metric, value] = MeasureOf(contender.agreement);
    report->AddRow(
        {{"clip", ClipName(clip)},
         {"model", fs::path(network.fp32.model).stem().string()},
         {"threads", threads},
         {"way", contender.name},
         {"frames", contender.ms.ms.size()},
         {"median_ms", contender.ms.Median()},
         {"p95_ms", contender.ms.Quantile(0.95)},
         {"median_of_fp32_dense", contender.ratios.Median()},
         {"mean_of_fp32_dense", Mean(contender.ratios.ms)},
         {"median_of_int8_dense", contender.int8_ratios.Median()},
         {"mean_of_int8_dense", Mean(contender.int8_ratios.ms)},
         {"work", Mean(contender.work)},
         {"agreement", contender.worker ? nlohmann::ordered_json() : NumberOrNull(value)},
         {"metric", contender.worker ? "-" : metric},
         {"memory_mb", contender.memory_mb}});
  }
}

// The clips that scripts/bench does not quantise on.
std::vector<std::string> UnseenClips(const BenchOptions& options) {
  std::vector<std::string> clips = Clips(options);
  if (!options.videos.empty()) return clips;
  std::erase_if(clips, [](const std::string& clip) {
    return ClipName(clip) == "tennis" || ClipName(clip) == "bedroom";
  });
  return clips;
}

}  // namespace

void BenchInt8Frames(const BenchOptions& options, BenchReport* report) {
  const int threads = options.threads.empty() ? 1 : options.threads.front();
  PinToCores(threads);
  report->AddNote(
      "Rivals compute the network alone, of a fixed picture; our times include fitting, deciding "
      "and reading the answer.");
  for (const fs::path& model : ClipModels(options)) {
    const fs::path int8 = options.cache / "int8" / (model.stem().string() + ".int8.onnx");
    if (!fs::exists(int8)) {
      report->AddNote(model.stem().string() + " has no quantised form: scripts/bench says why.");
      continue;
    }
    Network network{ConfigFor(model, options), {}, nullptr, nullptr};
    network.fp32.threads = threads;
    network.fp32.guard.is_on = false;
    network.int8 = network.fp32;
    network.int8.model = int8.string();
    const auto compile = [](const RobotConfig& config) {
      return Compile(LoadGraph(config, /*has_tensors=*/false), config);
    };
    network.fp32_model = compile(network.fp32);
    network.int8_model = compile(network.int8);
    for (const std::string& clip : UnseenClips(options)) {
      MeasureClip(network, clip, threads, options, report);
    }
  }
}

}  // namespace cacheinf
