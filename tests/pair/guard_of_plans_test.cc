// Read this first: what a guard finds of answers that a server had a part in. Robot and server are
// in this process, on a clock that stands still between steps. Each fault costs an agreement of at
// least .3, and the guard must report it within 200 frames; without a fault it must report nothing.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "client/robot_setup.h"
#include "common/answer/agreement.h"
#include "common/answer/answers.h"
#include "common/answer/outputs.h"
#include "common/answer/seen_picture.h"
#include "common/backend/host/cpu_backend.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/canvas/make_geometry.h"
#include "common/codec/picture_codec.h"
#include "common/codec/slice_codec.h"
#include "common/config/robot_config.h"
#include "common/exec/change_policy.h"
#include "common/exec/compiled_model.h"
#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "common/guard/guard.h"
#include "common/model/graph/pack.h"
#include "common/model/picture.h"
#include "common/pair/messages.h"
#include "common/pair/model_store.h"
#include "common/pair/progress.h"
#include "common/pair/remote_robot.h"
#include "common/pair/server_connection.h"
#include "common/pair/session.h"
#include "common/pair/shared_settings.h"
#include "common/pair/split_robot.h"
#include "common/plan/plan.h"
#include "common/reuse/reuse.h"
#include "common/reuse/settings.h"
#include "common/source/frame_source.h"
#include "common/tracker/tracker.h"
#include "sparse_ops/homography.h"
#include "tests/client/demo_config.h"
#include "tests/link/channel_pair.h"
#include "tests/testing/clip.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/scripted_tracker.h"

namespace cacheinf {
namespace {

constexpr int kFrames = 200;
constexpr double kCost = 0.3;

// Puts the graph's weights with the wrong sign in one of its layers where a server looks for the
// model that robots bring.
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

// A robot that answers each frame by the plan that it is told, as a robot's executor does, and its
// guard.
class GuardedPair {
 public:
  GuardedPair(const RobotConfig& config, const std::shared_ptr<const CompiledModel>& model,
              const std::filesystem::path& store, std::unique_ptr<Tracker> tracker)
      : config_(config),
        settings_(Resolve(config.cache, config.tracker.change)),
        options_(OptionsOf(settings_, model->graph())),
        state_(model, options_),
        dense_(model),
        reader_(model->graph(), config.model_config.decoder),
        reuse_(settings_, model->graph(),
               MakeGeometry(settings_, model->graph(), std::move(tracker))),
        guard_(model, config.guard, settings_, config.model_config.decoder, channels_.clock,
               /*has_server=*/true),
        store_(store, std::make_unique<CpuBackend>),
        session_(channels_.server, store_, slow_work_, channels_.clock, kBuild),
        connection_(channels_.robot, kBuild, "rover", PackForServers(model->graph())) {}

  // Answers a frame, and lets the guard begin a sample.
  void Answer(const Frame& frame, const Plan& plan) {
    Follow(plan);
    const PictureSpec& spec = state_.graph().picture;
    if (!fit_) fit_.emplace(spec, frame.picture.width, frame.picture.height);
    pixels_.resize(static_cast<size_t>(spec.height) * static_cast<size_t>(spec.width) * 3);
    fit_->Resize(frame.picture, {0, spec.height}, pixels_.data());
    const PictureView picture = {pixels_.data(), spec.width, spec.height, 3};
    const bool is_remote = plan.kind == Plan::Kind::kRemote;
    is_remote ? ExecuteRemotely(frame, picture) : ExecuteHere(frame, picture);
    const Homography seen =
        is_remote ? remote_->picture_from_seen() : reuse_.placement().frame_from_seen;
    const FrameOutputs outputs = is_remote ? remote_->outputs() : FrameOutputs(state_);
    content_ = reader_.Read(outputs, {&*fit_, seen});
    if (frame.index % 4 == 0) Compare(picture, plan);
    const bool is_whole = !is_remote && reuse_.decision().kind == FrameDecision::Kind::kWhole;
    const bool is_planned = is_remote || (split_ && split_->part());
    guard_.Begin({frame.index, is_planned ? plan : Plan(), is_whole, !seen.IsIdentity(), content_,
                  outputs, picture, is_remote ? picture : reuse_.seen(), &*fit_});
  }

  Guard& guard() { return guard_; }
  // What answers by this plan lost against dense ones, in mIoU over all frames.
  double Loss(const Plan& plan) { return 1 - agreement_[ToText(plan)].MeanIou().value_or(1); }

 private:
  void Compare(const PictureView& picture, const Plan& plan) {
    dense_.SetPicture(picture);
    dense_.Run();
    agreement_[ToText(plan)].Add(std::get<ClassMap>(content_),
                                 std::get<ClassMap>(reader_.Read(dense_, {&*fit_, {}})));
  }

