#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/answer/agreement.h"
#include "common/answer/outputs.h"
#include "common/base/clock.h"
#include "common/base/words.h"
#include "common/reuse/settings.h"
#include "common/source/frame_source.h"
#include "tests/bench/bench.h"
#include "tests/bench/clips.h"
#include "tests/bench/worker.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr int kFrames = 32;
constexpr int kFramesInFull = 120;
constexpr double kMegabyte = 1e6;
constexpr std::array kFull = {0.05, 0.1, 0.2, 0.3};
constexpr std::array kSample = {0.1};

struct Way {
  std::string mode;
  std::string policy = "-";
  std::string geometry = "-";
  std::string tracker = "-";
  double n = 0.0;
  RobotConfig config = {};
  // Dense answers: every k-th is repeated for the frames between. 0: each is the next frame's
  // answer at once, while that frame is computed.
  std::optional<int> every = {};
};

Way CacheWay(RobotConfig config, CacheConfig::Policy policy, CacheConfig::Geometry geometry,
             TrackerConfig::Kind tracker, double n) {
  config.mode = RobotConfig::Mode::kCache;
  config.cache.policy = policy;
  config.cache.geometry = geometry;
  config.tracker.kind = tracker;
  // Decided on the picture, so that N means what it means in the papers.
  config.cache.stem = 0;
  config.tracker.change.threshold = policy == CacheConfig::Policy::kExact ? 0.0 : n;
  return {"cache",
          NameOf(policy),
          NameOf(geometry),
          Resolve(config.cache, config.tracker.change).follows_camera() ? NameOf(tracker) : "none",
          config.tracker.change.threshold,
          config};
}

// In place, following no camera.
Way CacheWay(const RobotConfig& config, CacheConfig::Policy policy, double n) {
  return CacheWay(config, policy, CacheConfig::Geometry::kNone, config.tracker.kind, n);
}

// The baselines, then every policy.
std::vector<Way> WaysOf(const RobotConfig& config, bool full) {
  std::vector<Way> ways;
  ways.push_back({.mode = "stale", .config = config, .every = 0});
  for (int k = 2; k <= 5; ++k) {
    if (k == 4 && !full) continue;
    ways.push_back({.mode = "every-" + std::to_string(k), .config = config, .every = k});
  }
  using Policy = CacheConfig::Policy;
  using Geometry = CacheConfig::Geometry;
  using Tracker = TrackerConfig::Kind;
  ways.push_back(CacheWay(config, Policy::kExact, 0.0));
  const std::vector<double> thresholds = full ? std::vector<double>(kFull.begin(), kFull.end())
                                              : std::vector<double>(kSample.begin(), kSample.end());
  for (const Policy policy : {Policy::kChange, Policy::kFixed}) {
    for (const double n : thresholds) {
      for (const Geometry geometry : {Geometry::kCanvas, Geometry::kWarp}) {
        ways.push_back(CacheWay(config, policy, geometry, Tracker::kHomography, n));
        if (full) ways.push_back(CacheWay(config, policy, geometry, Tracker::kBlock, n));
      }
      ways.push_back(CacheWay(config, policy, n));
    }
    // Tests the first features for change instead.
    Way stem = CacheWay(config, policy, 0.0);
    stem.config.cache.stem = 1;
    stem.policy += "+stem";
    ways.push_back(std::move(stem));
  }
  return ways;
}

double Ms(std::chrono::nanoseconds time) { return Milliseconds(time); }

// What a way gives for a frame.
struct Given {
  AnswerContent content;
  OutputNumbers numbers;
  double ms = 0;
  double tracker_ms = 0;
  double refresh_ms = 0;
  double work = 0;
  double refresh_work = 0;
};

Given Robots(Robot& robot, const Frame& frame) {
  Given given;
  Answer answer = robot.Process(frame);
  ReadOutputs(robot.outputs(), given.numbers);
  const auto refresh = robot.Refresh(frame);
  given.content = std::move(answer.content);
  given.ms = Ms(answer.latency());
  given.tracker_ms = answer.work ? Ms(answer.times.tracking) : 0.0;
  given.work = answer.work ? answer.work->share : 1.0;
  if (refresh) {
    given.refresh_ms = Ms(refresh->took);
    given.refresh_work = refresh->work.share;
  }
  return given;
}

