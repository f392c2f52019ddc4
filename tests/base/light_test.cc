#include "common/base/light.h"

#include <gtest/gtest.h>

#include <vector>

namespace cacheinf {
namespace {

constexpr Light kDim = {0.75, 10.0};
constexpr Light kBright = {1.25, -6.0};

double LevelIn(const Light& light, double level) { return light.gain * level + light.offset; }

TEST(LightTest, LightsAreOneAfterTheOther) {
  for (const double level : {0.0, 40.0, 255.0}) {
    EXPECT_NEAR(LevelIn(Compose(kDim, kBright), level), LevelIn(kDim, LevelIn(kBright, level)),
                1e-9);
    EXPECT_NEAR(LevelIn(Inverse(kDim), LevelIn(kDim, level)), level, 1e-9);
    EXPECT_NEAR(LevelIn(Relative(kDim, kBright), LevelIn(kBright, level)), LevelIn(kDim, level),
                1e-9);
  }
  EXPECT_EQ(Compose(kDim, Light()), kDim);
  EXPECT_TRUE(Relative(kDim, kDim).IsIdentity());
}

TEST(LightTest, TablesRoundHalvesUpAndClip) {
  const LevelTable dim = LevelsIn(kDim);
  EXPECT_EQ(dim[0], 10);
  EXPECT_EQ(dim[2], 12);  // 11.5
  EXPECT_EQ(dim[255], 201);
  const LevelTable bright = LevelsIn(kBright);
  EXPECT_EQ(bright[4], 0);
  EXPECT_EQ(bright[255], 255);
  const LevelTable undone = LevelsWithout(kDim);
  EXPECT_EQ(undone[9], 0);
  EXPECT_EQ(undone[10], 0);
  EXPECT_EQ(undone[40], 40);
  EXPECT_EQ(undone[255], 255);
  for (int level = 20; level < 200; ++level) {
    EXPECT_NEAR(undone[dim[static_cast<size_t>(level)]], level, 1) << level;
  }
}

TEST(LightTest, LooksUpInPlaceToo) {
  std::vector<uint8_t> pixels = {0, 2, 255};
  std::vector<uint8_t> relit(3);
  Apply(LevelsIn(kDim), pixels.data(), pixels.size(), relit.data());
  Apply(LevelsIn(kDim), pixels.data(), pixels.size(), pixels.data());
  EXPECT_EQ(relit, (std::vector<uint8_t>{10, 12, 201}));
  EXPECT_EQ(pixels, relit);
}

}  // namespace
}  // namespace cacheinf