  static StateOptions OptionsOf(const ReuseSettings& settings, const Graph& graph) {
    StateOptions options = OptionsFor(settings, graph);
    options.trades = true;
    return options;
  }

  message::Settings SettingsFor(message::Settings::Mode mode) const {
    message::Settings settings;
    settings.mode = mode;
    settings.shared = SharedSettingsOf(config_, state_.graph());
    return settings;
  }

  void Follow(const Plan& plan) {
    if (plan == plan_) return;
    plan_ = plan;
    remote_.reset();
    split_.reset();
    if (plan.kind == Plan::Kind::kRemote) {
      remote_.emplace(connection_, state_.graph(), channels_.clock,
                      SettingsFor(message::Settings::Mode::kRemote), ParsePictureCodec(plan.codec));
      remote_->SetServerKeeps(plan.keeps);
    } else if (plan.kind == Plan::Kind::kSplit) {
      message::Settings settings = SettingsFor(message::Settings::Mode::kSplit);
      settings.keep = options_.keep;
      settings.kept = options_.persistent;
      settings.cuts = plan.cuts;
      split_.emplace(connection_, state_, channels_.clock, settings);
    }
  }

  void Turn() {
    while (session_.Advance()) continue;
    channels_.RunFor(std::chrono::microseconds(100));
  }

  void WaitUntil(const std::function<bool()>& is_ready) {
    while (!is_ready() && connection_.fault().empty()) {
      Turn();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    ASSERT_EQ(connection_.fault(), "");
  }

  void ExecuteRemotely(const Frame& frame, const PictureView& picture) {
    WaitUntil([this] { return remote_->IsReady(); });
    remote_->Begin(picture, fit_->place(), frame.index);
    Progress progress = Progress::kWaits;
    while ((progress = remote_->Step()) == Progress::kWaits) Turn();
    ASSERT_EQ(progress, Progress::kDone);
  }

  void ExecuteHere(const Frame& frame, const PictureView& picture) {
    reuse_.MeasureSpreadsIfDue(state_);
    // Spreads are measured on what the robot computes alone.
    const ChangePolicy& policy = reuse_.policy();
    const bool lacks_spreads = policy.threshold > 0 && policy.spreads == nullptr;
    if (split_ && !lacks_spreads) WaitUntil([&] { return split_->IsReady(policy); });
    const FrameDecision& decision = reuse_.Decide(frame.index, picture, guard_.verdict());
    if (split_ && reuse_.needs_all()) split_->ComputeNextAlone();
    if (!split_ || !split_->Begin(decision, reuse_.seen(), policy)) {
      const ChangedWork done = state_.Apply(decision, reuse_.seen(), policy);
      reuse_.Commit(done, !split_ || split_->computed_all());
      return;
    }
    for (Progress progress = Progress::kStepped; progress != Progress::kDone;) {
      progress = split_->Step();
      if (progress == Progress::kWaits) Turn();
      ASSERT_NE(progress, Progress::kRefused);
    }
    reuse_.Commit(split_->work(), split_->computed_all());
  }

  const RobotConfig config_;
  const ReuseSettings settings_;
  const StateOptions options_;
  ChannelPair channels_{LoopbackScript()};
  ModelState state_;
  ModelState dense_;
  AnswerReader reader_;
  Reuse reuse_;
  Guard guard_;
  ModelStore store_;
  SlowWork slow_work_;
  Session session_;
  ServerConnection connection_;
  std::optional<RemoteRobot> remote_;
  std::optional<SplitRobot> split_;
  Plan plan_;
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
    config_.server.slice_codec = SliceCodec::kRaw;
  }
  ~GuardOfPlansTest() override { SetLogLevel(LogLevel::kInfo); }

  Plan Remote(const std::string& codec, bool keeps = false) const {
    return {.kind = Plan::Kind::kRemote, .keeps = keeps, .codec = codec};
  }
  // Each side computes half of the rows.
  static Plan Split() { return {.kind = Plan::Kind::kSplit, .cuts = {{-1, 500}}}; }

  // With these settings, what the tracker says is all that tells what has changed.
  void TrustTheTracker() {
    config_.source += ",moving=0";
    config_.cache.geometry = CacheConfig::Geometry::kCanvas;
    config_.cache.stem = 0;
    config_.cache.refresh = 0;
    config_.cache.relight = false;
    config_.cache.most_work = 0;
    config_.tracker.change.threshold = 1;
  }