// `kept` is the answer that is repeated, or empty. REQUIRES: a way that repeats.
Given Repeated(const Way& way, size_t frame, const Given& dense, std::optional<Given>& kept) {
  if (way.every == 0) {
    Given given = std::exchange(kept, dense).value_or(dense);
    given.ms = given.work = 0;
    given.refresh_ms = dense.ms;
    given.refresh_work = dense.work;
    return given;
  }
  if (frame % static_cast<size_t>(*way.every) == 0) return *(kept = dense);
  Given given = *kept;
  given.ms = given.work = 0;
  return given;
}

// Answers every frame densely and in this way, in turn, so that a disturbance hits both.
void MeasureWay(const std::shared_ptr<const CompiledModel>& model, const Way& way,
                const std::vector<Frame>& frames, const nlohmann::ordered_json& head,
                BenchReport* report) {
  const SteadyClock clock;
  RobotConfig dense_config = way.config;
  dense_config.mode = RobotConfig::Mode::kDense;
  Robot dense(model, dense_config, clock);
  Robot robot(model, way.config, clock);
  Samples dense_ms;
  Samples ms;
  Samples tracker_ms;
  Samples refresh_ms;
  double answer_work = 0.0;
  double refresh_work = 0.0;
  Agreement agreement;
  std::optional<Given> kept;
  for (size_t i = 0; i < frames.size(); ++i) {
    const Given expected = Robots(dense, frames[i]);
    const Given given = way.every ? Repeated(way, i, expected, kept) : Robots(robot, frames[i]);
    // The first frame is always dense.
    if (i == 0) continue;
    agreement.Add(given.content, given.numbers, expected.content, expected.numbers);
    dense_ms.ms.push_back(expected.ms);
    ms.ms.push_back(given.ms);
    tracker_ms.ms.push_back(given.tracker_ms);
    refresh_ms.ms.push_back(given.refresh_ms);
    answer_work += given.work;
    refresh_work += given.refresh_work;
  }
  const auto [metric, value] = MeasureOf(agreement);
  const auto count = static_cast<double>(ms.ms.size());
  const MemoryReport& memory = robot.state().memory();
  nlohmann::ordered_json row = head;
  row.update({{"mode", way.mode},
              {"policy", way.policy},
              {"geometry", way.geometry},
              {"tracker", way.tracker},
              {"n", way.n},
              {"frames", ms.ms.size()},
              {"median_ms", ms.Median()},
              {"p95_ms", ms.Quantile(0.95)},
              {"dense_median_ms", dense_ms.Median()},
              {"dense_p95_ms", dense_ms.Quantile(0.95)},
              {"tracker_ms", tracker_ms.Median()},
              {"refresh_ms", refresh_ms.Median()},
              {"active", (answer_work + refresh_work) / count},
              {"active_of_answer", answer_work / count},
              {"agreement", NumberOrNull(value)},
              {"metric", metric},
              {"memory_mb", static_cast<double>(memory.arena_bytes) / kMegabyte}});
  report->AddRow(std::move(row));
}

}  // namespace

void BenchFrames(const BenchOptions& options, BenchReport* report) {
  if (options.precision == "int8") return BenchInt8Frames(options, report);
  const int threads = options.threads.empty() ? 1 : options.threads.front();
  PinToCores(threads);
  for (const fs::path& model : ClipModels(options)) {
    RobotConfig config = ConfigFor(model, options);
    config.threads = threads;
    const auto compiled = Compile(LoadGraph(config, /*has_tensors=*/false), config);
    for (const std::string& clip : Clips(options)) {
      const std::vector<Frame> frames = ReadFrames(clip, options.full ? kFramesInFull : kFrames);
      if (frames.size() < 2) {
        report->AddNote(clip + " has fewer than two frames");
        continue;
      }
      for (const Way& way : WaysOf(config, options.full)) {
        MeasureWay(compiled, way, frames,
                   {{"clip", ClipName(clip)}, {"model", model.stem().string()}}, report);
      }
    }
  }
}

}  // namespace cacheinf
