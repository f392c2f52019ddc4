#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/answer/agreement.h"
#include "common/answer/outputs.h"
#include "common/base/clock.h"
#include "tests/bench/bench.h"
#include "tests/bench/clips.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr int kFrames = 20;
constexpr int kFramesInFull = 80;

// The brightness of a frame, against the clip's own light.
struct LightCourse {
  const char* name;
  double (*gain)(int frame);
};
constexpr std::array kCourses = {
    LightCourse{"as it is", [](int) { return 1.0; }},
    LightCourse{"step to .8", [](int frame) { return frame < 4 ? 1.0 : 0.8; }},
    LightCourse{"step to .6", [](int frame) { return frame < 4 ? 1.0 : 0.6; }},
    LightCourse{"dims to .8", [](int frame) { return std::max(1.0 - 0.03 * frame, 0.8); }},
    LightCourse{"flickers, .9", [](int frame) { return frame % 2 == 0 ? 1.0 : 0.9; }},
};

Frame Lit(const Frame& frame, double gain) {
  if (gain == 1.0) return frame;
  const Picture& picture = frame.picture;
  const int row_bytes = picture.width * picture.channels;
  std::vector<uint8_t> pixels;
  for (int y = 0; y < picture.height; ++y) {
    std::transform(picture.Row(y), picture.Row(y) + row_bytes, std::back_inserter(pixels),
                   [gain](uint8_t level) {
                     return static_cast<uint8_t>(std::min(std::lround(gain * level), 255L));
                   });
  }
  Frame lit = frame;
  lit.picture = MakePicture(picture.width, picture.height, picture.channels, std::move(pixels));
  return lit;
}

struct Way {
  std::string policy;
  bool relight;
  RobotConfig config;
};

std::vector<Way> WaysOf(const RobotConfig& config) {
  std::vector<Way> ways;
  for (const bool relight : {false, true}) {
    RobotConfig change = config;
    change.mode = RobotConfig::Mode::kCache;
    change.cache.relight = relight;
    ways.push_back({"change", relight, change});
    RobotConfig fixed = change;
    fixed.cache.policy = CacheConfig::Policy::kFixed;
    fixed.cache.stem = 0;
    ways.push_back({"fixed", relight, fixed});
  }
  return ways;
}

// Shows the same frames to all ways in turn, beside one dense run.
void MeasureCourse(const std::shared_ptr<const CompiledModel>& model, const RobotConfig& config,
                   const std::vector<Frame>& frames, const LightCourse& course,
                   const nlohmann::ordered_json& head, BenchReport* report) {
  const SteadyClock clock;
  RobotConfig dense_config = config;
  dense_config.mode = RobotConfig::Mode::kDense;
  Robot dense(model, dense_config, clock);
  struct Contender {
    Way way;
    std::unique_ptr<Robot> robot;
    double work = 0;
    Agreement agreement;
  };
  std::vector<Contender> contenders;
  for (Way& way : WaysOf(config)) {
    auto robot = std::make_unique<Robot>(model, way.config, clock);
    contenders.push_back({std::move(way), std::move(robot), 0, {}});
  }
  OutputNumbers numbers;
  OutputNumbers dense_numbers;
  for (size_t i = 0; i < frames.size(); ++i) {
    const Frame frame = Lit(frames[i], course.gain(static_cast<int>(i)));
    const Answer expected = dense.Process(frame);
    ReadOutputs(dense.outputs(), dense_numbers);
    for (Contender& contender : contenders) {
      const Answer answer = contender.robot->Process(frame);
      ReadOutputs(contender.robot->outputs(), numbers);
      const auto refresh = contender.robot->Refresh(frame);
      // The first frame is always dense.
      if (i == 0) continue;
      contender.work += answer.work->share + (refresh ? refresh->work.share : 0.0);
      contender.agreement.Add(answer.content, numbers, expected.content, dense_numbers);
    }
  }
  for (const Contender& contender : contenders) {
    const auto [metric, value] = MeasureOf(contender.agreement);
    nlohmann::ordered_json row = head;
    row.update({{"light", course.name},
                {"policy", contender.way.policy},
                {"relight", contender.way.relight},
                {"active", contender.work / static_cast<double>(frames.size() - 1)},
                {"agreement", NumberOrNull(value)},
                {"metric", metric}});
    report->AddRow(std::move(row));
  }
}

}  // namespace

void BenchLight(const BenchOptions& options, BenchReport* report) {
  for (const fs::path& model : ClipModels(options)) {
    RobotConfig config = ConfigFor(model, options);
    config.threads = options.threads.empty() ? 1 : options.threads.front();
    const auto compiled = Compile(LoadGraph(config, /*has_tensors=*/false), config);
    for (const std::string& clip : Clips(options)) {
      const std::vector<Frame> frames = ReadFrames(clip, options.full ? kFramesInFull : kFrames);
      if (frames.size() < 2) {
        report->AddNote(clip + " has fewer than two frames");
        continue;
      }
      for (const LightCourse& course : kCourses) {
        MeasureCourse(compiled, config, frames, course,
                      {{"clip", ClipName(clip)}, {"model", model.stem().string()}}, report);
      }
    }
  }
  report->AddNote("the dense answers are those to the frames in the light that they have");
}

}  // namespace cacheinf
