// A detector of fine textures, codecs that keep them or lose them, and smaller models.

#include "profiler/plan_trial.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/answer/agreement.h"
#include "common/answer/answers.h"
#include "common/answer/outputs.h"
#include "common/answer/seen_picture.h"
#include "common/backend/host/cpu_backend.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/picture_view.h"
#include "common/codec/picture_codec.h"
#include "common/config/model_config.h"
#include "common/config/model_setup.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/model/graph/graph.h"
#include "common/model/passes/passes.h"
#include "common/model/picture.h"
#include "common/plan/plan.h"
#include "tests/model/model_builder.h"

namespace cacheinf {
namespace {

class PlanTrialTest : public ::testing::Test {
 protected:
  static constexpr int kWidth = 96;
  static constexpr int kHeight = 64;
  static constexpr int kCell = 8;
  static constexpr int kAmplitude = 20;
  static constexpr double kAlways = std::numeric_limits<double>::infinity();
  static constexpr auto kInARow = static_cast<int>(PlanTrial::kFramesInARow);

  PlanTrialTest() {
    SetLogLevel(LogLevel::kOff);
    config_.decoder.kind = DecoderConfig::Kind::kBoxes;
    config_.decoder.strides = {kCell};
    config_.decoder.anchors = {2 * kCell, 2 * kCell};
    model_ = Compiled(Detector());
  }
  ~PlanTrialTest() override { SetLogLevel(LogLevel::kInfo); }

  std::shared_ptr<const CompiledModel> Compiled(Graph graph) const {
    AddPictureAndDecoder(graph, config_);
    Optimise(graph);
    graph.Validate();
    return std::make_shared<const CompiledModel>(std::make_shared<const Graph>(std::move(graph)),
                                                 std::make_unique<CpuBackend>());
  }

  // Squares of two pixels, in turn brighter and darker.
  static int SignAt(int y, int x) { return (y / 2 + x / 2) % 2 == 0 ? 1 : -1; }

  // A box around every cell that has half of the texture, at least; a blind one never finds it.
  static Graph Detector(bool is_blind = false) {
    ModelBuilder b;
    op::Conv texture;
    texture.spec.rows = texture.spec.columns = {kCell, kCell, 0, 0, 1};
    std::vector<float> weights;
    for (int i = 0; i < 3 * kCell * kCell; ++i) {
      const float sign = SignAt(i / kCell % kCell, i % kCell);
      weights.push_back(sign * 255 / (3 * kCell * kCell * kAmplitude));
    }
    const ValueId picture = b.Input({1, 3, kHeight, kWidth}, "picture");
    const ValueId found = b.Op(texture, {picture, b.Constant({1, 3, kCell, kCell}, weights)});
    op::Conv head;
    head.spec.rows = head.spec.columns = {1, 1, 0, 0, 1};
    head.has_bias = true;
    // Centre and size, object, two classes.
    return b.Finish(
        {b.Op(head, {found, b.Constant({7, 1, 1, 1}, {0, 0, 0, 0, 40, 0, 0}),
                     b.Constant({7}, {0, 0, 0, 0, is_blind ? -99.0f : -20.0f, 6, -6})})});
  }

  // Textured cells that move by a cell each frame; or none.
  static std::vector<uint8_t> Pixels(int frame, bool is_textured = true) {
    std::vector<uint8_t> pixels;
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const bool is_in = is_textured && (7 * (y / kCell) + 3 * (x / kCell + frame)) % 5 == 0;
        const int level = 90 + x / 2 + (is_in ? SignAt(y, x) * kAmplitude : 0);
        pixels.insert(pixels.end(), 3, static_cast<uint8_t>(level));
      }
    }
    return pixels;
  }
  static PictureView View(const std::vector<uint8_t>& pixels) {
    return {pixels.data(), kWidth, kHeight, 3};
  }

  PlanTrial Trial(const std::vector<std::string>& codecs, double share = kAlways) const {
    return PlanTrial(model_, config_.decoder, codecs, share);
  }

