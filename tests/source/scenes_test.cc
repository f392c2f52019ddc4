#include "common/source/scenes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace cacheinf {
namespace {

struct Frame {
  std::vector<uint8_t> bgr;
  std::vector<uint8_t> labels;

  friend bool operator==(const Frame&, const Frame&) = default;
};

Frame Draw(const Scene& scene, int frame) {
  const size_t pixels = static_cast<size_t>(scene.options().width) * scene.options().height;
  Frame drawn{std::vector<uint8_t>(pixels * 3, 77), std::vector<uint8_t>(pixels, 99)};
  scene.Render(frame, drawn.bgr.data(), drawn.labels.data());
  return drawn;
}

uint64_t Checksum(const Frame& frame) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325u;
  for (const auto* bytes : {&frame.bgr, &frame.labels}) {
    for (const uint8_t byte : *bytes) hash = (hash ^ byte) * 0x100000001b3u;
  }
  return hash;
}

SceneOptions Options(uint64_t seed, CameraMotion camera) {
  SceneOptions options;
  options.seed = seed;
  options.camera = camera;
  return options;
}

double MeanDifference(const Frame& a, const Frame& b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.bgr.size(); ++i) sum += std::abs(a.bgr[i] - b.bgr[i]);
  return sum / static_cast<double>(a.bgr.size());
}

// The trained network and every figure taken on generated clips rest on these bytes. Whoever
// changes them on purpose trains the demo's network again and writes the new sums here.
TEST(Scenes, FramesAreTheSameBytesEverywhere) {
  SceneOptions everything = Options(3, CameraMotion::kHandheld);
  everything.width = 200;
  everything.height = 150;
  everything.noise = 5.0;
  everything.illumination = 0.5;
  EXPECT_EQ(Checksum(Draw(Scene(Options(1, CameraMotion::kStill)), 0)), 0xcd1a2049efac48abu);
  EXPECT_EQ(Checksum(Draw(Scene(Options(2, CameraMotion::kTravel)), 250)), 0x9f1bfb1ec6ac02f2u);
  EXPECT_EQ(Checksum(Draw(Scene(everything), 17)), 0x0620591a33bd8669u);
}

// Frames do not depend on which were drawn before, nor on whether labels are asked for.
TEST(Scenes, FramesCanBeDrawnInAnyOrder) {
  const SceneOptions options = Options(11, CameraMotion::kTravel);
  const Scene forwards(options);
  const Scene backwards(options);
  std::vector<Frame> frames;
  for (int i = 0; i < 5; ++i) frames.push_back(Draw(forwards, 30 * i));
  for (int i = 4; i >= 0; --i) EXPECT_EQ(Draw(backwards, 30 * i), frames[i]) << "frame " << 30 * i;

  std::vector<uint8_t> without_labels(frames[2].bgr.size());
  forwards.Render(60, without_labels.data(), nullptr);
  EXPECT_EQ(without_labels, frames[2].bgr);
}

TEST(Scenes, SeedsGiveDifferentScenes) {
  std::set<uint64_t> sums;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    sums.insert(Checksum(Draw(Scene(Options(seed, CameraMotion::kStill)), 0)));
  }
  EXPECT_EQ(sums.size(), 20u);
}

// Over a few clips each class has its share of the pixels, and most of the picture is background.
TEST(Scenes, EveryClassAppears) {
  std::array<int64_t, kSceneClassCount> pixels{};
  for (uint64_t seed = 100; seed < 110; ++seed) {
    const Scene scene(Options(seed, CameraMotion::kTravel));
    for (int frame = 0; frame < 300; frame += 100) {
      for (const uint8_t label : Draw(scene, frame).labels) {
        ASSERT_LT(label, kSceneClassCount);
        ++pixels[label];
      }
    }
  }
  const double total = 30.0 * 320 * 240;
  EXPECT_GT(pixels[0] / total, 0.7);
  for (int label = 1; label < kSceneClassCount; ++label) {
    EXPECT_GT(pixels[label] / total, 0.005) << kSceneClassNames[label];
    EXPECT_LT(pixels[label] / total, 0.1) << kSceneClassNames[label];
  }
}

