// A robot without a server that may answer by a smaller model.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "client/record/recording.h"
#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/answer/smaller_model.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "common/plan/plan.h"
#include "common/source/frame_source.h"
#include "tests/client/demo_config.h"
#include "tests/client/read_frames.h"
#include "tests/plan/chooser_frames.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

// Nobody looks at how well plans agree.
class LadderTest : public testing::Test {
 protected:
  static constexpr const char* kSource =
      "generated:seed=5,frames=8,width=160,height=120,shapes=6,camera=still";

  static RobotConfig Config(const std::string& shape, RobotConfig::Mode mode) {
    RobotConfig config = DemoConfig(shape);
    config.mode = mode;
    config.agreement = 0;
    return config;
  }
  static std::shared_ptr<const CompiledModel> Model(const RobotConfig& config) {
    return Compile(LoadGraph(config, /*has_tensors=*/false), config);
  }

  // A robot that predicts so many milliseconds for an operator.
  void MakeRobot(double first_ms, double small_ms) {
    robot_.emplace(Model(config_), config_, clock_, ConnectToServers(),
                   SmallerModels{{"small", Model(small_config_)}});
    robot_->WantSchedule(Profiles(first_ms).robot);
    robot_->AddProfile("small", Profiles(small_ms).robot);
  }

  SteadyClock clock_;
  RobotConfig config_ = Config("1x3x96x128", RobotConfig::Mode::kCacheinf);
  RobotConfig small_config_ = Config("1x3x48x64", RobotConfig::Mode::kDense);
  std::optional<Robot> robot_;
};

TEST_F(LadderTest, ASmallerModelsAnswersAreItsOwnInTheFirstsPlace) {
  MakeRobot(1e6, 1e-6);  // so quick that finding what changed would take longer
  Robot alone(Model(small_config_), small_config_, clock_);
  for (const Frame& frame : ReadFrames(kSource)) {
    const Answer answer = robot_->Process(frame);
    EXPECT_EQ(answer.plan, "local small dense");
    EXPECT_EQ(robot_->plan().model, "small");
    const auto& map = std::get<ClassMap>(answer.content);
    ASSERT_EQ(map.width, 128);
    ASSERT_EQ(map.height, 96);
    const AnswerContent expected = alone.Process(frame).content;
    EXPECT_EQ(
        map.classes,
        Refitted(std::get<ClassMap>(expected), *alone.fit(), *robot_->fit(), 128, 96).classes);
    EXPECT_EQ(HashOfOutputs(robot_->outputs()), HashOfOutputs(alone.outputs()));
    EXPECT_EQ(robot_->model_picture().width, 128) << "what the guard samples";
    EXPECT_TRUE(robot_->sees_moved());
    EXPECT_FALSE(robot_->Refresh(frame));
  }
  const MemoryReport memory = robot_->memory();
  EXPECT_GT(memory.arena_bytes, robot_->state().memory().arena_bytes);
}

TEST_F(LadderTest, ASmallerModelKeepsResultsOfItsOwn) {
  MakeRobot(1e6, 10);
  RobotConfig cached = small_config_;
  cached.mode = RobotConfig::Mode::kCache;
  Robot alone(Model(cached), cached, clock_);
  int reused = 0;
  for (const Frame& frame : ReadFrames(kSource)) {
    const Answer answer = robot_->Process(frame);
    ASSERT_EQ(answer.plan, "local small cache");
    const Answer expected = alone.Process(frame);
    EXPECT_EQ(HashOfOutputs(robot_->outputs()), HashOfOutputs(alone.outputs()));
    EXPECT_EQ(answer.work->share, expected.work->share);
    if (answer.work->share < 0.5) ++reused;
    const auto recomputed = robot_->recomputed();
    ASSERT_TRUE(recomputed);
    EXPECT_EQ(recomputed->width, 128);
    EXPECT_EQ(robot_->Refresh(frame).has_value(), alone.Refresh(frame).has_value());
  }
  EXPECT_GT(reused, 0);
}

TEST_F(LadderTest, ChangesBetweenModelsAsTheirFiguresDo) {
  MakeRobot(1, 100);
  std::vector<std::string> models;
  int64_t index = 0;
  for (int turn = 0; turn < 3; ++turn) {
    for (Frame frame : ReadFrames(kSource)) {
      frame.index = index++;
      const Answer answer = robot_->Process(frame);
      if (models.empty() || models.back() != robot_->plan().model) {
        models.push_back(robot_->plan().model);
      }
      EXPECT_EQ(std::get<ClassMap>(answer.content).width, 128);
      robot_->Refresh(frame);
    }
    if (turn == 0) robot_->AddProfile("small", Profiles(1e-6).robot);
    if (turn == 1) robot_->AddProfile("small", Profiles(1e6).robot);
  }
  EXPECT_EQ(models, (std::vector<std::string>{"", "small", ""}));
}

TEST_F(LadderTest, AModelForAnotherTaskIsRefused) {
  RobotConfig other = small_config_;
  other.model_config.decoder.kind = DecoderConfig::Kind::kKeypoints;
  const auto refusal = RefusalOf([&] {
    Robot(Model(config_), config_, clock_, ConnectToServers(),
          SmallerModels{{"points", Model(other)}});
  });
  EXPECT_NE(refusal.find("model points cannot answer in place of the first model: "),
            std::string::npos)
      << refusal;
}

}  // namespace
}  // namespace cacheinf
