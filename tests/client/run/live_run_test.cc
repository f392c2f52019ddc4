#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <opencv2/core/mat.hpp>
#include <opencv2/imgcodecs.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/answer/answer.h"
#include "client/live_robot.h"
#include "client/record/recording.h"
#include "client/record/replay.h"
#include "client/robot_setup.h"
#include "client/run/dense_check.h"
#include "client/run/run.h"
#include "client/run/summary.h"
#include "common/backend/device/cuda_backend.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/model/graph/pack.h"
#include "sparse_ops/cuda/emulated/device.h"
#include "tests/client/demo_config.h"
#include "tests/client/run/run_world.h"
#include "tests/model/model_builder.h"
#include "tests/testing/refusal.h"

// When a run's answers count as late, and what remains of a run that fails.

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// A source of the given frames.
class GivenFrames final : public FrameSource {
 public:
  GivenFrames(std::vector<Frame> frames, bool is_live)
      : frames_(std::move(frames)), is_live_(is_live) {}

  std::optional<Frame> Next() override {
    if (next_ == frames_.size()) return std::nullopt;
    return frames_[next_++];
  }
  int64_t skipped() const override { return 0; }
  bool is_live() const override { return is_live_; }
  bool has_tensors() const override { return !frames_[0].tensor.shape().empty(); }
  double frame_rate() const override { return 0; }

 private:
  std::vector<Frame> frames_;
  bool is_live_;
  size_t next_ = 0;
};

// Advances by a millisecond at each look. Can be told to throw at one of them.
class TickingClock final : public Clock {
 public:
  nanoseconds Now() const override {
    const int now = ++looks_;
    if (now == breaks_at_) throw std::runtime_error("the clock broke");
    return milliseconds(now);
  }
  void BreakAt(int look) { breaks_at_ = look; }
  int looks() const { return looks_; }

 private:
  mutable std::atomic<int> looks_ = 0;
  int breaks_at_ = 0;
};

class LiveRunTest : public RunWorld {
 protected:
  RobotConfig Echo(const Shape& shape) const {
    RobotConfig config;
    config.model = WriteEcho(shape);
    config.threads = 1;
    return config;
  }

  static std::vector<Frame> TensorsOf(const std::vector<milliseconds>& stamps) {
    std::vector<Frame> frames;
    for (const milliseconds stamp : stamps) {
      Frame frame;
      frame.index = static_cast<int64_t>(frames.size());
      frame.stamp = stamp;
      frame.tensor = Tensor({1, 1, 1, 1}, {static_cast<float>(frame.index)});
      frames.push_back(frame);
    }
    return frames;
  }

  Summary Run(std::unique_ptr<FrameSource> source, const RobotConfig& config,
              const Clock& clock) const {
    config.Check();
    Graph network = LoadNetwork(config, source->has_tensors());
    FrameQueue queue(std::move(source), 2);
    return RunRobotOn(queue, std::move(network), config, clock, stop_);
  }

  std::vector<Json> Answers() const { return Lines(Path("answers.jsonl")); }

  std::vector<fs::path> Recordings() const {
    std::vector<fs::path> folders;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(Path("records"), error)) {
      folders.push_back(entry.path());
    }
    return folders;
  }
};

