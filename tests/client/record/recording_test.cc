// Read this first: what a robot saw and decided is recorded, and replayed bit for bit.

#include "client/record/recording.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/record/decision_text.h"
#include "client/record/recorder.h"
#include "client/record/replay.h"
#include "client/robot_setup.h"
#include "client/run/run.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/model/graph/pack.h"
#include "common/source/frame_source.h"
#include "tests/client/demo_config.h"
#include "tests/client/eight_bit_demo.h"
#include "tests/testing/command.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/places.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class RecordingTest : public FolderTest {
 protected:
  // The demo's network with settings that see no change, so that the guard finds bad answers.
  RobotConfig Frozen() const {
    RobotConfig config = DemoConfig("1x3x96x128");
    config.source = "generated:seed=5,frames=60,width=160,height=120,shapes=6,camera=handheld";
    config.cache.geometry = CacheConfig::Geometry::kCanvas;
    config.cache.stem = 0;
    config.cache.refresh = 0;
    config.tracker.change.threshold = 1.0;
    config.guard.share = 0.2;
    config.record.folder = Path("records");
    config.record.seconds = 0.4;
    return config;
  }

  // Settings that reuse most, on a camera that moves.
  RobotConfig Moving() const {
    RobotConfig config = Frozen();
    config.cache = {};
    config.cache.geometry = CacheConfig::Geometry::kCanvas;
    config.cache.policy = CacheConfig::Policy::kFixed;
    config.cache.stem = 0;
    config.tracker.change = {};
    config.guard.is_on = false;
    return config;
  }

  Summary Run(const RobotConfig& config) const {
    config.Check();
    return RunRobot(config, clock_, stop_);
  }

  // The folders written so far, by name.
  std::vector<fs::path> Recordings() const {
    std::vector<fs::path> folders;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(Path("records"), error)) {
      folders.push_back(entry.path());
    }
    std::sort(folders.begin(), folders.end());
    return folders;
  }

  // Runs it with every frame late.
  void ExpectLateFramesReplay(RobotConfig config) const {
    fs::remove_all(Path("records"));
    config.deadline_ms = 1e-6;
    Run(config);
    ASSERT_GE(Recordings().size(), 2u);
    const ReplayReport report = Replay(Recordings().back(), clock_);
    EXPECT_TRUE(report.agrees()) << report.first_difference;
    EXPECT_GT(report.frames, 5);
  }

  std::string Refusal(const fs::path& folder) const {
    return RefusalOf([&] { Replay(folder, clock_); });
  }

  SteadyClock clock_;
  std::atomic<bool> stop_ = false;
};

TEST_F(RecordingTest, WhatTheGuardFindsIsRecordedAndReplaysBitForBit) {
  const Summary summary = Run(Frozen());
  EXPECT_GT(summary.guard->changes, 0);
  const std::vector<fs::path> folders = Recordings();
  ASSERT_FALSE(folders.empty());
  bool has_other_level = false;
  bool has_reuse = false;
  for (const fs::path& folder : folders) {
    EXPECT_TRUE(folder.filename().string().starts_with("guard-")) << folder;
    const ReplayReport report = Replay(folder, clock_);
    EXPECT_TRUE(report.agrees()) << folder << ": " << report.first_difference;
    EXPECT_EQ(report.reason, "guard");
    for (const auto& frame : ReadRecording(folder).frames) {
      has_other_level |= frame->record.verdict.level != SafetyLevel::kNormal;
      has_reuse |= frame->record.decision->kind == FrameDecision::Kind::kChanged;
    }
  }
  EXPECT_TRUE(has_other_level);
  EXPECT_TRUE(has_reuse);
}

TEST_F(RecordingTest, RunsThatDumpTheNetworksOutputsReplayToo) {
  RobotConfig config = Frozen();
  config.output.dump_outputs = Path("outputs");
  Run(config);
  ASSERT_FALSE(Recordings().empty());
  const ReplayReport report = Replay(Recordings().front(), clock_);
  EXPECT_TRUE(report.agrees()) << report.first_difference;
}

