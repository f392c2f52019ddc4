#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/model/graph/graph.h"
#include "common/model/graph/pack.h"
#include "common/model/load.h"
#include "tests/testing/command.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/places.h"
#include "tests/testing/process.h"

namespace cacheinf {
namespace {

// The program itself, as a user runs it.
class ProfileToolTest : public FolderTest {
 protected:
  void SetUp() override {
    Graph graph;
    graph.name = "tiny";
    graph.outputs = {graph.AddOne("relu", op::Activation{{Function::Kind::kRelu, 0.0f, 0.0f}},
                                  {graph.AddInput("image", {1, 3, 4, 4})})};
    WritePack(graph, folder_ / "tiny.cinf");
  }

  // Runs the program, with stderr in its output.
  CommandResult Run(const std::string& arguments) const {
    return RunCommand({"/bin/sh", "-c",
                       "cd '" + folder_.string() + "' && '" + ProgramPath("cacheinf-profile") +
                           "' " + arguments + " 2>&1"});
  }
};

TEST_F(ProfileToolTest, WritesJsonOfNamesThatAreNoUtf8) {
  Graph graph = ReadPack(folder_ / "tiny.cinf");
  graph.name = "\xff";
  WritePack(graph, folder_ / "odd.cinf");
  EXPECT_EQ(Run("inspect odd.cinf --json odd.json").exit_code, 0);
  std::ifstream json(folder_ / "odd.json");
  EXPECT_EQ(nlohmann::json::parse(json)["model"], "\xef\xbf\xbd");
}

TEST_F(ProfileToolTest, ASignalThatEndsItIsTheExitCode) {
  const std::string tool = ProgramPath("cacheinf-profile");
  using Words = std::vector<std::string>;
  for (const auto& [words, sentence] :
       {std::pair(Words{tool, "measure", "--model", Path("tiny.cinf"), "--side", "robot",
                        "--seconds", "600", "-o", Path("profile.json")},
                  "cacheinf-profile: stopped: no profile is written\n"),
        std::pair(Words{tool, "link", "--server", "tcp://127.0.0.1:1", "--server-wait", "600"},
                  "cacheinf-profile: stopped: the link is not measured\n")}) {
    Process process(words);
    ASSERT_TRUE(process.Catches(SIGTERM, std::chrono::seconds(60)));
    process.Signal(SIGTERM);
    EXPECT_EQ(process.Wait(std::chrono::seconds(60)), 128 + SIGTERM) << process.output();
    EXPECT_TRUE(process.output().ends_with(sentence)) << process.output();
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "profile.json"));
}

TEST_F(ProfileToolTest, InspectsAModelAndWritesJson) {
  const CommandResult result = Run("inspect tiny.cinf --json tiny.json");
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_NE(result.out.find("tiny: 1 operators"), std::string::npos) << result.out;
  std::ifstream json(folder_ / "tiny.json");
  EXPECT_EQ(nlohmann::json::parse(json)["operators"][0]["kind"], "relu");
}

TEST_F(ProfileToolTest, CheckDrawsTheFirstAnswer) {
  const CommandResult raw = Run("check tiny.cinf --source generated:width=40,height=30");
  EXPECT_EQ(raw.exit_code, 0) << raw.out;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "tiny.check.png")) << "numbers have no place";
  const std::string check =
      "check tiny.cinf --source generated:width=40,height=30 --set decoder.kind=segmentation ";
  const CommandResult drawn = Run(check);
  EXPECT_EQ(drawn.exit_code, 0) << drawn.out;
  EXPECT_NE(drawn.out.find("\npicture\n  frames are stretched to 4\u00d74 pixels"),
            std::string::npos)
      << drawn.out;
  EXPECT_NE(drawn.out.find("  drawn in tiny.check.png\n"), std::string::npos) << drawn.out;
  EXPECT_NE(drawn.out.find("  no names: classes have numbers"), std::string::npos) << drawn.out;
  EXPECT_NE(Run(check + "--set decoder.class_names=[\\\"a\\\",\\\"b\\\",\\\"c\\\"]")
                .out.find("  3 names, of decoder.class_names"),
            std::string::npos);
  const cv::Mat picture = cv::imread(folder_ / "tiny.check.png");
  EXPECT_EQ(picture.size(), cv::Size(40, 30));
  EXPECT_EQ(Run(check + "--picture own.png").exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "own.png"));
  EXPECT_EQ(Run(check + "--picture own.jpg").exit_code, 2);
}

