#include "tests/reuse/reused_frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "common/answer/recomputed.h"
#include "common/backend/forwarding_backend.h"
#include "common/backend/host/cpu_backend.h"
#include "common/canvas/make_geometry.h"
#include "common/source/scenes.h"
#include "tests/reuse/demo_network.h"
#include "tests/testing/run_graph.h"
#include "tests/testing/scripted_tracker.h"

// Compares a cached run of a video with a dense run of the same frames.

namespace cacheinf {
namespace {

constexpr int kHeight = 128;
constexpr int kWidth = 160;
constexpr int kChannels = 3;
using Pixels = std::vector<uint8_t>;
using OutputNumbers = std::vector<std::vector<float>>;

ModelState MakeState(const std::shared_ptr<const Graph>& graph, Keep keep, bool moves = false) {
  return ModelState(std::make_shared<const CompiledModel>(graph, std::make_unique<CpuBackend>()),
                    {.chosen = {}, .keep = keep, .moves = moves});
}

PictureView View(const Pixels& pixels) { return {pixels.data(), kWidth, kHeight, kChannels}; }

// Counts how often a map's numbers are looked at, as they are where spreads are measured.
class GatherCounter final : public ForwardingBackend {
 public:
  explicit GatherCounter(int& gathers)
      : ForwardingBackend(std::make_unique<CpuBackend>()), gathers_(gathers) {}
  using Backend::Gather;
  void Gather(const ConstTensorView& map, ConstMaskView pixels, std::span<float> numbers) override {
    ++gathers_;
    ForwardingBackend::Gather(map, pixels, numbers);
  }

 private:
  int& gathers_;
};

// Turns each frame against its reference by one `turn` more than the frame before.
class TurningTracker final : public Tracker {
 public:
  explicit TurningTracker(const Motion& turn) : turn_(turn) {}
  void SetReference(const PictureView&) override { frames_ = 0; }
  void SetReferenceToLastFrame() override { frames_ = 0; }
  Motion Track(const PictureView&) override {
    ++frames_;
    Motion motion = turn_;
    motion.reference_from_frame.m[0][1] *= frames_;
    motion.reference_from_frame.m[1][0] *= frames_;
    return motion;
  }

 private:
  Motion turn_;
  int frames_ = 0;
};

class ReusedFramesTest : public testing::Test {
 protected:
  void Start(const CacheConfig& config, const ChangeConfig& change = {}) {
    StartAs(config, change, nullptr);
  }

  void StartWarp(CacheConfig config, const ChangeConfig& change, std::vector<Motion> script) {
    config.geometry = CacheConfig::Geometry::kWarp;
    state_ = MakeState(graph_, Keep::kAll, /*moves=*/true);
    MakeCache(config, change, std::make_unique<ScriptedTracker>(std::move(script)));
  }

  // Uses a canvas if there is a tracker.
  void StartAs(CacheConfig config, const ChangeConfig& change, std::unique_ptr<Tracker> tracker) {
    config.geometry = tracker ? CacheConfig::Geometry::kCanvas : CacheConfig::Geometry::kNone;
    state_ = MakeState(graph_, Keep::kAll);
    MakeCache(config, change, std::move(tracker));
  }

  void MakeCache(const CacheConfig& config, const ChangeConfig& change,
                 std::unique_ptr<Tracker> tracker) {
    const ReuseSettings settings = Resolve(config, change);
    reused_ = std::make_unique<ReusedFrames>(
        settings, MakeGeometry(settings, *graph_, std::move(tracker)), state_);
  }

  // Counts what MeasureSpreads looks at.
  void StartCounting(const CacheConfig& config) {
    gathers_ = 0;
    state_ = ModelState(
        std::make_shared<const CompiledModel>(graph_, std::make_unique<GatherCounter>(gathers_)),
        {.chosen = {}, .keep = Keep::kAll});
    MakeCache(config, {}, nullptr);
  }