TEST_F(RecordingTest, LateAnswersDoNotHideWhatTheGuardFinds) {
  RobotConfig config = Frozen();
  config.deadline_ms = 1e-3;
  config.record.seconds = 100;
  Run(config);
  std::vector<std::string> reasons;
  for (const fs::path& folder : Recordings()) reasons.push_back(ReadRecording(folder).reason);
  std::sort(reasons.begin(), reasons.end());
  EXPECT_EQ(reasons, (std::vector<std::string>{"deadline", "guard"}));
}

TEST_F(RecordingTest, ARecordingIsOfOrdinaryFiles) {
  RobotConfig config = Moving();
  config.deadline_ms = 1e-6;  // every answer is late
  config.record.most = 3;
  const Summary summary = Run(config);
  EXPECT_EQ(summary.late, 60);
  const std::vector<fs::path> folders = Recordings();
  // While one recording is written, no other begins.
  ASSERT_GE(folders.size(), 2u);
  ASSERT_LE(folders.size(), 3u);
  const fs::path& folder = folders.back();
  EXPECT_EQ(Json::parse(ReadFile(folder / "recording.json"))["reason"], "deadline");
  std::ifstream lines(folder / "frames.jsonl");
  const std::unique_ptr<FrameSource> source = OpenSource(config.source, clock_);
  std::vector<Frame> frames;
  while (const std::optional<Frame> frame = source->Next()) frames.push_back(*frame);
  int count = 0;
  for (std::string text; std::getline(lines, text); ++count) {
    const Json line = Json::parse(text);
    const auto index = line["frame"].get<size_t>();
    EXPECT_EQ(line["answer"]["frame"], index);
    char name[16];
    std::snprintf(name, sizeof(name), "%06zu.png", index);
    const cv::Mat image = cv::imread((folder / "frames" / name).string(), cv::IMREAD_UNCHANGED);
    const Picture& picture = frames[index].picture;
    ASSERT_EQ(image.rows, picture.height);
    ASSERT_EQ(image.cols, picture.width);
    for (int y = 0; y < picture.height; ++y) {
      ASSERT_TRUE(std::equal(image.ptr(y), image.ptr(y) + 3 * picture.width, picture.Row(y)));
    }
    const FrameDecision decision = ReadFrameDecision(line["decision"].dump(), "line");
    EXPECT_EQ(decision.frame, static_cast<int64_t>(index));
    const double share = static_cast<double>(CountActive(decision.changed)) / (128.0 * 96.0);
    EXPECT_NEAR(share, line["answer"]["active"].get<double>(), 1e-9);
  }
  EXPECT_GT(count, 10);
  // The frames alone are a source, and the configuration can be run.
  RobotConfig again = LoadRobotConfig(folder / "config.json");
  again.source = (folder / "frames").string();
  EXPECT_EQ(Run(again).frames, count);
}

// Several spans begin in the run; recordings hold the end of one and all of the next.
TEST_F(RecordingTest, AMovingCameraReplaysBitForBitFromWhereverItBegins) {
  RobotConfig config = Moving();
  config.deadline_ms = 1e-6;
  Run(config);
  const std::vector<fs::path> folders = Recordings();
  ASSERT_GE(folders.size(), 2u);
  for (const fs::path& folder : folders) {
    const ReplayReport report = Replay(folder, clock_);
    EXPECT_TRUE(report.agrees()) << folder << ": " << report.first_difference;
  }
  EXPECT_GT(ReadRecording(folders.back()).frames.front()->record.frame, 0);
}

TEST_F(RecordingTest, DenseRunsReplayBitForBit) {
  for (const int track : {1, 3}) {
    RobotConfig config = Moving();
    config.mode = RobotConfig::Mode::kDense;
    config.track = track;
    ExpectLateFramesReplay(config);
  }
}

// Some tracked frames had their answer before they began.
TEST_F(RecordingTest, FramesThatWaitedForSlowOnesReplayBitForBit) {
  RobotConfig config = Moving();
  config.source = "generated:seed=3,frames=90,width=160,height=120";
  config.realtime = true;
  config.track = 3;
  config.deadline_ms = 10;
  config.server.emulate = "40x";
  EXPECT_GT(Run(config).overtaken, 0);
  ASSERT_GE(Recordings().size(), 2u);
  for (const fs::path& folder : Recordings()) {
    const ReplayReport report = Replay(folder, clock_);
    EXPECT_TRUE(report.agrees()) << folder << ": " << report.first_difference;
  }
}