  // Offers frames, each with all the time in the world.
  void Offer(int frames, PlanTrial* trial, bool is_textured = true) {
    for (int i = 0; i < frames; ++i, ++frame_) {
      trial->Offer(View(Pixels(frame_, is_textured)));
      while (trial->Step()) {
      }
    }
  }

  static std::map<std::string, std::vector<PlanAgreement>> Results(PlanTrial* trial) {
    std::map<std::string, std::vector<PlanAgreement>> results;
    while (std::optional<PlanAgreement> result = trial->TakeResult()) {
      results[result->plan.codec].push_back(*result);
    }
    return results;
  }

  Detections Boxes(const PictureView& picture) const {
    ModelState state(model_);
    state.SetPicture(picture);
    state.Run();
    return std::get<Detections>(AnswerReader(model_->graph(), config_.decoder).Read(state, {}));
  }

  ModelConfig config_;
  std::shared_ptr<const CompiledModel> model_;
  int frame_ = 0;
};

TEST_F(PlanTrialTest, SaysWhatEachCodecCosts) {
  ASSERT_GT(Boxes(View(Pixels(0))).boxes.size(), 10u);
  PlanTrial trial =
      Trial({"raw", "jpeg:95", "jpeg:1", "blocks:95", "blocks:1", "video:crf=18", "video:crf=51"});
  Offer(2 * kInARow, &trial);
  auto results = Results(&trial);
  ASSERT_EQ(results.size(), 6u) << "raw loses nothing";
  for (const std::string good : {"jpeg:95", "blocks:95", "video:crf=18"}) {
    ASSERT_EQ(results[good].size(), 2u) << good;
    for (const PlanAgreement& result : results[good]) EXPECT_GT(result.agreement, 0.95) << good;
    EXPECT_GT(results[good][0].weight, 0.8) << good;
    EXPECT_LE(results[good][0].weight, 1.0) << good;
  }
  for (const std::string bad : {"jpeg:1", "blocks:1", "video:crf=51"}) {
    ASSERT_EQ(results[bad].size(), 2u) << bad;
    for (const PlanAgreement& result : results[bad]) EXPECT_LT(result.agreement, 0.4) << bad;
  }
}

TEST_F(PlanTrialTest, AStreamIsJudgedByItsLastPicture) {
  int differ = 0;
  for (const std::string codec : {"video:crf=36", "video:crf=40", "video:crf=44"}) {
    const PictureFormat format = {kWidth, kHeight, 3};
    PictureEncoder encoder(ParsePictureCodec(codec), format);
    PictureDecoder decoder(format);
    std::vector<double> f1;
    for (int i = 0; i < 2 * kInARow; ++i) {
      if (i == kInARow) encoder.Reset();
      const std::vector<uint8_t> pixels = Pixels(i);
      std::vector<uint8_t> bytes;
      encoder.Append(View(pixels), &bytes);
      ASSERT_EQ(decoder.Decode(bytes), nullptr);
      DetectionAgreement agreement;
      agreement.Add(Boxes(decoder.picture()), Boxes(View(pixels)));
      f1.push_back(*agreement.F1());
    }
    PlanTrial trial = Trial({codec});
    frame_ = 0;
    Offer(2 * kInARow, &trial);
    const auto results = Results(&trial)[codec];
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results[0].agreement, f1[kInARow - 1]) << codec;
    EXPECT_EQ(results[1].agreement, f1[2 * kInARow - 1]) << codec;
    if (f1[0] != f1[kInARow - 1]) ++differ;
  }
  EXPECT_GT(differ, 0) << "a stream's first picture would do as well";
}

