#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/canvas/make_geometry.h"
#include "common/model/graph/cost.h"
#include "common/model/graph/geometry.h"
#include "common/source/scenes.h"
#include "sparse_ops/mask/propagation.h"
#include "tests/reuse/demo_network.h"
#include "tests/reuse/reused_frames.h"
#include "tests/testing/networks.h"
#include "tests/testing/run_graph.h"
#include "tests/testing/scripted_tracker.h"

// What must hold between the answers to two frames, and what they may cost, for any network.

namespace cacheinf {
namespace {

constexpr int kChannels = 3;
using Pixels = std::vector<uint8_t>;
using Values = std::vector<std::vector<float>>;  // by ValueId; empty for constants

// The pixels (y, x) of a value that lack the bits that (y + rows, x + columns) had before. Includes
// pixels for which there was no such pixel.
Mask Differing(const Value& value, const std::vector<float>& before,
               const std::vector<float>& after, const Shift& shift = {}) {
  Mask mask(HeightOf(value), WidthOf(value));
  const MaskView view = mask;
  const int64_t pixels = view.pixel_count();
  const auto count = static_cast<int64_t>(after.size());
  for (int y = 0; y < view.height; ++y) {
    for (int x = 0; x < view.width; ++x) {
      const int old_y = y + shift.rows;
      const int old_x = x + shift.columns;
      bool differs = old_y < 0 || old_y >= view.height || old_x < 0 || old_x >= view.width;
      // A value that is not a map is one pixel of many numbers.
      const int64_t stride = value.is_map() ? pixels : 1;
      const int64_t now = int64_t{y} * view.width + x;
      const int64_t then = int64_t{old_y} * view.width + old_x;
      for (int64_t i = 0; i < count && !differs; i += stride) {
        differs =
            !SameBits(before[static_cast<size_t>(then + i)], after[static_cast<size_t>(now + i)]);
      }
      if (differs) view.Set(y, x);
    }
  }
  return mask;
}

// The output pixels of an operator that may differ if these pixels of its inputs do.
Mask Reached(const Graph& graph, const Operator& op, const std::vector<Mask>& differing) {
  const Value& output = graph.value(op.outputs[0]);
  Mask reached(HeightOf(output), WidthOf(output));
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const ValueId input = op.inputs[i];
    if (graph.value(input).is_constant() || IsEmpty(differing[input])) continue;
    if (!IsLocal(graph, op)) {
      SetAll(reached);
      continue;
    }
    const Window window = InputWindow(graph, op, static_cast<int>(i));
    Mask through(HeightOf(output), WidthOf(output));
    MaskPropagation(window.rows, window.columns).GrowThrough(differing[input], through);
    Unite(std::as_const(reached), std::as_const(through), reached);
  }
  return reached;
}

double ShareOf(const Mask& mask) {
  const ConstMaskView view = mask;
  return static_cast<double>(CountActive(view)) / static_cast<double>(view.pixel_count());
}

// A network whose results are kept, beside one that computes everything.
class CachedNetwork {
 protected:
  void Use(std::shared_ptr<const Graph> graph) {
    graph_ = std::move(graph);
    const Shape& picture = graph_->value(graph_->inputs[0]).shape;
    height_ = static_cast<int>(picture[2]);
    width_ = static_cast<int>(picture[3]);
    dense_ = MakeState(*graph_, std::make_unique<CpuBackend>(), {{}, Keep::kAllApart});
  }

  // Without a canvas, unless a tracker is given. Reuse is tried even where it does not pay.
  void Start(CacheConfig config, const ChangeConfig& change = {},
             std::unique_ptr<Tracker> tracker = nullptr) {
    config.most_work = 0.0;
    if (tracker) config.geometry = CacheConfig::Geometry::kCanvas;
    state_ = MakeState(*graph_, std::make_unique<CpuBackend>(), {{}, Keep::kAll});
    MakeCache(config, change, std::move(tracker));
  }

