// Read this first: what a guard finds in answers that a server had a part in. Robot and server are
// in this process; the robot's clock stands still. Each fault costs an agreement of at
// least .3, and the guard must report it within 200 frames; without a fault it must report nothing.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "client/frame_executor.h"
#include "client/robot_setup.h"
#include "common/answer/agreement.h"
#include "common/answer/answers.h"
#include "common/answer/seen_picture.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/config/robot_config.h"
#include "common/exec/compiled_model.h"
#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "common/guard/guard.h"
#include "common/model/graph/pack.h"
#include "common/model/picture.h"
#include "common/pair/server_connection.h"
#include "common/plan/plan.h"
#include "common/reuse/settings.h"
#include "common/source/frame_source.h"
#include "tests/client/demo_config.h"
#include "tests/pair/in_process_server.h"
#include "tests/testing/folder_test.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

constexpr int kFrames = 200;         // within which faults are found
constexpr int kHealthyFrames = 120;  // in which nothing is
constexpr double kCost = 0.3;

// Puts the graph, with one layer's weights of the wrong sign, where a server looks for the model
// that robots bring.
void PutOtherModel(Graph graph, const std::filesystem::path& store) {
  const MappedFile brought = PackForServers(graph);
  const std::string name = fmt::format(
      "{:016x}-{}.cacheinf", PackChecksum({brought.data.get(), brought.size}), brought.size);
  const auto last =
      std::find_if(graph.operators.rbegin(), graph.operators.rend(),
                   [](const Operator& node) { return node.As<op::Conv>() != nullptr; });
  Value& weights = graph.values[static_cast<size_t>(last->inputs[1])];
  std::vector<float> numbers(weights.constant.data(),
                             weights.constant.data() + weights.constant.count());
  for (float& number : numbers) number = -number;
  weights.constant = Tensor(weights.shape, std::move(numbers));
  std::filesystem::create_directories(store);
  WritePack(graph, store / name);
}

// A robot that answers each frame by the plan that it is told, and its guard.
class GuardedRobot {
 public:
  GuardedRobot(const RobotConfig& config, const std::shared_ptr<const CompiledModel>& model,
               const std::filesystem::path& folder)
      : server_(folder, link_clock_),
        executor_(model, config, clock_, link_clock_, server_.connect()),
        dense_(model),
        reader_(model->graph(), config.model_config.decoder),
        guard_(model, config.guard, Resolve(config.cache, config.tracker.change),
               config.model_config.decoder, clock_, /*has_server=*/true) {
    while (!executor_.MeetServer()) std::this_thread::sleep_for(milliseconds(1));
  }

  // Answers a frame, and lets the guard begin a sample.
  void Answer(const Frame& frame, const Plan& plan) {
    const PictureSpec& spec = dense_.graph().picture;
    if (!fit_) {
      fit_.emplace(spec, frame.picture.width, frame.picture.height);
      executor_.SetPlaceOfFrames(fit_->place());
    }
    Follow(plan);
    pixels_.resize(static_cast<size_t>(spec.height) * static_cast<size_t>(spec.width) * 3);
    fit_->Resize(frame.picture, {0, spec.height}, pixels_.data());
    const PictureView picture = {pixels_.data(), spec.width, spec.height, 3};
    executor_.Decide({.index = frame.index, .picture = picture, .place = fit_->place()},
                     guard_.verdict(), FrameExecutor::kNever);
    guard_.NoteForgotten();
    executor_.Begin();
    while (!executor_.Step()) continue;
    const Execution& done = executor_.Commit();
    content_ = reader_.Read(executor_.outputs(), {&*fit_, done.model_from_seen});
    if (frame.index % 4 == 0) Compare(picture, plan);
    const bool is_whole = done.decision && done.decision->kind == FrameDecision::Kind::kWhole;
    guard_.Begin({frame.index, done.kind == plan.kind ? plan : Plan(), is_whole,
                  !done.model_from_seen.IsIdentity(), content_, executor_.outputs(), picture,
                  done.seen, &*fit_});
  }

