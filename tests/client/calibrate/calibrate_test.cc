// Read this first: settings are searched for on a clip.

#include "client/calibrate/calibrate.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "client/calibrate/cache_settings.h"
#include "client/calibrate/calibration_clip.h"
#include "client/calibrate/clip_reader.h"
#include "client/robot_setup.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/config/robot_config.h"
#include "common/model/picture.h"
#include "common/source/frame_source.h"
#include "tests/client/demo_config.h"
#include "tests/client/eight_bit_demo.h"
#include "tests/client/read_frames.h"
#include "tests/testing/command.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/places.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path kConfigs = SourceFolder() / "configs";
const std::string kClip = "generated:seed=5,frames=9,width=160,height=128,camera=handheld";

// The demo's network for smaller pictures.
RobotConfig SmallDemo() { return DemoConfig("1x3x128x160"); }

TEST(CacheSettingsTest, EveryPointOfTheSpaceIsAConfigurationThatReadsAgain) {
  const unsigned seed = 3;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  SearchSpace space = CacheSettingSpace();
  std::vector<SettingPoint> points = space.starts;
  for (int i = 0; i < 200; ++i) {
    SettingPoint point;
    for (const SettingDimension& dimension : space.dimensions) {
      point.push_back(static_cast<int>(random() % static_cast<unsigned>(dimension.values)));
    }
    points.push_back(space.canonical(point));
    EXPECT_EQ(space.canonical(points.back()), points.back());
  }
  for (const SettingPoint& point : points) {
    RobotConfig config = WithCacheSettings(SmallDemo(), point);
    config.Check();
    EXPECT_EQ(config.mode, RobotConfig::Mode::kCache);
    EXPECT_GT(config.cache.refresh, 0);
    const std::string text = WriteJson(config.Fields());
    EXPECT_EQ(WriteJson(ParseRobotConfig(text, "written").Fields()), text);
  }
  RobotConfig tracking = SmallDemo();
  tracking.track = 3;
  const RobotConfig exact = WithExactPolicy(tracking);
  exact.Check();
  EXPECT_EQ(exact.track, 1) << "tracked answers have no work of their own";
  EXPECT_EQ(exact.cache.policy, CacheConfig::Policy::kExact);
}

TEST(CacheSettingsTest, FactorsOfOneAreNone) {
  const SearchSpace space = ScaleSpace(3);
  EXPECT_TRUE(WithScales(SmallDemo(), space.starts[0]).cache.change_scales.empty());
  SettingPoint point = space.starts[0];
  ++point[1];
  const RobotConfig config = WithScales(SmallDemo(), point);
  EXPECT_EQ(config.cache.change_scales, (std::vector<double>{1, 2, 1}));
  config.Check();
}

class CalibrateTest : public FolderTest {
 protected:
  static CalibrationClip::NextFrame Giving(std::vector<Frame> frames) {
    return [frames = std::move(frames), next = size_t{0}]() mutable {
      return next < frames.size() ? std::optional(frames[next++]) : std::nullopt;
    };
  }

  CalibrationClip MakeClip(const RobotConfig& config, const std::string& clip = kClip) const {
    return CalibrationClip(Compile(LoadGraph(config, false), config), config,
                           Giving(ReadFrames(clip)), clock_, stop_);
  }

  CalibrationOptions Options(double agreement, int64_t trials) const {
    CalibrationOptions options;
    options.agreement = agreement;
    options.trials = trials;
    options.out = Path("out.json");
    return options;
  }

  CalibrationResult Run(const CalibrationOptions& options) const {
    return Calibrate(SmallDemo(), kClip, options, clock_, stop_);
  }

  std::string Refusal(const RobotConfig& config, const std::string& clip,
                      const CalibrationOptions& options) const {
    return RefusalOf([&] { Calibrate(config, clip, options, clock_, stop_); });
  }

  SteadyClock clock_;
  std::atomic<bool> stop_ = false;
};

using Beside = CalibrationClip::Beside;
constexpr Beside kAlone = Beside::kNothing;
const auto kGoOn = [] { return true; };
const auto kKeep = [](const ClipScore&) { return false; };

