// Read this first: a robot is given frame after frame and answers each.

#include "client/robot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "client/record/recording.h"
#include "client/robot_setup.h"
#include "common/answer/agreement.h"
#include "common/base/clock.h"
#include "common/source/frame_source.h"
#include "common/source/scenes.h"
#include "tests/client/demo_config.h"
#include "tests/client/read_frames.h"

namespace cacheinf {
namespace {

class RobotTest : public testing::Test {
 protected:
  Robot MakeRobot(const RobotConfig& config) {
    const auto model = Compile(LoadGraph(config, /*has_tensors=*/false), config);
    return Robot(model, config, clock_);
  }

  SteadyClock clock_;
};

TEST_F(RobotTest, ComputesTheFirstFrameWholeAndThenWhatChanges) {
  RobotConfig config = DemoConfig("1x3x96x128");
  config.source = "generated:seed=5,frames=6,width=128,height=96,shapes=3";
  config.cache.policy = CacheConfig::Policy::kExact;
  Robot robot = MakeRobot(config);
  Robot dense = MakeRobot(config.InDenseMode());
  for (const Frame& frame : ReadFrames(config.source)) {
    SCOPED_TRACE(testing::Message() << "frame " << frame.index);
    const Answer answer = robot.Process(frame);
    EXPECT_EQ(answer.computed_from, frame.index);
    dense.Process(frame);
    EXPECT_EQ(HashOfOutputs(robot.outputs()), HashOfOutputs(dense.outputs()));
    if (frame.index == 0) {
      EXPECT_EQ(answer.work->share, 1.0);
    } else {
      EXPECT_LT(answer.work->share, 0.9);
    }
    robot.Refresh(frame);
  }
}

// A camera that pans, turns and zooms.
TEST_F(RobotTest, AfterAnAnchorInIdleTimeItGoesOnAsOneThatBeginsThere) {
  RobotConfig config = DemoConfig("1x3x96x128");
  config.source = "generated:seed=5,frames=30,width=128,height=96,shapes=6,camera=travel";
  config.cache.geometry = CacheConfig::Geometry::kCanvas;
  config.cache.policy = CacheConfig::Policy::kFixed;
  config.cache.stem = 0;
  config.cache.refresh = 0;
  config.tracker.change.threshold = 0.02;
  Robot robot = MakeRobot(config);
  std::optional<Robot> newcomer;
  int anchors = 0;
  for (const Frame& frame : ReadFrames(config.source)) {
    SCOPED_TRACE(testing::Message() << "frame " << frame.index);
    const Answer answer = robot.Process(frame);
    if (newcomer) {
      const Answer expected = newcomer->Process(frame);
      EXPECT_EQ(answer.work->share, expected.work->share);
      EXPECT_TRUE(AreEqual(robot.decision()->changed, newcomer->decision()->changed));
      EXPECT_EQ(HashOfOutputs(robot.outputs()), HashOfOutputs(newcomer->outputs()));
      EXPECT_GT(answer.work->share, 0.05) << "too little changes";
      EXPECT_LT(answer.work->share, 0.8);
    }
    if (!robot.Refresh(frame)) continue;
    ++anchors;
    newcomer.emplace(Compile(robot.state().graph(), config), config, clock_);
    newcomer->Process(frame);
  }
  EXPECT_GE(anchors, 2);
}

// So that it can look at the clock between two steps as a slow robot does.
TEST_F(RobotTest, ARobotThatIsMadeSlowTakesItsTimeForEachStep) {
  RobotConfig config = DemoConfig("1x3x384x512");
  config.source = "generated:seed=5,frames=4,width=512,height=384";
  config.server.emulate = "20x";
  Robot robot = MakeRobot(config);
  std::vector<std::chrono::nanoseconds> steps;
  for (const Frame& frame : ReadFrames(config.source)) {
    robot.Begin(frame);
    bool is_answered = false;
    while (!is_answered) {
      const auto begin = clock_.Now();
      is_answered = robot.Step().has_value();
      if (frame.index == 0) steps.push_back(clock_.Now() - begin);
    }
  }
  ASSERT_GE(steps.size(), 8);
  const auto all = std::accumulate(steps.begin(), steps.end(), std::chrono::nanoseconds(0));
  EXPECT_LT(std::ranges::max(steps), all * 3 / 4);
}

// A camera that pans to the right over a world that stands still, comes back and stays.
class PanTest : public RobotTest {
 protected:
  static constexpr int kWidth = 160;
  static constexpr int kHeight = 128;
  static constexpr int kPixelsAFrame = 4;
  static constexpr int kThere = 12;         // frames until it turns back
  static constexpr int kBack = 2 * kThere;  // this frame equals the first one
  static constexpr int kBesideBorder = 24;  // pixels of the picture

  // Moves the maps, and computes only what came into view and its neighbours.
  static RobotConfig Warping() {
    RobotConfig config = DemoConfig("1x3x128x160");
    config.cache.geometry = CacheConfig::Geometry::kWarp;
    config.cache.policy = CacheConfig::Policy::kFixed;
    config.cache.stem = 0;
    return config;
  }

  static RobotConfig Exact() {
    RobotConfig config = DemoConfig("1x3x128x160");
    config.cache.policy = CacheConfig::Policy::kExact;
    return config;
  }

