#include "client/output_paths.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "common/base/error.h"
#include "tests/testing/folder_test.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

class OutputPathsTest : public FolderTest {
 protected:
  static std::string Refusal(const RobotConfig& config) {
    try {
      CheckOutputPaths(config);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
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

}  // namespace
}  // namespace cacheinf