TEST_F(RecordingTest, EightBitNetworksReplayBitForBit) {
  const RobotConfig eight_bits = EightBitDemoConfig(96, 128, Path("eight.cacheinf"));
  for (const auto policy : {CacheConfig::Policy::kChange, CacheConfig::Policy::kFixed}) {
    RobotConfig config = Moving();
    config.model = eight_bits.model;
    config.cache.policy = policy;
    ExpectLateFramesReplay(config);
  }
}

TEST_F(RecordingTest, AnotherFrameOrOtherBitsAreNotAsRecorded) {
  RobotConfig config = Moving();
  config.deadline_ms = 1e-6;
  config.record.most = 2;
  Run(config);
  const fs::path folder = Recordings().back();
  std::string lines = ReadFile(folder / "frames.jsonl");
  const size_t hash = lines.find("\"outputs\":\"") + 11;
  lines[hash] = lines[hash] == '0' ? '1' : '0';
  WriteText(fs::relative(folder / "frames.jsonl", folder_).string(), lines);
  const ReplayReport report = Replay(folder, clock_);
  EXPECT_EQ(report.differing, 1);
  EXPECT_NE(report.first_difference.find("the outputs have other bits"), std::string::npos);
  const auto last = ReadRecording(folder).frames.back()->record.frame;
  char name[16];
  std::snprintf(name, sizeof(name), "%06d.png", static_cast<int>(last));
  cv::imwrite((folder / "frames" / name).string(), cv::Mat(120, 160, CV_8UC3, cv::Scalar(9, 9, 9)));
  EXPECT_EQ(Replay(folder, clock_).differing, 2);

  const std::string robot = ProgramPath("cacheinf-robot");
  const CommandResult differs = RunCommand({robot, "replay", folder.string()});
  EXPECT_EQ(differs.exit_code, 1) << differs.error;
  EXPECT_NE(differs.out.find("2 of them not as recorded"), std::string::npos) << differs.out;
  const CommandResult agrees = RunCommand({robot, "replay", Recordings().front().string()});
  EXPECT_EQ(agrees.exit_code, 0) << agrees.error;
  EXPECT_NE(agrees.out.find("bit for bit"), std::string::npos) << agrees.out;
  const CommandResult missing = RunCommand({robot, "replay", Path("none")});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_EQ(missing.error, "cacheinf-robot: " + Path("none") + ": no such folder\n");
}

// A recorder that is told what a run tells it.
class RecorderTest : public RecordingTest {
 protected:
  void Start(const RobotConfig& config) {
    const auto model = Compile(LoadGraph(config, /*has_tensors=*/false), config);
    robot_.emplace(model, config, clock_);
    source_ = OpenSource(config.source, clock_);
    recorder_.emplace(config, model->graph());
  }

  Frame Next() {
    Frame frame = *source_->Next();
    verdict_ = recorder_->Before(frame, {});
    return frame;
  }

  // Answers the next frame, up to its refresh.
  Frame NextAnswered() {
    Frame frame = Next();
    recorder_->Keep(frame, robot_->Process(frame, verdict_), *robot_);
    return frame;
  }

  std::optional<Robot::Refreshed> Refresh(const Frame& frame) {
    const std::optional<Robot::Refreshed> work = robot_->Refresh(frame);
    if (work) recorder_->KeepRefresh(*robot_->decision());
    return work;
  }

  std::optional<Robot> robot_;
  std::unique_ptr<FrameSource> source_;
  std::optional<Recorder> recorder_;
  Verdict verdict_;  // of the last frame
};

TEST_F(RecorderTest, WhatThrowsIsRecordedWithItsFrame) {
  Start(Moving());
  for (int i = 0; i < 3; ++i) Refresh(NextAnswered());
  recorder_->KeepFailure(Next(), FrameStep::kAnswer, "out of memory");
  recorder_.reset();
  ASSERT_EQ(Recordings(), std::vector<fs::path>{Path("records/error-000003")});
  const ReplayReport report = Replay(Recordings()[0], clock_);
  EXPECT_EQ(report.frames, 4);
  EXPECT_EQ(report.detail, "out of memory");
  EXPECT_EQ(report.first_difference, "frame 3: the recorded error did not happen: out of memory");
}