  void StartWarp(CacheConfig config, const ChangeConfig& change, const Motion& motion) {
    config.geometry = CacheConfig::Geometry::kWarp;
    config.most_work = 0.0;
    state_ = MakeState(*graph_, std::make_unique<CpuBackend>(), {{}, Keep::kAll, true});
    MakeCache(config, change, std::make_unique<ScriptedTracker>(std::vector<Motion>{motion}));
  }

  void MakeCache(const CacheConfig& config, const ChangeConfig& change,
                 std::unique_ptr<Tracker> tracker) {
    const ReuseSettings settings = Resolve(config, change);
    reused_ = std::make_unique<ReusedFrames>(
        settings, MakeGeometry(settings, *graph_, std::move(tracker)), *state_);
  }

  FrameWork Show(const Pixels& pixels) {
    return reused_->Run({pixels.data(), width_, height_, kChannels});
  }

  Values Dense(const Pixels& pixels) {
    dense_->SetPicture({pixels.data(), width_, height_, kChannels});
    dense_->Run();
    return ValuesOf(*dense_);
  }

  Values Cached() const { return ValuesOf(*state_); }

  static Values ValuesOf(const ModelState& state) {
    const Graph& graph = state.graph();
    Values values(graph.values.size());
    for (size_t id = 0; id < values.size(); ++id) {
      if (graph.values[id].is_constant()) continue;
      values[id] = Numbers(state, static_cast<ValueId>(id));
    }
    return values;
  }

  // Whether two runs gave the same; else says where they differ.
  testing::AssertionResult AreSame(const Values& expected, const Values& actual) const {
    for (const Operator& op : graph_->operators) {
      const auto output = static_cast<size_t>(op.outputs[0]);
      const std::string difference = FirstDifference(expected[output], actual[output]);
      if (!difference.empty()) {
        return testing::AssertionFailure()
               << KindName(op) << " '" << op.name << "': " << difference;
      }
    }
    return testing::AssertionSuccess();
  }

  static Pixels Render(const Scene& scene, int frame) {
    const SceneOptions& options = scene.options();
    Pixels pixels(static_cast<size_t>(options.height) * static_cast<size_t>(options.width) *
                  kChannels);
    scene.Render(frame, pixels.data(), nullptr);
    return pixels;
  }

  Scene MakeScene(CameraMotion camera = CameraMotion::kStill, int times = 1) const {
    SceneOptions options;
    options.width = times * width_;
    options.height = times * height_;
    options.shapes = 6 * times;
    options.camera = camera;
    return Scene(options);
  }

  // The multiply-adds of everything that changes in these pixels can reach, if an operator is
  // reached only through inputs that really differ.
  int64_t ImpliedWork(const std::vector<Mask>& differing) const {
    int64_t work = 0;
    for (const Operator& op : graph_->operators) {
      const Mask reached = Reached(*graph_, op, differing);
      work += CostOf(*graph_, op).multiply_adds * CountActive(reached) / PixelCount(op);
    }
    return work;
  }

  int64_t PixelCount(const Operator& op) const {
    const Value& output = graph_->value(op.outputs[0]);
    return int64_t{HeightOf(output)} * WidthOf(output);
  }

  int height_ = 0;
  int width_ = 0;
  std::shared_ptr<const Graph> graph_;
  std::unique_ptr<ModelState> dense_;
  std::unique_ptr<ModelState> state_;
  std::unique_ptr<ReusedFrames> reused_;
};

// What is seen from (y, x) on of a world of twice the picture's sides.
Pixels Window(const Pixels& world, int height, int width, int y, int x) {
  Pixels pixels;
  for (int row = 0; row < height; ++row) {
    const auto first = world.begin() + (int64_t{y + row} * 2 * width + x) * kChannels;
    pixels.insert(pixels.end(), first, first + int64_t{width} * kChannels);
  }
  return pixels;
}

class MetamorphicTest : public CachedNetwork, public testing::TestWithParam<Network> {
 protected:
  MetamorphicTest() { Use(MakeNetwork(GetParam(), 64, 96)); }