  FrameWork Show(const Pixels& pixels) { return reused_->Run(View(pixels)); }

  // The middle of the only output.
  OutputNumbers Inside(const OutputNumbers& outputs) const {
    const std::vector<float>& output = outputs.front();
    const Shape& shape = graph_->value(graph_->outputs[0]).shape;
    std::vector<float> inside;
    for (size_t i = 0; i < output.size(); ++i) {
      const auto pixel = static_cast<int64_t>(i) % (shape[2] * shape[3]);
      const int64_t y = pixel / shape[3];
      const int64_t x = pixel % shape[3];
      const bool is_inside = 10 * y >= 3 * shape[2] && 10 * y < 7 * shape[2] &&
                             10 * x >= 3 * shape[3] && 10 * x < 7 * shape[3];
      if (is_inside) inside.push_back(output[i]);
    }
    return {inside};
  }

  OutputNumbers Dense(const Pixels& pixels) {
    dense_.SetPicture(View(pixels));
    dense_.Run();
    return Outputs(dense_);
  }

  static Pixels Render(const Scene& scene, int frame) {
    Pixels pixels(static_cast<size_t>(kHeight) * kWidth * kChannels);
    scene.Render(frame, pixels.data(), nullptr);
    return pixels;
  }

  static Scene MakeScene(double noise = 0.0) {
    SceneOptions options;
    options.width = kWidth;
    options.height = kHeight;
    options.shapes = 6;
    options.noise = noise;
    return Scene(options);
  }