TEST_F(RecorderTest, ARecordingIsOfTheModelThatWasLoaded) {
  RobotConfig config = Moving();
  const std::string demo = ReadFile(config.model);
  config.model = Path("model.onnx");
  WriteText("model.onnx", demo);
  Start(config);
  for (int i = 0; i < 3; ++i) NextAnswered();
  WriteText("model.onnx", "another model");
  recorder_->Record("guard", "");
  recorder_.reset();
  WriteText("model.onnx", demo);
  ASSERT_EQ(Recordings().size(), 1u);
  EXPECT_TRUE(Replay(Recordings()[0], clock_).agrees());
}

// Moves the weights of the first convolution to a file of their own, and gives their bytes.
std::string MoveWeights(const fs::path& model, const fs::path& weights) {
  onnx::ModelProto proto;
  proto.ParseFromString(ReadFile(model));
  for (onnx::TensorProto& tensor : *proto.mutable_graph()->mutable_initializer()) {
    if (tensor.dims_size() != 4 || !tensor.has_raw_data()) continue;
    const std::string bytes = tensor.raw_data();
    WriteFile(weights, bytes);
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    onnx::StringStringEntryProto* const location = tensor.add_external_data();
    location->set_key("location");
    location->set_value(weights.filename());
    WriteFile(model, proto.SerializeAsString());
    return bytes;
  }
  return "";
}

TEST_F(RecorderTest, OtherWeightsBesideTheFileAreAnotherModel) {
  RobotConfig config = Moving();
  fs::copy_file(config.model, Path("model.onnx"));
  config.model = Path("model.onnx");
  std::string weights = MoveWeights(config.model, Path("weights.bin"));
  ASSERT_GT(weights.size(), 4u);
  Start(config);
  for (int i = 0; i < 3; ++i) NextAnswered();
  recorder_->Record("guard", "");
  recorder_.reset();
  ASSERT_EQ(Recordings().size(), 1u);
  EXPECT_EQ(Refusal(Recordings()[0]), "");
  weights[3] = static_cast<char>(weights[3] ^ 0x80);  // the sign of the first
  WriteText("weights.bin", weights);
  EXPECT_EQ(Refusal(Recordings()[0]), config.model + ": not the model of the recording");
}

TEST_F(RecorderTest, APathThatTheRecordingCannotHoldStopsItAtOnce) {
  RobotConfig config = Moving();
  Start(config);
  config.model = "b\xff.onnx";
  Recorder recorder(config, robot_->state().graph());
  EXPECT_EQ(recorder.Finish(),
            "recording stopped: config.json: model is not UTF-8, as JSON must be: give that file "
            "or folder another name");
}

// In idle time there is nothing to do but anchors.
TEST_F(RecorderTest, AnAnchorMadeInIdleTimeReplaysBitForBit) {
  RobotConfig config = Moving();
  config.source = "generated:seed=5,frames=24,width=160,height=120,shapes=6,camera=travel";
  config.cache.refresh = 0;
  config.record.seconds = 100;
  Start(config);
  int anchors = 0;
  for (int i = 0; i < 24; ++i) {
    if (const auto refreshed = Refresh(NextAnswered())) {
      EXPECT_TRUE(refreshed->work.is_dense);
      ++anchors;
    }
  }
  EXPECT_GE(anchors, 1);
  recorder_->Record("guard", "");
  recorder_.reset();
  ASSERT_EQ(Recordings().size(), 1u);
  const ReplayReport report = Replay(Recordings()[0], clock_);
  EXPECT_EQ(report.frames, 24);
  EXPECT_TRUE(report.agrees()) << report.first_difference;
}