// The labels mark exactly where the picture shows a shape: without shapes the same seed gives the
// same background, which differs where a label says so and, but for the blended edges, nowhere
// else.
TEST(Scenes, LabelsLieWhereTheShapesAre) {
  for (uint64_t seed = 40; seed < 46; ++seed) {
    SceneOptions options = Options(seed, CameraMotion::kTravel);
    const Frame with_shapes = Draw(Scene(options), 70);
    options.shapes = 0;
    const Frame without = Draw(Scene(options), 70);
    int labelled = 0;
    int labelled_but_same = 0;
    int different_away_from_labels = 0;
    for (int y = 1; y < options.height - 1; ++y) {
      for (int x = 1; x < options.width - 1; ++x) {
        const size_t i = static_cast<size_t>(y) * options.width + x;
        const bool differs =
            !std::equal(&with_shapes.bgr[i * 3], &with_shapes.bgr[i * 3] + 3, &without.bgr[i * 3]);
        bool near_label = false;
        for (int dy = -1; dy <= 1; ++dy) {
          for (int dx = -1; dx <= 1; ++dx) {
            near_label |= with_shapes.labels[i + dy * options.width + dx] != 0;
          }
        }
        const bool is_labelled = with_shapes.labels[i] != 0;
        labelled += is_labelled;
        labelled_but_same += is_labelled && !differs;
        different_away_from_labels += differs && !near_label;
        EXPECT_EQ(without.labels[i], 0);
      }
    }
    EXPECT_GT(labelled, 1000) << "seed " << seed;
    EXPECT_LT(labelled_but_same, labelled / 200) << "seed " << seed;
    EXPECT_EQ(different_away_from_labels, 0) << "seed " << seed;
  }
}

// Under a still camera only what moves changes; under a moving one, nearly everything does.
TEST(Scenes, MotionMovesAndStillnessDoesNot) {
  for (uint64_t seed = 60; seed < 65; ++seed) {
    SceneOptions still = Options(seed, CameraMotion::kStill);
    const auto changed_share = [](const SceneOptions& options) {
      const Scene scene(options);
      const Frame a = Draw(scene, 20);
      const Frame b = Draw(scene, 21);
      size_t changed = 0;
      for (size_t i = 0; i < a.bgr.size(); ++i) changed += a.bgr[i] != b.bgr[i];
      return static_cast<double>(changed) / static_cast<double>(a.bgr.size());
    };
    const double share = changed_share(still);
    EXPECT_GT(share, 0.0) << "seed " << seed;
    EXPECT_LT(share, 0.3) << "seed " << seed;
    EXPECT_GT(changed_share(Options(seed, CameraMotion::kTravel)), 0.6) << "seed " << seed;
    EXPECT_GT(changed_share(Options(seed, CameraMotion::kHandheld)), 0.3) << "seed " << seed;
    still.moving_share = 0.0;
    EXPECT_EQ(changed_share(still), 0.0) << "seed " << seed;
  }
}

// The background at a pixel is where the camera's pose says: what two frames show of the same
// point of the world looks the same.
TEST(Scenes, CameraPoseTellsWhereTheBackgroundIs) {
  SceneOptions options = Options(7, CameraMotion::kTravel);
  options.shapes = 0;
  const Scene scene(options);
  const Frame now = Draw(scene, 100);
  const Frame later = Draw(scene, 130);
  const CameraPose a = scene.CameraAt(100);
  const CameraPose b = scene.CameraAt(130);
  constexpr double kTurn = 6.283185307179586;
  double moved_difference = 0.0;
  double unmoved_difference = 0.0;
  int points = 0;
  for (int y = 60; y < 180; y += 7) {
    for (int x = 80; x < 240; x += 7) {
      const double dx = (x - 160) / a.pixels_per_unit;
      const double dy = (y - 120) / a.pixels_per_unit;
      const double world_x =
          a.centre_x + std::cos(kTurn * a.angle) * dx - std::sin(kTurn * a.angle) * dy;
      const double world_y =
          a.centre_y + std::sin(kTurn * a.angle) * dx + std::cos(kTurn * a.angle) * dy;
      const double wx = world_x - b.centre_x;
      const double wy = world_y - b.centre_y;
      const double cosine = std::cos(kTurn * b.angle) * b.pixels_per_unit;
      const double sine = std::sin(kTurn * b.angle) * b.pixels_per_unit;
      const int bx = static_cast<int>(std::lround(160 + cosine * wx + sine * wy));
      const int by = static_cast<int>(std::lround(120 + cosine * wy - sine * wx));
      if (bx < 0 || bx >= options.width || by < 0 || by >= options.height) continue;
      ++points;
      const size_t here = (static_cast<size_t>(y) * options.width + x) * 3;
      const size_t there = (static_cast<size_t>(by) * options.width + bx) * 3;
      moved_difference += std::abs(now.bgr[here] - later.bgr[there]);
      unmoved_difference += std::abs(now.bgr[here] - later.bgr[here]);
    }
  }
  ASSERT_GT(points, 100);
  EXPECT_LT(moved_difference, 0.4 * unmoved_difference);
  EXPECT_LT(moved_difference / points, 6.0);
}