  std::shared_ptr<const Graph> graph_ = MakeDemoNetwork(kHeight, kWidth);
  ModelState dense_ = MakeState(graph_, Keep::kListed);
  ModelState state_ = MakeState(graph_, Keep::kAll);
  std::unique_ptr<ReusedFrames> reused_;
  int gathers_ = 0;
};

// A camera that sees nothing yet does not decide what counts as a change.
TEST_F(ReusedFramesTest, BlackFramesAtFirstDoNotMakeLaterOnesCostMore) {
  const Scene scene = MakeScene(1.0);
  const auto share_after = [&](int black_frames) {
    Start({.policy = CacheConfig::Policy::kChange, .refresh = 0});
    for (int i = 0; i < black_frames; ++i) {
      Show(Pixels(static_cast<size_t>(kHeight) * kWidth * kChannels, 0));
    }
    for (int frame = 0; frame < 3; ++frame) Show(Render(scene, frame));
    return Show(Render(scene, 3)).share;
  };
  EXPECT_NEAR(share_after(2), share_after(0), 0.05);
}

// One moment of much contrast does not decide it, either.
TEST_F(ReusedFramesTest, AFrameOfHighContrastDoesNotMakeLaterOnesCostLess) {
  const Scene scene = MakeScene(1.0);
  const auto dull = [&](int frame) {
    Pixels pixels = Render(scene, frame);
    for (uint8_t& level : pixels) level = static_cast<uint8_t>(64 + level / 2);
    return pixels;
  };
  Pixels stripes(static_cast<size_t>(kHeight) * kWidth * kChannels, 0);
  for (size_t i = 0; i < stripes.size(); ++i) stripes[i] = i / 60 % 2 == 0 ? 0 : 255;
  const auto share_after = [&](int striped_frames) {
    Start({.policy = CacheConfig::Policy::kChange, .refresh = 0});
    Show(dull(0));
    for (int i = 0; i < striped_frames; ++i) Show(stripes);
    for (int frame = 0; frame < 3; ++frame) Show(dull(frame));
    return Show(dull(3)).share;
  };
  EXPECT_NEAR(share_after(1) / share_after(0), 1.0, 0.2);
}

TEST_F(ReusedFramesTest, NoAnswerWaitsUntilSpreadsAreMeasured) {
  const Scene scene = MakeScene(1.0);
  const auto answers = [&](bool has_idle_time) {
    StartCounting({.policy = CacheConfig::Policy::kChange, .refresh = 0, .most_work = 0.0});
    // A robot's frames lie in one place. The first is so dull that the second is measured again.
    Pixels pixels(size_t{kHeight} * kWidth * kChannels, 90);
    std::vector<OutputNumbers> outputs;
    for (int frame = 0; frame < 4; ++frame) {
      if (frame > 0) scene.Render(frame, pixels.data(), nullptr);
      const int before = gathers_;
      const FrameWork work = Show(pixels);
      EXPECT_EQ(work.is_dense, frame == 0);
      const bool was_due = frame == 1 || frame == 2;
      EXPECT_EQ(gathers_ > before, was_due && !has_idle_time) << "before answer " << frame;
      outputs.push_back(Outputs(state_));
      const int answered = gathers_;
      if (has_idle_time) {
        EXPECT_FALSE(reused_->Refresh(View(pixels))) << "nothing is computed";
      }
      EXPECT_EQ(gathers_ > answered, frame < 2 && has_idle_time) << "after answer " << frame;
    }
    return outputs;
  };
  EXPECT_EQ(answers(false), answers(true));
}

TEST_F(ReusedFramesTest, SpreadsAreNotMeasuredUntilTheStateHoldsAll) {
  StartCounting({.policy = CacheConfig::Policy::kChange, .refresh = 4, .most_work = 0.0});
  const auto show = [&](const Pixels& pixels) {
    Show(pixels);
    reused_->Refresh(View(pixels));
  };
  const Scene scene = MakeScene(1.0);
  show(Pixels(size_t{kHeight} * kWidth * kChannels, 90));
  const int first = gathers_;
  EXPECT_GT(first, 0);
  reused_->SetHoldsAll(false);
  show(Render(scene, 1));  // of more contrast, so that spreads are due again
  EXPECT_TRUE(reused_->reuse().needs_all());
  show(Render(scene, 2));
  EXPECT_TRUE(reused_->reuse().needs_all()) << "it did not get what it needs";
  EXPECT_EQ(gathers_, first);
  reused_->SetHoldsAll(true);
  show(Render(scene, 3));
  EXPECT_GT(gathers_, first);
  EXPECT_FALSE(reused_->reuse().needs_all());
}

TEST_F(ReusedFramesTest, TellsWhereWorkWasDone) {
  Start({.policy = CacheConfig::Policy::kFixed, .growth = 0, .stem = 0, .refresh = 0});
  Pixels pixels = Render(MakeScene(), 0);
  Show(pixels);
  for (int y = 32; y < 64; ++y) {
    for (int i = 64 * kChannels; i < 96 * kChannels; ++i) {
      pixels[static_cast<size_t>(y * kWidth * kChannels + i)] ^= 0x80;
    }
  }
  Show(pixels);
  const ClassMap recomputed = Recomputed(state_);
  ASSERT_EQ(recomputed.width, kWidth);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const bool is_changed = y >= 32 && y < 64 && x >= 64 && x < 96;
      ASSERT_EQ(recomputed.At(x, y, kWidth, kHeight), is_changed ? kMostRecomputed : 0)
          << y << ", " << x;
    }
  }
  EXPECT_EQ(AllRecomputed(state_).At(0, 0, kWidth, kHeight), kMostRecomputed);
}

// A change too slow to be seen from one frame to the next is seen once it has added up.
TEST_F(ReusedFramesTest, SlowChangesAddUpUntilTheyAreSeen) {
  Start({.policy = CacheConfig::Policy::kFixed, .stem = 0, .refresh = 0}, {.threshold = 0.1});
  Pixels pixels(static_cast<size_t>(kHeight) * kWidth * kChannels, 40);
  Show(pixels);
  int seen = 0;
  for (int frame = 0; frame < 60; ++frame) {
    std::for_each(pixels.begin(), pixels.begin() + kWidth * kChannels * 40,
                  [](uint8_t& pixel) { ++pixel; });
    const FrameWork work = Show(pixels);
    EXPECT_LT(work.active, 0.5);
    seen += work.active > 0.0;
  }
  EXPECT_EQ(seen, 2);  // at 26 levels and at 52
}