TEST_F(CalibrateTest, TheExactPolicyAgreesFullyAndOthersFallBetweenTheirBounds) {
  const RobotConfig config = SmallDemo();
  CalibrationClip clip = MakeClip(config);
  EXPECT_EQ(clip.frames(), 9u);
  EXPECT_EQ(clip.frames_to_choose_by(), 6u);
  EXPECT_EQ(clip.measure(), "mIoU");
  std::vector<RobotConfig> all = {WithExactPolicy(config)};
  for (const SettingPoint& start : CacheSettingSpace().starts) {
    all.push_back(WithCacheSettings(config, start));
  }
  for (const RobotConfig& settings : all) {
    std::vector<ClipScore> bounds;
    const auto score = clip.Try(settings, kAlone, kGoOn, [&](const ClipScore& at_best) {
      bounds.push_back(at_best);
      return false;
    });
    ASSERT_TRUE(score);
    EXPECT_EQ(score->frames, 5);
    EXPECT_GT(score->work, 0.0);
    EXPECT_LE(score->work, 1.0);
    if (settings.cache.policy == CacheConfig::Policy::kExact) {
      EXPECT_EQ(score->agreement, 1.0);
    }
    ASSERT_FALSE(bounds.empty());
    for (const ClipScore& bound : bounds) {
      EXPECT_LE(bound.work, score->work);
      EXPECT_GE(bound.agreement, score->agreement);
    }
    // Scores the same frames once more, and those held out.
    const auto parts = clip.Score(settings, Beside::kEveryFrame);
    EXPECT_EQ(parts.chosen_by.work, score->work);
    EXPECT_EQ(parts.chosen_by.agreement, score->agreement);
    EXPECT_EQ(parts.held_out.frames, 3);
  }
}

// Every look at it takes a fixed time, so a run takes as long as it looks often.
class SteppingClock final : public Clock {
 public:
  explicit SteppingClock(std::chrono::milliseconds step) : step_(step) {}
  std::chrono::nanoseconds Now() const override {
    now_.Advance(step_);
    return now_.Now();
  }

 private:
  std::chrono::milliseconds step_;
  mutable ManualClock now_;
};

