#include "client/guard.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "client/robot_setup.h"
#include "common/base/log.h"
#include "common/config/robot_config.h"
#include "common/source/frame_source.h"

// A robot on a generated clip, beside one that computes every frame, with a guard that watches.

namespace cacheinf {
namespace {

class GuardTest : public ::testing::Test {
 protected:
  GuardTest() { SetLogLevel(LogLevel::kOff); }
  ~GuardTest() override { SetLogLevel(LogLevel::kInfo); }

  // The demo's network.
  static RobotConfig Demo() {
    RobotConfig config = LoadRobotConfig(CACHEINF_SOURCE_DIR "/configs/demo.json");
    config.model = CACHEINF_SOURCE_DIR "/configs/models/demo_segmentation.onnx";
    config.shapes = {"1x3x96x128"};
    config.source = "generated:seed=5,frames=60,width=128,height=96,shapes=6,camera=handheld";
    config.mode = RobotConfig::Mode::kCache;
    config.threads = 1;
    config.guard.share = 0.2;
    return config;
  }

  // What nobody should configure: no pixel ever counts as changed.
  static RobotConfig Frozen() {
    RobotConfig config = Demo();
    config.cache.geometry = CacheConfig::Geometry::kNone;
    config.cache.stem = 0;
    config.cache.refresh = 0;
    config.tracker.change.threshold = 1.0;
    return config;
  }

  // The share of the pixels with the dense class, over the clip's last frames.
  double Run(const RobotConfig& config, int judged_frames) {
    config.Check();
    const auto graph = std::make_shared<const Graph>(LoadGraph(config, /*has_tensors=*/false));
    Robot robot(graph, MakeBackend(config), config, clock_);
    RobotConfig dense_config = config;
    dense_config.mode = RobotConfig::Mode::kDense;
    Robot dense(graph, MakeBackend(config), dense_config, clock_);
    Guard guard(graph, MakeBackend(config), config, clock_);
    const std::unique_ptr<FrameSource> source = OpenSource(config.source, clock_);
    MapAgreement agreement;
    levels_.clear();
    alarms_ = 0;
    while (const std::optional<Frame> frame = source->Next()) {
      levels_.push_back(guard.state().level);
      const Answer answer = robot.Process(*frame);
      if (frame->index >= 60 - judged_frames) {
        agreement.Add(std::get<ClassMap>(answer.content),
                      std::get<ClassMap>(dense.Process(*frame).content));
      }
      if (config.guard.is_on) guard.Watch(answer, robot);
      robot.Refresh(*frame);
      alarms_ += guard.alarm().empty() ? 0 : 1;
    }
    report_ = guard.report();
    return agreement.MeanIou();
  }

  ManualClock clock_;
  std::vector<SafetyLevel> levels_;  // of each frame
  int alarms_ = 0;
  GuardReport report_;
};

TEST_F(GuardTest, GoodSettingsStayNormal) {
  RobotConfig config = Demo();
  config.shapes = {"1x3x240x320"};
  config.source = "generated:seed=5,frames=60,width=320,height=240,shapes=6,camera=handheld";
  EXPECT_GT(Run(config, 60), 0.8);
  EXPECT_EQ(levels_, std::vector<SafetyLevel>(60, SafetyLevel::kNormal));
  EXPECT_EQ(alarms_, 0);
  EXPECT_GE(report_.samples, 12);
  EXPECT_GT(*report_.state.agreement, 0.85);
  EXPECT_EQ(report_.frames[0], 60);
}

TEST_F(GuardTest, ExactAnswersAgreeWholly) {
  RobotConfig config = Demo();
  config.cache.policy = CacheConfig::Policy::kExact;
  Run(config, 1);
  EXPECT_EQ(report_.state.agreement, 1.0);
  EXPECT_EQ(alarms_, 0);
}

TEST_F(GuardTest, SettingsThatSeeNoChangeAreLeftAndAnswersAgreeAgain) {
  RobotConfig unguarded = Frozen();
  unguarded.guard.is_on = false;
  const double frozen = Run(unguarded, 30);
  EXPECT_LT(frozen, 0.3);
  const double guarded = Run(Frozen(), 30);
  EXPECT_GT(guarded, 0.75);
  EXPECT_EQ(levels_.front(), SafetyLevel::kNormal);
  EXPECT_GE(levels_.back(), SafetyLevel::kShorterExpiry);
  EXPECT_GT(alarms_, 0);
  EXPECT_GT(report_.changes, 0);
  EXPECT_EQ(report_.bad_samples, alarms_);
}

TEST_F(GuardTest, TakesTheSameSamplesInEveryRun) {
  Run(Frozen(), 1);
  const std::vector<SafetyLevel> levels = levels_;
  const GuardReport report = report_;
  Run(Frozen(), 1);
  EXPECT_EQ(levels_, levels);
  EXPECT_EQ(report_.samples, report.samples);
  EXPECT_EQ(report_.state.agreement, report.state.agreement);
}

// A share of .05 of a dense run's work pays for three whole answers in 60 frames, or for more
// bands.
TEST_F(GuardTest, SpendsNoMoreThanItsShare) {
  RobotConfig config = Demo();
  config.guard.share = 0.05;
  config.cache.policy = CacheConfig::Policy::kExact;
  Run(config, 1);
  EXPECT_GE(report_.samples, 1);
  EXPECT_LE(report_.whole_samples, 3);
}

TEST_F(GuardTest, FramesThatAreComputedWholeAreNoSamples) {
  RobotConfig config = Frozen();
  config.cache.flush = 1;
  Run(config, 1);
  EXPECT_EQ(report_.samples, 0);
  EXPECT_EQ(alarms_, 0);
}

// A model of raw outputs that are maps: their numbers are those of what the network saw, wherever
// that lies in the frame.
TEST_F(GuardTest, RawMapsAreComparedWithWhatTheNetworkSaw) {
  RobotConfig config = Demo();
  config.model_config.decoder = {};
  config.model_config.decoder.kind = DecoderConfig::Kind::kRaw;
  const auto graph = std::make_shared<const Graph>(LoadGraph(config, /*has_tensors=*/false));
  Robot robot(graph, MakeBackend(config), config, clock_);
  Guard guard(graph, MakeBackend(config), config, clock_);
  const std::unique_ptr<FrameSource> source = OpenSource(config.source, clock_);
  while (const std::optional<Frame> frame = source->Next())
    guard.Watch(robot.Process(*frame), robot);
  EXPECT_GE(guard.report().samples, 10);
  EXPECT_EQ(guard.report().whole_samples, guard.report().samples);
  EXPECT_GT(*guard.state().agreement, 0.8);
  EXPECT_EQ(guard.state().level, SafetyLevel::kNormal);
}

}  // namespace
}  // namespace cacheinf