// A square changes, and everything around it by less than counts as a change.
TEST_F(ReusedFramesTest, APixelOfTheFirstMapNeverMixesFrames) {
  const Pixels before(static_cast<size_t>(kHeight) * kWidth * kChannels, 100);
  Pixels after(before.size(), 115);
  for (int y = 40; y < 72; ++y) {
    const auto row = static_cast<size_t>(y) * kWidth * kChannels;
    std::fill_n(after.begin() + static_cast<int64_t>(row) + 48 * kChannels, 32 * kChannels, 220);
  }
  const auto first = std::find_if(graph_->operators.begin(), graph_->operators.end(),
                                  [](const Operator& op) { return op.As<op::Conv>() != nullptr; });
  const auto dense_map = [&](const Pixels& pixels) {
    ModelState dense = MakeState(graph_, Keep::kAll);
    dense.SetPicture(View(pixels));
    dense.Run();
    return Numbers(dense, first->outputs[0]);
  };
  const std::vector<float> of_before = dense_map(before);
  const std::vector<float> of_after = dense_map(after);
  for (const auto policy : {CacheConfig::Policy::kChange, CacheConfig::Policy::kFixed}) {
    Start({.policy = policy, .change = 0.001, .stem = 0, .refresh = 0, .relight = false});
    Show(before);
    const FrameWork work = Show(after);
    EXPECT_GT(work.active, 0.03);
    EXPECT_LT(work.active, 0.3);
    const std::vector<float> cached = Numbers(state_, first->outputs[0]);
    int64_t mixed = 0;
    int64_t changed = 0;
    for (size_t i = 0; i < cached.size(); ++i) {
      if (cached[i] != of_before[i] && cached[i] != of_after[i]) ++mixed;
      if (cached[i] != of_before[i]) ++changed;
    }
    EXPECT_EQ(mixed, 0) << "policy " << static_cast<int>(policy);
    EXPECT_GT(changed, 0);
  }
}

TEST_F(ReusedFramesTest, AFlushComputesEveryNthFrameWhole) {
  Start({.policy = CacheConfig::Policy::kFixed, .flush = 4});
  const Scene scene = MakeScene();
  for (int frame = 0; frame < 9; ++frame) {
    EXPECT_EQ(Show(Render(scene, frame)).is_dense, frame % 4 == 0);
  }
}

// A world that is larger than the picture, seen from (x, y) on.
Pixels Window(const Pixels& world, int world_width, int x, int y) {
  Pixels pixels;
  for (int row = 0; row < kHeight; ++row) {
    const auto first = world.begin() + ((y + row) * world_width + x) * kChannels;
    pixels.insert(pixels.end(), first, first + kWidth * kChannels);
  }
  return pixels;
}

// A world of twice the picture's sides.
Pixels World() {
  SceneOptions options;
  options.width = 2 * kWidth;
  options.height = 2 * kHeight;
  Pixels world(static_cast<size_t>(options.width) * options.height * kChannels);
  Scene(options).Render(0, world.data(), nullptr);
  return world;
}