  PanTest() : robot_(MakeRobot(Warping())), dense_(MakeRobot(Exact())) {
    SceneOptions options;
    options.width = 2 * kWidth;
    options.height = kHeight;
    options.shapes = 24;
    world_.resize(static_cast<size_t>(options.width) * static_cast<size_t>(options.height) * 3);
    Scene(options).Render(0, world_.data(), nullptr);
  }

  Frame FrameOf(int index) const {
    const int left = 40 + kPixelsAFrame * (index <= kThere ? index : std::max(kBack - index, 0));
    std::vector<uint8_t> pixels;
    for (int y = 0; y < kHeight; ++y) {
      const auto first = world_.begin() + (int64_t{y} * 2 * kWidth + left) * 3;
      pixels.insert(pixels.end(), first, first + kWidth * 3);
    }
    Frame frame;
    frame.index = index;
    frame.picture = MakePicture(kWidth, kHeight, 3, std::move(pixels));
    return frame;
  }

  struct Shown {
    double agreement = 0.0;      // share of pixels of the dense class
    double beside_border = 0.0;  // the same, of pixels beside the border
    double share = 0.0;          // of a dense run's work, refresh included
    int wrong_came_in = 0;       // columns, among those that came into view and their neighbours
  };

  Shown Show(int index) {
    const Frame frame = FrameOf(index);
    const Answer answer = robot_.Process(frame);
    const Answer expected = dense_.Process(frame);
    EXPECT_EQ(answer.work->is_dense, index == 0);
    Shown shown;
    MapAgreement everywhere;
    const auto& map = std::get<ClassMap>(answer.content);
    const auto& dense_map = std::get<ClassMap>(expected.content);
    everywhere.Add(map, dense_map);
    shown.agreement = everywhere.PixelShare().value_or(1);
    int equal = 0;
    int count = 0;
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const int from_border = std::min({x, y, kWidth - 1 - x, kHeight - 1 - y});
        if (from_border >= kBesideBorder) continue;
        ++count;
        equal += map.At(x, y, kWidth, kHeight) == dense_map.At(x, y, kWidth, kHeight) ? 1 : 0;
      }
    }
    shown.beside_border = static_cast<double>(equal) / count;
    shown.share = answer.work->share;
    if (const auto refreshed = robot_.Refresh(frame)) shown.share += refreshed->work.share;
    dense_.Refresh(frame);
    // All maps have moved by now.
    const bool came_from_right = index <= kThere;
    shown.wrong_came_in = came_from_right ? WrongColumns(kWidth - 2 * kPixelsAFrame, kWidth)
                                          : WrongColumns(0, 2 * kPixelsAFrame);
    return shown;
  }

  // In how many of these columns of the picture the first convolution, which pads, differs from a
  // dense run.
  int WrongColumns(int begin, int end) const {
    const Graph& graph = robot_.state().graph();
    const auto first =
        std::find_if(graph.operators.begin(), graph.operators.end(),
                     [](const Operator& op) { return op.As<op::Conv>() != nullptr; });
    const ConstTensorView own = robot_.state().view(first->outputs[0]);
    const ConstTensorView dense = dense_.state().view(first->outputs[0]);
    const auto at = [](const ConstTensorView& map, int64_t c, int64_t y, int64_t x) {
      return map.data[c * map.strides[1] + y * map.strides[2] + x * map.strides[3]];
    };
    const auto width = static_cast<int>(own.dims[3]);
    int wrong = 0;
    for (int x = begin * width / kWidth; x < (end * width + kWidth - 1) / kWidth; ++x) {
      bool differs = false;
      for (int64_t c = 0; c < own.dims[1]; ++c) {
        for (int64_t y = 0; y < own.dims[2]; ++y) differs |= at(own, c, y, x) != at(dense, c, y, x);
      }
      if (differs) ++wrong;
    }
    return wrong;
  }

  Robot robot_;
  Robot dense_;
  std::vector<uint8_t> world_;
};

// The answers are near the dense ones, though less so beside the border, and take less work.
TEST_F(PanTest, WarpedMapsAgreeWithDenseForPartOfItsWork) {
  EXPECT_EQ(Show(0).agreement, 1.0);
  double agreement = 0.0;
  double beside_border = 0.0;
  for (int index = 1; index <= kBack; ++index) {
    SCOPED_TRACE(testing::Message() << "frame " << index);
    const Shown shown = Show(index);
    EXPECT_GT(shown.agreement, 0.95);
    EXPECT_LT(shown.share, 0.5);
    agreement += shown.agreement / kBack;
    beside_border += shown.beside_border / kBack;
  }
  EXPECT_GT(agreement, 0.98);
  EXPECT_GT(beside_border, 0.96);
}

// Pixels that were computed from the padding beyond a border are computed again as soon as the real
// pixels come into view. After a refresh no others are left, either.
TEST_F(PanTest, NoPixelKeepsWhatPaddingMadeOfIt) {
  for (int index = 0; index <= kBack; ++index) {
    EXPECT_EQ(Show(index).wrong_came_in, 0) << "frame " << index;
  }
  EXPECT_GT(WrongColumns(0, kWidth), 0) << "nothing was resampled";
  const int refresh = Warping().cache.refresh;
  for (int index = kBack + 1; index < kBack + refresh; ++index) Show(index);
  EXPECT_EQ(WrongColumns(0, kWidth), 0);
  const Shown shown = Show(kBack + refresh);
  EXPECT_GT(shown.agreement, 0.99);
  EXPECT_GT(shown.beside_border, 0.99);
}

}  // namespace
}  // namespace cacheinf
