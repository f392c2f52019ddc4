#include "client/answer/output_paths.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/base/file.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

class OutputPathsTest : public FolderTest {
 protected:
  static std::string Refusal(const RobotConfig& config) {
    return RefusalOf([&] { CheckOutputPaths(config); });
  }
};

TEST_F(OutputPathsTest, AResultMustNotOverwriteWhatTheRunReads) {
  WriteText("in.mp4", "a video");
  WriteText("model.onnx", "a model");
  RobotConfig config;
  config.source = Path("in.mp4");
  config.model = Path("model.onnx");
  config.output.overlay = folder_ / "." / "in.mp4";
  EXPECT_EQ(Refusal(config),
            "--overlay " + config.output.overlay + " would overwrite what --source reads");
  fs::create_hard_link(Path("in.mp4"), Path("link.mp4"));
  config.output.overlay = Path("link.mp4");
  EXPECT_NE(Refusal(config), "");
  config.output.overlay = Path("out.mp4");
  EXPECT_EQ(Refusal(config), "");
  config.output.summary = Path("model.onnx");
  EXPECT_EQ(Refusal(config),
            "--summary " + Path("model.onnx") + " would overwrite what --model reads");
}

TEST_F(OutputPathsTest, AResultMustOverwriteNothingElseThatTheRunReads) {
  using Name = void (*)(RobotConfig & config, const std::string& file);
  const std::vector<std::pair<std::string, Name>> options = {
      {"--config", [](RobotConfig& config, const std::string& file) { config.file = file; }},
      {"--against", [](RobotConfig& config, const std::string& file) { config.against = file; }},
      {"--class-names",
       [](RobotConfig& config, const std::string& file) {
         config.model_config.decoder.class_names_file = file;
       }},
      {"--smaller-model",
       [](RobotConfig& config, const std::string& file) {
         config.smaller_models = {"other.onnx", file + "@1x3x8x8"};
       }},
      {"--input", [](RobotConfig& config,
                     const std::string& file) { config.inputs = {"a=1,2,b=" + file + ",c=3"}; }},
      {"--server-model",
       [](RobotConfig& config, const std::string& file) { config.server.model = file; }},
      {"--robot-key",
       [](RobotConfig& config, const std::string& file) { config.server.robot_key = file; }},
      {"--server-key",
       [](RobotConfig& config, const std::string& file) {
         config.server.server_key = std::string(64, '8') + "," + file;
       }},
      {"--schedule",
       [](RobotConfig& config, const std::string& file) { config.server.schedule = file; }},
      {"--name-server",
       [](RobotConfig& config, const std::string& file) { config.server.name_server = file; }},
      {"--emulate",
       [](RobotConfig& config, const std::string& file) {
         config.server.emulate = "5x," + file + ":up,3ms";
       }},
  };
  for (const auto& [option, name] : options) {
    const std::string file = option == "--emulate" ? "read.csv" : "read.npy";
    WriteText(file, "read");
    RobotConfig config;
    name(config, Path(file));
    config.output.answers = Path(file);
    EXPECT_EQ(Refusal(config),
              "--answers " + Path(file) + " would overwrite what " + option + " reads");
    config.output.answers = Path("written");
    EXPECT_EQ(Refusal(config), "") << option;
  }
}

TEST_F(OutputPathsTest, AResultMustNotOverwriteTheUsualNameServersFile) {
  WriteText("server", "a name server");
  setenv("CACHEINF_NAME_SERVER", Path("server").c_str(), 1);
  RobotConfig config;
  config.server.address = "mpi:lab";
  config.output.summary = Path("server");
  EXPECT_EQ(Refusal(config),
            "--summary " + Path("server") + " would overwrite what --name-server reads");
  config.server.address = "tcp://lab:5588";
  EXPECT_EQ(Refusal(config), "");
  unsetenv("CACHEINF_NAME_SERVER");
}

