// Read this first: a whole run, from the configuration to the files that it writes.

#include "client/run/run.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/answer/overlay.h"
#include "common/backend/host/cpu_backend.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/npy.h"
#include "common/model/graph/pack.h"
#include "common/source/frame_queue.h"
#include "common/source/frame_source.h"
#include "tests/client/eight_bit_demo.h"
#include "tests/client/run/run_world.h"
#include "tests/testing/places.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class RunTest : public RunWorld {
 protected:
  // Outputs twice the input, and the class of the largest channel, under names that no file can
  // have.
  std::string WriteModel(const Shape& shape) const {
    Graph graph;
    graph.name = "double";
    const ValueId input = graph.AddInput("x", shape);
    const ValueId doubled =
        graph.AddOne("double", op::Binary{BinaryKind::kAdd, {}}, {input, input});
    const ValueId classes = graph.AddOne("argmax", op::ArgMax{}, {doubled});
    graph.values[static_cast<size_t>(doubled)].name = "a/b:c";
    graph.values[static_cast<size_t>(classes)].name = "a/b c";
    graph.outputs = {doubled, classes};
    graph.Validate();
    WritePack(graph, Path("model.cacheinf"));
    return Path("model.cacheinf");
  }

  RobotConfig Config(const std::string& model, const std::string& source) const {
    RobotConfig config;
    config.model = model;
    config.source = source;
    config.threads = 1;
    return config;
  }

  Summary Run(const RobotConfig& config) const {
    config.Check();
    return RunRobot(config, clock_, stop_);
  }

  std::string Refusal(const RobotConfig& config) const {
    return RefusalOf([&] { Run(config); });
  }

  SteadyClock clock_;
};

TEST_F(RunTest, DumpsEveryOutputOfEveryFrameInLogicalOrder) {
  const Shape shape = {1, 2, 1, 3};
  fs::create_directories(Path("in"));
  WriteNpy(Path("in/0.npy"), shape, std::vector<float>{1, 2, 3, 4, 1, 6});
  WriteText("in/1.npy", "broken");
  WriteNpy(Path("in/2.npy"), shape, std::vector<float>{9, 8, 7, 0, 0, 0});
  RobotConfig config = Config(WriteModel(shape), Path("in"));
  config.output.dump_outputs = Path("out/deep");
  config.output.answers = Path("answers.jsonl");
  config.output.summary = Path("summary.json");
  const Summary summary = Run(config);
  EXPECT_EQ(summary.frames, 2);
  EXPECT_EQ(summary.skipped, 1);

  const NpyArray doubled = ReadNpy(Path("out/deep/000000.a_b_c.npy"));
  EXPECT_EQ(doubled.shape, shape);
  EXPECT_EQ(std::get<std::vector<float>>(doubled.values), (std::vector<float>{2, 4, 6, 8, 2, 12}));
  const NpyArray classes = ReadNpy(Path("out/deep/000000.a_b_c_2.npy"));
  EXPECT_EQ(classes.shape, (Shape{1, 1, 1, 3}));
  EXPECT_EQ(std::get<std::vector<int64_t>>(classes.values), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_TRUE(fs::exists(Path("out/deep/000002.a_b_c.npy")));
  EXPECT_FALSE(fs::exists(Path("out/deep/000001.a_b_c.npy")));

  const std::vector<Json> answers = Lines(Path("answers.jsonl"));
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1]["frame"], 2);
  const Json json = Json::parse(ReadFile(Path("summary.json")));
  EXPECT_EQ(json["frames"], 2);
  EXPECT_EQ(json["skipped"], 1);
  EXPECT_GT(json["latency_ms"]["p50"], 0.0);
  EXPECT_TRUE(json["machine"].contains("cpu"));
  EXPECT_EQ(json["configuration"]["threads"], 1);
}

// Its one box is nowhere in a dark picture; in a light one it scores 2, and ends the run.
TEST_F(RunTest, RefusesAHeadByTheFirstFrameThatShowsABox) {
  Graph graph;
  graph.name = "picks";
  const ValueId picture = graph.AddInput("x", {1, 3, 8, 8});
  const ValueId light =
      graph.AddOne("light", op::Reduce{ReduceKind::kMean, {1, 2, 3}, false}, {picture});
  const ValueId column = graph.AddOne("light", op::Reshape{{1, 1, 1}}, {light});
  const ValueId row =
      graph.AddConstant("row", Tensor({1, 1, 6}, std::vector<float>{1, 1, 5, 5, 2, 0}));
  const ValueId boxes = graph.AddOne("boxes", op::Binary{BinaryKind::kMultiply, {}}, {column, row});
  graph.outputs = {boxes};
  WritePack(graph, Path("model.cacheinf"));
  fs::create_directories(Path("in"));
  for (int i = 0; i < 5; ++i) {
    const cv::Mat frame(8, 8, CV_8UC3, cv::Scalar::all(i < 3 ? 0 : 255));
    cv::imwrite(Path("in/" + std::to_string(i) + ".png"), frame);
  }
  RobotConfig config = Config(Path("model.cacheinf"), Path("in"));
  config.model_config.decoder.kind = HeadKind::kEndToEnd;
  config.frames = 3;
  EXPECT_EQ(Run(config).frames, 3);
  config.frames = 0;
  EXPECT_NE(Refusal(config).find("a box scores 2, more than 1"), std::string::npos);
}

