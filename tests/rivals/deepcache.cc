#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/answer/agreement.h"
#include "common/answer/outputs.h"
#include "common/backend/timed_backend.h"
#include "common/base/clock.h"
#include "tests/bench/bench.h"
#include "tests/bench/clips.h"
#include "tests/bench/worker.h"

// DeepCache's evaluation on our runtime, with two differences: frames are drawn onto a canvas by
// the blocks' mean motion, so that stored maps need not move by parts of a stride, and a block is
// compared with the picture whose results are stored, not with the frame before.

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kFrames = 21;  // the first is always dense, and two are flushed
constexpr int kFramesInFull = 101;
constexpr int kExpiry = 10;  // N of DeepCache
constexpr int kBlock = 10;
constexpr double kPsnr = 20.0;
constexpr std::array kPsnrs = {10.0, 15.0, 25.0, 30.0, 40.0};
constexpr std::array kBlocks = {1, 5, 20, 40};
constexpr std::array kThresholds = {0.1, 0.2, 0.3};

struct Setting {
  std::string figure;  // of DeepCache, or a table of CacheInf
  std::string name;
  RobotConfig config;
  Json published_saving = nullptr;  // share of the dense time
  Json published_drop = nullptr;    // of top-1 accuracy, at most
};

// Reuse shrinks from operator to operator only as the windows grow.
RobotConfig DeepCacheConfig(RobotConfig config, int block, double psnr) {
  config.mode = RobotConfig::Mode::kCache;
  config.guard.is_on = false;
  config.cache.policy = CacheConfig::Policy::kChange;
  config.cache.change = 0;
  config.cache.geometry = CacheConfig::Geometry::kCanvas;
  config.cache.stem = 0;
  config.cache.refresh = 0;
  config.cache.flush = kExpiry;
  config.cache.most_work = 0;
  config.tracker.kind = TrackerConfig::Kind::kBlock;
  config.tracker.blocks.translation = BlockMatchingConfig::Translation::kMean;
  config.tracker.blocks.psnr = psnr;
  config.tracker.change.rule = ChangeConfig::Rule::kBlocks;
  config.tracker.change.psnr = psnr;
  config.tracker.change.cell = block;
  config.tracker.change.block = 1;
  return config;
}

RobotConfig CacheInfConfig(RobotConfig config, double threshold) {
  config.mode = RobotConfig::Mode::kCache;
  config.guard.is_on = false;
  config.cache.policy = CacheConfig::Policy::kFixed;
  config.cache.geometry = CacheConfig::Geometry::kCanvas;
  config.cache.stem = 0;
  config.tracker.change.threshold = threshold;
  return config;
}

std::string Text(double number) {
  const int tenths = static_cast<int>(std::lround(number * 10));
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10));
}

// The first is DeepCache's own. The sweeps of its parameters are those of a classifier.
std::vector<Setting> SettingsOf(const RobotConfig& config, bool has_sweeps) {
  std::vector<Setting> settings;
  settings.push_back(
      {"10, 13", "block 10, T 20", DeepCacheConfig(config, kBlock, kPsnr), 0.182, 0.03});
  RobotConfig fixed = DeepCacheConfig(config, kBlock, kPsnr);
  fixed.cache.policy = CacheConfig::Policy::kFixed;
  settings.push_back({"-", "the same, policy fixed", fixed});
  if (has_sweeps) {
    for (const double psnr : kPsnrs) {
      settings.push_back({"16", "T " + Text(psnr), DeepCacheConfig(config, kBlock, psnr)});
    }
    for (const int block : kBlocks) {
      settings.push_back(
          {"17", "block " + std::to_string(block), DeepCacheConfig(config, block, kPsnr)});
      if (block == 1) {
        settings.back().published_saving = 0.0219;
        settings.back().published_drop = 0.002;
      }
    }
  }
  for (const double threshold : kThresholds) {
    settings.push_back({"Table 7", "N " + Text(threshold), CacheInfConfig(config, threshold)});
  }
  return settings;
}

// The results of the frames of one clip, or of all.
struct Tally {
  int frames = 0;
  double dense_ms = 0;
  double ms = 0;
  double work = 0;
  Agreement agreement;
};

Json RowOf(const std::string& model, const std::string& clip, const Setting& setting,
           const Tally& tally) {
  const auto [metric, value] = MeasureOf(tally.agreement);
  const auto* const classes = tally.agreement.classes();
  const auto* const error = tally.agreement.relative_error();
  return {{"model", model},
          {"clip", clip},
          {"figure", setting.figure},
          {"setting", setting.name},
          {"dense_ms", tally.dense_ms / tally.frames},
          {"ms", tally.ms / tally.frames},
          {"saving", 1 - tally.ms / tally.dense_ms},
          {"work", tally.work / tally.frames},
          {"agreement", NumberOrNull(value)},
          {"metric", metric},
          {"top_3", classes == nullptr ? Json() : Json(*classes->top_3())},
          {"error", error == nullptr ? Json() : NumberOrNull(error->mean())},
          {"deepcache_saving", setting.published_saving},
          {"deepcache_drop", setting.published_drop}};
}

struct Contender {
  Setting setting;
  Tally all;
};

// A robot that reports what its operators took.
struct TimedRobot {
  std::shared_ptr<OperatorTimes> times = std::make_shared<OperatorTimes>();
  Robot robot;