// A dense run takes a look a stage, and six more.
TEST_F(CalibrateTest, FortySecondsBuyTenTrialsOfASlowNetwork) {
  using By = CalibrationOptions::By;
  for (const auto& [step_ms, by] : {std::pair(2, By::kTime), std::pair(4, By::kWork)}) {
    SCOPED_TRACE(testing::Message() << step_ms << " ms, by " << NameOf(by));
    const SteppingClock clock{std::chrono::milliseconds(step_ms)};
    CalibrationOptions options = Options(0.9, 0);
    options.by = by;
    options.budget_s = 40;
    const std::string clip = "generated:seed=5,frames=64,width=160,height=128,camera=handheld";
    const CalibrationResult result = Calibrate(SmallDemo(), clip, options, clock, stop_);
    EXPECT_GE(result.trials, 10) << result.text;
    EXPECT_LT(Milliseconds(clock.Now()), 1.3 * 40'000) << result.text;
    EXPECT_NE(result.text.find("more would not leave 40 s time for 10 trials"), std::string::npos)
        << result.text;
  }
}

// One large picture, again and again.
class LargeFrames final : public FrameSource {
 public:
  explicit LargeFrames(bool is_live) : is_live_(is_live) {}

  std::optional<Frame> Next() override {
    Frame frame;
    frame.index = given_++;
    frame.picture = picture_;
    return frame;
  }
  int64_t skipped() const override { return 0; }
  bool is_live() const override { return is_live_; }
  bool has_tensors() const override { return false; }
  double frame_rate() const override { return 0; }
  int64_t given() const { return given_; }

 private:
  const bool is_live_;
  const Picture picture_ = MakePicture(1 << 10, 1 << 10, 1, std::vector<uint8_t>(1 << 20));
  int64_t given_ = 0;
};

TEST_F(CalibrateTest, HoldsNoMoreFramesThanThereIsMemoryFor) {
  constexpr int64_t kMany = 10'000;
  for (const bool is_live : {false, true}) {
    SCOPED_TRACE(is_live);
    LargeFrames source(is_live);
    ClipReader reader(source, /*skipped=*/3, kMany, stop_);
    EXPECT_EQ(source.given(), is_live ? 3 + 512 + 1 : 0) << "a camera does not wait";
    int64_t frames = 0;
    for (std::optional<Frame> frame; (frame = reader.Next()); ++frames) {
      EXPECT_EQ(frame->index, 3 + frames);
    }
    EXPECT_EQ(frames, 512);
    EXPECT_EQ(source.given(), 3 + 512 + 1);
    EXPECT_FALSE(reader.Next());
  }
  LargeFrames source(/*is_live=*/false);
  ClipReader reader(source, 0, /*most=*/2, stop_);
  EXPECT_TRUE(reader.Next());
  EXPECT_TRUE(reader.Next());
  EXPECT_FALSE(reader.Next());
  EXPECT_EQ(source.given(), 2);
}

// The last of thirteen pictures is broken, which who reads it would say.
TEST_F(CalibrateTest, ReadsNoMoreFramesThanThereIsTimeFor) {
  fs::create_directory(Path("clip"));
  int written = 0;
  for (const Frame& frame : ReadFrames("generated:seed=5,frames=12,width=160,height=128")) {
    const auto* const pixels = reinterpret_cast<const char*>(frame.picture.pixels.get());
    WriteText(fmt::format("clip/{}.ppm", 100 + written++),
              "P6 160 128 255\n" + std::string(pixels, size_t{3} * 160 * 128));
  }
  WriteText("clip/200.ppm", "P6 160 128 255\n");
  const SteppingClock clock{std::chrono::milliseconds(4)};
  CalibrationOptions options = Options(0.9, 0);
  options.budget_s = 0.5;
  SetLogLevel(LogLevel::kWarning);
  testing::internal::CaptureStderr();
  const CalibrationResult result = Calibrate(SmallDemo(), Path("clip"), options, clock, stop_);
  SetLogLevel(LogLevel::kOff);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(result.text.starts_with("12 frames: ")) << result.text;
  EXPECT_EQ(log.find("skipped"), log.npos) << log;
}

// All frames of a clip except the first ones are black, and for these the network says one thing.
TEST_F(CalibrateTest, CountsFramesWithEvidenceAndRefusesAClipWithNone) {
  const RobotConfig config = SmallDemo();
  const auto model = Compile(LoadGraph(config, false), config);
  const auto clip_with = [&](size_t shown) {
    std::vector<Frame> frames = ReadFrames(kClip);
    for (size_t i = shown; i < frames.size(); ++i) {
      const Picture& picture = frames[i].picture;
      const auto bytes = static_cast<size_t>(picture.width * picture.height * picture.channels);
      frames[i].picture = MakePicture(picture.width, picture.height, picture.channels,
                                      std::vector<uint8_t>(bytes, 0));
    }
    return CalibrationClip(model, config, Giving(std::move(frames)), clock_, stop_);
  };
  const CalibrationClip::Evidence all = clip_with(9).evidence();
  EXPECT_EQ(all.chosen_by, 5);
  EXPECT_EQ(all.held_out, 3);
  const CalibrationClip::Evidence some = clip_with(3).evidence();
  EXPECT_EQ(some.chosen_by, 2);
  EXPECT_EQ(some.held_out, 0);
  const CalibrationClip::Parts moved = clip_with(6).ScoreTracking(4);
  EXPECT_TRUE(moved.chosen_by.agreement);
  EXPECT_FALSE(moved.held_out.agreement) << "its first answer shows more than there is";
  EXPECT_EQ(RefusalOf([&] { clip_with(0); }),
            "the model finds nothing in the 6 frames that would choose the settings, so no answer "
            "can agree with another; calibrate on a clip that shows what it looks for");
}

TEST_F(CalibrateTest, WarnsOfTooLittleEvidence) {
  const std::string warning = "too few to rely on; calibrate on a clip that shows more";
  EXPECT_NE(Run(Options(0.5, 1)).text.find(warning), std::string::npos);
  const std::string longer = "generated:seed=5,frames=18,width=160,height=128,camera=handheld";
  const CalibrationResult enough = Calibrate(SmallDemo(), longer, Options(0.5, 1), clock_, stop_);
  EXPECT_EQ(enough.text.find(warning), std::string::npos) << enough.text;
  EXPECT_NE(enough.text.find("11 of the 11 scored frames that choose and 6 of the 6 held out have "
                             "anything to compare"),
            std::string::npos)
      << enough.text;
}

TEST_F(CalibrateTest, ATrialEndsWhenItIsToldTo) {
  const RobotConfig config = SmallDemo();
  CalibrationClip clip = MakeClip(config);
  const RobotConfig settings = WithCacheSettings(config, CacheSettingSpace().starts[1]);
  int asked = 0;
  EXPECT_FALSE(clip.Try(
      settings, kAlone, [&] { return ++asked < 3; }, kKeep));
  EXPECT_EQ(asked, 3);
  EXPECT_FALSE(clip.Try(settings, kAlone, kGoOn, [](const ClipScore&) { return true; }));
  EXPECT_TRUE(clip.Try(settings, kAlone, kGoOn, kKeep));
}

TEST_F(CalibrateTest, EveryFrameComputedAgreesFully) {
  CalibrationClip clip = MakeClip(SmallDemo());
  EXPECT_EQ(clip.ScoreTracking(1).chosen_by.agreement, 1.0);
  const ClipScore third = clip.ScoreTracking(3).chosen_by;
  EXPECT_LT(third.agreement, 1.0);
  EXPECT_DOUBLE_EQ(third.work, 1.0 / 3);
}

// Only what a search may choose differs from what was given, and nothing is left to chance.
TEST_F(CalibrateTest, WritesAConfigurationAndAFrontier) {
  CalibrationOptions options = Options(0.75, 16);
  options.frontier = Path("frontier.csv");
  const CalibrationResult result = Run(options);
  EXPECT_TRUE(result.is_reached) << result.text;
  EXPECT_NE(result.text.find("mIoU"), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("--mode dense --track 3"), std::string::npos) << result.text;
  const std::string written = ReadFile(Path("out.json"));
  EXPECT_EQ(LoadRobotConfig(Path("out.json")).mode, RobotConfig::Mode::kCache);
  Json found = Json::parse(written);
  RobotConfig given_config = SmallDemo();
  Json given = Json::parse(WriteJson(given_config.Fields()));
  for (const char* key : {"mode", "cache"}) {
    EXPECT_TRUE(found.contains(key));
    found.erase(key);
    given.erase(key);
  }
  EXPECT_EQ(found, given);

  std::ifstream csv(Path("frontier.csv"));
  std::string header;
  std::getline(csv, header);
  const auto columns = std::count(header.begin(), header.end(), ',');
  int chosen = 0;
  double work = 0;
  for (std::string line; std::getline(csv, line);) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), columns) << line;
    if (!line.starts_with("chosen,") && !line.starts_with("frontier,")) continue;
    chosen += line.starts_with("chosen,") ? 1 : 0;
    const double work_of_line = std::stod(line.substr(line.find(',') + 1));
    EXPECT_GT(work_of_line, work) << "not the cheapest first";
    work = work_of_line;
  }
  EXPECT_EQ(chosen, 1);

  Run(options);
  EXPECT_EQ(ReadFile(Path("out.json")), written);
}