TEST_F(RunTest, SchemesAgreeButForRounding) {
  std::mt19937 random(9);
  const auto numbers = [&random](const Shape& shape) {
    std::vector<float> drawn(static_cast<size_t>(ElementCount(shape)));
    for (float& number : drawn) number = std::uniform_real_distribution<float>(-1, 1)(random);
    return drawn;
  };
  Graph graph;
  const Shape shape = {1, 16, 20, 20};
  const ValueId input = graph.AddInput("x", shape);
  const ValueId weights = graph.AddConstant("weights", {{16, 16, 3, 3}, numbers({16, 16, 3, 3})});
  op::Conv conv;
  conv.spec.rows = conv.spec.columns = {3, 1, 1, 1, 1};
  graph.outputs = {graph.AddOne("conv", conv, {input, weights})};
  graph.values[static_cast<size_t>(graph.outputs[0])].name = "out";
  WritePack(graph, Path("model.cacheinf"));
  fs::create_directories(Path("in"));
  WriteNpy(Path("in/0.npy"), shape, numbers(shape));
  RobotConfig config = Config(Path("model.cacheinf"), Path("in"));
  const auto answer = [&](RobotConfig::Scheme scheme) {
    config.scheme = scheme;
    config.output.dump_outputs = Path("out");
    Run(config);
    return std::get<std::vector<float>>(ReadNpy(Path("out/000000.out.npy")).values);
  };
  using Choice = RobotConfig::Scheme;
  const std::vector<float> direct = answer(Choice::kDirect);
  const std::vector<float> other = answer(Choice::kAuto);
  ASSERT_EQ(other.size(), direct.size());
  for (size_t i = 0; i < direct.size(); ++i) ASSERT_NEAR(other[i], direct[i], 1e-4f);
}

TEST_F(RunTest, RunsPicturesOfChangingSizesAndDrawsThem) {
  fs::create_directories(Path("in"));
  cv::imwrite(Path("in/0.png"), cv::Mat(48, 64, CV_8UC3, cv::Scalar(255, 0, 0)));
  cv::imwrite(Path("in/1.png"), cv::Mat(30, 90, CV_8UC3, cv::Scalar(0, 0, 255)));
  RobotConfig config = Config(WriteEcho(), Path("in"));
  config.model_config.decoder.kind = DecoderConfig::Kind::kSegmentation;
  config.model_config.preprocess.fit = PictureSpec::Fit::kLetterbox;
  config.output.answers = Path("answers.jsonl");
  config.output.overlay = Path("overlay.mp4");
  EXPECT_EQ(Run(config).frames, 2);

  // Blue is the last of three classes. On the letterbox's borders all three tie.
  const std::vector<Json> answers = Lines(Path("answers.jsonl"));
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0]["classes"][1]["class"], 2);
  EXPECT_EQ(answers[0]["classes"][1]["share"], 12.0 / 16);
  EXPECT_EQ(answers[1]["classes"].size(), 1u);

  cv::VideoCapture video(Path("overlay.mp4"));
  cv::Mat drawn;
  int count = 0;
  while (video.read(drawn)) ++count;
  EXPECT_EQ(count, 2);
}

// A model that calls every pixel the first of `classes` classes.
Graph CallsAllBackground(int classes) {
  Graph graph;
  const ValueId input = graph.AddInput("x", {1, 3, 24, 32});
  std::vector<float> numbers(static_cast<size_t>(3 * classes), -1.0f);
  std::fill_n(numbers.begin(), 3, 0.0f);
  const ValueId weights = graph.AddConstant("none", Tensor({classes, 3, 1, 1}, std::move(numbers)));
  graph.outputs = {graph.AddOne("scores", op::Conv{}, {input, weights})};
  return graph;
}

