// Read this first: a network's outputs are read into an answer.

#include "common/answer/answers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/answer/answer.h"
#include "client/robot.h"
#include "common/backend/host/reference_backend.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/config/model_setup.h"
#include "common/exec/model_state.h"
#include "tests/testing/json_schema.h"

namespace cacheinf {
namespace {

using Json = nlohmann::json;

// A model that returns its input, and decodes it.
Graph Echo(const Shape& shape, const DecoderConfig& decoder) {
  Graph graph;
  graph.name = "echo";
  const ValueId input = graph.AddInput("x", shape);
  graph.outputs = {graph.AddOne("out", op::Activation{}, {input})};
  AddDecoder(graph, decoder);
  graph.Validate();
  return graph;
}

std::shared_ptr<const CompiledModel> OnReference(Graph graph) {
  return std::make_shared<const CompiledModel>(std::make_shared<const Graph>(std::move(graph)),
                                               std::make_unique<ReferenceBackend>());
}

class AnswersTest : public ::testing::Test {
 protected:
  AnswersTest() { SetLogLevel(LogLevel::kOff); }
  ~AnswersTest() override { SetLogLevel(LogLevel::kInfo); }

  // The answer to one tensor, as a line of answers shows it.
  Json Ask(const Shape& shape, std::vector<float> values, const DecoderConfig& decoder) {
    RobotConfig config;
    config.model_config.decoder = decoder;
    Robot robot(OnReference(Echo(shape, decoder)), config, clock_);
    Frame frame;
    frame.index = 7;
    frame.stamp = std::chrono::milliseconds(40);
    frame.tensor = Tensor(shape, std::move(values));
    const Json json = Json::parse(ToJsonLine(robot.Process(frame), robot.reader()));
    std::set<std::string> seen;
    EXPECT_EQ(WhyNotOfSchema(Json::parse(AnswersSchema()), json, &seen), "");
    EXPECT_EQ(json["frame"], 7);
    EXPECT_EQ(json["computed_from"], 7);
    EXPECT_EQ(json["stamp_ms"], 40.0);
    EXPECT_EQ(json["latency_ms"], 0.0);  // the clock stands still
    return json;
  }