TEST_F(OutputPathsTest, AResultMustNotOverwriteAFrameInAFolder) {
  fs::create_directories(Path("frames"));
  WriteText("frames/0.png", "a picture");
  RobotConfig config;
  config.source = Path("frames");
  config.output.picture = Path("frames/0.png");
  EXPECT_NE(Refusal(config), "");
  config.output.picture = "";
  config.output.dump_outputs = Path("frames");
  EXPECT_NE(Refusal(config), "");
  config.output.dump_outputs = Path("frames/outputs");
  EXPECT_EQ(Refusal(config), "");
}

TEST_F(OutputPathsTest, ResultsMustNotOverwriteEachOther) {
  RobotConfig config;
  config.source = "generated";
  config.output.answers = Path("same.json");
  config.output.summary = folder_ / "none" / ".." / "same.json";
  EXPECT_EQ(Refusal(config),
            "--answers and --summary name the same file, " + config.output.summary);
  config.output.summary = Path("other.json");
  EXPECT_EQ(Refusal(config), "");
}

TEST_F(OutputPathsTest, DevicesTakeSeveralResults) {
  RobotConfig config;
  config.source = "videotestsrc ! appsink " + std::string(5000, ' ');
  config.output.answers = "/dev/null";
  config.output.summary = "/dev/null";
  EXPECT_EQ(Refusal(config), "");
}

TEST_F(OutputPathsTest, AFileThatCannotBeWrittenIsRefusedBeforeItIsOpened) {
  fs::create_directories(Path("folder"));
  fs::create_symlink(Path("none/there.json"), Path("lost"));
  const std::string long_name = Path(std::string(300, 'x'));
  for (const std::string& path :
       {Path("none/summary.json"), Path("folder"), Path("folder/"), Path("lost"), long_name}) {
    RobotConfig config;
    config.output.summary = path;
    EXPECT_EQ(Refusal(config), "--summary " + path + ": cannot be written");
    config = {};
    config.output.overlay = path;
    EXPECT_EQ(Refusal(config), "--overlay " + path + ": cannot be written");
    config = {};
    config.output.answers = path;
    EXPECT_EQ(Refusal(config), "--answers " + path + ": cannot be written");
    config = {};
    config.output.picture = path;
    EXPECT_EQ(Refusal(config), "--picture " + path + ": cannot be written");
  }
}

TEST_F(OutputPathsTest, RecordingsNeedAFolder) {
  WriteText("file", "no folder");
  RobotConfig config;
  for (const std::string& path : {Path("file"), Path("file/inside"), std::string("/dev/null")}) {
    config.record.folder = path;
    EXPECT_EQ(Refusal(config), "--record " + path + ": is not a folder");
  }
  for (const std::string& path : {Path("new"), Path("new/inside/"), Path("")}) {
    config.record.folder = path;
    EXPECT_EQ(Refusal(config), "") << path;
  }
  EXPECT_FALSE(fs::exists(Path("new")));
}

TEST_F(OutputPathsTest, AFileThatCanBeWrittenStaysAsItIsUntilThen) {
  fs::create_directories(Path("folder"));
  WriteText("old.json", "an old summary");
  fs::create_symlink("folder/new.json", Path("link"));
  RobotConfig config;
  config.output.summary = Path("old.json");
  config.output.answers = Path("link");
  config.output.picture = Path("new.png");
  EXPECT_EQ(Refusal(config), "");
  EXPECT_EQ(ReadFile(Path("old.json")), "an old summary");
  EXPECT_FALSE(fs::exists(Path("folder/new.json")));
  EXPECT_FALSE(fs::exists(Path("new.png")));
}

TEST_F(OutputPathsTest, PicturesAndVideosSayTheirFormat) {
  for (const char* name : {"drawn", "drawn.txt", "drawn.jpg"}) {
    RobotConfig config;
    config.output.picture = Path(name);
    EXPECT_EQ(Refusal(config),
              "--picture " + config.output.picture + ": its name must end in .png");
    config = {};
    config.output.overlay = Path(name);
    EXPECT_EQ(Refusal(config),
              "--overlay " + config.output.overlay + ": its name must end in .mp4");
  }
}

}  // namespace
}  // namespace cacheinf
