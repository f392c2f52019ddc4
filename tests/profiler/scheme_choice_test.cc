#include "profiler/scheme_choice.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/base/file.h"
#include "tests/testing/folder_test.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using Choice = RobotConfig::Scheme;
using Json = nlohmann::json;

// Has a cache folder of its own.
class SchemeChoiceTest : public FolderTest {
 protected:
  SchemeChoiceTest() { setenv("CACHEINF_CACHE", folder_.c_str(), 1); }
  ~SchemeChoiceTest() override { unsetenv("CACHEINF_CACHE"); }

  // One layer for which arithmetic favours Winograd, and one for which it does not.
  static Graph Network() {
    Graph graph;
    const auto add_conv = [&](ValueId map, int in_channels, int out_channels) {
      op::Conv conv;
      conv.spec.rows = conv.spec.columns = {3, 1, 1, 1, 1};
      const Shape shape = {out_channels, in_channels, 3, 3};
      std::vector<float> weights(static_cast<size_t>(ElementCount(shape)), 0.01f);
      const std::string number = std::to_string(graph.operators.size());
      const ValueId constant = graph.AddConstant("weights" + number, {shape, std::move(weights)});
      return graph.AddOne("conv" + number, conv, {map, constant});
    };
    const ValueId input = graph.AddInput("x", {1, 1, 32, 32});
    graph.outputs = {add_conv(add_conv(input, 1, 1), 1, 1)};
    const ValueId wide = graph.AddInput("y", {1, 32, 32, 32});
    graph.outputs.push_back(add_conv(wide, 32, 32));
    return graph;
  }

  std::vector<Scheme> Chosen(Choice choice,
                             RobotConfig::Backend backend = RobotConfig::Backend::kCpu) const {
    Graph graph = Network();
    RobotConfig config;
    config.scheme = choice;
    config.backend = backend;
    ChooseSchemes(config, 1, SteadyClock(), stop_, graph);
    std::vector<Scheme> schemes;
    for (const Operator& op : graph.operators) schemes.push_back(op.As<op::Conv>()->scheme);
    return schemes;
  }

  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    if (fs::exists(Path("schemes"))) {
      for (const auto& entry : fs::directory_iterator(Path("schemes"))) {
        files.push_back(entry.path());
      }
    }
    return files;
  }

  std::atomic<bool> stop_ = false;
};

constexpr Scheme kD = Scheme::kDirect;
constexpr Scheme kW = Scheme::kWinograd;

TEST_F(SchemeChoiceTest, IsAsTheConfigurationSays) {
  EXPECT_EQ(Chosen(Choice::kDirect), (std::vector{kD, kD, kD}));
  EXPECT_TRUE(Files().empty());
}

TEST_F(SchemeChoiceTest, NothingIsMeasuredOnTheStandIn) {
  EXPECT_EQ(Chosen(Choice::kAuto, RobotConfig::Backend::kCudaEmulated), (std::vector{kD, kD, kD}));
  EXPECT_TRUE(Files().empty());
}

TEST_F(SchemeChoiceTest, AutoMeasuresOnceAndKeepsToItFromThen) {
  const auto measured = Chosen(Choice::kAuto);
  ASSERT_EQ(Files().size(), 1u);
  const std::string text = ReadFile(Files()[0]);
  EXPECT_EQ(Json::parse(text)["layers"].size(), 2u);
  EXPECT_EQ(Chosen(Choice::kAuto), measured);
  EXPECT_EQ(ReadFile(Files()[0]), text) << "measured again";

  // The file decides, not what would be measured.
  for (const bool by_winograd : {false, true}) {
    Json file = Json::parse(text);
    for (Json& layer : file["layers"]) {
      layer["direct_ms"] = 2.0;
      layer["winograd_ms"] = by_winograd ? 1.0 : 3.0;
    }
    std::ofstream(Files()[0]) << file;
    EXPECT_EQ(Chosen(Choice::kAuto), std::vector(3, by_winograd ? kW : kD));
  }
}

TEST_F(SchemeChoiceTest, AutoMeasuresAgainWhereTheFileIsBroken) {
  Chosen(Choice::kAuto);
  ASSERT_EQ(Files().size(), 1u);
  std::ofstream(Files()[0]) << "broken";
  Chosen(Choice::kAuto);
  ASSERT_EQ(Files().size(), 1u);
  EXPECT_EQ(Json::parse(ReadFile(Files()[0]))["layers"].size(), 2u);
}

TEST_F(SchemeChoiceTest, AutoMeasuresWhatTheFileLacks) {
  Chosen(Choice::kAuto);
  ASSERT_EQ(Files().size(), 1u);
  Json file = Json::parse(ReadFile(Files()[0]));
  const Json kept = file["layers"][1];
  file["layers"].erase(0);
  std::ofstream(Files()[0]) << file;
  Chosen(Choice::kAuto);
  const Json layers = Json::parse(ReadFile(Files()[0]))["layers"];
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0], kept);
}

// These kernels have no tiles, so that any tiles in the file are taken.
TEST_F(SchemeChoiceTest, TilesAreMeasuredOnceBesideTheSchemesAndReadAgain) {
  Chosen(Choice::kAuto);
  ASSERT_EQ(Files().size(), 1u);
  const Json schemes = Json::parse(ReadFile(Files()[0]))["layers"];
  int backends = 0;
  const auto chosen = [&] {
    Graph graph = Network();
    const auto make_backend = [&] {
      ++backends;
      return std::make_unique<CpuBackend>();
    };
    ChooseTiles(RobotConfig::Backend::kCuda, 1, make_backend, SteadyClock(), stop_, graph);
    std::vector<int> tiles;
    for (const Operator& op : graph.operators) {
      tiles.push_back(op.As<op::Conv>()->small_tiles_up_to);
    }
    return tiles;
  };
  const std::vector<int> measured = chosen();
  EXPECT_EQ(backends, 2);
  for (const int tiles : measured) EXPECT_GE(tiles, 0);
  Json file = Json::parse(ReadFile(Files()[0]));
  EXPECT_EQ(file["layers"], schemes);
  EXPECT_EQ(file["tiles"].size(), 2u);
  EXPECT_EQ(chosen(), measured);
  EXPECT_EQ(backends, 2) << "measured again";
  for (Json& layer : file["tiles"]) layer["small_tiles_up_to"] = 77;
  std::ofstream(Files()[0]) << file;
  EXPECT_EQ(chosen(), (std::vector{77, 77, 77}));
  file["tiles"][0]["small_tiles_up_to"] = -1;
  std::ofstream(Files()[0]) << file;
  for (const int tiles : chosen()) EXPECT_NE(tiles, 77);
  EXPECT_EQ(backends, 4) << "not measured again";
}

TEST_F(SchemeChoiceTest, MeasuringThatWasStoppedIsNotKept) {
  stop_ = true;
  Chosen(Choice::kAuto);
  EXPECT_TRUE(Files().empty());
}

}  // namespace
}  // namespace cacheinf
