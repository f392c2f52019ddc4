#include "client/tracker/ahead_tracker.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "client/tracker/scripted_tracker.h"
#include "common/source/scenes.h"

namespace cacheinf {
namespace {

constexpr int kWidth = 160;
constexpr int kHeight = 120;

std::vector<std::vector<uint8_t>> Clip(uint64_t seed, int frames) {
  SceneOptions options;
  options.seed = seed;
  options.width = kWidth;
  options.height = kHeight;
  options.camera = CameraMotion::kHandheld;
  options.illumination = 0.3;
  const Scene scene(options);
  std::vector<std::vector<uint8_t>> pictures;
  for (int i = 0; i < frames; ++i) {
    pictures.emplace_back(static_cast<size_t>(kWidth * kHeight * 3));
    scene.Render(i, pictures.back().data(), nullptr);
  }
  return pictures;
}

PictureView View(const std::vector<uint8_t>& pixels) { return {pixels.data(), kWidth, kHeight, 3}; }

void ExpectSameBits(const Motion& a, const Motion& b) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      EXPECT_EQ(a.reference_from_frame.m[i][j], b.reference_from_frame.m[i][j]);
    }
  }
  EXPECT_EQ(a.loss, b.loss);
  EXPECT_EQ(a.gain, b.gain);
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_EQ(a.match_ratio, b.match_ratio);
}

// A caller that now and then begins a frame ahead, makes another reference, or has no use for what
// it began, beside one that begins nothing.
TEST(AheadTrackerTest, GivesTheMotionsOfTheTrackerToTheBit) {
  const SteadyClock clock;
  for (const auto kind : {TrackerConfig::Kind::kHomography, TrackerConfig::Kind::kBlock}) {
    const auto seed = static_cast<uint32_t>(std::random_device()());
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", tracker " << static_cast<int>(kind));
    std::mt19937 random(seed);
    const auto one_in = [&random](uint32_t n) { return random() % n == 0; };
    TrackerConfig config;
    config.kind = kind;
    const auto clip = Clip(seed, 30);
    AheadTracker ahead(MakeTracker(config), clock);
    const std::unique_ptr<Tracker> plain = MakeTracker(config);
    ahead.SetReference(View(clip[0]));
    plain->SetReference(View(clip[0]));
    for (size_t i = 1; i < clip.size(); ++i) {
      if (one_in(2)) ahead.Begin(View(clip[i]));
      if (one_in(6)) {  // nothing of what was before counts
        ahead.SetReference(View(clip[i]));
        plain->SetReference(View(clip[i]));
        continue;
      }
      ExpectSameBits(ahead.Track(View(clip[i])), plain->Track(View(clip[i])));
      if (one_in(4)) {
        ahead.SetReferenceToLastFrame();
        plain->SetReferenceToLastFrame();
      }
    }
  }
}

TEST(AheadTrackerTest, TracksWhileItsCallerDoesSomethingElse) {
  const SteadyClock clock;
  TrackerConfig config;
  const auto clip = Clip(7, 2);
  AheadTracker tracker(MakeTracker(config), clock);
  tracker.SetReference(View(clip[0]));
  tracker.Track(View(clip[1]));
  EXPECT_EQ(tracker.time_ahead(), std::chrono::nanoseconds(0));
  tracker.Begin(View(clip[1]));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  tracker.Track(View(clip[1]));
  EXPECT_GT(tracker.time_ahead(), std::chrono::nanoseconds(0));
}

TEST(AheadTrackerTest, RefusesAnotherFrameThanItBegan) {
  const SteadyClock clock;
  const auto clip = Clip(7, 2);
  AheadTracker tracker(std::make_unique<ScriptedTracker>(), clock);
  tracker.Begin(View(clip[0]));
  EXPECT_THROW(tracker.Begin(View(clip[1])), std::logic_error);
  EXPECT_THROW(tracker.Track(View(clip[1])), std::logic_error);
  tracker.Track(View(clip[1]));
}

// A tracker that fails, against all promises.
class BrokenTracker final : public Tracker {
 public:
  void SetReference(const PictureView&) override {}
  void SetReferenceToLastFrame() override {}
  Motion Track(const PictureView&) override { throw std::runtime_error("out of memory"); }
};

TEST(AheadTrackerTest, WhatFailsAheadIsThrownWhereItIsAskedFor) {
  const SteadyClock clock;
  const auto clip = Clip(7, 1);
  AheadTracker tracker(std::make_unique<BrokenTracker>(), clock);
  tracker.Begin(View(clip[0]));
  EXPECT_THROW(tracker.Track(View(clip[0])), std::runtime_error);
  tracker.Begin(View(clip[0]));  // and is forgotten where nobody asks
  tracker.SetReference(View(clip[0]));
  tracker.Begin(View(clip[0]));
}

}  // namespace
}  // namespace cacheinf