// The sensor's noise has the deviation asked for and is new in every frame; the light changes the
// picture slowly, and neither touches the truth.
TEST(Scenes, NoiseAndLightChangeThePictureOnly) {
  const SceneOptions plain = Options(21, CameraMotion::kStill);
  SceneOptions noisy = plain;
  noisy.noise = 6.0;
  const Frame clean = Draw(Scene(plain), 40);
  const Frame noised = Draw(Scene(noisy), 40);
  EXPECT_EQ(noised.labels, clean.labels);
  double squares = 0.0;
  double sum = 0.0;
  size_t count = 0;
  for (size_t i = 0; i < clean.bgr.size(); ++i) {
    if (clean.bgr[i] < 40 || clean.bgr[i] > 215) continue;  // clipped there
    const double difference = noised.bgr[i] - clean.bgr[i];
    sum += difference;
    squares += difference * difference;
    ++count;
  }
  EXPECT_NEAR(sum / static_cast<double>(count), 0.0, 0.1);
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(count)), 6.0, 0.3);

  noisy.moving_share = 0.0;
  const Scene resting(noisy);
  EXPECT_GT(MeanDifference(Draw(resting, 0), Draw(resting, 1)), 3.0);

  SceneOptions lit = plain;
  lit.moving_share = 0.0;
  lit.illumination = 0.5;
  const Scene scene(lit);
  EXPECT_LT(MeanDifference(Draw(scene, 0), Draw(scene, 1)), 3.0);
  EXPECT_GT(MeanDifference(Draw(scene, 0), Draw(scene, 60)), 5.0);
}

// A picture of twice the size shows the same scene.
TEST(Scenes, SizeDoesNotChangeTheScene) {
  SceneOptions small = Options(9, CameraMotion::kHandheld);
  SceneOptions large = small;
  large.width *= 2;
  large.height *= 2;
  const Frame a = Draw(Scene(small), 5);
  const Frame b = Draw(Scene(large), 5);
  int same = 0;
  for (int y = 0; y < small.height; ++y) {
    for (int x = 0; x < small.width; ++x) {
      same += a.labels[static_cast<size_t>(y) * small.width + x] ==
              b.labels[static_cast<size_t>(2 * y) * large.width + 2 * x];
    }
  }
  EXPECT_GT(same, 0.99 * small.width * small.height);
}

TEST(Scenes, RefusesOptionsOutOfRange) {
  const auto message = [](auto change) {
    SceneOptions options;
    change(options);
    try {
      Scene scene(options);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message([](SceneOptions&) {}), "");
  EXPECT_NE(message([](SceneOptions& o) { o.width = 0; }).find("width"), std::string::npos);
  EXPECT_NE(message([](SceneOptions& o) { o.height = 1 << 20; }).find("height"), std::string::npos);
  EXPECT_NE(message([](SceneOptions& o) { o.shapes = -1; }).find("shapes"), std::string::npos);
  EXPECT_NE(message([](SceneOptions& o) { o.noise = std::nan(""); }).find("noise"),
            std::string::npos);
  EXPECT_NE(message([](SceneOptions& o) { o.illumination = 2; }).find("illumination"),
            std::string::npos);
}

}  // namespace
}  // namespace cacheinf
