#include "profiler/scenes_command.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/file.h"
#include "tests/testing/folder_test.h"

namespace cacheinf {
namespace {

using ScenesCommandTest = FolderTest;

// The arrays hold frames clip by clip, after a header that NumPy reads.
TEST_F(ScenesCommandTest, WritesFramesAndTruth) {
  ScenesCommand command;
  command.scene.seed = 5;
  command.scene.width = 48;
  command.scene.height = 32;
  command.clips = 2;
  command.frames = 3;
  command.frame_step = 10;
  command.out_folder = folder_ / "deeper";
  RunScenesCommand(command);

  const std::string pictures = ReadFile(folder_ / "deeper" / "pictures.npy");
  const std::string labels = ReadFile(folder_ / "deeper" / "labels.npy");
  constexpr size_t kPixels = 48 * 32;
  ASSERT_GT(pictures.size(), 6 * kPixels * 3);
  const size_t header = pictures.size() - 6 * kPixels * 3;
  EXPECT_EQ(header % 64, 0u);
  EXPECT_EQ(pictures.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_NE(pictures.find("'shape': (6, 32, 48, 3), "), std::string::npos);
  EXPECT_EQ(pictures[header - 1], '\n');
  EXPECT_EQ(labels.size() - header, 6 * kPixels);

  SceneOptions second = command.scene;
  second.seed = 6;
  std::vector<uint8_t> bgr(kPixels * 3);
  std::vector<uint8_t> truth(kPixels);
  Scene(second).Render(10, bgr.data(), truth.data());
  constexpr size_t kIndex = 4;  // the second clip's second frame
  for (size_t i = 0; i < kPixels; ++i) {
    ASSERT_EQ(static_cast<uint8_t>(labels[header + kIndex * kPixels + i]), truth[i]);
    for (size_t c = 0; c < 3; ++c) {
      ASSERT_EQ(static_cast<uint8_t>(pictures[header + (kIndex * kPixels + i) * 3 + c]),
                bgr[i * 3 + 2 - c]);
    }
  }
}

TEST_F(ScenesCommandTest, RefusesWhatItCannotDo) {
  ScenesCommand command;
  command.out_folder = folder_ / "new";
  command.frames = 0;
  EXPECT_THROW(RunScenesCommand(command), InputError);
  command.frames = 1;
  command.clips = 2'000'000;
  EXPECT_THROW(RunScenesCommand(command), InputError);
  command.clips = 1;
  command.scene.width = 3;
  EXPECT_THROW(RunScenesCommand(command), InputError);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
  command.scene.width = 64;
  command.out_folder = "/proc/nowhere";
  EXPECT_THROW(RunScenesCommand(command), InputError);
}

}  // namespace
}  // namespace cacheinf