  // Moves the camera down and to the right by whole strides of every map.
  void MoveByWholeStrides() {
    Use(MakeNetwork(GetParam(), 128, 192));
    step_ = ShiftStep(*graph_, 64);
    ASSERT_GT(step_, 0);
    const Pixels world = Render(MakeScene(CameraMotion::kStill, 2), 0);
    first_ = Window(world, height_, width_, 0, 0);
    second_ = Window(world, height_, width_, step_, step_);
    const Values before = Dense(first_);
    after_ = Dense(second_);
    for (size_t id = 0; id < after_.size(); ++id) {
      const Value& value = graph_->values[id];
      const Shift shift = {step_ * HeightOf(value) / height_, step_ * WidthOf(value) / width_};
      differing_.push_back(Differing(value, before[id], after_[id], shift));
    }
  }

  int step_ = 0;
  Pixels first_;                 // before the move
  Pixels second_;                // after it
  Values after_;                 // of a dense run
  std::vector<Mask> differing_;  // the pixels of every value that a shift of the old ones lacks
};

INSTANTIATE_TEST_SUITE_P(Of, MetamorphicTest, testing::ValuesIn(TenNetworks()),
                         [](const auto& info) { return std::string(info.param.name); });

constexpr auto kExact = CacheConfig::Policy::kExact;
constexpr auto kChange = CacheConfig::Policy::kChange;
constexpr auto kFixed = CacheConfig::Policy::kFixed;

TEST_P(MetamorphicTest, ARepeatedFrameCostsNothingAndChangesNothing) {
  const Scene scene = MakeScene();
  for (const auto policy : {kExact, kChange, kFixed}) {
    for (const auto& [stem, has_canvas] : {std::pair(0, false), {0, true}, {2, false}, {2, true}}) {
      Start({.policy = policy, .stem = stem, .refresh = 0}, {},
            has_canvas ? MakeTracker({}) : nullptr);
      Show(Render(scene, 0));
      const Pixels pixels = Render(scene, 5);
      EXPECT_GT(Show(pixels).share, 0.0);
      const Values before = Cached();
      for (int again = 0; again < 2; ++again) {
        const FrameWork work = Show(pixels);
        EXPECT_EQ(reused_->done(), 0);
        EXPECT_EQ(work.active, 0.0);
        EXPECT_FALSE(work.is_dense);
        EXPECT_TRUE(AreSame(before, Cached()));
      }
    }
  }
}

// Everything that a still camera can see: shapes that move, one pixel, noise, another picture.
TEST_P(MetamorphicTest, UnderExactAStillCameraGivesDenseBitsForTheWorkThatItsChangesImply) {
  const Scene scene = MakeScene();
  std::vector<Pixels> frames;
  for (const int frame : {0, 1, 2, 8}) frames.push_back(Render(scene, frame));
  frames.push_back(frames.back());
  frames.back()[frames.back().size() / 2] ^= 1;
  std::mt19937 random(1);
  frames.push_back(frames.back());
  for (uint8_t& level : frames.back()) level = static_cast<uint8_t>((level & ~3u) | random() % 4);
  frames.push_back(Pixels(frames.back().size(), 77));
  frames.push_back(frames.front());

  Start({.policy = kExact});
  Show(frames[0]);
  Values before = Dense(frames[0]);
  for (size_t frame = 1; frame < frames.size(); ++frame) {
    SCOPED_TRACE(testing::Message() << "frame " << frame);
    const FrameWork work = Show(frames[frame]);
    const Values after = Dense(frames[frame]);
    ASSERT_TRUE(AreSame(after, Cached()));
    std::vector<Mask> differing;
    for (size_t id = 0; id < after.size(); ++id) {
      differing.push_back(Differing(graph_->values[id], before[id], after[id]));
    }
    for (const Operator& op : graph_->operators) {
      const ValueId output = op.outputs[0];
      if (IsLocal(*graph_, op)) {
        EXPECT_TRUE(AreEqual(state_->changed(output), std::as_const(differing[output])))
            << KindName(op) << " '" << op.name << "'";
      } else {
        differing[output] = Reached(*graph_, op, differing);  // whole or not at all
      }
    }
    EXPECT_EQ(reused_->done(), ImpliedWork(differing));
    EXPECT_EQ(work.active, ShareOf(differing[graph_->inputs[0]]));
    before = after;
  }
}

// The whole picture is one strip. (Without a stem `fixed` leaves out what the answer stored.)
TEST_P(MetamorphicTest, ARefreshOfEverythingGivesDenseBits) {
  const Scene scene = MakeScene(CameraMotion::kTravel);
  for (const auto& [policy, stem] :
       {std::pair(kChange, 0), {kChange, 3}, {kFixed, 1}, {kFixed, 3}}) {
    Start({.policy = policy, .stem = stem, .refresh = 1});
    Show(Render(scene, 0));
    for (const int frame : {1, 5, 6}) {
      const Pixels pixels = Render(scene, frame);
      EXPECT_FALSE(Show(pixels).is_dense);
      const auto refresh = reused_->Refresh({pixels.data(), width_, height_, kChannels});
      ASSERT_TRUE(refresh);
      EXPECT_EQ(refresh->share, 1.0);
      ASSERT_TRUE(AreSame(Dense(pixels), Cached())) << "stem " << stem << ", frame " << frame;
    }
  }
}

// A pixel whose change does not count stays as it was, but no longer than until its refresh.
TEST_P(MetamorphicTest, OnceEveryStripHadItsTurnAStillPictureIsStoredAsADenseRunGivesIt) {
  const Scene scene = MakeScene(CameraMotion::kTravel);
  for (const auto policy : {kExact, kChange}) {
    Start({.policy = policy, .change = 0.0, .stem = 0, .refresh = 5});
    int frames_off = 0;
    for (const int frame : {0, 1, 2, 3, 9, 9, 10}) {
      const Pixels pixels = Render(scene, frame);
      Show(pixels);
      if (!AreSame(Dense(pixels), Cached())) ++frames_off;
      reused_->Refresh({pixels.data(), width_, height_, kChannels});
    }
    EXPECT_EQ(frames_off > 0, policy == kChange);
    const Pixels last = Render(scene, 11);
    for (int strip = 0; strip < 5; ++strip) {
      Show(last);
      reused_->Refresh({last.data(), width_, height_, kChannels});
    }
    EXPECT_TRUE(AreSame(Dense(last), Cached())) << "policy " << static_cast<int>(policy);
  }
}

// The rectangle around the middle that no active pixel lies in; none if the middle is active.
Rectangle Interior(ConstMaskView mask) {
  // The run of inactive lines around the middle one.
  const auto around_middle = [](int size, auto is_active) {
    Range range = {size / 2, size / 2};
    while (range.begin > 0 && !is_active(range.begin - 1)) --range.begin;
    while (range.end < size && !is_active(range.end)) ++range.end;
    return range;
  };
  const Range rows = around_middle(mask.height, [&](int y) {
    const int middle = mask.width / 2;
    return mask.Test(y, middle) || mask.Test(y, std::max(middle - 1, 0));
  });
  const Range columns = around_middle(mask.width, [&](int x) {
    for (int y = rows.begin; y < rows.end; ++y) {
      if (mask.Test(y, x)) return true;
    }
    return rows.empty();
  });
  return {rows, columns};
}

int64_t AreaOf(const Rectangle& rectangle, int margin) {
  return int64_t{std::max(rectangle.rows.size() - 2 * margin, 0)} *
         std::max(rectangle.columns.size() - 2 * margin, 0);
}

TEST_P(MetamorphicTest, AShiftByWholeStridesIsDenseAwayFromTheBorderForTheWorkOfTheBorder) {
  ASSERT_NO_FATAL_FAILURE(MoveByWholeStrides());
  int64_t least = 0;
  int64_t most = 0;
  for (const Operator& op : graph_->operators) {
    const int64_t multiply_adds = CostOf(*graph_, op).multiply_adds;
    const ConstMaskView differs = std::as_const(differing_[op.outputs[0]]);
    least += multiply_adds * CountActive(differs) / PixelCount(op);
    most += multiply_adds * (PixelCount(op) - AreaOf(Interior(differs), 1)) / PixelCount(op);
  }

  const Motion motion = Translation(step_, step_);
  for (const auto policy : {kChange, kFixed}) {
    for (const double change : {0.0, 0.1}) {
      SCOPED_TRACE(testing::Message()
                   << "policy " << static_cast<int>(policy) << ", change " << change);
      ChangeConfig pixels;
      pixels.threshold = change;
      Start({.policy = policy, .change = change, .stem = 0, .refresh = 0}, pixels,
            std::make_unique<ScriptedTracker>(std::vector<Motion>{motion}));
      Show(first_);
      const FrameWork work = Show(second_);
      ASSERT_EQ(work.loss, Loss::kNone);
      EXPECT_FALSE(work.is_dense);
      const Values cached = Cached();
      if (policy == kChange && change == 0.0) {
        EXPECT_TRUE(AreSame(after_, cached)) << "nothing is left to chance at the border";
        EXPECT_GE(reused_->done(), least);
        EXPECT_LE(reused_->done(), most);
      }
      for (const Operator& op : graph_->operators) {
        const ValueId id = op.outputs[0];
        const Rectangle interior = Interior(std::as_const(differing_[id]));
        const Mask wrong = Differing(graph_->value(id), after_[id], cached[id]);
        for (int y = interior.rows.begin; y < interior.rows.end; ++y) {
          for (int x = interior.columns.begin; x < interior.columns.end; ++x) {
            ASSERT_FALSE(std::as_const(wrong).view().Test(y, x))
                << KindName(op) << " '" << op.name << "' at " << y << ", " << x;
          }
        }
      }
    }
  }
}

// Maps moved by whole pixels hold what they held. A dense run gives the same, except where the
// border shows in what was kept or in its inputs.
TEST_P(MetamorphicTest, MapsWarpedByWholeStridesAreDenseAwayFromBorders) {
  ASSERT_NO_FATAL_FAILURE(MoveByWholeStrides());
  std::vector<Mask>& may_differ = differing_;
  for (const Operator& op : graph_->operators) {
    const Mask reached = Reached(*graph_, op, may_differ);
    Mask& own = may_differ[op.outputs[0]];
    Unite(std::as_const(own), std::as_const(reached), own);
  }

  const Motion motion = Translation(step_, step_);
  for (const auto policy : {kChange, kFixed}) {
    SCOPED_TRACE(testing::Message() << "policy " << static_cast<int>(policy));
    StartWarp({.policy = policy, .change = 0.1, .stem = 0, .refresh = 0}, {}, motion);
    Show(first_);
    const FrameWork work = Show(second_);
    EXPECT_FALSE(work.is_dense);
    const double still_seen =
        static_cast<double>((height_ - step_) * (width_ - step_)) / (height_ * width_);
    EXPECT_GE(work.active, 1.0 - still_seen);
    EXPECT_LT(work.active, 1.0 - 0.5 * still_seen);
    // Outputs are whole at once, all other maps after idle time.
    const auto outputs = Outputs(*state_);
    reused_->Refresh({second_.data(), width_, height_, kChannels});
    EXPECT_EQ(Outputs(*state_), outputs);
    const Values cached = Cached();
    int64_t compared = 0;
    for (const Operator& op : graph_->operators) {
      const ValueId id = op.outputs[0];
      const Value& value = graph_->value(id);
      const ConstMaskView unknown = std::as_const(may_differ[id]);
      const Mask wrong = Differing(value, after_[id], cached[id]);
      Mask wrong_but_known(HeightOf(value), WidthOf(value));
      Subtract(std::as_const(wrong), unknown, wrong_but_known);
      EXPECT_TRUE(IsEmpty(std::as_const(wrong_but_known)))
          << KindName(op) << " '" << op.name << "'";
      compared += unknown.pixel_count() - CountActive(unknown);
    }
    EXPECT_GT(compared, height_ * width_ / 4) << "too few pixels could be compared";
  }
}

// A sensor's noise, different in every frame.
class Noise {
 public:
  explicit Noise(double deviation) : table_(1 << 16) {
    std::mt19937 random(20261121);
    std::normal_distribution<double> noise(0.0, deviation);
    for (int& level : table_) level = static_cast<int>(std::lround(noise(random)));
  }