// Only waiting takes time here: all frames were there when the robot began.
TEST_F(LiveRunTest, AnAnswerIsAsLateAsItsFrameWaited) {
  RobotConfig config = Echo({1, 1, 1, 1});
  config.output.answers = Path("answers.jsonl");
  config.deadline_ms = 20;
  const std::vector<Frame> frames =
      TensorsOf({milliseconds(40), milliseconds(70), milliseconds(90)});
  ManualClock clock;
  clock.Advance(milliseconds(100));
  const Summary live = Run(std::make_unique<GivenFrames>(frames, /*is_live=*/true), config, clock);
  int64_t late = 0;
  std::map<int64_t, bool> is_first_late;  // by frame
  for (const Json& answer : Answers()) {
    const double latency_ms = answer["latency_ms"];
    is_first_late.emplace(answer["frame"], latency_ms > 20);
    EXPECT_DOUBLE_EQ(latency_ms, 100 - answer["stamp_ms"].get<double>());
    EXPECT_EQ(answer.value("late", false), latency_ms > 20);
    if (!answer.value("moved", false)) late += latency_ms > 20 ? 1 : 0;
  }
  ASSERT_FALSE(Answers().empty());
  EXPECT_EQ(Answers().back()["frame"], 2) << "the newest frame is always answered";
  EXPECT_EQ(live.late, late);
  EXPECT_EQ(live.none_in_time,
            std::ranges::count_if(is_first_late, [](const auto& first) { return first.second; }));
  EXPECT_EQ(live.frames + live.queue.dropped, 3);
  EXPECT_NEAR(live.times.at("waited_ms").max_ms(), live.latency.max_ms(), 1e-9);

  const Summary record = Run(std::make_unique<GivenFrames>(frames, false), config, clock);
  EXPECT_EQ(record.frames, 3);
  EXPECT_EQ(record.late, 0);
  EXPECT_EQ(record.latency.max_ms(), 0.0);
}

TEST(SummaryTest, AFrameIsInTimeByItsFirstAnswer) {
  const auto answer = [](int64_t frame, int latency_ms) {
    Answer given;
    given.frame = frame;
    given.deadline_ms = 20;
    given.times.waited = milliseconds(latency_ms);
    return given;
  };
  Summary summary;
  summary.AddMoved(answer(1, 15));
  summary.Add(answer(1, 30));
  EXPECT_EQ(summary.none_in_time, 0);
  summary.AddMoved(answer(2, 25));
  summary.Add(answer(2, 30));
  summary.AddMoved(answer(3, 25));
  summary.AddOvertaken(answer(3, 25));
  summary.Add(answer(4, 30));
  EXPECT_EQ(summary.none_in_time, 3);
}

// A frame stamped in the future did not wait.
TEST_F(LiveRunTest, NoAnswerIsEarly) {
  const ManualClock clock;
  const Summary summary = Run(std::make_unique<GivenFrames>(TensorsOf({milliseconds(5)}), true),
                              Echo({1, 1, 1, 1}), clock);
  EXPECT_EQ(summary.frames, 1);
  EXPECT_EQ(summary.latency.max_ms(), 0.0);
}

TEST_F(LiveRunTest, ACheckKnowsWhatAFrameWaitedForIt) {
  RobotConfig config = Echo({1, 1, 1, 1});
  config.check = 2;
  const TickingClock clock;
  const auto model = Compile(LoadGraph(config, /*has_tensors=*/true), config);
  Robot robot(model, config, clock);
  DenseCheck check(model, config, /*has_tensors=*/true, clock);
  const std::vector<Frame> frames = TensorsOf({milliseconds(0), milliseconds(0)});
  check.CheckIfDue(frames[0], robot.Process(frames[0]), robot);
  EXPECT_EQ(check.TimeSpentSince(nanoseconds(0)), nanoseconds(0)) << "not due yet";
  const Answer answer = robot.Process(frames[1]);
  const auto before = clock.Now();
  check.CheckIfDue(frames[1], answer, robot);
  const auto after = clock.Now();
  EXPECT_GT(check.time_spent(), milliseconds(2));
  EXPECT_EQ(check.TimeSpentSince(nanoseconds(0)), check.time_spent());
  EXPECT_EQ(check.TimeSpentSince(before), check.time_spent());
  EXPECT_EQ(check.TimeSpentSince(before + milliseconds(2)), check.time_spent() - milliseconds(1));
  EXPECT_EQ(check.TimeSpentSince(after), nanoseconds(0));
}

TEST_F(LiveRunTest, TheModelIsReadOnce) {
  RobotConfig config = Echo({1, 3, 16, 16});
  config.frames = 2;
  Graph network = LoadNetwork(config, /*has_tensors=*/false);
  fs::remove(config.model);
  const SteadyClock clock;
  FrameQueue queue(OpenSource("generated:width=32,height=32", clock), 2);
  EXPECT_EQ(RunRobotOn(queue, std::move(network), config, clock, stop_).frames, 2);
}

