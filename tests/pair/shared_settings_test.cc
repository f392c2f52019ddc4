#include "common/pair/shared_settings.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "common/answer/answers.h"
#include "common/backend/host/reference_backend.h"
#include "common/codec/slice_codec.h"
#include "common/config/robot_config.h"
#include "common/exec/slice.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

constexpr int kClasses = 1000;

std::vector<uint8_t> SliceOfScores(const std::vector<float>& scores) {
  const auto count = static_cast<int64_t>(scores.size());
  const ConstTensorView value = {scores.data(), 2, {1, count}, {count, 1}};
  Mask pixel(1, 1);
  SetAll(pixel);
  ReferenceBackend backend;
  std::vector<uint8_t> slice;
  AppendSlice(backend, value, /*id=*/9, {0, 1}, pixel, &slice);
  return slice;
}

std::vector<float> ScoresOf(const std::vector<uint8_t>& slice) {
  std::vector<float> scores((slice.size() - NumbersBegin(slice)) / sizeof(float));
  std::memcpy(scores.data(), slice.data() + NumbersBegin(slice), scores.size() * sizeof(float));
  return scores;
}

// Indices and bits of scores, so that NaN equals NaN.
std::vector<std::pair<int, uint32_t>> BestOf(const std::vector<float>& scores, int most) {
  std::vector<std::pair<int, uint32_t>> best;
  for (const ScoredClass& scored : BestClasses(scores, most)) {
    best.emplace_back(scored.index, std::bit_cast<uint32_t>(scored.score));
  }
  return best;
}

TEST(SharedSettingsTest, TheBestClassesAreTheSameWithoutTheOtherScores) {
  std::mt19937 random(3);
  std::normal_distribution<float> score;
  for (int round = 0; round < 100; ++round) {
    std::vector<float> scores(round % 2 == 0 ? kClasses : 7);
    // Few values, so that many are equal.
    for (float& value : scores) value = std::round(4 * score(random));
    for (size_t i = 0; i < scores.size(); i += 1 + random() % 3) {
      const uint32_t kind = random() % 8;
      if (round % 4 == 3 || kind == 0) scores[i] = std::numeric_limits<float>::quiet_NaN();
      if (kind == 1) scores[i] = -std::numeric_limits<float>::infinity();
    }
    for (const int most : {1, 5, 8}) {
      std::vector<uint8_t> slice = SliceOfScores(scores);
      KeepBestScores(most, &slice);
      EXPECT_EQ(BestOf(ScoresOf(slice), most), BestOf(scores, most)) << round << " " << most;
    }
  }
}

TEST(SharedSettingsTest, FewScoresTakeFewBytes) {
  std::mt19937 random(4);
  std::uniform_real_distribution<float> score;
  std::vector<float> scores(kClasses);
  for (float& value : scores) value = score(random);
  std::vector<uint8_t> slice = SliceOfScores(scores);
  KeepBestScores(5, &slice);
  std::vector<uint8_t> coded;
  AppendCodedSlice(SliceCodec::kZstd, slice, &coded);
  EXPECT_LT(coded.size(), 250u);
}

TEST(SharedSettingsTest, ScoresThatNobodyReadsStayAway) {
  Graph graph;
  graph.outputs = {graph.AddInput("scores", {1, kClasses})};
  RobotConfig config;
  config.model_config.decoder.kind = DecoderConfig::Kind::kClassification;
  config.model_config.decoder.most = 7;
  EXPECT_EQ(SharedSettingsOf(config, graph).most_scores, 7);
  RobotConfig checked = config;
  checked.check = 10;
  EXPECT_EQ(SharedSettingsOf(checked, graph).most_scores, 0);
  RobotConfig dumping = config;
  dumping.output.dump_outputs = "outputs";
  EXPECT_EQ(SharedSettingsOf(dumping, graph).most_scores, 0);
  RobotConfig recording = config;
  recording.record.folder = "records";
  EXPECT_EQ(SharedSettingsOf(recording, graph).most_scores, 0);
  config.model_config.decoder.kind = DecoderConfig::Kind::kRaw;
  EXPECT_EQ(SharedSettingsOf(config, graph).most_scores, 0);
}

}  // namespace
}  // namespace cacheinf