// One factor for all maps is another threshold. Factors of resolutions that the network lacks
// change nothing.
TEST_F(ReusedFramesTest, FactorsScaleWhatCountsAsAChangeByResolution) {
  struct Outcome {
    OutputNumbers output;
    int64_t done = 0;
  };
  const auto outcome_of = [this](double change, std::vector<double> scales) {
    CacheConfig config = {.policy = CacheConfig::Policy::kChange, .change = change, .refresh = 0};
    config.change_scales = std::move(scales);
    Start(config);
    const Scene scene = MakeScene(1.0);
    Outcome outcome;
    for (int frame = 0; frame < 5; ++frame) {
      Show(Render(scene, frame));
      outcome.done += reused_->done();
    }
    outcome.output = Outputs(state_);
    return outcome;
  };
  const Outcome base = outcome_of(0.4, {});
  const Outcome scaled = outcome_of(0.1, {4});
  EXPECT_EQ(scaled.output, base.output);
  EXPECT_EQ(scaled.done, base.done);
  const std::vector<double> beyond = {1, 1, 1, 1, 1, 1, 1, 1, 9};
  EXPECT_EQ(outcome_of(0.4, beyond).output, base.output);
  EXPECT_LT(outcome_of(0.4, {1, 2, 2, 2}).done, base.done);
  EXPECT_GT(outcome_of(0.4, {1, 0.5, 0.5, 0.5}).done, base.done);
}

TEST_F(ReusedFramesTest, AShiftOfTheCameraLeavesLittleToCompute) {
  const Pixels world = World();
  StartAs({.policy = CacheConfig::Policy::kFixed, .stem = 0, .refresh = 0}, {},
          std::make_unique<ScriptedTracker>(std::vector<Motion>{Translation(3, 2)}));
  Show(Window(world, 2 * kWidth, 0, 0));
  const FrameWork work = Show(Window(world, 2 * kWidth, 3, 2));
  EXPECT_LT(work.share, 0.1);
  const Homography& frame_from_seen = reused_->reuse().placement().frame_from_seen;
  EXPECT_EQ(frame_from_seen.m[0][2], -3);
  EXPECT_EQ(frame_from_seen.m[1][2], -2);
}

TEST_F(ReusedFramesTest, ALostCameraMeansAWholeFrame) {
  Motion lost;
  lost.loss = Loss::kFewFeatures;
  StartAs({}, {}, std::make_unique<ScriptedTracker>(std::vector<Motion>{lost}));
  const Scene scene = MakeScene();
  Show(Render(scene, 0));
  const Pixels pixels = Render(scene, 9);
  const FrameWork work = Show(pixels);
  EXPECT_TRUE(work.is_dense);
  EXPECT_EQ(work.loss, Loss::kFewFeatures);
  EXPECT_EQ(Outputs(state_), Dense(pixels));
}

// With noise in every pixel reuse does not pay, so most of 40 frames are computed densely.
TEST_F(ReusedFramesTest, WhereTooMuchChangesReuseRestsLongerEachTime) {
  std::mt19937 random(7);
  const auto noise = [&random] {
    Pixels pixels(size_t{kHeight} * kWidth * kChannels);
    for (uint8_t& level : pixels) level = static_cast<uint8_t>(random() % 256);
    return pixels;
  };
  Start({.policy = CacheConfig::Policy::kFixed, .stem = 0, .refresh = 8});
  Show(noise());
  std::vector<int> tries;
  for (int frame = 1; frame <= 40; ++frame) {
    const Pixels pixels = noise();
    const FrameWork work = Show(pixels);
    EXPECT_EQ(work.rest == Rest::kTooMuchChanged, work.is_dense);
    if (!work.is_dense) tries.push_back(frame);
    if (work.is_dense) {
      EXPECT_EQ(Outputs(state_), Dense(pixels));
    }
    EXPECT_FALSE(reused_->Refresh(View(pixels))) << "the frames before and after are whole";
  }
  EXPECT_EQ(tries, (std::vector<int>{1, 3, 6, 11, 20, 37}));

  // Once it pays, it is tried with every frame; Forget resets this as well.
  const Pixels still = noise();
  while (Show(still).is_dense) {
  }
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(Show(still).is_dense);
  Show(noise());
  EXPECT_TRUE(reused_->Run(View(still), {.forget = true}).is_dense);
  EXPECT_FALSE(Show(still).is_dense);

  Start({.policy = CacheConfig::Policy::kFixed, .stem = 0, .most_work = 0.0});
  Show(noise());
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(Show(noise()).is_dense);
}