// A video of 25 frames a second on a robot that has time for all.
TEST_F(LiveRunTest, AVideoInRealTimeTakesAsLongAsItIs) {
  RobotConfig config = Echo({1, 3, 16, 16});
  config.source = "generated:frames=6,rate=25,width=16,height=16";
  config.realtime = true;
  config.output.answers = Path("answers.jsonl");
  config.Check();
  const SteadyClock clock;
  const Summary summary = RunRobot(config, clock, stop_);
  EXPECT_EQ(summary.frames + summary.queue.dropped, 6);
  EXPECT_GE(summary.elapsed, milliseconds(200));
  const std::vector<Json> answers = Answers();
  const double start_ms = answers[0]["stamp_ms"];
  for (const Json& answer : answers) {
    EXPECT_NEAR(answer["stamp_ms"], start_ms + 40 * answer["frame"].get<double>(), 1e-3);
  }
  EXPECT_EQ(answers.back()["frame"], 5);
}

// The second sample is not due by the end, so nothing but idle time judges the first.
TEST_F(LiveRunTest, IdleTimeIsTheGuards) {
  RobotConfig config = Echo({1, 3, 16, 16});
  config.source = "generated:frames=12,rate=50,width=16,height=16";
  config.realtime = true;
  config.mode = RobotConfig::Mode::kCache;
  config.cache.policy = CacheConfig::Policy::kExact;
  config.cache.most_work = 0;
  config.Check();
  const SteadyClock clock;
  const Summary summary = RunRobot(config, clock, stop_);
  EXPECT_EQ(summary.guard->samples, 1);
  EXPECT_EQ(summary.guard->state.agreement, 1.0);
}

// All frames are there at once, so that none leaves idle time.
TEST_F(LiveRunTest, WithoutIdleTimeTheRobotsOwnAnswersAreSampledAllTheSame) {
  RobotConfig config = Echo({1, 3, 16, 16});
  config.source = "generated:frames=60,width=16,height=16";
  config.mode = RobotConfig::Mode::kCache;
  config.cache.policy = CacheConfig::Policy::kExact;
  config.cache.most_work = 0;
  config.guard.share = 0.5;
  const ManualClock clock;
  std::vector<Frame> frames;
  const std::unique_ptr<FrameSource> source = OpenSource(config.source, clock);
  while (std::optional<Frame> frame = source->Next()) frames.push_back(std::move(*frame));
  config.Check();
  Graph network = LoadNetwork(config, /*has_tensors=*/false);
  FrameQueue queue(std::make_unique<GivenFrames>(frames, /*is_live=*/true), frames.size());
  while (!queue.HasNext()) std::this_thread::sleep_for(milliseconds(1));
  std::this_thread::sleep_for(milliseconds(20));
  const Summary summary = RunRobotOn(queue, std::move(network), config, clock, stop_);
  EXPECT_EQ(summary.frames, 60);
  EXPECT_GE(summary.guard->samples, 4);
}

// A camera whose next frame comes, and is overdue, once an answer is out.
class OverdueCamera final : public FrameObserver {
 public:
  OverdueCamera(FrameQueue& queue, const Picture& picture) : queue_(queue), picture_(picture) {}

  void Come() {
    Frame frame;
    frame.picture = picture_;
    queue_.Push(std::move(frame));
  }
  void Watch(const LiveRobot& robot) { robot_ = &robot; }
  int moved_during_samples() const { return moved_during_samples_; }

  void Skip(const Frame& /*frame*/, const std::string& reason) override { ADD_FAILURE() << reason; }
  void PublishMoved(const Frame& /*frame*/, const Answer& /*answer*/) override {
    moved_during_samples_ += robot_->guard()->is_open() && robot_->guard()->is_overdue();
  }
  void Publish(const Frame& /*frame*/, const Answer& /*answer*/) override {}
  void Keep(const Frame& /*frame*/, const Answer& /*answer*/) override { Come(); }