  TimedRobot(const std::shared_ptr<const Graph>& graph, const RobotConfig& config,
             const Clock& clock)
      : robot(std::make_shared<const CompiledModel>(
                  graph, std::make_unique<TimedBackend>(MakeBackend(config), times, clock)),
              config, clock) {}

  void ForgetTimes() { times->Begin({}); }
};

void Add(const std::vector<double>& ms, std::vector<double>* sums) {
  sums->resize(ms.size());
  for (size_t i = 0; i < ms.size(); ++i) sums->at(i) += ms[i];
}

// DeepCache's figure 12: the convolutions, one by one. Milliseconds by OpId.
struct LayerSums {
  std::vector<double> dense;
  std::vector<double> cached;
};

// Answers every frame densely and then under every setting, so that a disturbance hits all of them.
void MeasureClip(const std::shared_ptr<const Graph>& graph, const RobotConfig& config,
                 const std::string& model, const std::string& clip,
                 const std::vector<Frame>& frames, std::vector<Contender>* contenders,
                 LayerSums* layer_sums, BenchReport* report) {
  const SteadyClock clock;
  TimedRobot dense(graph, config, clock);
  std::vector<std::unique_ptr<TimedRobot>> robots;
  for (const Contender& contender : *contenders) {
    robots.push_back(std::make_unique<TimedRobot>(graph, contender.setting.config, clock));
  }
  std::vector<Tally> tallies(robots.size());
  OutputNumbers dense_numbers;
  OutputNumbers numbers;
  for (const Frame& frame : frames) {
    const bool is_first = &frame == &frames.front();
    const Answer expected = dense.robot.Process(frame);
    ReadOutputs(dense.robot.outputs(), dense_numbers);
    if (is_first) dense.ForgetTimes();
    for (size_t i = 0; i < robots.size(); ++i) {
      const Answer answer = robots[i]->robot.Process(frame);
      ReadOutputs(robots[i]->robot.outputs(), numbers);
      const auto refresh = robots[i]->robot.Refresh(frame);
      if (is_first) {
        robots[i]->ForgetTimes();
        continue;
      }
      for (Tally* const tally : {&tallies[i], &contenders->at(i).all}) {
        ++tally->frames;
        tally->dense_ms += Milliseconds(expected.latency());
        tally->ms += Milliseconds(answer.latency());
        tally->work += answer.work ? answer.work->share : 1.0;
        if (refresh) tally->work += refresh->work.share;
        tally->agreement.Add(answer.content, numbers, expected.content, dense_numbers);
      }
    }
  }
  Add(dense.times->run_ms, &layer_sums->dense);
  Add(robots.front()->times->run_ms, &layer_sums->cached);
  for (size_t i = 0; i < robots.size(); ++i) {
    report->AddRow(RowOf(model, clip, contenders->at(i).setting, tallies[i]));
  }
}

void ReportLayers(const std::string& model, const Graph& graph, const Contender& contender,
                  const LayerSums& sums, bool is_for_table, BenchReport* report) {
  for (size_t i = 0; i < sums.dense.size(); ++i) {
    const Operator& layer = graph.operators[i];
    if (layer.As<op::Conv>() == nullptr) continue;
    const Json row = {{"model", model},
                      {"clip", "all"},
                      {"figure", "12"},
                      {"setting", layer.name},
                      {"dense_ms", sums.dense[i] / contender.all.frames},
                      {"ms", sums.cached[i] / contender.all.frames},
                      {"saving", 1 - sums.cached[i] / sums.dense[i]},
                      {"work", nullptr},
                      {"agreement", nullptr},
                      {"metric", nullptr},
                      {"top_3", nullptr},
                      {"error", nullptr},
                      {"deepcache_saving", nullptr},
                      {"deepcache_drop", nullptr}};
    report->AddRow(row);
    if (is_for_table) report->AddTableRow(row);
  }
}

void MeasureModel(const fs::path& model, const BenchOptions& options, int threads,
                  BenchReport* report) {
  RobotConfig config = ConfigFor(model, options);
  config.threads = threads;
  const std::string name = model.stem().string();
  const auto graph = std::make_shared<const Graph>(LoadGraph(config, /*has_tensors=*/false));
  const bool is_classifier =
      config.model_config.decoder.kind == DecoderConfig::Kind::kClassification;
  std::vector<Contender> contenders;
  for (Setting& setting : SettingsOf(config, is_classifier || options.full)) {
    contenders.push_back({std::move(setting), {}});
  }
  LayerSums layer_sums;
  for (const std::string& clip : Clips(options)) {
    const std::vector<Frame> frames = ReadFrames(clip, options.full ? kFramesInFull : kFrames);
    if (frames.size() < 2) {
      report->AddNote(clip + " has fewer than two frames");
      continue;
    }
    MeasureClip(graph, config, name, ClipName(clip), frames, &contenders, &layer_sums, report);
  }
  if (contenders.front().all.frames == 0) return;
  for (const Contender& contender : contenders) {
    report->AddTableRow(RowOf(name, "all", contender.setting, contender.all));
  }
  ReportLayers(name, *graph, contenders.front(), layer_sums, is_classifier, report);
}

}  // namespace

void BenchDeepCache(const BenchOptions& options, BenchReport* report) {
  const int threads = options.threads.empty() ? 1 : options.threads.front();
  PinToCores(threads);
  for (const fs::path& model : ClipModels(options)) MeasureModel(model, options, threads, report);
}

}  // namespace cacheinf
