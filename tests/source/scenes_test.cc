#include "common/source/scenes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

struct DrawnFrame {
  std::vector<uint8_t> bgr;
  std::vector<uint8_t> labels;

  friend bool operator==(const DrawnFrame&, const DrawnFrame&) = default;
};

DrawnFrame Draw(const Scene& scene, int frame) {
  const size_t pixels = static_cast<size_t>(scene.options().width) * scene.options().height;
  DrawnFrame drawn{std::vector<uint8_t>(pixels * 3, 77), std::vector<uint8_t>(pixels, 99)};
  scene.Render(frame, drawn.bgr.data(), drawn.labels.data());
  return drawn;
}

uint64_t Checksum(const DrawnFrame& frame) {  // FNV-1a
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

// The trained network and every figure measured on generated clips depend on these bytes. If you
// change them on purpose, train the demo's network again and write the new sums here.
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
  std::vector<DrawnFrame> frames;
  for (int i = 0; i < 5; ++i) frames.push_back(Draw(forwards, 30 * i));
  for (int i = 4; i >= 0; --i) EXPECT_EQ(Draw(backwards, 30 * i), frames[i]) << "frame " << 30 * i;

  std::vector<uint8_t> without_labels(frames[2].bgr.size());
  forwards.Render(60, without_labels.data(), nullptr);
  EXPECT_EQ(without_labels, frames[2].bgr);
}

// The labels mark exactly where the picture shows a shape: without shapes the same seed gives the
// same background; the picture differs from it where a label says so and, except for blended edges,
// nowhere else.
TEST(Scenes, LabelsLieWhereTheShapesAre) {
  for (uint64_t seed = 40; seed < 46; ++seed) {
    SceneOptions options = Options(seed, CameraMotion::kTravel);
    const DrawnFrame with_shapes = Draw(Scene(options), 70);
    options.shapes = 0;
    const DrawnFrame without = Draw(Scene(options), 70);
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

TEST(Scenes, RefusesOptionsOutOfRange) {
  const auto message = [](auto change) {
    SceneOptions options;
    change(options);
    return RefusalOf([&] { const Scene scene(options); });
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