 private:
  FrameQueue& queue_;
  const Picture picture_;
  const LiveRobot* robot_ = nullptr;
  int moved_during_samples_ = 0;
};

TEST_F(LiveRunTest, AnOverdueSampleKeepsNoFrameFromAMovedAnswer) {
  RobotConfig config = DemoConfig("1x3x32x32");
  config.mode = RobotConfig::Mode::kCache;
  config.cache.policy = CacheConfig::Policy::kExact;
  config.cache.most_work = 0;
  config.guard.share = 0.5;
  config.deadline_ms = 10;
  config.Check();
  ManualClock clock;
  clock.Advance(std::chrono::seconds(1));
  FrameQueue queue(8, /*is_live=*/true);
  RobotModels models(LoadNetwork(config, /*has_tensors=*/false), config, /*has_tensors=*/false,
                     std::nullopt, clock, stop_);
  OverdueCamera camera(queue, OpenSource("generated:width=32,height=32", clock)->Next()->picture);
  LiveRobot robot(config, models, queue, clock, camera);
  camera.Watch(robot);
  camera.Come();
  for (int i = 0; i < 60; ++i) robot.Handle(*robot.Next());
  EXPECT_GT(camera.moved_during_samples(), 0);
}

TEST_F(LiveRunTest, WhatHasNoTimesCannotBePaced) {
  RobotConfig config = Echo({1, 3, 16, 16});
  config.source = Path("pictures");
  config.realtime = true;
  fs::create_directories(config.source);
  cv::imwrite(Path("pictures/0.png"), cv::Mat(16, 16, CV_8UC3, cv::Scalar::all(9)));
  const SteadyClock clock;
  EXPECT_EQ(RefusalOf([&] { RunRobot(config, clock, stop_); }),
            "realtime: source " + config.source + " states no frame rate; make a video of it");
}

TEST_F(LiveRunTest, AnAbsentCameraIsWaitedForAsLongAsAsked) {
  RobotConfig config = Echo({1, 3, 16, 16});
  config.source = "63";
  config.camera_wait_s = 1;
  const SteadyClock clock;
  EXPECT_EQ(RefusalOf([&] { RunRobot(config, clock, stop_); }),
            "camera 63: cannot be opened, and did not come within 1 s");
}

class FailingRunTest : public LiveRunTest {
 protected:
  // Mode cache with everything that a robot can do with a frame, on frames that move.
  RobotConfig Everything() const {
    RobotConfig config = Echo({1, 3, 32, 32});
    config.source = "generated:seed=3,frames=10,width=64,height=48,camera=travel";
    config.mode = RobotConfig::Mode::kCache;
    config.cache.policy = CacheConfig::Policy::kExact;
    config.guard.share = 1;
    config.check = 1;
    config.record.folder = Path("records");
    config.record.seconds = 1000;
    return config;
  }

  // The failed frame, in the only recording.
  FrameRecord FailedRecord() const {
    const std::vector<fs::path> folders = Recordings();
    if (folders.size() != 1) {
      ADD_FAILURE() << folders.size() << " recordings instead of one";
      return {};
    }
    EXPECT_TRUE(folders[0].filename().string().starts_with("error-")) << folders[0];
    return ReadRecording(folders[0]).frames.back()->record;
  }
};

// Every step but publishing looks at the clock.
TEST_F(FailingRunTest, WhateverThrowsInAnyStepIsRecorded) {
  const RobotConfig config = Everything();
  TickingClock whole;
  EXPECT_EQ(Run(OpenSource(config.source, whole), config, whole).frames, 10);
  ASSERT_TRUE(Recordings().empty());
  std::set<FrameStep> steps;
  const std::set<FrameStep> expected = {FrameStep::kAnswer, FrameStep::kCheck, FrameStep::kGuard,
                                        FrameStep::kRefresh};
  for (int look = 1; look <= whole.looks() && steps != expected; ++look) {
    fs::remove_all(Path("records"));
    TickingClock clock;
    clock.BreakAt(look);
    EXPECT_THROW(Run(OpenSource(config.source, clock), config, clock), std::runtime_error);
    if (Recordings().empty()) continue;  // it broke between two frames
    SCOPED_TRACE(look);
    const FrameRecord record = FailedRecord();
    EXPECT_EQ(record.error, "the clock broke");
    steps.insert(record.failed_step);
    const ReplayReport report = Replay(Recordings()[0], SteadyClock());
    const bool is_of_robot =
        record.failed_step == FrameStep::kAnswer || record.failed_step == FrameStep::kRefresh;
    EXPECT_EQ(report.differing, is_of_robot ? 1 : 0) << report.first_difference;
    EXPECT_EQ(report.not_replayed.empty(), is_of_robot);
    if (is_of_robot) {
      EXPECT_NE(report.first_difference.find("did not happen: the clock broke"), std::string::npos);
    }
  }
  EXPECT_EQ(steps, expected);
}

