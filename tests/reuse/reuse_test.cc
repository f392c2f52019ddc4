#include "common/reuse/reuse.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "client/record/decision_text.h"
#include "common/backend/host/cpu_backend.h"
#include "common/canvas/make_geometry.h"
#include "common/reuse/in_place.h"
#include "common/source/scenes.h"
#include "tests/reuse/demo_network.h"
#include "tests/testing/run_graph.h"
#include "tests/testing/scripted_tracker.h"

// Decisions about frames that nobody, or somebody else, executes.

namespace cacheinf {
namespace {

using Kind = FrameDecision::Kind;
using Pixels = std::vector<uint8_t>;

constexpr int kHeight = 96;
constexpr int kWidth = 128;

Pixels Render(CameraMotion camera, int frame) {
  SceneOptions options;
  options.width = kWidth;
  options.height = kHeight;
  options.shapes = 6;
  options.camera = camera;
  Pixels pixels(size_t{kHeight} * kWidth * 3);
  Scene(options).Render(frame, pixels.data(), nullptr);
  return pixels;
}

PictureView View(const Pixels& pixels) { return {pixels.data(), kWidth, kHeight, 3}; }

class ReuseTest : public testing::Test {
 protected:
  Reuse Decider(const CacheConfig& config) const {
    return Reuse(Resolve(config, {}), *graph_, std::make_unique<InPlace>(kWidth, kHeight));
  }

