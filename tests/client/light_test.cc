#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <variant>
#include <vector>

#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/answer/agreement.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/source/scenes.h"
#include "tests/client/demo_config.h"

// The demo's network with a still camera while the light changes.

namespace cacheinf {
namespace {

using Pixels = std::vector<uint8_t>;
using Geometry = CacheConfig::Geometry;

// What a still camera with a picture of that size sees.
Pixels Still(int width, int height) {
  SceneOptions options;
  options.seed = 8;
  options.width = width;
  options.height = height;
  options.shapes = 8;
  Pixels pixels(static_cast<size_t>(width) * static_cast<size_t>(height) * 3);
  Scene(options).Render(0, pixels.data(), nullptr);
  return pixels;
}

Pixels InLight(Pixels pixels, double gain) {
  for (uint8_t& level : pixels) {
    level = static_cast<uint8_t>(std::clamp(std::floor(gain * level + 0.5), 0.0, 255.0));
  }
  return pixels;
}

Pixels WithNoise(Pixels pixels, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0.0, 1.5);
  for (uint8_t& level : pixels) {
    level = static_cast<uint8_t>(std::clamp(std::lround(level + noise(random)), 0L, 255L));
  }
  return pixels;
}

class LightTest : public testing::Test {
 protected:
  LightTest() { SetLogLevel(LogLevel::kOff); }
  ~LightTest() override { SetLogLevel(LogLevel::kInfo); }

  static RobotConfig Demo() {
    RobotConfig config = DemoConfig("1x3x128x160");
    config.cache.refresh = 0;
    return config;
  }

  void Start(const RobotConfig& config) {
    config.Check();
    const auto model = Compile(LoadGraph(config, /*has_tensors=*/false), config);
    robot_ = std::make_unique<Robot>(model, config, clock_);
    RobotConfig dense = config;
    dense.mode = RobotConfig::Mode::kDense;
    dense_ = std::make_unique<Robot>(model, dense, clock_);
    frames_ = 0;
  }

  Answer Show(const Pixels& pixels, int width, int height) {
    shown_.index = frames_++;
    shown_.picture = MakePicture(width, height, 3, pixels);
    return robot_->Process(shown_);
  }

  // The answer's agreement with the dense one to the last frame shown.
  double AgreementOf(const Answer& answer) {
    MapAgreement agreement;
    agreement.Add(std::get<ClassMap>(answer.content),
                  std::get<ClassMap>(dense_->Process(shown_).content));
    return agreement.PixelShare().value_or(1);
  }