  Guard& guard() { return guard_; }
  // How much answers by this plan lost against dense ones, in mIoU over all frames.
  double Loss(const Plan& plan) { return 1 - agreement_[ToText(plan)].MeanIou().value_or(1); }

 private:
  void Compare(const PictureView& picture, const Plan& plan) {
    dense_.SetPicture(picture);
    dense_.Run();
    agreement_[ToText(plan)].Add(std::get<ClassMap>(content_),
                                 std::get<ClassMap>(reader_.Read(dense_, {&*fit_, {}})));
  }

  // Where spreads are still to be measured, the server is not ready for a split.
  void Follow(const Plan& plan) {
    if (plan == executor_.plan()) return;
    executor_.Follow(plan);
    for (int i = 0; i < 500 && !executor_.IsServerReady(); ++i) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }

  const SteadyClock link_clock_;
  const ManualClock clock_;
  InProcessServer server_;
  FrameExecutor executor_;
  ModelState dense_;
  AnswerReader reader_;
  Guard guard_;
  std::optional<PictureFit> fit_;
  std::vector<uint8_t> pixels_;
  AnswerContent content_;
  std::map<std::string, MapAgreement> agreement_;
};

class GuardOfPlansTest : public FolderTest {
 protected:
  GuardOfPlansTest() {
    SetLogLevel(LogLevel::kWarning);
    config_.source = "generated:seed=5,frames=200,width=128,height=96,shapes=6,camera=travel";
    config_.model_config.preprocess.resize = PictureSpec::Resize::kBilinear;
    Serve();
  }
  ~GuardOfPlansTest() override { SetLogLevel(LogLevel::kInfo); }

  void Serve() {
    config_.mode = RobotConfig::Mode::kCacheinf;
    config_.server.address = "mpi";  // never looked for: the server is in this process
    config_.server.slice_codec = SliceCodec::kRaw;
    config_.server.wait_s = 30;
  }

  Plan Remote(const std::string& codec, bool keeps = false) const {
    return {.kind = Plan::Kind::kRemote, .keeps = keeps, .codec = codec};
  }
  // Each side computes half of the rows.
  static Plan Split() { return {.kind = Plan::Kind::kSplit, .cuts = {{-1, 500}}}; }

  // With these settings only the tracker tells what has changed.
  void TrustTheTracker() {
    config_.source += ",moving=0";
    config_.cache.geometry = CacheConfig::Geometry::kCanvas;
    config_.cache.stem = 0;
    config_.cache.refresh = 0;
    config_.cache.relight = false;
    config_.cache.most_work = 0;
    config_.tracker.change.threshold = 1;
  }

  void SeeNoChange() {
    TrustTheTracker();
    config_.cache.geometry = CacheConfig::Geometry::kNone;
  }

  // Answers the clip's first frames by these plans, ten frames each in turn. A guard watches until
  // it has reported something. Returns how many frames that took.
  int Run(const std::vector<Plan>& plans, int most_frames, bool is_watched = true) {
    config_.Check();
    Graph graph = LoadGraph(config_, /*has_tensors=*/false);
    if (has_other_model_) PutOtherModel(graph, folder_ / "served");
    const auto model = Compile(std::move(graph), config_);
    robot_.emplace(config_, model, folder_);
    const std::unique_ptr<FrameSource> source = OpenSource(config_.source, clock_);
    testing::internal::CaptureStderr();
    int frames = 0;
    while (frames < most_frames && !IsReported() && !HasFatalFailure()) {
      const size_t turn = static_cast<size_t>(frames++) / 10;
      robot_->Answer(source->Next().value(), plans[turn % plans.size()]);
      if (is_watched && robot_->guard().is_open()) robot_->guard().Finish();
    }
    log_ = testing::internal::GetCapturedStderr();
    return frames;
  }

  bool IsReported() {
    const GuardReport report = robot_->guard().report();
    return report.changes > 0 ||
           std::ranges::any_of(report.plans, [](const auto& plan) { return plan.second.fails; });
  }