// By the clock here all frames take equally long, so the second and the third take more than two
// thirds of the first. In a replay the recording alone decides what follows.
TEST_F(FailingRunTest, AReplayRestsWhereTheRunDidWhateverTheClockSays) {
  RobotConfig config = Everything();
  config.source = "generated:seed=3,frames=10,width=64,height=48,camera=still";
  config.guard.is_on = false;
  config.check = 0;
  config.deadline_ms = 0;
  config.output.answers = Path("answers.jsonl");
  TickingClock whole;
  const Summary summary = Run(OpenSource(config.source, whole), config, whole);
  EXPECT_EQ(summary.work.slow, 1);
  EXPECT_EQ(summary.work.rested, 1);
  const std::vector<Json> answers = Answers();
  ASSERT_EQ(answers.size(), 10U);
  EXPECT_FALSE(answers[2].contains("rests_because"));
  EXPECT_EQ(answers[3]["rests_because"], "reuse took longer");

  for (int look = whole.looks(); look > 0 && Recordings().empty(); --look) {
    TickingClock clock;
    clock.BreakAt(look);
    EXPECT_THROW(Run(OpenSource(config.source, clock), config, clock), std::runtime_error);
  }
  (void)FailedRecord();
  const Recording recording = ReadRecording(Recordings().at(0));
  ASSERT_GT(recording.frames.size(), 5U);
  EXPECT_FALSE(recording.frames[2]->record.verdict.is_slow);
  EXPECT_TRUE(recording.frames[3]->record.verdict.is_slow);
  const ReplayReport report = Replay(Recordings().at(0), ManualClock());
  const bool is_as_recorded =
      report.agrees() || report.first_difference.find("did not happen") != std::string::npos;
  EXPECT_TRUE(is_as_recorded) << report.first_difference;
}

class LostGpuTest : public FailingRunTest {
 protected:
  using Files = std::map<std::string, std::string>;

  LostGpuTest() {
    ModelBuilder net;
    const ValueId picture = net.Input({1, 3, 32, 32});
    WritePack(net.Finish({net.Conv(picture, 8, 3, 1, 1)}), Path("convolution.cacheinf"));
    config_ = Everything();
    config_.model = Path("convolution.cacheinf");
    config_.source = "generated:seed=3,frames=10,width=64,height=48,camera=still";
    // With these, what is stored has the bits of a dense run.
    config_.tracker.change.threshold = 0;
    config_.cache.relight = false;
    config_.cache.most_work = 0;
    config_.frames = kFrames;
    config_.output.answers = Path("answers.jsonl");
    config_.output.dump_outputs = Path("outputs");
    expected_ = RunWith({}).outputs;
    config_.backend = RobotConfig::Backend::kCudaEmulated;
  }

  struct Result {
    int on_processor = 0;  // models compiled for the CPU
    Files outputs;         // of all frames, as dumped
    std::string log;
  };

