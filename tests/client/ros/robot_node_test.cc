// Read this first: images come in and answers go out, with ROS played by the test.

#include "client/ros/robot_node.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/robot.h"
#include "client/robot_setup.h"
#include "client/ros/node_picture.h"
#include "common/answer/statistics.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/model/graph/pack.h"
#include "common/model/picture.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/heap.h"
#include "tests/testing/random_graph.h"

// A node without ROS: images in, answers out.

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr int kWidth = 64;
constexpr int kHeight = 48;

// A few convolutions, and the largest of four numbers for each pixel.
Graph Segmentation(uint32_t seed, int layers = 2) {
  std::mt19937 random(seed);
  Graph graph;
  ValueId map = graph.AddInput("in", {1, 3, kHeight, kWidth});
  for (int i = 0; i < layers; ++i) {
    map = AddConv(graph, "conv" + std::to_string(i), map, 4, 3, random);
  }
  graph.outputs = {map};
  return graph;
}

struct Pixels {
  std::vector<uint8_t> bytes;
  int width = kWidth;
  int height = kHeight;
};

Pixels RandomPixels(uint32_t seed, int width = kWidth, int height = kHeight) {
  std::mt19937 random(seed);
  Pixels pixels{std::vector<uint8_t>(static_cast<size_t>(3 * width * height)), width, height};
  for (uint8_t& byte : pixels.bytes) byte = static_cast<uint8_t>(random());
  return pixels;
}

NodeImage ImageOver(const Pixels& pixels, nanoseconds stamp, const std::string& frame_id = "") {
  NodeImage image;
  image.stamp = stamp;
  image.frame_id = frame_id;
  image.encoding = "bgr8";
  image.width = pixels.width;
  image.height = pixels.height;
  image.row_bytes = 3 * pixels.width;
  image.bytes = pixels.bytes;
  return image;
}

// What a node has published.
struct Published : NodeAnswer {
  Answer held;
};

class Listener final : public NodeListener {
 public:
  void Publish(const NodeAnswer& answer) override {
    if (on_publish) on_publish(answer);
    Published copy{answer, *answer.answer};
    copy.answer = nullptr;
    copy.reader = nullptr;
    const std::lock_guard lock(mutex_);
    if (keeps) published_.push_back(std::move(copy));
    ++count_;
    has_changed_.notify_all();
  }
  void Fail(const std::string& why) override {
    const std::lock_guard lock(mutex_);
    failure_ = why;
    has_changed_.notify_all();
  }

  bool WaitFor(int64_t count) {
    std::unique_lock lock(mutex_);
    return has_changed_.wait_for(lock, seconds(60), [&] { return count_ >= count; });
  }
  std::string WaitForFailure() {
    std::unique_lock lock(mutex_);
    has_changed_.wait_for(lock, seconds(60), [&] { return !failure_.empty(); });
    return failure_;
  }
  std::vector<Published> published() const {
    const std::lock_guard lock(mutex_);
    return published_;
  }
  int64_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }

  std::function<void(const NodeAnswer&)> on_publish;  // on the node's thread; set it first
  bool keeps = true;

 private:
  mutable std::mutex mutex_;
  std::condition_variable has_changed_;
  std::vector<Published> published_;
  int64_t count_ = 0;
  std::string failure_;
};

// Advances by a millisecond at each look.
class TickingClock final : public Clock {
 public:
  nanoseconds Now() const override { return milliseconds(++looks_); }

 private:
  mutable std::atomic<int64_t> looks_ = 0;
};