// The second of two frames differs in a square. An answer's colour is blended in by half, so only
// lines and letters are bright.
TEST_F(RunTest, AnOverlayShowsTheAnswerACaptionAndWhatWasRecomputed) {
  fs::create_directories(Path("in"));
  cv::Mat frame(48, 64, CV_8UC3, cv::Scalar::all(0));
  cv::imwrite(Path("in/0.png"), frame);
  frame(cv::Rect(32, 16, 16, 16)).setTo(cv::Scalar::all(60));
  cv::imwrite(Path("in/1.png"), frame);
  WritePack(CallsAllBackground(6), Path("model.cacheinf"));
  RobotConfig config = Config(Path("model.cacheinf"), Path("in"));
  config.model_config.decoder.kind = DecoderConfig::Kind::kSegmentation;
  config.output.overlay = Path("overlay.mp4");
  for (const auto mode : {RobotConfig::Mode::kDense, RobotConfig::Mode::kCache}) {
    config.mode = mode;
    Run(config);
    cv::VideoCapture video(Path("overlay.mp4"));
    cv::Mat drawn;
    while (video.read(frame)) drawn = frame.clone();
    ASSERT_EQ(drawn.cols, 64);
    ASSERT_GT(drawn.rows, 48);
    const auto brightest = [&](const cv::Rect& part) {
      double most = 0;
      cv::Mat grey;
      cv::cvtColor(drawn(part), grey, cv::COLOR_BGR2GRAY);
      cv::minMaxLoc(grey, nullptr, &most);
      return most;
    };
    EXPECT_EQ(brightest({20, 20, 40, 4}) > 160, mode == RobotConfig::Mode::kCache);
    EXPECT_GT(brightest({0, 48, 64, drawn.rows - 48}), 160);
    for (int c = 0; c < 3; ++c) {
      EXPECT_NEAR(drawn.at<cv::Vec3b>(8, 12)[c], ClassColour(0)[static_cast<size_t>(c)] / 2.0, 20);
    }
  }
}

TEST_F(RunTest, AnEightBitNetworkIsDumpedDrawnCheckedAndWatched) {
  RobotConfig config = EightBitDemoConfig(48, 64, Path("eight.cacheinf"));
  config.source = "generated:seed=3,frames=9,width=64,height=48";
  config.cache.policy = CacheConfig::Policy::kExact;
  config.check = 3;
  config.guard.share = 0.5;
  config.output.dump_outputs = Path("cache");
  config.output.overlay = Path("overlay.mp4");
  const Summary summary = Run(config);
  EXPECT_EQ(summary.frames, 9);
  ASSERT_TRUE(summary.agreement && summary.agreement->map());
  EXPECT_EQ(summary.agreement->map()->MeanIou(), 1.0);
  ASSERT_TRUE(summary.guard);
  EXPECT_GT(summary.guard->samples, 0);
  EXPECT_EQ(summary.guard->bad_samples, 0);
  EXPECT_GT(fs::file_size(Path("overlay.mp4")), 1000u);
  config.mode = RobotConfig::Mode::kDense;
  config.output.dump_outputs = Path("dense");
  Run(config);
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(Path("dense"))) {
    const fs::path cached = fs::path(Path("cache")) / entry.path().filename();
    EXPECT_EQ(ReadFile(cached), ReadFile(entry.path())) << entry.path();
    ++compared;
  }
  EXPECT_GE(compared, 9);
}

TEST_F(RunTest, ScoresSegmentationAgainstTheTruthOfGeneratedScenes) {
  WritePack(CallsAllBackground(6), Path("model.cacheinf"));
  RobotConfig config =
      Config(Path("model.cacheinf"), "generated:seed=3,frames=9,width=64,height=48");
  config.frames = 4;
  config.model_config.decoder.kind = DecoderConfig::Kind::kSegmentation;
  const Summary summary = Run(config);
  EXPECT_EQ(summary.why_not_scored, "");
  EXPECT_EQ(summary.frames, 4);
  ASSERT_FALSE(summary.score.empty());
  // Everything is called background, so no other class meets the truth.
  const std::vector<double> iou = summary.score.ClassIou();
  EXPECT_GT(iou[0], 0.3);
  for (size_t c = 1; c < iou.size(); ++c) EXPECT_LE(iou[c], 0.0);
}

TEST_F(RunTest, DoesNotScoreAModelOfOtherClassesThanTheScenes) {
  for (const int classes : {2, 21}) {
    WritePack(CallsAllBackground(classes), Path("model.cacheinf"));
    RobotConfig config =
        Config(Path("model.cacheinf"), "generated:seed=3,frames=9,width=64,height=48");
    config.frames = 2;
    config.model_config.decoder.kind = DecoderConfig::Kind::kSegmentation;
    const Summary summary = Run(config);
    EXPECT_TRUE(summary.score.empty());
    EXPECT_EQ(summary.why_not_scored, "the model tells " + std::to_string(classes) +
                                          " classes apart, the source's truth 6");
  }
}