  ManualClock clock_;
  std::unique_ptr<Robot> robot_;
  std::unique_ptr<Robot> dense_;
  Frame shown_;
  int64_t frames_ = 0;
};

// Frames of a quarter to all of the picture's width. Between bars, motion and light are those of
// the part between them.
TEST_F(LightTest, OnACanvasItIsNoChangeWhateverBarsThereAre) {
  for (const auto fit : {PictureSpec::Fit::kStretch, PictureSpec::Fit::kLetterbox}) {
    for (const int width : {48, 96, 240}) {
      constexpr int kHeight = 192;
      SCOPED_TRACE(testing::Message() << width << ", fit " << static_cast<int>(fit));
      RobotConfig config = Demo();
      config.model_config.preprocess.fit = fit;
      config.cache.geometry = Geometry::kCanvas;
      config.cache.policy = CacheConfig::Policy::kFixed;
      config.cache.stem = 0;
      Start(config);
      const Pixels still = Still(width, kHeight);
      for (const double gain : {1.0, 0.95, 0.9, 0.85, 0.8, 0.8, 0.9, 1.0}) {
        const Answer answer = Show(InLight(still, gain), width, kHeight);
        EXPECT_STREQ(NameOf(answer.work->loss), "none") << gain;
        if (frames_ == 1) continue;
        EXPECT_FALSE(answer.work->is_dense) << gain;
        EXPECT_LT(answer.work->active, 0.01) << gain;
      }
    }
  }
}

TEST_F(LightTest, WithoutACanvasItIsNoChangeEither) {
  const Pixels still = Still(160, 128);
  for (const int stem : {0, 1, 2}) {
    RobotConfig config = Demo();
    config.cache.stem = stem;
    config.cache.relight = true;
    Start(config);
    for (const double gain : {1.0, 0.8, 0.8, 0.9, 0.78, 1.1, 1.0}) {
      SCOPED_TRACE(testing::Message() << "stem " << stem << ", gain " << gain);
      const Answer answer = Show(InLight(still, gain), 160, 128);
      if (frames_ == 1) continue;
      EXPECT_LT(answer.work->share, 0.02);
    }
  }
}

TEST_F(LightTest, SwitchedOffTheNetworkSeesItAsItIs) {
  const Pixels still = Still(160, 128);
  RobotConfig config = Demo();
  config.cache.relight = false;
  Start(config);
  Show(still, 160, 128);
  const Pixels dark = InLight(still, 0.8);
  EXPECT_GT(Show(dark, 160, 128).work->share, 0.3);
  EXPECT_EQ(robot_->seen_picture().pixels, robot_->model_picture().pixels);
}

TEST_F(LightTest, TooMuchOfItMakesAWholeFrameAndANewBeginning) {
  const Pixels still = InLight(Still(160, 128), 0.5);
  RobotConfig config = Demo();
  config.cache.relight = true;
  Start(config);
  Show(still, 160, 128);
  const Pixels dark = InLight(still, 0.4);
  EXPECT_TRUE(Show(dark, 160, 128).work->is_dense);
  EXPECT_EQ(Show(dark, 160, 128).work->share, 0.0);
}

// The light swings for 150 frames, with a noisy sensor and a refresh. What is stored stays in the
// light of the first frame, so at the end answers are as near to a dense one in that light as at
// first.
TEST_F(LightTest, WhatIsStoredDoesNotDriftAway) {
  constexpr int kFrames = 150;
  constexpr int kJudged = 20;
  const Pixels still = Still(160, 128);
  RobotConfig config = Demo();
  config.cache.relight = true;
  config.cache.refresh = 8;
  Start(config);
  const auto mean_level = [this] {
    const PictureView seen = robot_->seen_picture();
    double sum = 0;
    for (size_t i = 0; i < seen.byte_count(); ++i) sum += seen.pixels[i];
    return sum / static_cast<double>(seen.byte_count());
  };
  double first_level = 0;
  double early = 0;
  double late = 0;
  for (int frame = 0; frame < kFrames; ++frame) {
    const double gain = frame == 0 ? 1.0 : 0.86 + 0.07 * std::cos(0.5 * frame);
    const Pixels lit = InLight(still, gain);
    const Answer answer = Show(WithNoise(lit, static_cast<uint32_t>(frame)), 160, 128);
    robot_->Refresh(shown_);
    if (frame == 0) first_level = mean_level();
    EXPECT_NEAR(mean_level(), first_level, 0.5) << frame;
    shown_.picture = MakePicture(160, 128, 3, still);
    if (frame > 0 && frame <= kJudged) early += AgreementOf(answer) / kJudged;
    if (frame >= kFrames - kJudged) late += AgreementOf(answer) / kJudged;
  }
  EXPECT_GT(late, early - 0.01);
  EXPECT_GT(late, 0.95);
}

// Objects that move while the light stays are computed as they were.
TEST_F(LightTest, WhatMovesIsStillComputed) {
  SceneOptions options;
  options.width = 160;
  options.height = 128;
  options.shapes = 10;
  const Scene scene(options);
  const auto shares = [&](bool relight) {
    RobotConfig config = Demo();
    config.cache.relight = relight;
    Start(config);
    std::vector<double> found;
    for (int frame = 0; frame < 10; ++frame) {
      Pixels pixels(160 * 128 * 3);
      scene.Render(frame, pixels.data(), nullptr);
      found.push_back(Show(pixels, 160, 128).work->share);
    }
    return found;
  };
  EXPECT_EQ(shares(true), shares(false));
}

}  // namespace
}  // namespace cacheinf