// Holds a thread until it is opened.
class Gate {
 public:
  // Returns once Open is called.
  void Pass() {
    std::unique_lock lock(mutex_);
    is_reached_ = true;
    has_changed_.notify_all();
    has_changed_.wait_for(lock, seconds(60), [&] { return is_open_; });
  }
  bool WaitUntilReached() {
    std::unique_lock lock(mutex_);
    return has_changed_.wait_for(lock, seconds(60), [&] { return is_reached_; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    has_changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable has_changed_;
  bool is_reached_ = false;
  bool is_open_ = false;
};

class RobotNodeTest : public FolderTest {
 protected:
  RobotNodeTest() {
    WritePack(Segmentation(1), Path("model.cacheinf"));
    config_.model = Path("model.cacheinf");
    config_.model_config.decoder.kind = HeadKind::kSegmentation;
    config_.threads = 1;
    config_.guard.is_on = false;
  }

  std::unique_ptr<RobotNode> MakeNode(const std::vector<std::string>& cameras = {"front"},
                                      bool always_on = false) {
    auto node = std::make_unique<RobotNode>(config_, cameras, always_on, clock_, listener_);
    for (size_t i = 0; i < cameras.size(); ++i) {
      node->Want(static_cast<int>(i), {.answers = true});
    }
    return node;
  }

  // Offers an image and waits for its answer.
  Published Ask(RobotNode& node, const Pixels& pixels, int camera = 0,
                nanoseconds stamp = seconds(1), const std::string& frame_id = "") {
    const int64_t before = listener_.count();
    EXPECT_TRUE(node.Offer(camera, ImageOver(pixels, stamp, frame_id)));
    if (!listener_.WaitFor(before + 1)) {
      ADD_FAILURE() << "no answer";
      return {};
    }
    return listener_.published().back();
  }

  // The answer of a robot without a node.
  AnswerContent Expected(const Pixels& pixels) const { return Expected(config_, pixels); }
  AnswerContent Expected(const RobotConfig& config, const Pixels& pixels) const {
    const auto model = Compile(LoadGraph(config, /*has_tensors=*/false), config);
    Robot robot(model, config.InDenseMode(), clock_);
    Frame frame;
    frame.picture = MakePicture(pixels.width, pixels.height, 3, pixels.bytes);
    return robot.Process(frame).content;
  }

  static const std::vector<int32_t>& ClassesOf(const AnswerContent& content) {
    return std::get<ClassMap>(content).classes;
  }

  RobotConfig config_;
  SteadyClock clock_;
  Listener listener_;
};

TEST_F(RobotNodeTest, StampsAndFrameIdsPassThrough) {
  const auto node = MakeNode({"left", "right"});
  // A clock that stands still or goes back is the camera's affair.
  for (const nanoseconds stamp : {seconds(1700000000), seconds(0), seconds(5), seconds(5)}) {
    for (const int camera : {0, 1}) {
      const std::string frame_id = camera == 0 ? "left_optical" : "right_optical";
      const Published answer = Ask(*node, RandomPixels(1), camera, stamp, frame_id);
      EXPECT_EQ(answer.camera, camera);
      EXPECT_EQ(answer.stamp, stamp);
      EXPECT_EQ(answer.computed_from_stamp, stamp);
      EXPECT_EQ(answer.frame_id, frame_id);
      EXPECT_EQ(answer.width, kWidth);
      EXPECT_EQ(answer.height, kHeight);
    }
  }
}

TEST_F(RobotNodeTest, ATrackedAnswerSaysWhichImageItIsFrom) {
  config_.track = 3;
  const auto node = MakeNode();
  for (int i = 0; i < 7; ++i) {
    const Published answer = Ask(*node, RandomPixels(1), 0, seconds(i));
    EXPECT_EQ(answer.stamp, seconds(i));
    EXPECT_EQ(answer.computed_from_stamp, seconds(i / 3 * 3)) << i;
    EXPECT_EQ(answer.held.is_moved, i % 3 != 0) << i;
  }
  const NodeStatus status = node->status(0);
  EXPECT_EQ(status.mode, "track:3 dense");
  EXPECT_EQ(status.images, 7);
  EXPECT_EQ(status.answers, 3);
  EXPECT_EQ(status.moved, 4);
  EXPECT_EQ(status.dropped, 0);
}

TEST_F(RobotNodeTest, NothingIsComputedOrConvertedWhileNobodyListens) {
  const auto node = MakeNode({"left", "right"});
  node->Want(0, {});
  const Pixels pixels = RandomPixels(1);
  NodeImage bad = ImageOver(pixels, seconds(1));
  bad.encoding = "nonsense";
  EXPECT_TRUE(node->Offer(0, bad)) << "nobody looked at it";
  EXPECT_TRUE(node->Offer(0, ImageOver(pixels, seconds(1))));
  (void)Ask(*node, pixels, 1);
  EXPECT_EQ(node->status(0).images, 0);
  EXPECT_EQ(listener_.count(), 1);

  node->Want(0, {.overlay = true});
  EXPECT_FALSE(node->Offer(0, bad));
  (void)Ask(*node, pixels, 0);

  node->SetActive(false);
  EXPECT_FALSE(node->status(0).is_active);
  EXPECT_TRUE(node->Offer(0, bad));
  EXPECT_TRUE(node->Offer(1, ImageOver(pixels, seconds(2))));
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(listener_.count(), 2);
  node->SetActive(true);
  EXPECT_EQ(Ask(*node, pixels, 1, seconds(3)).stamp, seconds(3));
  EXPECT_EQ(listener_.count(), 3);
}

TEST_F(RobotNodeTest, ANodeThatIsAlwaysOnComputesForNobody) {
  const auto node = MakeNode({"front"}, /*always_on=*/true);
  node->Want(0, {});
  const Published answer = Ask(*node, RandomPixels(1));
  EXPECT_TRUE(answer.classes.empty());
  EXPECT_TRUE(answer.overlay.empty());
}

TEST_F(RobotNodeTest, WhatNobodyWantsAnyMoreIsDropped) {
  Gate gate;
  listener_.on_publish = [&](const NodeAnswer& answer) {
    if (answer.stamp == seconds(1)) gate.Pass();
  };
  const auto node = MakeNode({"left", "right"});
  const Pixels pixels = RandomPixels(1);
  EXPECT_TRUE(node->Offer(0, ImageOver(pixels, seconds(1))));
  ASSERT_TRUE(gate.WaitUntilReached());
  EXPECT_TRUE(node->Offer(1, ImageOver(pixels, seconds(2))));
  node->Want(1, {});
  gate.Open();
  ASSERT_TRUE(listener_.WaitFor(1));
  EXPECT_EQ(Ask(*node, pixels, 0, seconds(3)).stamp, seconds(3));
  EXPECT_EQ(listener_.count(), 2);
}

// While one is computed, two come.
TEST_F(RobotNodeTest, TheNewestImageIsAnsweredAndOthersAreCounted) {
  Gate gate;
  listener_.on_publish = [&](const NodeAnswer& answer) {
    if (answer.stamp == seconds(1)) gate.Pass();
  };
  const auto node = MakeNode({"left", "right"});
  const Pixels pixels = RandomPixels(1);
  for (int i = 1; i <= 5; ++i) {
    EXPECT_TRUE(node->Offer(0, ImageOver(pixels, seconds(i))));
    if (i > 1) continue;
    ASSERT_TRUE(gate.WaitUntilReached());
  }
  EXPECT_TRUE(node->Offer(1, ImageOver(pixels, seconds(9))));
  gate.Open();
  ASSERT_TRUE(listener_.WaitFor(3));
  const std::vector<Published> published = listener_.published();
  EXPECT_EQ(published[1].stamp, seconds(9)) << "the other camera has its turn";
  EXPECT_EQ(published[2].stamp, seconds(5));
  const NodeStatus status = node->status(0);
  EXPECT_EQ(status.images, 5);
  EXPECT_EQ(status.answers, 2);
  EXPECT_EQ(status.dropped, 3);
  EXPECT_EQ(node->status(1).dropped, 0);
}

TEST_F(RobotNodeTest, AnswersAreThoseOfARobotAlone) {
  for (const auto mode : {RobotConfig::Mode::kDense, RobotConfig::Mode::kCache}) {
    config_.mode = mode;
    config_.cache.policy = CacheConfig::Policy::kExact;
    const auto node = MakeNode({"left", "right"});
    for (uint32_t i = 0; i < 6; ++i) {
      // Two of each; a cache computes the second from the first.
      const Pixels left = RandomPixels(i / 2);
      const Pixels right = RandomPixels(100 + i / 2, 2 * kWidth, 2 * kHeight);
      EXPECT_EQ(ClassesOf(Ask(*node, left, 0).held.content), ClassesOf(Expected(left)));
      EXPECT_EQ(ClassesOf(Ask(*node, right, 1).held.content), ClassesOf(Expected(right)));
    }
    const double reuse = node->status(1).reuse;
    EXPECT_EQ(reuse > 0, mode == RobotConfig::Mode::kCache);
  }
}

// A share of two cameras' memory: each holds its activations, but weights are held once.
TEST_F(RobotNodeTest, CamerasShareOneModel) {
  if (!IsHeapCounted()) GTEST_SKIP() << "a sanitizer's heap cannot be counted";
  std::mt19937 random(5);
  Graph graph;
  ValueId map = graph.AddInput("in", {1, 3, 16, 16});
  for (int i = 0; i < 4; ++i) {
    map = AddConv(graph, "conv" + std::to_string(i), map, i == 3 ? 4 : 256, 3, random, 0.02f);
  }
  graph.outputs = {map};
  WritePack(graph, Path("model.cacheinf"));
  const auto heap_of = [&](const std::vector<std::string>& cameras) {
    const size_t before = HeapBytes();
    const auto node = MakeNode(cameras);
    for (size_t i = 0; i < cameras.size(); ++i) {
      (void)Ask(*node, RandomPixels(1), static_cast<int>(i));
    }
    return HeapBytes() - before;
  };
  constexpr size_t kWeightBytes = size_t{2} * 256 * 256 * 9 * sizeof(float);
  const size_t one = heap_of({"a"});
  EXPECT_GT(one, kWeightBytes);
  EXPECT_LT(heap_of({"a", "b", "c", "d"}), one + kWeightBytes);
}

TEST_F(RobotNodeTest, ClassesAreThoseOfTheImagesPixels) {
  const auto node = MakeNode();
  const Pixels pixels = RandomPixels(3);
  const Published same = Ask(*node, pixels);
  EXPECT_EQ(same.classes, ClassesOf(same.held.content));
  EXPECT_EQ(std::set(same.classes.begin(), same.classes.end()).contains(-1), false);

  ASSERT_EQ(node->Change({{"preprocess.fit", "crop"}}), "");
  const Published wide = Ask(*node, RandomPixels(4, 3 * kWidth, 2 * kHeight));
  ASSERT_EQ(wide.classes.size(), size_t{3} * kWidth * 2 * kHeight);
  const std::vector<int32_t>& map = ClassesOf(wide.held.content);
  for (int y = 0; y < 2 * kHeight; ++y) {
    for (int x = 0; x < 3 * kWidth; ++x) {
      const int in_middle = x - kWidth / 2;
      const bool is_seen = in_middle >= 0 && in_middle < 2 * kWidth;
      const int expected = is_seen ? map[static_cast<size_t>(y / 2 * kWidth + in_middle / 2)] : -1;
      ASSERT_EQ(wide.classes[static_cast<size_t>(y * 3 * kWidth + x)], expected) << x << ' ' << y;
    }
  }
}

TEST_F(RobotNodeTest, PicturesAreDrawnForThoseWhoWantThem) {
  config_.mode = RobotConfig::Mode::kCache;
  const auto node = MakeNode();
  const Pixels pixels = RandomPixels(3);
  EXPECT_TRUE(Ask(*node, pixels).overlay.empty());
  node->Want(0, {.overlay = true, .recomputed = true});
  const Published drawn = Ask(*node, pixels);
  EXPECT_TRUE(drawn.classes.empty());
  for (const Picture& picture : {drawn.overlay, drawn.recomputed}) {
    EXPECT_EQ(picture.width, kWidth);
    EXPECT_EQ(picture.height, kHeight);
    EXPECT_EQ(picture.channels, 3);
    EXPECT_FALSE(std::equal(pixels.bytes.begin(), pixels.bytes.end(), picture.pixels.get()));
  }
  ASSERT_EQ(node->Change({{"mode", "dense"}}), "");
  EXPECT_TRUE(Ask(*node, pixels).recomputed.empty()) << "nothing is kept";
}

TEST_F(RobotNodeTest, BadImagesAreRefusedAndNamedAndTheNextIsAnswered) {
  const auto node = MakeNode();
  const Pixels pixels = RandomPixels(1);
  NodeImage bad = ImageOver(pixels, seconds(1));
  bad.encoding = "32FC1";
  EXPECT_FALSE(node->Offer(0, bad));
  EXPECT_NE(node->status(0).refusal.find("'32FC1'"), std::string::npos);
  bad = ImageOver(pixels, seconds(1));
  bad.row_bytes = 1;
  EXPECT_FALSE(node->Offer(0, bad));
  EXPECT_NE(node->status(0).refusal.find("rows of 1 bytes"), std::string::npos);
  const std::vector<uint8_t> many(size_t{10000} * 10000, 9);
  bad.encoding = "mono8";
  bad.width = bad.height = bad.row_bytes = 10000;
  bad.bytes = many;
  EXPECT_FALSE(node->Offer(0, bad));
  EXPECT_NE(node->status(0).refusal.find("10000x10000"), std::string::npos);
  (void)Ask(*node, pixels);
  EXPECT_EQ(node->status(0).refusal, "");
}

TEST_F(RobotNodeTest, EachReasonOfARefusalIsLoggedOnce) {
  SetLogLevel(LogLevel::kWarning);
  testing::internal::CaptureStderr();
  {
    const auto node = MakeNode();
    const Pixels pixels = RandomPixels(1);
    NodeImage bad = ImageOver(pixels, seconds(1));
    for (const char* encoding : {"32FC1", "16UC1", "32FC1", "32FC1"}) {
      bad.encoding = encoding;
      EXPECT_FALSE(node->Offer(0, bad));
    }
  }
  const std::string log = testing::internal::GetCapturedStderr();
  const size_t first = log.find("'32FC1'");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(log.find("'32FC1'", first + 1), std::string::npos);
  EXPECT_NE(log.find("'16UC1'"), std::string::npos);
}

TEST_F(RobotNodeTest, ModeAndThresholdChangeInMidRunAndTheModelStays) {
  const auto node = MakeNode();
  const Pixels pixels = RandomPixels(1);
  EXPECT_FALSE(Ask(*node, pixels).held.work) << "mode dense keeps nothing";
  std::filesystem::remove(Path("model.cacheinf"));
  ASSERT_EQ(node->Change({{"mode", "cache"}, {"cache.threshold", "0.25"}}), "");
  EXPECT_EQ(node->config().mode, RobotConfig::Mode::kCache);
  EXPECT_EQ(node->config().tracker.change.threshold, 0.25);
  EXPECT_TRUE(Ask(*node, pixels).held.work.value().is_dense);
  EXPECT_FALSE(Ask(*node, pixels).held.work.value().is_dense);
  ASSERT_EQ(node->Change({{"cache.threshold", "0.5"}}), "");
  EXPECT_TRUE(Ask(*node, pixels).held.work.value().is_dense) << "nothing is kept";
  EXPECT_EQ(node->status(0).mode, "cache");
}

TEST_F(RobotNodeTest, ARefusedChangeKeepsEverything) {
  config_.mode = RobotConfig::Mode::kCache;
  const auto node = MakeNode();
  const Pixels pixels = RandomPixels(1);
  (void)Ask(*node, pixels);
  const auto refused = [&](std::vector<std::pair<std::string, std::string>> settings,
                           const std::string& named) {
    settings.insert(settings.begin(), {"track", "2"});
    const std::string why = node->Change(settings);
    EXPECT_NE(why.find(named), std::string::npos) << why;
    EXPECT_EQ(node->config().track, 1) << named;
  };
  refused({{"cache.threshold", "7"}}, "cache.threshold");
  refused({{"cache.threshold", "much"}}, "cache.threshold");
  refused({{"mode", "quick"}}, "mode");
  refused({{"nonsense", "1"}}, "nonsense");
  refused({{"mode", "remote"}}, "server");
  for (const char* key : {"source", "frames", "realtime", "check", "camera_wait", "log_level",
                          "output.answers", "record.folder"}) {
    refused({{key, "1"}}, key);
  }
  refused({{"model", Path("none.onnx")}}, "none.onnx");
  refused({{"decoder.class_names", "only,two"}}, "class_names");
  refused({{"server.address", "mpi:robot"}, {"server.name_server", Path("none")}}, "none");
  // Only the robot, which is made between two frames, finds this one out.
  refused({{"server.address", "mpi"}, {"mode", "remote"}}, "mpi");
  EXPECT_FALSE(Ask(*node, pixels).held.work.value().is_dense) << "what was kept still is";
}

TEST_F(RobotNodeTest, AModelIsReloadedAndOneThatCannotBeLeavesTheOldAtWork) {
  const auto node = MakeNode();
  const Pixels pixels = RandomPixels(1);
  const AnswerContent old = Expected(pixels);
  EXPECT_EQ(ClassesOf(Ask(*node, pixels).held.content), ClassesOf(old));

  WriteText("model.cacheinf", "no model");
  EXPECT_NE(node->Reload().find("model.cacheinf"), std::string::npos);
  EXPECT_EQ(ClassesOf(Ask(*node, pixels).held.content), ClassesOf(old));

  WritePack(Segmentation(2), Path("model.cacheinf"));
  EXPECT_EQ(node->Reload(), "");
  const AnswerContent renewed = Expected(pixels);
  EXPECT_NE(ClassesOf(renewed), ClassesOf(old));
  EXPECT_EQ(ClassesOf(Ask(*node, pixels).held.content), ClassesOf(renewed));

  WritePack(Segmentation(3), Path("other.cacheinf"));
  EXPECT_EQ(node->Change({{"model", Path("other.cacheinf")}}), "");
  RobotConfig other = config_;
  other.model = Path("other.cacheinf");
  EXPECT_EQ(ClassesOf(Ask(*node, pixels).held.content), ClassesOf(Expected(other, pixels)));
}

TEST_F(RobotNodeTest, AResetForgetsWhatIsKept) {
  config_.mode = RobotConfig::Mode::kCache;
  const auto node = MakeNode();
  const Pixels pixels = RandomPixels(1);
  EXPECT_TRUE(Ask(*node, pixels).held.work.value().is_dense);
  EXPECT_FALSE(Ask(*node, pixels).held.work.value().is_dense);
  node->Reset();
  EXPECT_TRUE(Ask(*node, pixels).held.work.value().is_dense);
}

TEST_F(RobotNodeTest, WhatIsARunsAffairIsIgnoredInAConfiguration) {
  config_.source = "0";
  config_.check = 2;
  config_.output.answers = Path("answers.jsonl");
  config_.record.folder = Path("records");
  const auto node = MakeNode();
  for (int i = 0; i < 4; ++i) (void)Ask(*node, RandomPixels(1));
  EXPECT_FALSE(std::filesystem::exists(Path("answers.jsonl")));
  EXPECT_FALSE(std::filesystem::exists(Path("records")));
}

TEST_F(RobotNodeTest, AModelThatCannotBeLoadedIsRefusedAtOnce) {
  WriteText("model.cacheinf", "no model");
  EXPECT_THROW(MakeNode(), InputError);
  config_.model = "";
  EXPECT_THROW(MakeNode(), InputError);
}

// Boxes of random numbers.
TEST_F(RobotNodeTest, OutputsThatContradictTheirDecoderEndTheNode) {
  std::mt19937 random(3);
  Graph graph;
  const ValueId input = graph.AddInput("in", {1, 3, kHeight, kWidth});
  const ValueId map = AddConv(graph, "conv", input, 1, 3, random, 20);
  const op::Slice corner{{0, 0, 0, 0}, {1, 1, 40, 6}, {1, 1, 1, 1}};
  const ValueId some = graph.AddOne("corner", corner, {map});
  graph.outputs = {graph.AddOne("boxes", op::Reshape{{1, 40, 6}}, {some})};
  WritePack(graph, Path("model.cacheinf"));
  config_.model_config.decoder.kind = HeadKind::kEndToEnd;
  const auto node = MakeNode();
  EXPECT_TRUE(node->Offer(0, ImageOver(RandomPixels(1), seconds(1))));
  EXPECT_NE(listener_.WaitForFailure().find("model.cacheinf"), std::string::npos);
  EXPECT_EQ(listener_.count(), 0);
  EXPECT_TRUE(node->Offer(0, ImageOver(RandomPixels(1), seconds(2)))) << "it is ignored";
  EXPECT_NE(node->Change({{"mode", "cache"}}).find("the node is over"), std::string::npos);
  EXPECT_NE(node->Reload().find("the node is over"), std::string::npos);
  node->Reset();
  EXPECT_FALSE(node->status(0).is_active);
}

TEST_F(RobotNodeTest, AChangeThatWaitsIsRefusedWhenTheNodeEnds) {
  Gate gate;
  listener_.on_publish = [&](const NodeAnswer&) {
    gate.Pass();
    throw std::runtime_error("nobody can hear this");
  };
  const auto node = MakeNode();
  EXPECT_TRUE(node->Offer(0, ImageOver(RandomPixels(1), seconds(1))));
  ASSERT_TRUE(gate.WaitUntilReached());
  std::string why;
  std::thread changing([&] { why = node->Change({{"mode", "cache"}}); });
  std::this_thread::sleep_for(milliseconds(20));
  gate.Open();
  changing.join();
  EXPECT_EQ(why, "the node is over: nobody can hear this");
  EXPECT_EQ(listener_.WaitForFailure(), "nobody can hear this");
  EXPECT_EQ(node->config().mode, RobotConfig::Mode::kDense);
}

// The clock ticks at each look, so each frame of so many layers takes longer than the deadline.
TEST_F(RobotNodeTest, WhileACamerasFrameIsComputedOthersGetMovedAnswers) {
  WritePack(Segmentation(1, /*layers=*/40), Path("model.cacheinf"));
  config_.deadline_ms = 30;
  const TickingClock clock;
  Gate gate;
  listener_.on_publish = [&](const NodeAnswer& answer) {
    if (answer.stamp == seconds(3) && !answer.answer->is_moved) gate.Pass();
  };
  RobotNode node(config_, {"left", "right"}, /*always_on=*/true, clock, listener_);
  const Pixels pixels = RandomPixels(1);
  EXPECT_TRUE(node.Offer(0, ImageOver(pixels, seconds(1))));
  ASSERT_TRUE(listener_.WaitFor(1));
  EXPECT_TRUE(node.Offer(1, ImageOver(pixels, seconds(2))));
  ASSERT_TRUE(listener_.WaitFor(2));
  EXPECT_TRUE(node.Offer(0, ImageOver(pixels, seconds(3))));
  ASSERT_TRUE(gate.WaitUntilReached());
  EXPECT_TRUE(node.Offer(1, ImageOver(pixels, seconds(4))));
  EXPECT_TRUE(node.Offer(0, ImageOver(pixels, seconds(5), "moved")));
  gate.Open();
  std::optional<Published> moved;
  int64_t count = listener_.count();
  const auto is_computed = [&](nanoseconds stamp) {
    const std::vector<Published> published = listener_.published();
    return std::ranges::any_of(published, [&](const Published& answer) {
      return answer.stamp == stamp && !answer.held.is_moved;
    });
  };
  while (!is_computed(seconds(5))) ASSERT_TRUE(listener_.WaitFor(++count));
  bool is_right_computed = false;
  for (const Published& answer : listener_.published()) {
    is_right_computed |= answer.stamp == seconds(4) && !answer.held.is_moved;
    if (answer.stamp != seconds(5) || !answer.held.is_moved || is_right_computed) continue;
    moved = answer;
  }
  ASSERT_TRUE(moved) << "it waited for the other camera's answer";
  EXPECT_EQ(moved->computed_from_stamp, seconds(3));
  EXPECT_EQ(moved->frame_id, "moved");
  const NodeStatus status = node.status(0);
  EXPECT_EQ(status.images, 3);
  EXPECT_EQ(status.answers, 3);
  EXPECT_GE(status.moved, 1);
  EXPECT_GE(status.late, 1);
  EXPECT_EQ(status.deadline_ms, 30);
  int64_t late = 0;
  for (const Published& answer : listener_.published()) {
    // The time for drawing and for other cameras' frames counts as well.
    EXPECT_GT(answer.latency, answer.held.latency());
    EXPECT_EQ(answer.is_late, answer.latency > milliseconds(30));
    late += answer.camera == 0 && answer.is_late && !answer.held.is_moved;
  }
  EXPECT_EQ(status.late, late);
}

TEST_F(RobotNodeTest, AStatusCoversWhatCameSinceTheLastButOne) {
  const auto node = MakeNode();
  const Pixels pixels = RandomPixels(1);
  (void)Ask(*node, pixels);
  (void)Ask(*node, pixels);
  EXPECT_EQ(node->status(0).answers, 2);
  (void)Ask(*node, pixels);
  const NodeStatus status = node->status(0);
  EXPECT_EQ(status.answers, 3);
  EXPECT_EQ(status.camera, "front");
  EXPECT_TRUE(status.is_active);
  EXPECT_GT(status.p50_ms, 0);
  EXPECT_GE(status.p95_ms, status.p50_ms);
  EXPECT_EQ(node->status(0).answers, 1);
  EXPECT_EQ(node->status(0).answers, 0);
}

TEST_F(RobotNodeTest, NothingIsPublishedOnceANodeIsGone) {
  std::atomic<bool> is_gone = false;
  listener_.on_publish = [&](const NodeAnswer&) {
    std::this_thread::sleep_for(milliseconds(5));
    EXPECT_FALSE(is_gone);
  };
  const Pixels pixels = RandomPixels(1);
  for (int i = 0; i < 30; ++i) {
    is_gone = false;
    auto node = MakeNode({"left", "right"});
    EXPECT_TRUE(node->Offer(0, ImageOver(pixels, seconds(1))));
    EXPECT_TRUE(node->Offer(1, ImageOver(pixels, seconds(1))));
    std::this_thread::sleep_for(milliseconds(i % 7));
    node.reset();
    is_gone = true;
  }
}

TEST_F(RobotNodeTest, AnyThreadMayCallAnything) {
  config_.mode = RobotConfig::Mode::kCache;
  config_.guard.is_on = true;
  config_.deadline_ms = 50;
  const auto node = MakeNode({"left", "right"});
  const Pixels pixels = RandomPixels(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        EXPECT_TRUE(node->Offer(t % 2, ImageOver(pixels, seconds(100 * t + i))));
        std::this_thread::sleep_for(milliseconds(1));
      }
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(node->Change({{"mode", i % 2 == 0 ? "dense" : "cache"},
                              {"deadline_ms", i % 3 == 0 ? "0" : "50"}}),
                "");
      node->Reset();
      EXPECT_EQ(node->Reload(), "");
    }
  });
  threads.emplace_back([&] {
    for (int i = 0; i < 60; ++i) {
      node->Want(1, {.answers = i % 5 != 0, .overlay = i % 2 == 0, .recomputed = i % 3 == 0});
      (void)node->status(i % 2);
      (void)node->config();
      if (i % 10 == 0) node->SetActive(i % 20 == 0);
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  for (std::thread& thread : threads) thread.join();
  node->SetActive(true);
  node->Want(1, {.answers = true});
  for (const int camera : {0, 1}) {
    const nanoseconds last = seconds(1000 + camera);
    EXPECT_TRUE(node->Offer(camera, ImageOver(pixels, last)));
    const auto is_answered = [&] {
      return std::ranges::any_of(listener_.published(), [&](const Published& answer) {
        return answer.camera == camera && answer.stamp == last;
      });
    };
    for (int i = 0; i < 6000 && !is_answered(); ++i) std::this_thread::sleep_for(milliseconds(10));
    EXPECT_TRUE(is_answered());
  }
}

// The memory that this process holds now.
int64_t ResidentKibibytes() {
  int64_t all = 0;
  int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * getpagesize() / 1024;
}

TEST_F(RobotNodeTest, MemoryStaysFlatOverTwoThousandFrames) {
  if (!IsHeapCounted()) GTEST_SKIP() << "a sanitizer's memory is not the program's";
  config_.mode = RobotConfig::Mode::kCache;
  config_.guard.is_on = true;
  listener_.keeps = false;
  const auto node = MakeNode({"left", "right"});
  node->Want(0, {.answers = true, .overlay = true, .recomputed = true});
  const Pixels pixels = RandomPixels(1, 320, 240);
  int64_t frames = 0;
  const auto run_to = [&](int64_t count) {
    for (; frames < count; ++frames) {
      NodeImage image = ImageOver(pixels, seconds(frames), "a frame's name of some length");
      EXPECT_TRUE(node->Offer(static_cast<int>(frames % 2), image));
      image.encoding = "none";
      EXPECT_FALSE(node->Offer(0, image));
      ASSERT_TRUE(listener_.WaitFor(frames + 1));
    }
  };
  run_to(400);
  const int64_t before = ResidentKibibytes();
  const size_t heap_before = HeapBytes();
  run_to(2000);
  EXPECT_LT(ResidentKibibytes() - before, 4096);
  EXPECT_LT(static_cast<int64_t>(HeapBytes()) - static_cast<int64_t>(heap_before), 1 << 20);
}

// From an image's arrival to its answer's publication, without what the robot itself takes.
class SlowRobotNodeTest : public RobotNodeTest {};

TEST_F(SlowRobotNodeTest, ANodeAddsAtMostTwoMilliseconds) {
  constexpr int kFrames = 600;
  LatencyHistogram added;
  std::atomic<int64_t> offered_at = 0;
  listener_.keeps = false;
  listener_.on_publish = [&](const NodeAnswer& answer) {
    const FrameTimes& times = answer.answer->times;
    const nanoseconds own = times.latency() - times.waited;
    added.Add(clock_.Now() - nanoseconds(offered_at.load()) - own);
  };
  {
    const auto node = MakeNode();
    const Pixels pixels = RandomPixels(1, 640, 480);
    NodeImage image = ImageOver(pixels, seconds(1), "camera");
    image.encoding = "rgb8";
    for (int i = 0; i < kFrames; ++i) {
      offered_at = clock_.Now().count();
      EXPECT_TRUE(node->Offer(0, image));
      ASSERT_TRUE(listener_.WaitFor(i + 1));
      std::this_thread::sleep_for(milliseconds(2));
    }
  }
  fmt::print("a node adds p50 {:.2f} ms, p95 {:.2f} ms, p99 {:.2f} ms at 640x480, rgb8\n",
             added.PercentileMs(0.50), added.PercentileMs(0.95), added.PercentileMs(0.99));
  EXPECT_LE(added.PercentileMs(0.95), 2);
}

}  // namespace
}  // namespace cacheinf