// Frames of one pixel with two channels.
class ModesTest : public RunTest {
 protected:
  // Runs this many frames, each of which holds its number.
  Summary RunFrames(int frames, int track = 1, int check = 0) {
    fs::remove_all(Path("in"));
    fs::create_directories(Path("in"));
    for (int i = 0; i < frames; ++i) {
      WriteNpy(Path("in/" + std::to_string(i) + ".npy"), Shape{1, 2, 1, 1},
               std::vector<float>{static_cast<float>(i), 1});
    }
    RobotConfig config = Config(WriteModel({1, 2, 1, 1}), Path("in"));
    config.track = track;
    config.check = check;
    config.output.answers = Path("answers.jsonl");
    config.output.summary = Path("summary.json");
    config.output.dump_outputs = Path("out");
    return Run(config);
  }

  // Which frame each answer says that it was computed from. Checks that its output is that frame's,
  // and that those of computed frames are dumped.
  std::vector<int> ComputedFrom() const {
    std::vector<int> frames;
    for (const Json& line : Lines(Path("answers.jsonl"))) {
      frames.push_back(line["computed_from"]);
      EXPECT_EQ(line["outputs"][0]["max"], std::max(2 * frames.back(), 2));
      char name[32];
      std::snprintf(name, sizeof(name), "out/%06d.a_b_c.npy", line["frame"].get<int>());
      EXPECT_EQ(line.contains("moved"), line["frame"] != line["computed_from"]);
      if (line.contains("moved")) continue;
      EXPECT_EQ(std::get<std::vector<float>>(ReadNpy(Path(name)).values)[0], 2 * frames.back());
    }
    return frames;
  }
};

TEST_F(ModesTest, DenseComputesEveryFrame) {
  const Summary summary = RunFrames(4);
  EXPECT_EQ(ComputedFrom(), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(summary.fresh, 4);
  EXPECT_EQ(summary.refresh.count(), 0);
  EXPECT_EQ(Json::parse(ReadFile(Path("summary.json")))["mode"], "dense");
}

TEST_F(ModesTest, IfToldToTrackEveryKthIsComputedAndItsAnswerGoesOn) {
  EXPECT_EQ(RunFrames(7, 3).fresh, 3);
  EXPECT_EQ(ComputedFrom(), (std::vector<int>{0, 0, 0, 3, 3, 3, 6}));
  EXPECT_EQ(Json::parse(ReadFile(Path("summary.json")))["mode"], "track:3 dense");
  EXPECT_EQ(RunFrames(5, 2).moved, 2);
  EXPECT_EQ(ComputedFrom(), (std::vector<int>{0, 0, 2, 2, 4}));
}

TEST_F(ModesTest, ChecksEveryKthAnswerAgainstItsOwnFrame) {
  const auto errors = [&](int track, int check) {
    const Summary summary = RunFrames(6, track, check);
    return std::pair(summary.agreement->frames(),
                     summary.agreement->relative_error()->mean().value_or(-1));
  };
  const auto off_by = [](double answer, double frame) {
    const bool classes_differ = (answer >= 1) != (frame >= 1);
    const double frame_class = frame >= 1 ? 0 : 1;
    return std::sqrt((4 * (answer - frame) * (answer - frame) + (classes_differ ? 1 : 0)) /
                     (4 * frame * frame + 4 + frame_class));
  };
  EXPECT_EQ(errors(1, 1), std::pair(int64_t{6}, 0.0));
  const auto [all_frames, all_error] = errors(3, 1);
  EXPECT_EQ(all_frames, 6);  // of these 0 and 3 are computed
  EXPECT_NEAR(all_error, (off_by(0, 1) + off_by(0, 2) + off_by(3, 4) + off_by(3, 5)) / 6, 1e-9);
  const auto [tracked_frames, tracked_error] = errors(3, 5);
  EXPECT_EQ(tracked_frames, 1);  // frame 4, answered by frame 3
  EXPECT_NEAR(tracked_error, off_by(3, 4), 1e-9);
  const Json json = Json::parse(ReadFile(Path("summary.json")));
  EXPECT_EQ(json["agreement"]["frames"], 1);
  EXPECT_NEAR(json["agreement"]["relative_l2"], tracked_error, 1e-12);
}

TEST_F(ModesTest, ARunTooShortForACheckHasNone) {
  EXPECT_EQ(RunFrames(3, 1, 4).agreement->frames(), 0);
  EXPECT_FALSE(RunFrames(3).agreement);
}

// Pictures A, B, B, A, which agree in no pixel; B and A, the second and the last, are checked.
TEST_F(RunTest, ACheckTellsWhatOlderAnswersWouldBeWorth) {
  fs::create_directories(Path("in"));
  const std::vector<float> a = {3, 0, 1, 1};
  const std::vector<float> b = {0, 3, 1, 1};
  int count = 0;
  for (const std::vector<float>& picture : {a, b, b, a}) {
    WriteNpy(Path("in/" + std::to_string(count++) + ".npy"), Shape{1, 2, 1, 2}, picture);
  }
  RobotConfig config = Config(WriteModel({1, 2, 1, 2}), Path("in"));
  config.model_config.decoder.kind = DecoderConfig::Kind::kSegmentation;
  config.check = 2;
  config.output.summary = Path("summary.json");
  Run(config);
  const Json json = Json::parse(ReadFile(Path("summary.json")));
  EXPECT_EQ(json["agreement"]["miou"], 1);
  EXPECT_EQ(json["agreement"]["of_older_answers"], Json({0, 0, 1}));
}

// The demo's network on a video that a still camera takes.
class CacheModeTest : public RunTest {
 protected:
  RobotConfig Demo(const std::string& camera) {
    RobotConfig config = LoadRobotConfig(SourceFolder() / "configs/demo.json");
    config.model = SourceFolder() / "configs/models/demo_segmentation.onnx";
    config.source = "generated:seed=5,frames=12,width=320,height=240,shapes=6,camera=" + camera;
    config.mode = RobotConfig::Mode::kCache;
    config.check = 1;
    config.output.answers = Path("answers.jsonl");
    config.output.summary = Path("summary.json");
    return config;
  }
};

TEST_F(CacheModeTest, DumpsTheNetworksOwnOutputsBesideTheDecodedOnes) {
  RobotConfig config = Demo("still");
  config.frames = 2;
  config.output.dump_outputs = Path("outputs");
  Run(config);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(Path("outputs"))) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  ASSERT_EQ(names.size(), 4u);
  EXPECT_EQ(names[0], "000000.classes.npy");
  const NpyArray decoded = ReadNpy(Path("outputs") + "/" + names[0]);
  const NpyArray own = ReadNpy(Path("outputs") + "/" + names[1]);
  const auto& classes = std::get<std::vector<int64_t>>(decoded.values);
  const auto& scores = std::get<std::vector<float>>(own.values);
  ASSERT_EQ(scores.size(), 6 * classes.size());
  for (size_t i = 0; i < classes.size(); ++i) {
    const auto score = [&](size_t c) { return scores[c * classes.size() + i]; };
    for (size_t c = 0; c < 6; ++c) ASSERT_LE(score(c), score(static_cast<size_t>(classes[i])));
  }
}

