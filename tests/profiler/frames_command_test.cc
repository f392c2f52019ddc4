#include "profiler/frames_command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "common/base/npy.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/places.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

class FramesCommandTest : public FolderTest {
 protected:
  FramesCommandTest() {
    const fs::path configs = SourceFolder() / "configs";
    command_.config = LoadRobotConfig(configs / "demo.json");
    command_.config.model = configs / "models/demo_segmentation.onnx";
    command_.config.shapes = {"1x3x64x96"};
    command_.config.source = "generated:frames=18,width=192,height=128";
    command_.out_folder = folder_ / "out";
    command_.count = 6;
  }

  static std::vector<std::string> NamesIn(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }

  FramesCommand command_;
};

TEST_F(FramesCommandTest, WritesFramesFromAllOverTheSourceAndWhatTheNetworkGets) {
  EXPECT_NE(RunFramesCommand(command_).find("6 frames of generated:"), std::string::npos);
  EXPECT_EQ(NamesIn(command_.out_folder / "frames"),
            (std::vector<std::string>{"000000.png", "000002.png", "000006.png", "000008.png",
                                      "000012.png", "000014.png"}));
  const std::vector<std::string> inputs = NamesIn(command_.out_folder / "inputs");
  ASSERT_EQ(inputs.size(), 6u);
  EXPECT_EQ(inputs.back(), "000014.npy");
  for (const std::string& name : inputs) {
    const NpyArray input = ReadNpy(command_.out_folder / "inputs" / name);
    EXPECT_EQ(input.shape, (std::vector<int64_t>{1, 3, 64, 96}));
    // Levels less 127.5, by 64.
    const auto& numbers = std::get<std::vector<float>>(input.values);
    const auto [least, most] = std::ranges::minmax(numbers);
    EXPECT_GE(least, -127.5f / 64);
    EXPECT_LE(most, 127.5f / 64);
    EXPECT_LT(least, 0.0f);
    EXPECT_GT(most, 0.0f);
  }
}

TEST_F(FramesCommandTest, TakesAllFramesOfAShortSource) {
  command_.config.source = "generated:frames=4,width=192,height=128";
  RunFramesCommand(command_);
  EXPECT_EQ(NamesIn(command_.out_folder / "frames").size(), 4u);
}

TEST_F(FramesCommandTest, RefusesWhatItCannotRead) {
  command_.config.model = folder_ / "nosuch.onnx";
  EXPECT_NE(RefusalOf([&] { RunFramesCommand(command_); }).find("nosuch.onnx"), std::string::npos);
  EXPECT_FALSE(fs::exists(command_.out_folder));
}

}  // namespace
}  // namespace cacheinf