TEST_F(PlanTrialTest, AFrameMayComeBetweenAnyTwoSteps) {
  const std::vector<std::string> codecs = {"jpeg:20", "video:crf=40"};
  PlanTrial alone = Trial(codecs);
  Offer(kInARow, &alone);

  PlanTrial trial = Trial(codecs);
  for (int i = 0; i < kInARow; ++i) trial.Offer(View(Pixels(i)));
  ModelState robot(model_);
  const std::vector<uint8_t> other = Pixels(3);
  int steps = 0;
  while (trial.Step()) {
    ++steps;
    trial.Offer(View(other));
    robot.SetPicture(View(other));
    robot.Run();
  }
  // Three pictures to take in and to answer, and one and eight to code, of which the last ones
  // begin an answer.
  const auto stages = static_cast<int>(robot.stage_count());
  EXPECT_EQ(steps, 1 + 3 * stages + 1 + kInARow);
  const auto expected = Results(&alone);
  const auto results = Results(&trial);
  for (const std::string& codec : codecs) {
    ASSERT_EQ(results.at(codec).size(), 1u);
    EXPECT_EQ(results.at(codec)[0].agreement, expected.at(codec)[0].agreement);
    EXPECT_EQ(results.at(codec)[0].weight, expected.at(codec)[0].weight);
  }
}

// One of them is the first model itself.
TEST_F(PlanTrialTest, SmallerModelsAnswerTheFrameItself) {
  const PictureFit fit(model_->graph().picture, kWidth, kHeight);
  PlanTrial trial(model_, config_.decoder, {"jpeg:1"}, kAlways,
                  {{"same", model_}, {"blind", Compiled(Detector(/*is_blind=*/true))}});
  std::map<std::string, double> agreements;
  for (int i = 0; i < kInARow; ++i) {
    const std::vector<uint8_t> pixels = Pixels(i);
    trial.Offer(View(pixels), MakePicture(kWidth, kHeight, 3, pixels), &fit);
    while (trial.Step()) {
    }
  }
  while (const std::optional<PlanAgreement> result = trial.TakeResult()) {
    agreements[ToText(result->plan)] = result->agreement;
  }
  ASSERT_EQ(agreements.size(), 3U);
  EXPECT_EQ(agreements.at("local same dense"), 1);
  EXPECT_EQ(agreements.at("local blind dense"), 0);
  EXPECT_LT(agreements.at("remote jpeg:1 dense"), 0.4);
}

TEST_F(PlanTrialTest, NothingComparedWithNothingIsNoEvidence) {
  PlanTrial trial = Trial({"jpeg:1", "video:crf=51"});
  Offer(3 * kInARow, &trial, /*is_textured=*/false);
  EXPECT_TRUE(Results(&trial).empty());
  Offer(kInARow, &trial);
  EXPECT_EQ(Results(&trial).size(), 2u) << "boxes that were missed";
}

TEST_F(PlanTrialTest, TakesItsShareAndLaterHalfOfIt) {
  const auto frames_to_results = [&](PlanTrial* trial, bool is_textured) {
    for (int frames = 1; frames < 10'000; ++frames) {
      Offer(1, trial, is_textured);
      if (trial->TakeResult()) return frames;
    }
    return 0;
  };
  PlanTrial trial = Trial({"jpeg:50"}, 0.1);
  EXPECT_EQ(frames_to_results(&trial, true), kInARow) << "the first round is on credit";
  // Two dense runs, each a tenth of a run a frame.
  for (int round = 2; round <= PlanTrial::kEnough; ++round) {
    EXPECT_NEAR(frames_to_results(&trial, true), 20, 1) << round;
  }
  EXPECT_LT(frames_to_results(&trial, true), 40) << "what was saved before counts";
  for (int round = 0; round < 3; ++round) EXPECT_NEAR(frames_to_results(&trial, true), 40, 1);

  // Without evidence it goes on as before.
  PlanTrial blind = Trial({"jpeg:50"}, 0.1);
  Offer(400, &blind, /*is_textured=*/false);
  EXPECT_LE(frames_to_results(&blind, true), 20 + kInARow);
}

TEST_F(PlanTrialTest, LeavesOutWhatDoesNotWork) {
  PlanTrial trial = Trial({"video:no-such-encoder", "jpeg:95", "video:libx264:bf=3"});
  Offer(2 * kInARow, &trial);
  const auto results = Results(&trial);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results.at("jpeg:95").size(), 2u);
  EXPECT_THROW((void)Trial({"h264"}), InputError);
  PlanTrial nothing = Trial({});
  Offer(2 * kInARow, &nothing);
  EXPECT_FALSE(nothing.Step());
}

}  // namespace
}  // namespace cacheinf