TEST_F(CacheModeTest, InALittleMemoryEveryAnswerIsTheDenseOneForLessWork) {
  RobotConfig config = Demo("still");
  config.cache.policy = CacheConfig::Policy::kExact;
  config.cache.most_work = 0;  // whatever it takes
  const Summary all = Run(config);
  config.cache.budget_mb = 0.7 * static_cast<double>(all.memory.cache_all_bytes) / 1e6;
  const Summary some = Run(config);
  EXPECT_EQ(some.agreement->map()->PixelShare(), 1.0);
  EXPECT_EQ(all.memory.arena_bytes, all.memory.cache_all_bytes);
  EXPECT_LE(static_cast<double>(some.memory.arena_bytes), 1e6 * config.cache.budget_mb);
  EXPECT_GT(some.memory.arena_bytes, some.memory.no_cache_bytes);
  EXPECT_LT(some.work.share(), 1.0);
  EXPECT_GE(some.work.share(), all.work.share());
  config.cache.budget_mb = 0.001;
  EXPECT_EQ(Refusal(config).find("cache.budget_mb is 0.001, but model 'main_graph' needs "), 0u)
      << Refusal(config);
}

// Trials on the robot's own frames show what the smaller model is worth.
TEST_F(CacheModeTest, WithoutAServerItChoosesAmongModels) {
  const std::string small = "local demo_segmentation@1x3x32x32 ";
  RobotConfig config = Demo("still");
  config.source = "generated:seed=5,frames=14,width=128,height=96,shapes=6,camera=still";
  config.shapes = {"1x3x96x128"};
  config.smaller_models = {config.model + "@1x3x32x32"};
  config.threads = 1;
  config.output.overlay = Path("answers.mp4");
  config.mode = RobotConfig::Mode::kCacheinf;
  for (const double agreement : {0.0, 1.0}) {
    config.agreement = agreement;
    const Summary summary = Run(config);
    EXPECT_EQ(summary.frames, 14);
    EXPECT_EQ(summary.agreement->frames(), 14);
    const std::vector<Json> lines = Lines(Path("answers.jsonl"));
    EXPECT_TRUE(std::string(lines.front()["plan"]).starts_with(small)) << "not known yet";
    const std::string last = lines.back()["plan"];
    EXPECT_EQ(last.starts_with(small), agreement == 0) << summary.why_plan;
  }
  config.mode = RobotConfig::Mode::kCache;
  SetLogLevel(LogLevel::kWarning);
  testing::internal::CaptureStderr();
  Run(config);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("smaller_models are not used"),
            std::string::npos);
  SetLogLevel(LogLevel::kInfo);
}