// If a later step fails, the recording has the frame once, with its outputs.
TEST_F(RecorderTest, AFailureAfterTheAnswerKeepsTheAnswer) {
  Start(Moving());
  for (int i = 0; i < 2; ++i) Refresh(NextAnswered());
  recorder_->KeepFailure(NextAnswered(), FrameStep::kRefresh, "a stored pixel is wrong");
  recorder_.reset();
  ASSERT_EQ(Recordings(), std::vector<fs::path>{Path("records/error-000002")});
  const Recording recording = ReadRecording(Recordings()[0]);
  ASSERT_EQ(recording.frames.size(), 3u);
  const FrameRecord& last = recording.frames.back()->record;
  EXPECT_EQ(last.failed_step, FrameStep::kRefresh);
  EXPECT_EQ(last.outputs, HashOfOutputs(robot_->outputs()));
  EXPECT_EQ(Replay(Recordings()[0], clock_).first_difference,
            "frame 2: the recorded error did not happen: a stored pixel is wrong");
}

// Here a span begins with every third frame.
TEST_F(RecorderTest, AnswersThatTheRecorderItselfMakesLateAreNotRecorded) {
  RobotConfig config = Moving();
  config.record.seconds = 0.1;
  config.deadline_ms = 50;
  Start(config);
  const auto record = [&](int waited_ms, int compute_ms) {
    const Frame frame = Next();
    Answer answer = robot_->Process(frame, verdict_);
    answer.times.waited = std::chrono::milliseconds(waited_ms);
    answer.times.preprocess = answer.times.decode = {};
    answer.times.compute = std::chrono::milliseconds(compute_ms);
    recorder_->Keep(frame, answer, *robot_);
    return robot_->decision()->base == -1;
  };
  EXPECT_TRUE(record(0, 10));
  int frames = 1;
  while (!record(0, 10)) ASSERT_LT(++frames, 20);
  record(0, 10);
  while (!record(0, 10)) ASSERT_LT(++frames, 20);
  EXPECT_FALSE(record(45, 10)) << "it waited for a frame that was computed whole";
  EXPECT_TRUE(Recordings().empty());
  EXPECT_FALSE(record(45, 10));
  while (Recordings().empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_LT(++frames, 5000) << "a late answer was not recorded";
  }
}

// Random 3x3 convolutions, whose bits show the scheme that computed them.
class SchemeRecordingTest : public RecordingTest {
 protected:
  SchemeRecordingTest() { setenv("CACHEINF_CACHE", Path("cache").c_str(), 1); }
  ~SchemeRecordingTest() override { unsetenv("CACHEINF_CACHE"); }

  RobotConfig Convolutions() const {
    std::mt19937 random(11);
    Graph graph;
    ValueId map = graph.AddInput("x", {1, 3, 32, 32});
    int64_t channels = 3;
    for (const char* name : {"first", "second"}) {
      const Shape shape = {16, channels, 3, 3};
      std::vector<float> weights(static_cast<size_t>(ElementCount(shape)));
      for (float& weight : weights) weight = std::uniform_real_distribution<float>(-1, 1)(random);
      op::Conv conv;
      conv.spec.rows = conv.spec.columns = {3, 1, 1, 1, 1};
      const ValueId constant =
          graph.AddConstant(std::string(name) + ".weights", {shape, std::move(weights)});
      map = graph.AddOne(name, conv, {map, constant});
      channels = 16;
    }
    graph.outputs = {map};
    WritePack(graph, Path("model.cacheinf"));
    RobotConfig config;
    config.model_config.decoder.kind = HeadKind::kRaw;
    config.model = Path("model.cacheinf");
    config.source = "generated:seed=5,frames=4,width=64,height=48";
    config.threads = 1;
    config.deadline_ms = 1e-6;
    config.record.folder = Path("records");
    config.record.most = 1;
    config.record.seconds = 100;
    return config;
  }

  // Replaces text in a file of the only recording.
  void Replace(const std::string& file, const std::string& from, const std::string& to) const {
    const fs::path path = Recordings().at(0) / file;
    std::string text = ReadFile(path);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    WriteText(fs::relative(path, folder_).string(), text);
  }
};

TEST_F(SchemeRecordingTest, AReplayUsesTheSchemesOfTheRecording) {
  Run(Convolutions());
  ASSERT_EQ(Recordings().size(), 1u);
  const NamedSchemes both = {{"first", Scheme::kDirect}, {"second", Scheme::kDirect}};
  EXPECT_EQ(ReadRecording(Recordings()[0]).schemes, both);
  Replace("recording.json", "\"scheme\": \"direct\"", "\"scheme\": \"winograd\"");
  EXPECT_NE(Replay(Recordings()[0], clock_).first_difference.find("other bits"), std::string::npos)
      << "the recorded schemes were not used";
}