// The camera turns a little further with every frame.
TEST_F(ReusedFramesTest, TheNextAnchorIsMadeInIdleTimeSoThatNoAnswerWaitsForIt) {
  const Pixels world = World();
  const Pixels pixels = Window(world, 2 * kWidth, 0, 0);
  Motion turn;
  turn.reference_from_frame.m[0][1] = -0.006;
  turn.reference_from_frame.m[1][0] = 0.006;
  struct Outcome {
    int whole_answers = 0;
    int anchors = 0;
  };
  const auto outcome_of = [&](bool has_idle_time) {
    // A frame's motion is relative to the anchor, so it adds up until the next one.
    auto tracker = std::make_unique<TurningTracker>(turn);
    StartAs({.policy = CacheConfig::Policy::kFixed, .stem = 0, .refresh = 0}, {},
            std::move(tracker));
    Show(pixels);
    Outcome outcome;
    for (int frame = 1; frame <= 40; ++frame) {
      const FrameWork work = Show(pixels);
      if (work.is_dense) ++outcome.whole_answers;
      if (!has_idle_time) continue;
      const std::optional<FrameWork> refresh = reused_->Refresh(View(pixels));
      if (!refresh) continue;
      ++outcome.anchors;
      EXPECT_TRUE(refresh->is_dense);
      EXPECT_EQ(refresh->share, 1.0);
      EXPECT_EQ(reused_->reuse().decision().kind, FrameDecision::Kind::kWhole);
      EXPECT_TRUE(reused_->reuse().placement().frame_from_seen.IsIdentity());
      EXPECT_EQ(Outputs(state_), Dense(pixels)) << frame;
      EXPECT_FALSE(reused_->Refresh(View(pixels)).has_value());
    }
    return outcome;
  };
  const Outcome without = outcome_of(false);
  const Outcome with = outcome_of(true);
  EXPECT_GE(without.whole_answers, 3);
  EXPECT_EQ(with.whole_answers, 0);
  EXPECT_GE(with.anchors, 3);
  EXPECT_LE(with.anchors, without.whole_answers + 2);
}

TEST_F(ReusedFramesTest, AWarpFollowsTheCameraAndAnswersInTheFrame) {
  const Pixels world = World();
  StartWarp({.policy = CacheConfig::Policy::kFixed, .stem = 0, .refresh = 0}, {},
            {Translation(3, 2)});
  Show(Window(world, 2 * kWidth, 0, 0));
  for (int frame = 1; frame <= 4; ++frame) {
    const FrameWork work = Show(Window(world, 2 * kWidth, 3 * frame, 2 * frame));
    EXPECT_FALSE(work.is_dense);
    EXPECT_LT(work.active, 0.2);
    EXPECT_GT(work.active, 0.0) << "what came in is new";
    EXPECT_TRUE(reused_->reuse().placement().frame_from_seen.IsIdentity());
    const std::optional<FrameWork> refreshed = reused_->Refresh(View(world));
    ASSERT_TRUE(refreshed) << "the maps had to be moved";
    EXPECT_EQ(refreshed->share, 0.0);
  }
}

