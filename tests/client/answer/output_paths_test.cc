#include "client/answer/output_paths.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

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
