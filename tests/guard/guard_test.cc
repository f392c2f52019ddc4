// Read this first: samples of answers are judged, and what follows from too little agreement.

#include "common/guard/guard.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "client/robot_setup.h"
#include "common/base/log.h"
#include "common/config/model_setup.h"
#include "common/config/robot_config.h"
#include "common/model/passes/passes.h"
#include "common/plan/plan.h"
#include "common/source/frame_source.h"
#include "tests/client/demo_config.h"
#include "tests/guard/answering.h"
#include "tests/model/model_builder.h"

// A guard judges a cached network on a generated clip: pictures, states and answers, but no robot.

namespace cacheinf {
namespace {

class GuardTest : public ::testing::Test {
 protected:
  GuardTest() { SetLogLevel(LogLevel::kOff); }
  ~GuardTest() override { SetLogLevel(LogLevel::kInfo); }

  // The demo's network.
  static RobotConfig Demo() {
    RobotConfig config = DemoConfig("1x3x96x128");
    config.source = "generated:seed=5,frames=60,width=128,height=96,shapes=6,camera=handheld";
    config.guard.share = 0.2;
    return config;
  }

  // Settings that nobody should use: no pixel ever counts as changed.
  static RobotConfig Frozen() {
    RobotConfig config = Demo();
    config.cache.geometry = CacheConfig::Geometry::kNone;
    config.cache.stem = 0;
    config.cache.refresh = 0;
    config.tracker.change.threshold = 1.0;
    return config;
  }