// Content that was seen before keeps its features, resampled. (Near the border a dense run computes
// other features, which content that has moved there never had.)
TEST_F(ReusedFramesTest, WhatHasMovedAgreesBetterThanTheAnswerOfTheFrameBefore) {
  Pixels world;
  for (int y = 0; y < 2 * kHeight; ++y) {
    for (int i = 0; i < 2 * kWidth * kChannels; ++i) {
      const int x = i / kChannels;
      const double waves = std::sin(0.11 * x) + std::sin(0.07 * y + i % kChannels) +
                           std::sin(0.05 * (x + y)) * std::sin(0.09 * (x - y));
      world.push_back(static_cast<uint8_t>(std::lround(127.0 + 40.0 * waves)));
    }
  }
  graph_ = MakeDemoNetwork(kHeight, kWidth, {.mean = {127.5}, .divisor = {64.0}});
  dense_ = MakeState(graph_, Keep::kListed);
  StartWarp({.policy = CacheConfig::Policy::kFixed, .stem = 0, .refresh = 0}, {},
            {Translation(3, 2)});
  double error = 0;
  double stale_error = 0;
  OutputNumbers before;
  for (int frame = 0; frame < 5; ++frame) {
    const Pixels pixels = Window(world, 2 * kWidth, 3 * frame, 2 * frame);
    const FrameWork work = Show(pixels);
    EXPECT_TRUE(frame == 0 || work.share < 0.5);
    const OutputNumbers dense = Inside(Dense(pixels));
    if (frame > 0) {
      error += RelativeErrorOf(Inside(Outputs(state_)), dense) / 4;
      stale_error += RelativeErrorOf(before, dense) / 4;
    }
    before = dense;
  }
  EXPECT_LT(error, 0.7 * stale_error) << "stale: " << stale_error;
}

TEST_F(ReusedFramesTest, UnderExactNothingIsMovedWhateverTheCameraDoes) {
  const Pixels world = World();
  StartWarp({.policy = CacheConfig::Policy::kExact}, {}, {Translation(3, 2)});
  for (int frame = 0; frame < 4; ++frame) {
    const Pixels pixels = Window(world, 2 * kWidth, 3 * frame, 2 * frame);
    Show(pixels);
    EXPECT_FALSE(reused_->Refresh(View(pixels)));
    EXPECT_EQ(Outputs(state_), Dense(pixels));
  }
}

TEST_F(ReusedFramesTest, AWarpThatIsLostMeansAWholeFrame) {
  Motion lost;
  lost.loss = Loss::kFewFeatures;
  StartWarp({}, {}, {Translation(3, 2), lost, Translation(1, 1)});
  const Pixels world = World();
  Show(Window(world, 2 * kWidth, 0, 0));
  EXPECT_FALSE(Show(Window(world, 2 * kWidth, 3, 2)).is_dense);
  const Pixels pixels = Window(world, 2 * kWidth, 50, 50);
  const FrameWork work = Show(pixels);
  EXPECT_TRUE(work.is_dense);
  EXPECT_EQ(work.loss, Loss::kFewFeatures);
  EXPECT_EQ(Outputs(state_), Dense(pixels));
  EXPECT_FALSE(reused_->Refresh(View(pixels))) << "nothing is left to be moved";
  EXPECT_FALSE(Show(Window(world, 2 * kWidth, 51, 51)).is_dense);
}

TEST_F(ReusedFramesTest, AWarpFollowsTheLight) {
  Motion darker;
  darker.light.gain = 0.5;
  darker.light.offset = 10;
  Motion moved = Translation(1, 0);
  moved.light.gain = 0.5;
  moved.light.offset = 10;
  for (const Motion& motion : {darker, moved}) {
    // Once the tracker's reference is a dark frame, the light stays as it is.
    Motion next = motion;
    if (!motion.reference_from_frame.IsIdentity()) {
      next.light.gain = 1;
      next.light.offset = 0;
    }
    StartWarp({.policy = CacheConfig::Policy::kFixed, .stem = 0, .refresh = 0}, {},
              {motion, next, next});
    const Pixels world = World();
    Show(Window(world, 2 * kWidth, 0, 0));
    for (int frame = 1; frame <= 3; ++frame) {
      const int shift = static_cast<int>(motion.reference_from_frame.m[0][2]) * frame;
      Pixels pixels = Window(world, 2 * kWidth, shift, 0);
      for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(pixel / 2 + 10);
      EXPECT_LT(Show(pixels).active, 0.2) << "frame " << frame;
    }
  }
}

}  // namespace
}  // namespace cacheinf