TEST_F(CacheModeTest, FollowsACameraThatMoves) {
  RobotConfig config = Demo("handheld");
  config.cache.geometry = CacheConfig::Geometry::kCanvas;
  config.cache.policy = CacheConfig::Policy::kFixed;
  config.cache.stem = 0;
  const Summary summary = Run(config);
  EXPECT_GT(summary.agreement->map()->PixelShare(), 0.95);
  EXPECT_LT(summary.work.share(), 0.9);
}

TEST_F(CacheModeTest, RefusesWhatItCannotKeep) {
  fs::create_directories(Path("in"));
  WriteNpy(Path("in/x.npy"), Shape{1, 2, 1, 1}, std::vector<float>{1, 1});
  RobotConfig tensors = Config(WriteModel({1, 2, 1, 1}), Path("in"));
  tensors.mode = RobotConfig::Mode::kCache;
  EXPECT_EQ(Refusal(tensors), "mode cache needs pictures, but the model takes tensors");
}

TEST_F(CacheModeTest, RefusesTensorsForAModelOfPictures) {
  const RobotConfig config = Demo("still");
  const SteadyClock clock;
  const auto model = Compile(LoadGraph(config, /*has_tensors=*/false), config);
  Robot robot(model, config, clock);
  Frame frame;
  const Shape& shape = model->graph().value(model->graph().inputs[0]).shape;
  frame.tensor = Tensor(shape, std::vector<float>(static_cast<size_t>(ElementCount(shape))));
  EXPECT_THROW(robot.Process(frame), InputError);
}

TEST_F(RunTest, AFrameOfAnotherSizeIsAlwaysComputed) {
  fs::create_directories(Path("in"));
  cv::imwrite(Path("in/0.png"), cv::Mat(48, 64, CV_8UC3, cv::Scalar(255, 0, 0)));
  cv::imwrite(Path("in/1.png"), cv::Mat(48, 64, CV_8UC3, cv::Scalar(0, 0, 255)));
  cv::imwrite(Path("in/2.png"), cv::Mat(30, 90, CV_8UC3, cv::Scalar(0, 0, 255)));
  cv::imwrite(Path("in/3.png"), cv::Mat(30, 90, CV_8UC3, cv::Scalar(0, 0, 255)));
  RobotConfig config = Config(WriteEcho(), Path("in"));
  config.model_config.decoder.kind = DecoderConfig::Kind::kSegmentation;
  config.output.answers = Path("answers.jsonl");
  config.output.overlay = Path("overlay.mp4");
  config.track = 3;
  Run(config);
  std::vector<int> computed_from;
  for (const Json& line : Lines(Path("answers.jsonl"))) {
    computed_from.push_back(line["computed_from"]);
  }
  EXPECT_EQ(computed_from, (std::vector<int>{0, 0, 2, 2}));
}

// A run that computes one frame and checks twelve spends nearly all its time on checks.
TEST_F(RunTest, ChecksAreOutsideOfAllTimes) {
  const Shape shape = {1, 16, 64, 64};
  Graph graph;
  const ValueId input = graph.AddInput("x", shape);
  const ValueId weights =
      graph.AddConstant("weights", Tensor({16, 16, 3, 3}, std::vector<float>(16 * 16 * 9, 0.5f)));
  op::Conv conv;
  conv.spec.rows = conv.spec.columns = {3, 1, 1, 1, 1};
  graph.outputs = {graph.AddOne("conv", conv, {input, weights})};
  WritePack(graph, Path("model.cacheinf"));
  fs::create_directories(Path("in"));
  for (int i = 10; i < 22; ++i) {
    WriteNpy(Path("in/" + std::to_string(i) + ".npy"), shape, std::vector<float>(16 * 64 * 64, 1));
  }
  RobotConfig config = Config(Path("model.cacheinf"), Path("in"));
  config.backend = RobotConfig::Backend::kReference;
  config.track = 100;
  config.check = 1;
  const auto begin = clock_.Now();
  const Summary summary = Run(config);
  const auto whole = clock_.Now() - begin;
  EXPECT_EQ(summary.agreement->frames(), 12);
  EXPECT_EQ(summary.fresh, 1);
  EXPECT_LT(summary.elapsed, whole / 2);
  EXPECT_LT(summary.latency.PercentileMs(0.5) * 12, Milliseconds(whole) / 2);
}