TEST_F(CalibrateTest, WritesTheSafestWhereNothingReachesTheTarget) {
  // The exact policy, which is tried first, computes every frame of a moving camera whole.
  const CalibrationResult result = Run(Options(1.0, 2));
  EXPECT_FALSE(result.is_reached);
  EXPECT_NE(result.text.find("dense runs are the better choice: no settings of mode cache reach "
                             "mIoU 1 for less"),
            std::string::npos)
      << result.text;
  const RobotConfig written = LoadRobotConfig(Path("out.json"));
  EXPECT_EQ(written.mode, RobotConfig::Mode::kDense);
  EXPECT_EQ(written.cache.policy, CacheConfig::Policy::kExact);
}

TEST_F(CalibrateTest, FindsSettingsForAnEightBitNetwork) {
  const RobotConfig config = EightBitDemoConfig(128, 160, Path("eight.cacheinf"));
  CalibrationClip clip = MakeClip(config);
  EXPECT_EQ(clip.Score(WithExactPolicy(config), kAlone).chosen_by.agreement, 1.0);
  const CalibrationResult result = Calibrate(config, kClip, Options(0.5, 4), clock_, stop_);
  EXPECT_TRUE(result.is_reached) << result.text;
  const RobotConfig written = LoadRobotConfig(Path("out.json"));
  EXPECT_EQ(written.model, config.model);
  written.Check();
}