  std::shared_ptr<const Graph> graph_ = MakeDemoNetwork(kHeight, kWidth);
};

TEST_F(ReuseTest, AFrameThatWasNotExecutedIsMadeUpFor) {
  Reuse reuse = Decider({.policy = CacheConfig::Policy::kFixed, .stem = 0, .refresh = 0});
  const Pixels pixels = Render(CameraMotion::kStill, 0);
  EXPECT_EQ(reuse.Decide(0, View(pixels), {}).kind, Kind::kWhole);
  const FrameDecision& again = reuse.Decide(1, View(pixels), {});
  EXPECT_EQ(again.kind, Kind::kWhole);
  EXPECT_EQ(again.number, 1);
  EXPECT_EQ(again.base, -1);
  reuse.Commit({});
  const FrameDecision& same = reuse.Decide(2, View(pixels), {});
  EXPECT_EQ(same.kind, Kind::kChanged);
  EXPECT_EQ(same.base, 1);
  EXPECT_EQ(same.frame, 2);
  EXPECT_TRUE(IsEmpty(same.changed));
  EXPECT_EQ(reuse.Decide(3, View(pixels), {}).base, 1) << "the last one was not executed";
}

TEST_F(ReuseTest, TheNextDecisionTakesVerdictsIn) {
  Reuse reuse = Decider({.policy = CacheConfig::Policy::kFixed, .stem = 0, .refresh = 4});
  const Pixels pixels = Render(CameraMotion::kStill, 0);
  const auto decide = [&](const Verdict& verdict) {
    const FrameDecision& decision = reuse.Decide(0, View(pixels), verdict);
    reuse.Commit({});
    return decision;
  };
  decide({});
  const FrameDecision usual = decide({});
  EXPECT_EQ(usual.kind, Kind::kChanged);
  EXPECT_EQ(reuse.DecideRefresh(View(pixels), {.forget = true}), nullptr)
      << "a whole frame follows";
  const FrameDecision forgot = decide({.forget = true});
  EXPECT_EQ(forgot.kind, Kind::kWhole);
  EXPECT_EQ(forgot.base, -1);
  EXPECT_EQ(forgot.settings, usual.settings);
  decide({});
  const FrameDecision safer = decide({.level = SafetyLevel::kSafer});
  EXPECT_EQ(safer.kind, Kind::kWhole);
  EXPECT_GT(safer.settings, usual.settings);
  EXPECT_EQ(reuse.policy().stem_depth, 1);
  EXPECT_EQ(decide({.level = SafetyLevel::kSafer}).kind, Kind::kChanged) << "the level is the same";
  decide({.level = SafetyLevel::kDense});
  EXPECT_EQ(decide({.level = SafetyLevel::kDense}).kind, Kind::kWhole);
}

TEST_F(ReuseTest, RefreshesForceEveryPixelOnce) {
  Reuse reuse = Decider({.policy = CacheConfig::Policy::kChange, .stem = 0, .refresh = 3});
  const Pixels pixels = Render(CameraMotion::kStill, 0);
  reuse.Decide(0, View(pixels), {});
  reuse.Commit({});
  EXPECT_EQ(reuse.DecideRefresh(View(pixels), {}), nullptr) << "nothing is old";
  Mask forced(kHeight, kWidth);
  int64_t count = 0;
  for (int frame = 1; frame <= 3; ++frame) {
    const int64_t number = reuse.Decide(frame, View(pixels), {}).number;
    reuse.Commit({});
    const FrameDecision* const refresh = reuse.DecideRefresh(View(pixels), {});
    ASSERT_NE(refresh, nullptr);
    EXPECT_EQ(refresh->kind, Kind::kRefresh);
    EXPECT_EQ(refresh->base, number);
    EXPECT_EQ(refresh->frame, frame);
    EXPECT_TRUE(IsEmpty(refresh->changed));
    count += CountActive(std::as_const(refresh->forced));
    Unite(std::as_const(forced), std::as_const(refresh->forced), forced);
    reuse.Commit({});
  }
  EXPECT_EQ(count, kWidth * kHeight);
  EXPECT_EQ(CountActive(std::as_const(forced)), count);
}

TEST_F(ReuseTest, TheReferenceTakesOverWhatARefreshStores) {
  Reuse reuse =
      Decider({.policy = CacheConfig::Policy::kFixed, .stem = 0, .refresh = 1, .relight = false});
  const auto grey = [](uint8_t level) { return Pixels(size_t{kHeight} * kWidth * 3, level); };
  const Pixels first = grey(100);
  const Pixels lighter = grey(120);
  const Pixels darker = grey(80);
  reuse.Decide(0, View(first), {});
  reuse.Commit({});
  EXPECT_TRUE(IsEmpty(reuse.Decide(1, View(lighter), {}).changed)) << "too little to be a change";
  reuse.Commit({});
  const FrameDecision* const refresh = reuse.DecideRefresh(View(lighter), {});
  ASSERT_NE(refresh, nullptr);
  EXPECT_EQ(CountActive(std::as_const(refresh->forced)), kWidth * kHeight);
  reuse.Commit({});
  const FrameDecision& after = reuse.Decide(2, View(darker), {});
  EXPECT_EQ(CountActive(std::as_const(after.changed)), kWidth * kHeight);
}

// Two states execute the same decisions; one reads them from their text.
TEST_F(ReuseTest, ADecisionIsAllThatAnotherStateNeeds) {
  for (const auto geometry : {CacheConfig::Geometry::kNone, CacheConfig::Geometry::kCanvas,
                              CacheConfig::Geometry::kWarp}) {
    CacheConfig config = {
        .policy = CacheConfig::Policy::kFixed, .geometry = geometry, .stem = 0, .refresh = 4};
    config.most_work = 0.0;
    const ReuseSettings settings = Resolve(config, {});
    Reuse reuse(
        settings, *graph_,
        MakeGeometry(settings, *graph_,
                     std::make_unique<ScriptedTracker>(std::vector<Motion>{Translation(2, 0)})));
    const StateOptions options = OptionsFor(settings, *graph_);
    const auto model =
        std::make_shared<const CompiledModel>(graph_, std::make_unique<CpuBackend>());
    ModelState one(model, options);
    ModelState other(model, options);
    const auto execute = [&](const FrameDecision& decision) {
      const FrameDecision read = ReadFrameDecision(ToText(decision), "text");
      const ChangedWork work = one.Apply(decision, reuse.seen(), reuse.policy());
      EXPECT_EQ(other.Apply(read, reuse.seen(), reuse.policy()).done, work.done);
      reuse.Commit(work);
      reuse.MeasureSpreadsIfDue(one);
    };
    int refreshes = 0;
    for (int frame = 0; frame < 10; ++frame) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(geometry) << ", frame " << frame);
      const Pixels pixels = Render(CameraMotion::kHandheld, frame);
      const FrameDecision& decision = reuse.Decide(frame, View(pixels), {});
      EXPECT_EQ(decision.kind == Kind::kWhole, frame == 0);
      execute(decision);
      ASSERT_EQ(Outputs(one), Outputs(other));
      if (const FrameDecision* const refresh = reuse.DecideRefresh(View(pixels), {})) {
        execute(*refresh);
        ASSERT_EQ(Outputs(one), Outputs(other));
        ++refreshes;
      }
    }
    EXPECT_EQ(refreshes, 9);
  }
}

}  // namespace
}  // namespace cacheinf