  Pixels AddTo(Pixels pixels, int frame) const {
    std::mt19937 random(static_cast<uint32_t>(frame));
    size_t at = random();
    for (uint8_t& pixel : pixels) {
      pixel = static_cast<uint8_t>(std::clamp(pixel + table_[at++ % table_.size()], 0, 255));
    }
    return pixels;
  }

 private:
  std::vector<int> table_;
};

// A still camera with a noisy sensor, under `change`.
class NoiseTest : public CachedNetwork, public testing::TestWithParam<Network> {
 protected:
  NoiseTest() { Use(MakeNetwork(GetParam(), 32, 64)); }
};

std::vector<Network> FirstNetworks() { return {TenNetworks().begin(), TenNetworks().begin() + 2}; }
std::vector<Network> OtherNetworks() { return {TenNetworks().begin() + 2, TenNetworks().end()}; }
std::string NameOf(const testing::TestParamInfo<Network>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Of, NoiseTest, testing::ValuesIn(FirstNetworks()), NameOf);
INSTANTIATE_TEST_SUITE_P(SlowOf, NoiseTest, testing::ValuesIn(OtherNetworks()), NameOf);

// As a robot runs: with a refresh, what is stored never gets older than after ten frames. Errors of
// neighbouring frames go together, so even means over 240 of them scatter; over 80 they did by 5 %
// to both sides.
TEST_P(NoiseTest, WithARefreshTheErrorAfterTwoThousandFramesIsThatAfterTen) {
  constexpr int kFrames = 2000;
  constexpr int kFirst = 10;
  constexpr int kJudged = 240;  // early, and the same pictures again at the end
  constexpr int kLast = kFirst + kJudged;
  Start({.policy = kChange, .change = 0.3, .refresh = CacheConfig().refresh});
  const Pixels still = Render(MakeScene(), 0);
  const Noise noise(2.0);
  double early_error = 0;
  double late_error = 0;
  double share = 0;  // of a dense run's work, on average
  for (int frame = 0; frame < kFrames; ++frame) {
    const int shown = frame < kFrames - kLast ? frame : frame - (kFrames - kLast);
    const Pixels pixels = noise.AddTo(still, shown);
    const FrameWork work = Show(pixels);
    if (frame > 0) share += work.share / (kFrames - 1);
    if (shown >= kFirst && shown < kLast) {
      Dense(pixels);
      const double error = RelativeErrorOf(Outputs(*state_), Outputs(*dense_));
      (shown == frame ? early_error : late_error) += error / kJudged;
    }
    reused_->Refresh({pixels.data(), width_, height_, kChannels});
  }
  EXPECT_GT(early_error, 0.0);
  EXPECT_LT(late_error, 1.05 * early_error);
  EXPECT_LT(share, 0.9);
}

}  // namespace
}  // namespace cacheinf