  void ExpectFound(const std::vector<Plan>& plans, const Plan& wrong) {
    Run(plans, kFrames / 2, /*is_watched=*/false);
    EXPECT_GE(robot_->Loss(wrong), kCost) << "the fault costs too little";
    const int frames = Run(plans, kFrames);
    EXPECT_TRUE(IsReported());
    EXPECT_NE(log_.find("warning guard: frame "), std::string::npos) << log_;
    RecordProperty("frames", frames);
  }

  void ExpectNothing(const std::vector<Plan>& plans) {
    EXPECT_EQ(Run(plans, kHealthyFrames), kHealthyFrames);
    EXPECT_GE(robot_->guard().report().samples_with_evidence, 8);
    EXPECT_FALSE(IsReported());
    EXPECT_EQ(log_, "");
    for (const Plan& plan : plans) {
      SCOPED_TRACE(ToText(plan));
      EXPECT_LT(robot_->Loss(plan), kCost / 2);
    }
  }

  ManualClock clock_;
  RobotConfig config_ = DemoConfig("1x3x96x128");
  bool has_other_model_ = false;
  std::optional<GuardedRobot> robot_;
  std::string log_;  // of the last Run
};

TEST_F(GuardOfPlansTest, InModeRemoteItFindsAServersOtherWeights) {
  has_other_model_ = true;
  ExpectFound({Remote("raw")}, Remote("raw"));
}

TEST_F(GuardOfPlansTest, InModeRemoteItFindsACodecThatLosesTooMuch) {
  ExpectFound({Remote("jpeg:1")}, Remote("jpeg:1"));
  EXPECT_NE(log_.find("answers by remote jpeg:1 dense agree with dense ones by 0."),
            std::string::npos)
      << log_;
}

TEST_F(GuardOfPlansTest, InModeRemoteItFindsAServerThatSeesNoChange) {
  SeeNoChange();
  ExpectFound({Remote("raw", /*keeps=*/true)}, Remote("raw", true));
}

TEST_F(GuardOfPlansTest, InModeSplitItFindsAServersOtherWeights) {
  has_other_model_ = true;
  ExpectFound({Split()}, Split());
}

TEST_F(GuardOfPlansTest, InModeSplitItFindsARobotThatSeesNoChange) {
  SeeNoChange();
  ExpectFound({Split()}, Split());
}

TEST_F(GuardOfPlansTest, InModeCacheinfItFindsAServersOtherWeights) {
  has_other_model_ = true;
  ExpectFound({Plan(), Remote("raw"), Split()}, Remote("raw"));
}

TEST_F(GuardOfPlansTest, InModeCacheinfItFindsACodecThatLosesTooMuch) {
  ExpectFound({Plan(), Remote("jpeg:1"), Split()}, Remote("jpeg:1"));
}

TEST_F(GuardOfPlansTest, InModeCacheinfItFindsARobotThatSeesNoChange) {
  SeeNoChange();
  ExpectFound({Plan(), Remote("raw"), Split()}, Split());
}

// Pictures of the size that the network was trained on.
class HealthyPlansTest : public GuardOfPlansTest {
 protected:
  HealthyPlansTest() {
    config_ = DemoConfig("1x3x240x320");
    Serve();
    config_.source = "generated:seed=5,frames=200,width=320,height=240,camera=handheld";
  }
};

TEST_F(HealthyPlansTest, InModesRemoteAndSplitNothingIsReported) {
  ExpectNothing({Remote("jpeg:95"), Split()});
}

TEST_F(HealthyPlansTest, InModeCacheinfNothingIsReported) {
  ExpectNothing({Plan(), Remote("video"), Remote("raw", /*keeps=*/true), Split()});
}

// With a tracker that follows, settings are right under which a robot without one would see no
// change.
TEST_F(HealthyPlansTest, ATrackerThatFollowsIsNoFault) {
  TrustTheTracker();
  ExpectNothing({Split()});
}

}  // namespace
}  // namespace cacheinf