TEST_F(SchemeRecordingTest, AReplayMeasuresNothing) {
  RobotConfig config = Convolutions();
  config.scheme = RobotConfig::Scheme::kAuto;
  Run(config);
  ASSERT_EQ(Recordings().size(), 1u);
  ASSERT_TRUE(fs::exists(Path("cache/schemes")));
  fs::remove_all(Path("cache"));
  EXPECT_TRUE(Replay(Recordings()[0], clock_).agrees());
  EXPECT_FALSE(fs::exists(Path("cache"))) << "schemes were measured again";
}

TEST_F(SchemeRecordingTest, SchemesThatDoNotFitTheModelAreRefused) {
  Run(Convolutions());
  ASSERT_EQ(Recordings().size(), 1u);
  const std::string folder = Recordings()[0].string();
  const std::string begin = "the recording's schemes do not fit " + Path("model.cacheinf") + ": ";
  Replace("recording.json", "\"first\"", "\"third\"");
  EXPECT_EQ(Refusal(folder),
            begin + "there is a scheme for convolution 'third' where the model has 'first'");
  const CommandResult result = RunCommand({ProgramPath("cacheinf-robot"), "replay", folder});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.error, "cacheinf-robot: " + Refusal(folder) + "\n");
  Replace("recording.json", "\"third\"", "\"first\"");
  EXPECT_EQ(Refusal(folder), "");
  Replace("recording.json", "\"schemes\": [",
          "\"schemes\": [{\"layer\": \"first\", \"scheme\": \"direct\"},");
  EXPECT_EQ(Refusal(folder),
            begin + "there is a scheme for convolution 'first' where the model has 'second'");
  Replace("recording.json", "\"schemes\": [", "\"schemes\": [], \"were\": [");
  EXPECT_EQ(Refusal(folder),
            begin + "there are schemes for 0 convolutions, but the model has more");
}

// There is memory for a few frames only, and the span never ends.
TEST_F(RecordingTest, KeepsNoMoreThanItMay) {
  RobotConfig config = Moving();
  config.record.seconds = 3600;
  config.record.megabytes = 1;  // 57,600 bytes a frame
  config.deadline_ms = 1e-6;
  Run(config);
  ASSERT_FALSE(Recordings().empty());
  EXPECT_LE(ReadRecording(Recordings().back()).frames.size(), 20u);
}

TEST_F(RecordingTest, AFolderThatCannotBeOneIsRefused) {
  WriteText("file", "no folder");
  RobotConfig config = Moving();
  config.record.folder = Path("file/records");
  EXPECT_EQ(RefusalOf([&] { Run(config); }),
            "--record " + Path("file/records") + ": is not a folder");
  EXPECT_EQ(ReadFile(Path("file")), "no folder");
}