TEST_F(CalibrateTest, StoppedBeforeAnythingWasTriedItWritesNothing) {
  stop_ = true;
  const CalibrationResult result = Run(Options(0.9, 10));
  EXPECT_FALSE(result.is_reached);
  EXPECT_NE(result.text.find("nothing is written"), std::string::npos) << result.text;
  EXPECT_FALSE(fs::exists(Path("out.json")));
}

TEST_F(CalibrateTest, ByTimeTheFrontierIsOneOfTimes) {
  CalibrationOptions options = Options(0.5, 6);
  options.by = CalibrationOptions::By::kTime;
  options.frontier = Path("frontier.csv");
  const CalibrationResult result = Run(options);
  EXPECT_NE(result.text.find("ranked by time"), std::string::npos) << result.text;
  EXPECT_TRUE(fs::exists(Path("out.json")));
  std::ifstream csv(Path("frontier.csv"));
  std::string line;
  std::getline(csv, line);
  EXPECT_TRUE(line.starts_with("name,work,agreement,latency,time,held_out_work,")) << line;
  double longest = 0;
  while (std::getline(csv, line) && !line.starts_with("dense,")) {
    size_t begin = 0;
    for (int i = 0; i < 4; ++i) begin = line.find(',', begin) + 1;
    const double time = std::stod(line.substr(begin));
    EXPECT_GT(time, longest) << "not the fastest first";
    longest = time;
  }
}

// With one strip, the whole picture is refreshed after every answer.
TEST_F(CalibrateTest, RefreshingIsNotFree) {
  RobotConfig config = WithCacheSettings(SmallDemo(), CacheSettingSpace().starts[1]);
  config.cache.refresh = 1;
  CalibrationClip clip = MakeClip(SmallDemo());
  const auto parts = clip.Score(config, Beside::kEveryFrame);
  for (const ClipScore& score : {parts.chosen_by, parts.held_out}) {
    EXPECT_GT(score.latency, 0.0);
    EXPECT_GT(score.time, score.latency + 0.3);
  }
  const ClipScore third = clip.ScoreTracking(3).chosen_by;
  EXPECT_GT(third.time, 1.0 / 3);
  EXPECT_LT(third.time, 0.9);
  EXPECT_LT(third.latency, 0.5) << "most answers are moved, not computed";
}

TEST_F(CalibrateTest, SettingsThatDoNotFitTheBudgetAreNotUsed) {
  RobotConfig config = SmallDemo();
  config.cache.budget_mb = 0.01;
  const std::string refusal = Refusal(config, kClip, Options(0.75, 20));
  EXPECT_TRUE(refusal.starts_with(
      "none of the settings tried can be used: cache.budget_mb is 0.01, but model "))
      << refusal;
  EXPECT_FALSE(fs::exists(Path("out.json")));
  // Enough for the exact policy; maps that move take more.
  config.cache.budget_mb = 2.25;
  const CalibrationResult some = Calibrate(config, kClip, Options(0.75, 20), clock_, stop_);
  EXPECT_NE(some.text.find(" of them of settings that cannot be used (cache.budget_mb is 2.25"),
            std::string::npos)
      << some.text;
  EXPECT_EQ(LoadRobotConfig(Path("out.json")).cache.budget_mb, 2.25);
}

TEST_F(CalibrateTest, SaysWhatCannotBeUsed) {
  const RobotConfig config = SmallDemo();
  const CalibrationOptions options = Options(0.9, 1);
  EXPECT_EQ(Refusal(config, "generated:frames=5,width=160,height=128", options),
            "5 frames that the model takes are too few to calibrate on, at least 6 are needed");
  EXPECT_EQ(Refusal(RobotConfig(), kClip, options), "no model is given");
  CalibrationOptions wrong = options;
  wrong.agreement = 1.5;
  EXPECT_EQ(Refusal(config, kClip, wrong), "--agreement must be above 0 and at most 1, got 1.5");
  wrong = options;
  wrong.frames = 5;
  EXPECT_EQ(Refusal(config, kClip, wrong), "--frames must be from 6 to 10000, got 5");
  wrong = options;
  wrong.skip = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Refusal(config, kClip, wrong),
            "--skip must be from 0 to 1000000000, got 9223372036854775807");
  wrong = options;
  wrong.budget_s = 0;
  EXPECT_NE(Refusal(config, kClip, wrong), "");
  wrong = options;
  wrong.out = "/nonexistent/out.json";
  EXPECT_EQ(Refusal(config, kClip, wrong), "--out /nonexistent/out.json: cannot be written");
  wrong = options;
  wrong.frontier = wrong.out;
  EXPECT_EQ(Refusal(config, kClip, wrong),
            "--out and --frontier name the same file, " + wrong.out.string());
  EXPECT_FALSE(fs::exists(Path("out.json")));
}