  // The share of pixels with the dense class in the clip's last frames.
  double Run(const RobotConfig& config, int judged_frames) {
    config.Check();
    const auto model = Compile(LoadGraph(config, /*has_tensors=*/false), config);
    Answering answering(model, config, clock_);
    const Guard& guard = answering.guard();
    ModelState dense(model);
    AnswerReader reader(model->graph(), config.model_config.decoder);
    const std::unique_ptr<FrameSource> source = OpenSource(config.source, clock_);
    MapAgreement agreement;
    levels_.clear();
    alarms_ = 0;
    while (const std::optional<Frame> frame = source->Next()) {
      levels_.push_back(guard.state(Plan()).level);
      answering.Answer(*frame);
      if (frame->index >= 60 - judged_frames) {
        dense.SetPicture(answering.picture());
        dense.Run();
        agreement.Add(std::get<ClassMap>(answering.content()),
                      std::get<ClassMap>(reader.Read(dense, {})));
      }
      if (config.guard.is_on) answering.Judge();
      answering.Refresh();
      alarms_ += guard.alarm().empty() ? 0 : 1;
    }
    report_ = guard.report();
    return agreement.MeanIou().value_or(1);
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

// With so small a share, every later sample takes hundreds of frames.
TEST_F(GuardTest, TheFirstSampleComesSoonHoweverSmallTheShare) {
  RobotConfig config = Frozen();
  config.source = "generated:seed=5,frames=24,width=128,height=96,shapes=6,camera=handheld";
  config.guard.share = 0.001;
  Run(config, 1);
  EXPECT_EQ(report_.samples, 1);
  EXPECT_EQ(report_.bad_samples, 1);
}

TEST_F(GuardTest, ExactAnswersAgreeFully) {
  RobotConfig config = Demo();
  config.cache.policy = CacheConfig::Policy::kExact;
  config.cache.most_work = 0.0;  // samples are of reuse alone
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
  EXPECT_GT(guarded, 0.65);
  EXPECT_EQ(levels_.front(), SafetyLevel::kNormal);
  EXPECT_GE(levels_.back(), SafetyLevel::kShorterExpiry);
  EXPECT_GT(alarms_, 0);
  EXPECT_GT(report_.changes, 0);
  EXPECT_EQ(report_.bad_samples, alarms_);
}

// Whole frames leave nothing to sample, and what was not spent on them is not made up for.
TEST_F(GuardTest, ManyWholeFramesSaveUpNoSamples) {
  RobotConfig config = Demo();
  config.guard.share = 0.02;
  config.Check();
  Answering answering(Compile(LoadGraph(config, /*has_tensors=*/false), config), config, clock_);
  const Guard& guard = answering.guard();
  const std::optional<Frame> frame = OpenSource(config.source, clock_)->Next();
  ASSERT_FALSE(answering.Answer(*frame));
  for (int i = 0; i < 2000; ++i) answering.Judge();
  EXPECT_EQ(guard.report().samples, 0);
  ASSERT_TRUE(answering.Answer(*frame));
  int first = 0;
  for (int i = 1; i <= 100; ++i) {
    answering.Judge();
    if (guard.report().samples > 0 && first == 0) first = i;
  }
  EXPECT_GE(first, 1);
  EXPECT_LE(first, 8) << "it was due, and put off once";
  // In doubt, 100 frames pay for four whole answers, or a few bands, besides the one that was due.
  EXPECT_LE(guard.report().whole_samples, 5);
  EXPECT_LE(guard.report().samples, 12);
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

// In doubt, twice a share of .05 of a dense run's work pays for six whole answers in 60 frames, or
// for more bands.
TEST_F(GuardTest, SpendsNoMoreThanItsShare) {
  RobotConfig config = Demo();
  config.guard.share = 0.05;
  config.cache.policy = CacheConfig::Policy::kExact;
  config.cache.most_work = 0.0;  // samples are of reuse alone
  Run(config, 1);
  EXPECT_GE(report_.samples, 1);
  EXPECT_LE(report_.whole_samples, 6);
}

TEST_F(GuardTest, FramesThatAreComputedWholeAreNoSamples) {
  RobotConfig config = Frozen();
  config.cache.flush = 1;
  Run(config, 1);
  EXPECT_EQ(report_.samples, 0);
  EXPECT_EQ(alarms_, 0);
}

// The raw outputs are maps of what the network saw, wherever that lies in the frame.
TEST_F(GuardTest, RawMapsAreComparedWithWhatTheNetworkSaw) {
  RobotConfig config = Demo();
  config.model_config.decoder = {};
  config.model_config.decoder.kind = DecoderConfig::Kind::kRaw;
  config.cache.geometry = CacheConfig::Geometry::kCanvas;
  config.cache.most_work = 0.0;  // samples are of reuse alone
  config.source = "generated:seed=5,frames=60,width=128,height=96,shapes=6,camera=travel";
  Answering answering(Compile(LoadGraph(config, /*has_tensors=*/false), config), config, clock_);
  const Guard& guard = answering.guard();
  const std::unique_ptr<FrameSource> source = OpenSource(config.source, clock_);
  while (const std::optional<Frame> frame = source->Next()) {
    answering.Answer(*frame);
    answering.Judge();
  }
  EXPECT_GE(guard.report().samples, 10);
  EXPECT_EQ(guard.report().whole_samples, guard.report().samples);
  EXPECT_EQ(guard.report().bad_samples, 0);
  EXPECT_GT(*guard.state(Plan()).agreement, 0.9);
  EXPECT_EQ(guard.state(Plan()).level, SafetyLevel::kNormal);
}

// Answers are exact and the camera moves, so that a sample agrees with its own frame's answer
// alone.
TEST_F(GuardTest, ASampleThatStaysOpenIsOfItsOwnFrame) {
  for (const auto kind : {DecoderConfig::Kind::kSegmentation, DecoderConfig::Kind::kRaw}) {
    RobotConfig config = Demo();
    config.source = "generated:seed=5,frames=120,width=128,height=96,shapes=6,camera=travel";
    config.model_config.decoder = {};
    config.model_config.decoder.kind = kind;
    config.cache.policy = CacheConfig::Policy::kExact;
    config.cache.most_work = 0.0;
    Answering answering(Compile(LoadGraph(config, /*has_tensors=*/false), config), config, clock_);
    Guard& guard = answering.guard();
    const std::unique_ptr<FrameSource> source = OpenSource(config.source, clock_);
    int64_t begun = -1;
    int judged = 0;
    while (const std::optional<Frame> frame = source->Next()) {
      answering.Answer(*frame);
      const bool was_open = guard.is_open();
      answering.Begin();
      if (!guard.is_open()) continue;
      if (!was_open) begun = frame->index;
      for (int i = 0; i < 3 && guard.is_open(); ++i) {
        const std::optional<JudgedSample> sample = guard.Step();
        if (!sample) continue;
        EXPECT_EQ(sample->frame, begun);
        EXPECT_LT(sample->frame, frame->index);
        EXPECT_EQ(sample->agreement, 1.0);
        EXPECT_GT(sample->weight, 0.1);
        EXPECT_LE(sample->weight, 1);
        ++judged;
      }
    }
    EXPECT_GE(judged, 5);
  }
}

TEST_F(GuardTest, ASampleTakesEffectOnceItIsJudged) {
  RobotConfig config = Frozen();
  config.guard.share = 0.001;
  Answering answering(Compile(LoadGraph(config, /*has_tensors=*/false), config), config, clock_);
  Guard& guard = answering.guard();
  const std::unique_ptr<FrameSource> source = OpenSource(config.source, clock_);
  for (int i = 0; i < 20; ++i) {
    answering.Answer(*source->Next());
    answering.Begin();
    EXPECT_FALSE(guard.verdict().forget);
    EXPECT_EQ(guard.report().samples, 0);
  }
  ASSERT_TRUE(guard.is_open());
  EXPECT_TRUE(guard.Finish());
  EXPECT_FALSE(guard.is_open());
  EXPECT_EQ(guard.report().bad_samples, 1);
  EXPECT_TRUE(guard.verdict().forget);
  answering.Begin();  // of an answer that was under way
  EXPECT_TRUE(guard.verdict().forget);
  EXPECT_FALSE(answering.Answer(*source->Next())) << "nothing is reused";
  EXPECT_FALSE(guard.verdict().forget);
}

// A robot without idle time takes no step of its own accord.
TEST_F(GuardTest, AnOpenSampleIsOverdueWhenTheNextIsDue) {
  RobotConfig config = Frozen();
  Answering answering(Compile(LoadGraph(config, /*has_tensors=*/false), config), config, clock_);
  Guard& guard = answering.guard();
  const std::unique_ptr<FrameSource> source = OpenSource(config.source, clock_);
  int open = 0;
  while (const std::optional<Frame> frame = source->Next()) {
    answering.Answer(*frame);
    answering.Begin();
    if (guard.is_open()) ++open;
    if (guard.is_open() && guard.is_overdue()) guard.Finish();
  }
  const GuardReport report = guard.report();
  EXPECT_GE(report.samples, 4);
  EXPECT_GE(open, 2 * report.samples) << "they wait for idle time first";
  EXPECT_GT(report.changes, 0);
}

// Networks that are known to find a bright square on dark ground.
class GuardOfSquaresTest : public GuardTest {
 protected:
  static constexpr int kWidth = 96;
  static constexpr int kHeight = 64;
  static constexpr int kCell = 8;

  // The mean brightness of cells, from 0 to 1.
  static ValueId Brightness(ModelBuilder& b) {
    op::Conv conv;
    conv.spec.rows = conv.spec.columns = {kCell, kCell, 0, 0, 1};
    const ValueId picture = b.Input({1, 3, kHeight, kWidth}, "picture");
    const int count = 3 * kCell * kCell;
    const auto weights = std::vector<float>(static_cast<size_t>(count), 1.0f / count);
    return b.Op(conv, {picture, b.Constant({1, 3, kCell, kCell}, weights)});
  }

  // A box around every cell that is bright.
  static Graph Detector() {
    ModelBuilder b;
    op::Conv head;
    head.spec.rows = head.spec.columns = {1, 1, 0, 0, 1};
    head.has_bias = true;
    // Centre and size, object, two classes.
    const ValueId weights = b.Constant({7, 1, 1, 1}, {0, 0, 0, 0, 40, 0, 0});
    const ValueId bias = b.Constant({7}, {0, 0, 0, 0, -20, 6, -6});
    return b.Finish({b.Op(head, {Brightness(b), weights, bias})});
  }

  // Says which quarter of the picture, from left to right, is the brightest.
  static Graph Classifier() {
    constexpr int kRows = kHeight / kCell;
    constexpr int kColumns = kWidth / kCell;
    ModelBuilder b;
    op::Conv head;
    head.spec.rows = {kRows, 1, 0, 0, 1};
    head.spec.columns = {kColumns, 1, 0, 0, 1};
    std::vector<float> weights(4 * kRows * kColumns, 0.0f);
    for (int i = 0; i < kRows * kColumns; ++i) {
      const int quarter = i % kColumns / (kColumns / 4);
      weights[static_cast<size_t>(quarter * kRows * kColumns + i)] = 1.0f;
    }
    return b.Finish({b.Op(head, {Brightness(b), b.Constant({4, 1, kRows, kColumns}, weights)})});
  }

  static RobotConfig Config(DecoderConfig::Kind kind) {
    RobotConfig config;
    config.mode = RobotConfig::Mode::kCache;
    config.threads = 1;
    config.guard.share = 0.2;
    DecoderConfig& decoder = config.model_config.decoder;
    decoder.kind = kind;
    if (kind == DecoderConfig::Kind::kBoxes) {
      decoder.strides = {kCell};
      decoder.anchors = {2 * kCell, 2 * kCell};
    }
    return config;
  }

  static RobotConfig Frozen(DecoderConfig::Kind kind) {
    RobotConfig config = Config(kind);
    config.cache.stem = 0;
    config.cache.refresh = 0;
    config.tracker.change.threshold = 1.0;
    return config;
  }

  // The square crosses the picture twice.
  static Frame FrameAt(int index) {
    constexpr int kFrames = 30;
    std::vector<uint8_t> pixels(kWidth * kHeight * 3, 20);
    const int left = index % kFrames * (kWidth - 24) / kFrames;
    for (int y = 16; y < 40; ++y) {
      for (int i = 3 * left; i < 3 * (left + 24); ++i) {
        pixels[static_cast<size_t>(y * kWidth * 3 + i)] = 230;
      }
    }
    Frame frame;
    frame.index = index;
    frame.picture = MakePicture(kWidth, kHeight, 3, std::move(pixels));
    return frame;
  }

  // Dark, but for the square from some frame on.
  static Frame EnteringAt(int begin, int index) {
    Frame frame = FrameAt(index);
    if (index < begin) {
      const std::vector<uint8_t> dark(kWidth * kHeight * 3, 20);
      frame.picture = MakePicture(kWidth, kHeight, 3, dark);
    }
    return frame;
  }

  GuardReport Judge(Graph graph, const RobotConfig& config, int begin = 0, int frames = 60) {
    AddPictureAndDecoder(graph, config.model_config);
    Optimise(graph);
    graph.Validate();
    Answering answering(Compile(std::move(graph), config), config, clock_);
    for (int i = 0; i < frames; ++i) {
      answering.Answer(EnteringAt(begin, i));
      answering.Judge();
      answering.Refresh();
    }
    return answering.guard().report();
  }
};

TEST_F(GuardOfSquaresTest, BoxesThatMoveAlongAreGoodAndThoseThatStayAreNot) {
  const auto kind = DecoderConfig::Kind::kBoxes;
  const GuardReport good = Judge(Detector(), Config(kind));
  EXPECT_GE(good.samples, 8);
  EXPECT_EQ(good.bad_samples, 0);
  EXPECT_EQ(good.frames[0], 60);
  EXPECT_GT(*good.state.agreement, 0.95);
  const GuardReport frozen = Judge(Detector(), Frozen(kind));
  EXPECT_GE(frozen.bad_samples, 2);
  EXPECT_EQ(frozen.samples, frozen.whole_samples) << "a few rows say nothing of boxes";
  EXPECT_GE(frozen.state.level, SafetyLevel::kShorterExpiry);
}

TEST_F(GuardOfSquaresTest, WithoutBoxesItIsInDoubtUntilOneComes) {
  for (const auto policy : {CacheConfig::Policy::kChange, CacheConfig::Policy::kFixed}) {
    RobotConfig config = Frozen(DecoderConfig::Kind::kBoxes);
    config.guard = {};
    config.cache.policy = policy;
    const GuardReport nothing = Judge(Detector(), config, 200, 200);
    EXPECT_GE(nothing.samples, 15);
    EXPECT_EQ(nothing.samples_with_evidence, 0);
    EXPECT_EQ(nothing.bad_samples, 0);
    EXPECT_TRUE(nothing.state.is_in_doubt);
    EXPECT_FALSE(nothing.state.agreement);
    EXPECT_EQ(nothing.state.level, SafetyLevel::kNormal);
    const GuardReport missed = Judge(Detector(), config, 200, 300);
    EXPECT_GE(missed.samples_with_evidence, 2);
    EXPECT_GE(missed.state.level, SafetyLevel::kShorterExpiry);
  }
}

TEST_F(GuardOfSquaresTest, ClassesThatFollowAreGoodAndOneThatStaysIsNot) {
  const auto kind = DecoderConfig::Kind::kClassification;
  const GuardReport good = Judge(Classifier(), Config(kind));
  EXPECT_GE(good.samples, 8);
  EXPECT_EQ(good.bad_samples, 0);
  EXPECT_EQ(good.state.agreement, 1.0);
  const GuardReport frozen = Judge(Classifier(), Frozen(kind));
  EXPECT_GE(frozen.bad_samples, 1);
  EXPECT_GE(frozen.state.level, SafetyLevel::kShorterExpiry);
}

TEST_F(GuardOfSquaresTest, WhatIsTooLittleIsAsConfigured) {
  for (const auto kind : {DecoderConfig::Kind::kBoxes, DecoderConfig::Kind::kClassification}) {
    RobotConfig config = Frozen(kind);
    config.guard.least = 0;
    const Graph graph = kind == DecoderConfig::Kind::kBoxes ? Detector() : Classifier();
    EXPECT_EQ(Judge(graph, config).bad_samples, 0);
  }
}

}  // namespace
}  // namespace cacheinf