  // Runs with an emulated device of these options.
  Result RunWith(const cuda::EmulatedDevice::Options& options) {
    config_.Check();
    fs::remove_all(Path("outputs"));
    Result result;
    const auto make_backend = [&](const RobotConfig& of) {
      if (of.backend == RobotConfig::Backend::kCudaEmulated) {
        return MakeEmulatedCudaBackend(std::make_shared<cuda::EmulatedDevice>(options));
      }
      ++result.on_processor;
      return MakeBackend(of);
    };
    const SteadyClock clock;
    FrameQueue queue(OpenSource(config_.source, clock), 2);
    SetLogLevel(LogLevel::kWarning);
    testing::internal::CaptureStderr();
    const Summary summary = RunRobotOn(queue, LoadNetwork(config_, /*has_tensors=*/false), config_,
                                       clock, stop_, make_backend);
    result.log = testing::internal::GetCapturedStderr();
    SetLogLevel(LogLevel::kOff);
    EXPECT_EQ(summary.frames, kFrames);
    const std::vector<Json> answers = Answers();
    EXPECT_EQ(answers.size(), size_t{kFrames});
    for (size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i]["frame"], i);
    for (const auto& entry : fs::directory_iterator(Path("outputs"))) {
      std::ifstream file(entry.path(), std::ios::binary);
      result.outputs[entry.path().filename().string()] =
          std::string(std::istreambuf_iterator<char>(file), {});
    }
    return result;
  }

  static constexpr int kFrames = 4;
  RobotConfig config_;
  Files expected_;  // by the CPU alone
};

TEST_F(LostGpuTest, LostAtAnyWaitTheCpuReplacesItFromThatFrameOn) {
  ASSERT_EQ(expected_.size(), size_t{kFrames});
  cuda::EmulatedDevice::Options options;
  for (options.lost_after = 0;; ++options.lost_after) {
    SCOPED_TRACE(testing::Message() << "lost after " << options.lost_after << " waits");
    const Result result = RunWith(options);
    EXPECT_TRUE(result.outputs == expected_);
    if (result.on_processor == 0 || HasFailure()) break;
    EXPECT_EQ(result.on_processor, 1);
    EXPECT_NE(result.log.find("the emulated device is lost; the robot goes on without the GPU\n"),
              std::string::npos)
        << result.log;
  }
  EXPECT_GT(options.lost_after, 3 * kFrames) << "answers, checks and samples wait";
}

TEST_F(LostGpuTest, WithTooLittleMemoryTheCpuReplacesItFromTheStart) {
  cuda::EmulatedDevice::Options options;
  options.memory_bytes = 1000;
  const Result result = RunWith(options);
  EXPECT_TRUE(result.outputs == expected_);
  EXPECT_EQ(result.on_processor, 1);
  EXPECT_NE(result.log.find("; the robot goes on without the GPU\n"), std::string::npos)
      << result.log;
}

TEST_F(LostGpuTest, WhatTheStandInFindsInAKernelIsNoLoss) {
  const SteadyClock clock;
  FrameQueue queue(OpenSource(config_.source, clock), 2);
  const auto make_backend = [](const RobotConfig& of) -> std::unique_ptr<Backend> {
    if (of.backend == RobotConfig::Backend::kCudaEmulated) throw cuda::KernelFault("planted");
    return MakeBackend(of);
  };
  EXPECT_THROW(RunRobotOn(queue, LoadNetwork(config_, /*has_tensors=*/false), config_, clock, stop_,
                          make_backend),
               cuda::KernelFault);
}

TEST_F(FailingRunTest, AnAnswerThatCannotBePublishedIsRecordedWithItsFrame) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "/dev/full is not there";
  RobotConfig config = Everything();
  config.output.answers = "/dev/full";
  const SteadyClock clock;
  EXPECT_THROW(Run(OpenSource(config.source, clock), config, clock), InputError);
  const FrameRecord record = FailedRecord();
  EXPECT_EQ(record.frame, 0);
  EXPECT_EQ(record.failed_step, FrameStep::kPublish);
  EXPECT_EQ(record.error, "/dev/full: cannot be written");
  const ReplayReport report = Replay(Recordings()[0], clock);
  EXPECT_TRUE(report.agrees()) << report.first_difference;
  EXPECT_NE(ToText(report).find("frame 0 is not replayed: step publish"), std::string::npos)
      << ToText(report);
}

}  // namespace
}  // namespace cacheinf