TEST_F(RecordingTest, NothingIsLeftOfARecordingThatTheDiskHasNoRoomFor) {
  RobotConfig config = Moving();
  config.deadline_ms = 1e-6;
  config.record.most = 1;
  Run(config);
  Recording recording = ReadRecording(Recordings()[0]);
  for (auto& kept : recording.frames) {
    auto whole = std::make_shared<RecordedFrame>(*kept);
    whole->frame = ReadRecordedFrame(Recordings()[0], kept->record);
    whole->record.answer = "{}";
    kept = whole;
  }
  // No file can grow past this limit, as on a full disk.
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = {};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit full = {4096, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  EXPECT_THROW(WriteRecording(recording, Path("records/other")), InputError);
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(Recordings().size(), 1u);
  WriteRecording(recording, Path("records/other"));
  EXPECT_EQ(Recordings().size(), 2u);
}

TEST_F(RecordingTest, RefusesWhatIsNoRecording) {
  RobotConfig config = Moving();
  config.deadline_ms = 1e-6;
  config.record.most = 1;
  Run(config);
  const fs::path good = Recordings()[0];
  const fs::path bad = Path("bad");
  // Copies the recording with one file's text changed.
  const auto with = [&](const std::string& file, const std::string& from, const std::string& to) {
    fs::remove_all(bad);
    fs::copy(good, bad, fs::copy_options::recursive);
    std::string text = ReadFile(bad / file);
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    WriteText("bad/" + file, text);
    return Refusal(bad);
  };
  const std::string about = (bad / "recording.json").string();
  const std::string line = (bad / "frames.jsonl").string() + ", line 1: ";
  EXPECT_EQ(with("recording.json", "{", ""), about + ": not a JSON object");
  EXPECT_EQ(with("recording.json", "\"version\": 6", "\"version\": 5"),
            about + ": version must be 6; another build wrote 5");
  EXPECT_EQ(with("recording.json", "\"model_hash\": \"", "\"model_hash\": \"z"),
            about + ": model_hash must be 16 hexadecimal digits");
  EXPECT_EQ(with("recording.json", "\"model_hash\": \"", "\"model_hash\": \"0\", \"was\": \""),
            about + ": model_hash must be 16 hexadecimal digits");
  EXPECT_EQ(with("recording.json", "\"schemes\": [", "\"schemes\": 3, \"were\": ["),
            about + ": schemes must be a list");
  EXPECT_EQ(with("recording.json", "\"schemes\": [", "\"schemes\": [3,"),
            about + ": schemes: not a JSON object");
  EXPECT_EQ(with("recording.json", "\"scheme\": \"direct\"", "\"scheme\": \"fast\""),
            about + ": schemes: scheme must be one of direct, winograd");
  EXPECT_EQ(with("recording.json", "\"layer\":", "\"player\":"),
            about + ": schemes: layer must be a text");
  EXPECT_EQ(with("frames.jsonl", "\"outputs\":", "\"error\":\"x\",\"outputs\":"),
            line + "failed_step must be a text");
  EXPECT_EQ(with("frames.jsonl",
                 "\"outputs\":", "\"error\":\"x\",\"failed_step\":\"sleep\",\"outputs\":"),
            line + "failed_step must be one of answer, publish, check, guard, refresh");
  EXPECT_EQ(with("frames.jsonl", "\"forget\":false", "\"forget\":0"),
            line + "forget must be true or false");
  EXPECT_EQ(with("frames.jsonl", "\"number\":0,\"base\":-1", "\"number\":1,\"base\":0"),
            line + "a recording must begin with a frame that needs none before it");
  EXPECT_EQ(with("frames.jsonl", "\"base\":-1", "\"base\":0"),
            line + "decision: base must be -1 or a number before this one's");
  EXPECT_EQ(with("frames.jsonl", "\"frame\":0", "\"frame\":-1"), line + "frame must be at least 0");
  EXPECT_EQ(with("frames.jsonl", "\"level\":\"normal\"", "\"level\":\"best\""),
            line + "level must be one of normal, shorter expiry, safer, dense");
  EXPECT_EQ(with("frames.jsonl", "\"outputs\":", "\"output\":"),
            line + "outputs must be 16 hexadecimal digits");
  EXPECT_EQ(with("frames.jsonl", "{", "[{"), line + "not a JSON object");
  EXPECT_EQ(
      with("config.json", "\"mode\": \"cache\"", "\"mode\": \"fast\"").find("bad/config.json"),
      folder_.string().size() + 1);
  fs::remove(bad / "frames" / "000000.png");
  EXPECT_NE(with("config.json", "demo_segmentation.onnx", "none.onnx"), "");
  with("frames.jsonl", "{", "{");
  fs::remove(bad / "frames" / "000000.png");
  EXPECT_EQ(Refusal(bad), (bad / "frames" / "000000.png").string() + ": no such file");
  WriteText("bad/frames/000000.png", "broken");
  EXPECT_EQ(Refusal(bad), (bad / "frames" / "000000.png").string() + ": not a readable picture");
  WriteText("bad/frames/000000.png", "");
  EXPECT_EQ(Refusal(bad), (bad / "frames" / "000000.png").string() + ": not a readable picture");
  WriteText("bad/frames.jsonl", "");
  EXPECT_EQ(Refusal(bad), (bad / "frames.jsonl").string() + ": no frame in it");
}

}  // namespace
}  // namespace cacheinf