  ManualClock clock_;
};

TEST_F(AnswersTest, RawOutputsAreSummarised) {
  const Json json = Ask({1, 1, 2, 2}, {1, -3, 4, 2}, {});
  EXPECT_EQ(json["kind"], "raw");
  ASSERT_EQ(json["outputs"].size(), 1u);
  EXPECT_EQ(json["outputs"][0]["shape"], Json({1, 1, 2, 2}));
  EXPECT_EQ(json["outputs"][0]["min"], -3.0);
  EXPECT_EQ(json["outputs"][0]["max"], 4.0);
  EXPECT_EQ(json["outputs"][0]["mean"], 1.0);
}

TEST_F(AnswersTest, ClassificationNamesTheBestClassesAndTiesGoToTheFirst) {
  DecoderConfig decoder;
  decoder.kind = DecoderConfig::Kind::kClassification;
  decoder.softmax = false;
  decoder.most = 3;
  decoder.class_names = {"cat", "dog", "cow", "hen"};
  const Json json = Ask({1, 4, 1, 1}, {0.25f, 0.5f, 0.125f, 0.25f}, decoder);
  EXPECT_EQ(json["kind"], "classification");
  ASSERT_EQ(json["classes"].size(), 3u);
  EXPECT_EQ(json["classes"][0], Json({{"class", 1}, {"name", "dog"}, {"score", 0.5}}));
  EXPECT_EQ(json["classes"][1], Json({{"class", 0}, {"name", "cat"}, {"score", 0.25}}));
  EXPECT_EQ(json["classes"][2], Json({{"class", 3}, {"name", "hen"}, {"score", 0.25}}));
}

TEST_F(AnswersTest, ClassificationMakesSharesOfScores) {
  DecoderConfig decoder;
  decoder.kind = DecoderConfig::Kind::kClassification;
  const Json json = Ask({1, 2, 1, 1}, {3, 3}, decoder);
  EXPECT_NEAR(json["classes"][0]["score"], 0.5, 1e-6);
  EXPECT_EQ(json["classes"].size(), 2u);
}

TEST_F(AnswersTest, SegmentationGivesTheShareOfEachClass) {
  DecoderConfig decoder;
  decoder.kind = DecoderConfig::Kind::kSegmentation;
  decoder.class_names = {"floor", "wall"};
  // Two classes, four pixels: the second class wins at the last one.
  const Json json = Ask({1, 2, 2, 2}, {1, 1, 1, 0, 0, 0, 0, 1}, decoder);
  EXPECT_EQ(json["kind"], "segmentation");
  EXPECT_EQ(json["width"], 2);
  EXPECT_EQ(json["height"], 2);
  ASSERT_EQ(json["classes"].size(), 2u);
  EXPECT_EQ(json["classes"][0], Json({{"class", 0}, {"name", "floor"}, {"share", 0.75}}));
  EXPECT_EQ(json["classes"][1], Json({{"class", 1}, {"name", "wall"}, {"share", 0.25}}));
}

// A model that classifies itself may give such numbers.
TEST_F(AnswersTest, NumbersThatAreNoClassesCountAsTheFirst) {
  for (const size_t names : {0, 2, 3}) {
    Graph graph = Echo({1, 2, 2}, {});
    graph.values[graph.outputs[0]].type = DataType::kInt64;
    graph.head = {};
    RobotConfig config;
    config.model_config.decoder.kind = DecoderConfig::Kind::kSegmentation;
    config.model_config.decoder.class_names.resize(names, "name");
    Robot robot(OnReference(std::move(graph)), config, clock_);
    Frame frame;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    frame.tensor = Tensor({1, 2, 2}, std::vector<float>{-3, nan, 2, -1e30f});
    const auto classes = std::get<ClassMap>(robot.Process(frame).content).classes;
    EXPECT_EQ(classes, (std::vector<int32_t>{0, 0, 2, 0}));
    EXPECT_EQ(robot.reader().contradiction(),
              names == 2 ? "a pixel is of class 2, but 2 have names" : "");
  }
}

TEST_F(AnswersTest, BoxesComeBestFirstAndAnEmptyAnswerIsAnAnswer) {
  DecoderConfig decoder;
  decoder.kind = DecoderConfig::Kind::kBoxes;
  const std::vector<float> rows = {10, 20, 4, 6, 0.5f, 1,   //
                                   30, 40, 2, 2, 1.0f, 1};  // centre, size, objectness, class
  const Json json = Ask({1, 2, 6}, rows, decoder);
  EXPECT_EQ(json["kind"], "boxes");
  ASSERT_EQ(json["boxes"].size(), 2u);
  EXPECT_EQ(json["boxes"][0]["score"], 1.0);
  EXPECT_EQ(json["boxes"][0]["left"], 29.0);
  EXPECT_EQ(json["boxes"][1]["top"], 17.0);
  EXPECT_EQ(json["boxes"][1]["bottom"], 23.0);

  const Json nothing = Ask({1, 2, 6}, std::vector<float>(12, 0.0f), decoder);
  EXPECT_EQ(nothing["boxes"], Json::array());
}

TEST_F(AnswersTest, ClassificationPutsWhatIsNotANumberLast) {
  DecoderConfig decoder;
  decoder.kind = DecoderConfig::Kind::kClassification;
  decoder.softmax = false;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Json json = Ask({1, 4, 1, 1}, {nan, -1, nan, 2}, decoder);
  std::vector<int> order;
  for (const Json& scored : json["classes"]) order.push_back(scored["class"]);
  EXPECT_EQ(order, (std::vector<int>{3, 1, 0, 2}));
  EXPECT_TRUE(json["classes"][2]["score"].is_null());
}

TEST_F(AnswersTest, KeypointsLieAQuarterPixelTowardsTheLargerNeighbour) {
  DecoderConfig decoder;
  decoder.kind = DecoderConfig::Kind::kKeypoints;
  decoder.class_names = {"nose", "tail", "ear", "paw"};
  // The peak of the first map lies at column 2, row 1, with 4 to its left, 5 to its right, 3 above
  // and 2 below; the second has its peak in a corner and no neighbour beyond; the third has three
  // equal peaks, of which the first counts; the fourth is flat.
  const std::vector<float> maps = {0, 0, 3, 0, 0, 4, 9, 5, 0, 0, 2, 0,  //
                                   7, 6, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0,  //
                                   0, 0, 0, 0, 0, 8, 8, 0, 0, 8, 0, 0,  //
                                   1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const Json json = Ask({1, 4, 3, 4}, maps, decoder);
  EXPECT_EQ(json["kind"], "keypoints");
  ASSERT_EQ(json["keypoints"].size(), 4u);
  EXPECT_EQ(json["keypoints"][0],
            Json({{"keypoint", 0}, {"name", "nose"}, {"x", 2.75}, {"y", 1.25}, {"score", 9.0}}));
  EXPECT_EQ(json["keypoints"][1],
            Json({{"keypoint", 1}, {"name", "tail"}, {"x", 0.5}, {"y", 0.5}, {"score", 7.0}}));
  EXPECT_EQ(json["keypoints"][2],
            Json({{"keypoint", 2}, {"name", "ear"}, {"x", 1.75}, {"y", 1.75}, {"score", 8.0}}));
  EXPECT_EQ(json["keypoints"][3]["x"], 0.5);
}

TEST_F(AnswersTest, AHeatMapWithoutNumbersHasNoPlace) {
  DecoderConfig decoder;
  decoder.kind = DecoderConfig::Kind::kKeypoints;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Json json = Ask({1, 2, 1, 4}, {nan, nan, nan, nan, nan, -4, nan, nan}, decoder);
  EXPECT_TRUE(json["keypoints"][0]["x"].is_null());
  EXPECT_TRUE(json["keypoints"][0]["y"].is_null());
  EXPECT_TRUE(json["keypoints"][0]["score"].is_null());
  EXPECT_EQ(json["keypoints"][1]["x"], 1.5);
  EXPECT_EQ(json["keypoints"][1]["score"], -4.0);
}

TEST_F(AnswersTest, RefusesAKindThatTheOutputsAreNot) {
  DecoderConfig decoder;
  decoder.kind = DecoderConfig::Kind::kClassification;
  decoder.softmax = false;
  EXPECT_THROW(Ask({1, 2, 2, 2}, std::vector<float>(8), decoder), InputError);
  decoder.kind = DecoderConfig::Kind::kSegmentation;
  EXPECT_THROW(Ask({1, 2, 3}, std::vector<float>(6), decoder), InputError);
  decoder.kind = DecoderConfig::Kind::kKeypoints;
  EXPECT_THROW(Ask({1, 2, 3}, std::vector<float>(6), decoder), InputError);
}

TEST_F(AnswersTest, ReadsClassNamesFromAFile) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("cacheinf_names_" + std::to_string(getpid()) + ".txt");
  std::ofstream(path) << "first\r\nsecond name \n";
  DecoderConfig decoder;
  decoder.class_names_file = path.string();
  const AnswerReader reader(Echo({1, 1, 1, 1}, decoder), decoder);
  std::filesystem::remove(path);
  EXPECT_EQ(reader.ClassName(0), "first");
  EXPECT_EQ(reader.ClassName(1), "second name");
  EXPECT_EQ(reader.ClassName(2), "2");
  decoder.class_names_file = "/nonexistent/names.txt";
  EXPECT_THROW(AnswerReader(Echo({1, 1, 1, 1}, decoder), decoder), InputError);
}

// The boxes in a frame of 8 × 12, if a model for pictures of 4 × 4 finds this box: centre, sides,
// score, class.
std::vector<Detection> BoxesInFrame(const std::vector<float>& found, const Clock& clock) {
  Graph graph;
  const ValueId input = graph.AddInput("x", {1, 3, 4, 4});
  const ValueId pixel =
      graph.AddOne("pixel", op::Slice{{0, 0, 0, 0}, {1, 3, 1, 2}, {1, 1, 1, 1}}, {input});
  const ValueId row = graph.AddOne("row", op::Reshape{{1, 6}}, {pixel});
  const ValueId zero = graph.AddConstant("zero", Tensor({6}, std::vector<float>(6, 0.0f)));
  const ValueId box = graph.AddConstant("box", Tensor({6}, found));
  const ValueId nothing =
      graph.AddOne("nothing", op::Binary{BinaryKind::kMultiply, {}}, {row, zero});
  graph.outputs = {graph.AddOne("rows", op::Binary{BinaryKind::kAdd, {}}, {nothing, box})};
  RobotConfig config;
  DecoderConfig& decoder = config.model_config.decoder;
  decoder.kind = DecoderConfig::Kind::kBoxes;
  AddPicture(graph, {});
  AddDecoder(graph, decoder);
  graph.Validate();
  Robot robot(OnReference(graph), config, clock);
  Frame frame;
  frame.picture = MakePicture(8, 12, 3, std::vector<uint8_t>(8 * 12 * 3, 50));
  return std::get<Detections>(robot.Process(frame).content).boxes;
}

TEST_F(AnswersTest, BoxesOfPicturesAreInTheFramesPixels) {
  // Shrunk twice across and thrice down: (1, 1)–(3, 3) lies at (2, 3)–(6, 9) in the frame.
  const std::vector<Detection> boxes = BoxesInFrame({2, 2, 2, 2, 1, 1}, clock_);
  ASSERT_EQ(boxes.size(), 1u);
  EXPECT_EQ(boxes[0].left, 2.0);
  EXPECT_EQ(boxes[0].top, 3.0);
  EXPECT_EQ(boxes[0].right, 6.0);
  EXPECT_EQ(boxes[0].bottom, 9.0);
}

TEST_F(AnswersTest, BoxesBesideTheFrameAreNone) {
  EXPECT_TRUE(BoxesInFrame({6, 2, 2, 2, 1, 1}, clock_).empty());
  EXPECT_TRUE(BoxesInFrame({2, -3, 2, 2, 1, 1}, clock_).empty());
}

TEST_F(AnswersTest, KeypointsOfPicturesAreInTheFramesPixels) {
  // Maps of half the model's size, which is 8 × 8, and a frame of 16 × 24: a peak at the centre of
  // the map's pixel (1, 2) lies at (3, 5) in the model's picture and at (6, 15) in the frame.
  Graph graph;
  const ValueId input = graph.AddInput("x", {1, 3, 8, 8});
  const ValueId half =
      graph.AddOne("half", op::Slice{{0, 0, 0, 0}, {1, 1, 4, 4}, {1, 1, 2, 2}}, {input});
  graph.outputs = {half};
  RobotConfig config;
  DecoderConfig& decoder = config.model_config.decoder;
  decoder.kind = DecoderConfig::Kind::kKeypoints;
  AddPicture(graph, {});
  AddDecoder(graph, decoder);
  graph.Validate();
  Robot robot(OnReference(graph), config, clock_);
  Frame frame;
  std::vector<uint8_t> pixels(16 * 24 * 3, 50);
  for (int y = 12; y < 15; ++y) {  // the model's pixel (2, 4), which the network's slice keeps
    for (int x = 4; x < 6; ++x) {
      for (int c = 0; c < 3; ++c) pixels[static_cast<size_t>((y * 16 + x) * 3 + c)] = 200;
    }
  }
  frame.picture = MakePicture(16, 24, 3, pixels);
  const Answer answer = robot.Process(frame);
  const auto& keypoints = std::get<Keypoints>(answer.content);
  ASSERT_EQ(keypoints.points.size(), 1u);
  EXPECT_EQ(keypoints.points[0].x, 6.0);
  EXPECT_EQ(keypoints.points[0].y, 15.0);
  EXPECT_EQ(keypoints.extent, 24.0);
}

}  // namespace
}  // namespace cacheinf