// The configuration's preprocessing and decoder become part of the file.
TEST_F(ProfileToolTest, PacksAModelWithItsEnds) {
  std::ofstream(folder_ / "robot.json")
      << R"({"preprocess": {"channels": "bgr"}, "decoder": {"kind": "segmentation"}})";
  const CommandResult result = Run("pack tiny.cinf -o packed.cinf --config robot.json");
  ASSERT_EQ(result.exit_code, 0) << result.out;
  const auto bytes = std::filesystem::file_size(folder_ / "packed.cinf");
  EXPECT_EQ(result.out,
            "packed.cinf: 2 operators, 6 parameters, " + std::to_string(bytes) + " bytes\n");
  const Graph graph = ReadPack(folder_ / "packed.cinf");
  EXPECT_EQ(graph.picture.width, 4);
  EXPECT_EQ(graph.picture.channels, PictureSpec::Channels::kBgr);
  EXPECT_EQ(graph.value(graph.outputs[0]).type, DataType::kInt64);
}

TEST_F(ProfileToolTest, PacksAnOpenModelWithTheShapeOfItsConfiguration) {
  const std::string model = SourceFolder() / "configs/models/demo_segmentation.onnx";
  std::ofstream(folder_ / "robot.json") << R"({"shapes": ["1x3x48x64"]})";
  ASSERT_EQ(Run("pack " + model + " -o packed.cinf --config robot.json").exit_code, 0);
  EXPECT_EQ(ReadPack(folder_ / "packed.cinf").picture.height, 48);
  ASSERT_EQ(
      Run("pack " + model + " -o packed.cinf --config robot.json --shape 1x3x96x64").exit_code, 0);
  EXPECT_EQ(ReadPack(folder_ / "packed.cinf").picture.height, 96);
}

// A file does not replace a device or the like.
TEST_F(ProfileToolTest, DoesNotPackOverWhatIsNoFile) {
  const std::filesystem::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const CommandResult result = Run("pack tiny.cinf -o pipe");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "cacheinf-profile: cannot write 'pipe': it exists and is not a file\n");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(ProfileToolTest, NamesTheCamerasAndTheCommands) {
  EXPECT_NE(Run("scenes --help").out.find("{handheld,still,travel}"), std::string::npos);
  EXPECT_NE(Run("scenes --out x --camera flying").out.find("{handheld,still,travel}"),
            std::string::npos);
  EXPECT_EQ(
      Run("frobnicate").out,
      "cacheinf-profile: unknown command \"frobnicate\"; commands: inspect, check, pack, frames, "
      "scenes, machine, measure, link\n");
}

// Every mistake gives one line and exit code 2.
TEST_F(ProfileToolTest, MistakesGiveOneSentence) {
  std::ofstream(folder_ / "broken.cinf") << "CACHEINF and nothing else";
  std::ofstream(folder_ / "bad.json") << R"({"preproces": {}})";
  for (const char* arguments :
       {"", "frobnicate", "inspect", "inspect missing.onnx", "inspect broken.cinf",
        "inspect tiny.cinf --shape 1xx3", "inspect tiny.cinf --shape 1x3x8x8",
        "inspect tiny.cinf --json missing/x.json", "pack tiny.cinf",
        "pack tiny.cinf -o missing/x.cinf", "pack tiny.cinf -o x.cinf --config bad.json",
        "scenes --out x --camera flying"}) {
    const CommandResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments << ": " << result.out;
    EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1)
        << arguments << ": " << result.out;
  }
}

}  // namespace
}  // namespace cacheinf