// A frame of another shape is skipped like a broken one.
TEST_F(RunTest, SkipsAndCountsFramesThatDoNotFit) {
  const Shape shape = {1, 2, 1, 3};
  fs::create_directories(Path("in"));
  WriteNpy(Path("in/0.npy"), Shape{1, 2, 3, 1}, std::vector<float>(6));
  WriteNpy(Path("in/1.npy"), shape, std::vector<float>(6));
  WriteNpy(Path("in/2.npy"), Shape{6}, std::vector<float>(6));
  WriteNpy(Path("in/3.npy"), shape, std::vector<float>(6));
  RobotConfig config = Config(WriteModel(shape), Path("in"));
  config.output.answers = Path("answers.jsonl");
  const Summary summary = Run(config);
  EXPECT_EQ(summary.frames, 2);
  EXPECT_EQ(summary.skipped, 2);
  const std::vector<Json> answers = Lines(Path("answers.jsonl"));
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0]["frame"], 1);
  EXPECT_EQ(answers[1]["frame"], 3);
}

// Whether the outputs are read right can be seen from a later one.
TEST_F(RunTest, SkipsAFirstPictureOfAnAbsurdSize) {
  fs::create_directories(Path("in"));
  WriteText("in/0.ppm", "P6 1 40000 255\n" + std::string(120000, 'x'));
  WriteText("in/1.ppm", "P6 64 48 255\n" + std::string(9216, 'x'));
  RobotConfig config = Config(SourceFolder() / "configs/models/demo_segmentation.onnx", Path("in"));
  config.shapes = {"1x3x48x64"};
  const Summary summary = Run(config);
  EXPECT_EQ(summary.frames, 1);
  EXPECT_EQ(summary.skipped, 1);
  fs::remove(Path("in/1.ppm"));
  EXPECT_NE(Refusal(config).find("a frame of 1×40000 pixels cannot be used"), std::string::npos);
}

// The codec's library ignores the error of a full disk.
TEST_F(RunTest, SaysThatAnOverlayCouldNotBeWritten) {
  RobotConfig config = Config(WriteEcho(), "generated:frames=3,width=64,height=48");
  config.output.overlay = "/proc/x.mp4";
  const std::string refusal = Refusal(config);
  EXPECT_NE(refusal.find("overlay /proc/x.mp4: "), std::string::npos) << refusal;
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "/dev/full is not there";
  fs::create_symlink("/dev/full", Path("full.mp4"));
  config.output.overlay = Path("full.mp4");
  EXPECT_NE(Refusal(config), "");
  fs::create_symlink("/dev/full", Path("full.png"));
  config.output.overlay.clear();
  config.output.picture = Path("full.png");
  const Summary summary = Run(config);
  EXPECT_EQ(summary.frames, 3);
  EXPECT_EQ(summary.unwritten, Path("full.png") + ": cannot be written");
}

// Scenes, with the disk full for a while: files then grow by half a line at most.
class FullDisk final : public FrameSource {
 public:
  FullDisk(std::string file, int64_t full_until)
      : file_(std::move(file)),
        full_until_(full_until),
        source_(OpenSource("generated:frames=40,width=64,height=48", clock_)) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &room_);
  }
  ~FullDisk() override {
    setrlimit(RLIMIT_FSIZE, &room_);
    std::signal(SIGXFSZ, SIG_DFL);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

  std::optional<Frame> Next() override {
    if (next_ == 10) {
      rlimit full = room_;
      full.rlim_cur = fs::file_size(file_) + 40;
      setrlimit(RLIMIT_FSIZE, &full);
    }
    if (next_ == full_until_) setrlimit(RLIMIT_FSIZE, &room_);
    ++next_;
    return source_->Next();
  }
  int64_t skipped() const override { return 0; }
  bool is_live() const override { return false; }
  bool has_tensors() const override { return false; }
  double frame_rate() const override { return 0; }

 private:
  const std::string file_;
  const int64_t full_until_;
  const SteadyClock clock_;
  const std::unique_ptr<FrameSource> source_;
  rlimit room_ = {};
  int64_t next_ = 0;
};

