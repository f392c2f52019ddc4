// A robot that computes only every k-th frame: between, its boxes follow what they show.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/answer/answers.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/config/robot_config.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/model/graph/graph.h"
#include "common/model/graph/pack.h"
#include "common/plan/profiled_graph.h"
#include "common/plan/schedule.h"
#include "common/source/frame_source.h"
#include "tests/plan/profiles.h"
#include "tests/plan/schedules.h"
#include "tests/testing/folder_test.h"
#include "tests/tracker/pictures.h"

namespace cacheinf {
namespace {

constexpr int kSceneWidth = 260;
constexpr int kSceneHeight = 150;
constexpr int kTop = 60;
constexpr int kThingWidth = 50;
constexpr int kThingHeight = 30;

class TrackTest : public FolderTest {
 protected:
  TrackTest() {
    WritePack(FindsTheThing(), Path("model.cacheinf"));
    config_.model = Path("model.cacheinf");
    config_.threads = 1;
    config_.cache.stem = 0;
    config_.model_config.decoder.kind = HeadKind::kEndToEnd;
  }

  // A network with one box, which begins at the column given by the first pixel's level.
  static Graph FindsTheThing() {
    const Shape shape = {1, 3, kSceneHeight, kSceneWidth};
    const auto count = static_cast<float>(ElementCount(shape));
    Graph graph;
    graph.name = "finds";
    std::vector<float> first(static_cast<size_t>(ElementCount(shape)));
    first[0] = count;  // as the mean of all
    const ValueId picture = graph.AddInput("x", shape);
    const ValueId mask = graph.AddConstant("mask", Tensor(shape, std::move(first)));
    const ValueId shown =
        graph.AddOne("shown", op::Binary{BinaryKind::kMultiply, {}}, {picture, mask});
    const ValueId level =
        graph.AddOne("level", op::Reduce{ReduceKind::kMean, {1, 2, 3}, false}, {shown});
    const ValueId column = graph.AddOne("column", op::Reshape{{1, 1, 1}}, {level});
    const auto row_of = [&](const char* name, const std::vector<float>& numbers) {
      return graph.AddConstant(name, Tensor({1, 1, 6}, std::vector<float>(numbers)));
    };
    const ValueId moves = row_of("moves", {255, 0, 255, 0, 0, 0});
    const ValueId stays = row_of("stays", {0, kTop, kThingWidth, kTop + kThingHeight, 0.9F, 0});
    const ValueId left =
        graph.AddOne("left", op::Binary{BinaryKind::kMultiply, {}}, {column, moves});
    graph.outputs = {graph.AddOne("boxes", op::Binary{BinaryKind::kAdd, {}}, {left, stays})};
    return graph;
  }

  static Frame FrameOf(int index, int left) {
    TestPicture shown = Photograph(World(1), {}, kSceneWidth, kSceneHeight);
    PasteThing(World(2), kThingWidth, kThingHeight, left, kTop, 1, &shown);
    for (int channel = 0; channel < 3; ++channel) {
      shown.Pixel(0, 0)[channel] = static_cast<uint8_t>(left);
    }
    Frame frame;
    frame.index = index;
    frame.picture = MakePicture(kSceneWidth, kSceneHeight, 3, std::move(shown.pixels));
    return frame;
  }

  std::shared_ptr<const CompiledModel> Model() const {
    return Compile(LoadGraph(config_, /*has_tensors=*/false), config_);
  }

  // A schedule by which computing a frame takes seconds.
  void WriteSchedule(const std::shared_ptr<const CompiledModel>& model) {
    config_.server.schedule.clear();
    config_.mode = RobotConfig::Mode::kCacheinf;
    const Robot robot(model, config_, clock_);
    const ModelState& state = robot.state();
    std::vector<ProfiledOperator> operators = DescribeOperators(state.graph(), state.layout());
    for (ProfiledOperator& op : operators) SetCosts(op, 1000);
    const ProfilePair pair = PairOf(std::move(operators), 4, 1000);
    Schedule schedule = ScheduleOf(pair);
    schedule.mbit = {0};
    schedule.robot_work = schedule.server_work = {1};
    schedule.buckets.resize(1);
    schedule.buckets[0].is_solved = true;
    WriteFile(Path("schedule.json"), ToJsonText(schedule));
    config_.server.schedule = Path("schedule.json");
  }

  SteadyClock clock_;
  RobotConfig config_;
};

TEST_F(TrackTest, EveryThirdFrameIsComputedAndItsBoxFollowsTheThing) {
  config_.track = 3;
  Robot robot(Model(), config_, clock_);
  for (int i = 0; i < 8; ++i) {
    SCOPED_TRACE(testing::Message() << "frame " << i);
    const int left = 40 + 3 * i;
    const Frame frame = FrameOf(i, left);
    Verdict verdict;
    verdict.forget = i == 7;  // as a recorder may want it
    const Answer answer = robot.Process(frame, verdict);
    const bool is_computed = i % 3 == 0 || verdict.forget;
    EXPECT_EQ(answer.computed_from, is_computed ? i : i / 3 * 3);
    EXPECT_EQ(answer.is_moved, !is_computed);
    EXPECT_EQ(robot.decision() != nullptr, is_computed);
    const std::vector<Detection>& boxes = std::get<Detections>(answer.content).boxes;
    ASSERT_EQ(boxes.size(), 1u);
    EXPECT_NEAR(boxes[0].left, left, 1);
    EXPECT_NEAR(boxes[0].right, left + kThingWidth, 1);
    EXPECT_NEAR(boxes[0].top, kTop, 1);
    EXPECT_EQ(boxes[0].id, 1) << "the same thing";
    robot.Refresh(frame);
  }
}

// It has tried what moved answers are worth.
TEST_F(TrackTest, ModeCacheinfTracksWhereThatIsQuickerUnlessItIsExact) {
  for (const auto policy : {CacheConfig::Policy::kChange, CacheConfig::Policy::kExact}) {
    config_.cache.policy = policy;
    const std::shared_ptr<const CompiledModel> model = Model();
    WriteSchedule(model);
    Robot robot(model, config_, clock_);
    int moved = 0;
    for (int i = 0; i < 150; ++i) {
      const Frame frame = FrameOf(i, 40 + i);
      const Answer answer = robot.Process(frame);
      robot.Refresh(frame);
      if (i < 138) continue;
      moved += answer.is_moved;
      EXPECT_EQ(answer.is_moved, answer.computed_from != i);
      EXPECT_EQ(answer.plan, robot.WhyPlan().substr(0, answer.plan.size()));
      EXPECT_EQ(answer.plan.starts_with("track:3 local"), policy != CacheConfig::Policy::kExact)
          << robot.WhyPlan();
      EXPECT_EQ(robot.plan().every, 1) << "how a frame is computed";
    }
    EXPECT_EQ(moved, policy == CacheConfig::Policy::kExact ? 0 : 8);
  }
}

}  // namespace
}  // namespace cacheinf