  // Answers the clip's frames by these plans, ten frames each in turn. A guard watches until it has
  // reported something. Returns how many frames that took.
  int Run(const std::vector<Plan>& plans, bool is_watched = true) {
    config_.Check();
    Graph graph = LoadGraph(config_, /*has_tensors=*/false);
    if (has_other_model_) PutOtherModel(graph, folder_ / "models");
    const auto model = Compile(std::move(graph), config_);
    std::unique_ptr<Tracker> tracker = MakeTracker(config_.tracker);
    if (is_tracker_frozen_) tracker = std::make_unique<ScriptedTracker>();
    pair_.emplace(config_, model, folder_ / "models", std::move(tracker));
    const std::unique_ptr<FrameSource> source = OpenSource(config_.source, clock_);
    testing::internal::CaptureStderr();
    int frames = 0;
    while (frames < kFrames && !IsReported() && !HasFatalFailure()) {
      const size_t turn = static_cast<size_t>(frames++) / 10;
      pair_->Answer(source->Next().value(), plans[turn % plans.size()]);
      if (is_watched && pair_->guard().is_open()) pair_->guard().Finish();
    }
    log_ = testing::internal::GetCapturedStderr();
    return frames;
  }

  bool IsReported() {
    const GuardReport report = pair_->guard().report();
    return report.changes > 0 ||
           std::ranges::any_of(report.plans, [](const auto& plan) { return plan.second.fails; });
  }

  void ExpectFound(const std::vector<Plan>& plans, const Plan& wrong) {
    Run(plans, /*is_watched=*/false);
    EXPECT_GE(pair_->Loss(wrong), kCost) << "the fault costs too little";
    const int frames = Run(plans);
    EXPECT_TRUE(IsReported());
    EXPECT_NE(log_.find("warning guard: frame "), std::string::npos) << log_;
    RecordProperty("frames", frames);
  }

  void ExpectNothing(const std::vector<Plan>& plans) {
    EXPECT_EQ(Run(plans), kFrames);
    EXPECT_GE(pair_->guard().report().samples_with_evidence, 8);
    EXPECT_FALSE(IsReported());
    EXPECT_EQ(log_, "");
    for (const Plan& plan : plans) {
      SCOPED_TRACE(ToText(plan));
      EXPECT_LT(pair_->Loss(plan), kCost / 2);
    }
  }

  ManualClock clock_;
  RobotConfig config_ = DemoConfig("1x3x96x128");
  bool has_other_model_ = false;
  bool is_tracker_frozen_ = false;
  std::optional<GuardedPair> pair_;
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
  TrustTheTracker();
  config_.cache.geometry = CacheConfig::Geometry::kNone;
  ExpectFound({Remote("raw", /*keeps=*/true)}, Remote("raw", true));
}

TEST_F(GuardOfPlansTest, InModeSplitItFindsAServersOtherWeights) {
  has_other_model_ = true;
  ExpectFound({Split()}, Split());
}

TEST_F(GuardOfPlansTest, InModeSplitItFindsAFrozenTracker) {
  TrustTheTracker();
  is_tracker_frozen_ = true;
  ExpectFound({Split()}, Split());
}

TEST_F(GuardOfPlansTest, InModeCacheinfItFindsAServersOtherWeights) {
  has_other_model_ = true;
  ExpectFound({Plan(), Remote("raw"), Split()}, Remote("raw"));
}

TEST_F(GuardOfPlansTest, InModeCacheinfItFindsACodecThatLosesTooMuch) {
  ExpectFound({Plan(), Remote("jpeg:1"), Split()}, Remote("jpeg:1"));
}

TEST_F(GuardOfPlansTest, InModeCacheinfItFindsAFrozenTracker) {
  TrustTheTracker();
  is_tracker_frozen_ = true;
  ExpectFound({Plan(), Remote("raw"), Split()}, Split());
}

// Pictures of the size that the network was trained on.
class HealthyPlansTest : public GuardOfPlansTest {
 protected:
  HealthyPlansTest() {
    config_ = DemoConfig("1x3x240x320");
    config_.source = "generated:seed=5,frames=200,width=320,height=240,camera=handheld";
  }
};

TEST_F(HealthyPlansTest, InModeRemoteNothingIsReported) { ExpectNothing({Remote("jpeg:95")}); }

TEST_F(HealthyPlansTest, InModeSplitNothingIsReported) { ExpectNothing({Split()}); }

TEST_F(HealthyPlansTest, InModeCacheinfNothingIsReported) {
  ExpectNothing({Plan(), Remote("video"), Remote("raw", /*keeps=*/true), Split()});
}

// With a tracker that follows, settings are right that a frozen one makes wrong.
TEST_F(HealthyPlansTest, ATrackerThatFollowsIsNoFault) {
  TrustTheTracker();
  ExpectNothing({Split()});
}

}  // namespace
}  // namespace cacheinf