TEST_F(RunTest, AFullDiskCostsWholeLinesOfAnswersWholeDumpsAndNothingElse) {
  RobotConfig config = Config(WriteEcho(), "generated");
  config.output.answers = Path("answers");
  config.output.summary = Path("summary");
  config.output.dump_outputs = Path("dump");
  config.Check();
  for (const int64_t full_until : {25, 1000}) {
    SCOPED_TRACE(full_until);
    FrameQueue queue(std::make_unique<FullDisk>(Path("answers"), full_until), 1);
    const Summary summary =
        RunRobotOn(queue, LoadNetwork(config, /*has_tensors=*/false), config, clock_, stop_);
    EXPECT_EQ(summary.frames, 40);
    std::ifstream answers(Path("answers"));
    int64_t lines = 0;
    std::set<int> frames;
    for (std::string line; std::getline(answers, line); ++lines) {
      frames.insert(Json::parse(line)["frame"].get<int>());
    }
    EXPECT_EQ(std::ssize(frames), lines);
    EXPECT_GE(lines, 5);
    EXPECT_LE(lines, full_until == 25 ? 35 : 15);
    EXPECT_EQ(frames.contains(39), full_until == 25) << "there is room again";
    const std::string missing =
        fmt::format("{}: {} lines could not be written", Path("answers"), 40 - lines);
    EXPECT_TRUE(summary.unwritten.starts_with(missing)) << summary.unwritten;
    int64_t dumps = 0;
    for (const auto& entry : fs::directory_iterator(Path("dump"))) {
      EXPECT_EQ(ReadNpy(entry.path()).shape, Shape({1, 3, 16, 16}));
      ++dumps;
    }
    EXPECT_GE(dumps, 5);
    const std::string undumped =
        fmt::format("{}: the outputs of {} frames could not be written", Path("dump"), 40 - dumps);
    EXPECT_NE(summary.unwritten.find(undumped), std::string::npos) << summary.unwritten;
    fs::remove_all(Path("dump"));
    const bool has_summary = summary.unwritten.find("cannot write") == std::string::npos;
    EXPECT_EQ(has_summary, full_until == 25) << summary.unwritten;
  }
}

TEST_F(RunTest, RefusesToOverwriteItsSource) {
  cv::imwrite(Path("in.png"), cv::Mat(48, 64, CV_8UC3, cv::Scalar(255, 0, 0)));
  const std::string bytes = ReadFile(Path("in.png"));
  RobotConfig config = Config("unread.onnx", Path("in.png"));
  config.output.picture = Path("in.png");
  EXPECT_EQ(Refusal(config),
            "--picture " + Path("in.png") + " would overwrite what --source reads");
  EXPECT_EQ(ReadFile(Path("in.png")), bytes);
}

TEST_F(RunTest, EndsCleanlyWhenToldTo) {
  stop_ = true;
  fs::create_directories(Path("in"));
  WriteNpy(Path("in/0.npy"), Shape{1, 2, 1, 3}, std::vector<float>(6));
  const Summary summary = Run(Config(WriteModel({1, 2, 1, 3}), Path("in")));
  EXPECT_TRUE(summary.interrupted);
  EXPECT_EQ(summary.frames, 0);
}

TEST_F(RunTest, SaysWhatDoesNotFit) {
  const std::string model = WriteModel({1, 2, 1, 4});
  fs::create_directories(Path("in"));
  WriteNpy(Path("in/0.npy"), Shape{1, 2, 4, 1}, std::vector<float>(8));
  EXPECT_EQ(Refusal(Config(model, Path("in"))),
            Path("in/0.npy") + ": shape 1x2x4x1 does not fit the model's input, 1x2x1x4");
  EXPECT_EQ(Refusal(Config("", Path("in"))), "no model is given");
  EXPECT_NE(Refusal(Config(Path("none.onnx"), Path("in"))), "");
  EXPECT_NE(Refusal(Config(model, "generated")), "");  // a picture cannot have two channels
  RobotConfig drawn = Config(model, Path("in"));
  drawn.output.overlay = Path("o.mp4");
  EXPECT_NE(Refusal(drawn), "");
  RobotConfig unwritable = Config(model, Path("in"));
  unwritable.output.answers = "/nonexistent/answers.jsonl";
  EXPECT_EQ(Refusal(unwritable), "--answers /nonexistent/answers.jsonl: cannot be written");
  WriteText("answers.jsonl", "old answers");
  unwritable.output.answers = Path("answers.jsonl");
  unwritable.output.summary = "/nonexistent/summary.json";
  EXPECT_EQ(Refusal(unwritable), "--summary /nonexistent/summary.json: cannot be written");
  EXPECT_EQ(ReadFile(Path("answers.jsonl")), "old answers");
}

}  // namespace
}  // namespace cacheinf