// The tool, as a user calls it.
class CalibrateCommandTest : public FolderTest {
 protected:
  static CommandResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {ProgramPath("cacheinf-robot"), "calibrate"});
    return RunCommand(arguments);
  }

  static std::string Refusal(const std::vector<std::string>& arguments) {
    const CommandResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    return result.error;
  }
};

TEST_F(CalibrateCommandTest, CalibratesBesideTheConfiguration) {
  fs::copy_file(kConfigs / "demo.json", Path("demo.json"));
  const std::vector<std::string> arguments = {
      "--config",    Path("demo.json"),
      "--model",     kConfigs / "models" / "demo_segmentation.onnx",
      "--shape",     "1x3x128x160",
      "--source",    kClip,
      "--threads",   "1",
      "--agreement", "0.8",
      "--trials",    "8"};
  const CommandResult result = Run(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.error;
  const RobotConfig config = LoadRobotConfig(Path("demo_segmentation.calibrated.json"));
  EXPECT_EQ(config.mode, RobotConfig::Mode::kCache);
  EXPECT_EQ(config.source, "") << "the clip is not the robot's source";

  std::vector<std::string> unreachable = arguments;
  unreachable[11] = "1";
  unreachable[13] = "1";
  EXPECT_EQ(Run(unreachable).exit_code, 1);
}

// A user calibrates in one folder, and runs what was found from another.
TEST_F(CalibrateCommandTest, WhatItWritesRunsFromAnywhereWithoutAWarning) {
  fs::create_directories(Path("models"));
  fs::create_directories(Path("found"));
  fs::copy_file(kConfigs / "models" / "demo_segmentation.onnx", Path("models/demo.onnx"));
  fs::copy_file(kConfigs / "demo.json", Path("models/demo.json"));
  const auto run_in = [](const std::string& folder, const std::string& arguments) {
    return RunCommand({"/bin/sh", "-c",
                       "cd " + folder + " && " + ProgramPath("cacheinf-robot") + " " + arguments});
  };
  for (const char* agreement : {"0.7", "1"}) {  // reached by mode cache, and by none
    const CommandResult found = run_in(
        folder_, std::string("calibrate --config models/demo.json --model models/demo.onnx "
                             "--shape 1x3x128x160 --threads 1 --trials 12 --out found/demo.json ") +
                     "--agreement " + agreement + " --source " + kClip);
    ASSERT_NE(found.exit_code, 2) << found.error;
    const std::string rest = "--config " + Path("found/demo.json") + " --source " + kClip;
    for (const char* mode : {"", " --mode cache"}) {
      const CommandResult result = run_in("/", "run " + rest + mode);
      EXPECT_EQ(result.exit_code, 0) << result.error;
      EXPECT_EQ(result.error.find("warning"), std::string::npos) << result.error;
    }
  }
}

TEST_F(CalibrateCommandTest, BadInputIsOneSentenceAndExitCodeTwo) {
  EXPECT_EQ(Refusal({}), "cacheinf-robot: no model is given\n");
  EXPECT_EQ(Refusal({"--model", "x", "--agreement", "0"}),
            "cacheinf-robot: --agreement must be above 0 and at most 1, got 0\n");
  EXPECT_NE(Refusal({"--model", "x", "--by", "luck"}).find("--by"), std::string::npos);
  EXPECT_NE(Refusal({"--model", "x", "--trials", "3", "--budget", "5"}).find("--trials"),
            std::string::npos);
  EXPECT_EQ(Refusal({"--config", "/nonexistent.json"}),
            "cacheinf-robot: /nonexistent.json: no such file\n");
  EXPECT_EQ(Refusal({"--model", Path("x"), "--source", "/nonexistent.mp4"}),
            "cacheinf-robot: source /nonexistent.mp4: no such file or folder\n");
  EXPECT_NE(Refusal({"--model", Path("x"), "--source", kClip}).find(Path("x")), std::string::npos);
}

}  // namespace
}  // namespace cacheinf
