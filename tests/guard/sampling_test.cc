// What follows from samples of answers that a server had a part in.

#include "common/guard/sampling.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/log.h"
#include "common/model/graph/graph.h"
#include "common/plan/plan.h"
#include "common/reuse/settings.h"
#include "common/reuse/verdict.h"
#include "tests/model/model_builder.h"

namespace cacheinf {
namespace {

class SamplingTest : public testing::Test {
 protected:
  SamplingTest() { SetLogLevel(LogLevel::kOff); }
  ~SamplingTest() override { SetLogLevel(LogLevel::kInfo); }

  static Graph Network() {
    ModelBuilder b;
    return b.Finish({b.Conv(b.Input({1, 3, 8, 8}), 4, 3, 1, 1)});
  }

  // Answers so many frames by a plan; all samples of them agree so far. Returns how many there
  // were.
  int Answer(int frames, const Plan& plan, std::optional<double> agreement) {
    int samples = 0;
    for (int i = 0; i < frames; ++i) {
      const auto sample = sampling_.Next(plan, /*is_whole=*/false, frame_++);
      if (!sample) continue;
      EXPECT_TRUE(sample->is_whole);
      EXPECT_EQ(sample->frame, frame_ - 1);
      EXPECT_EQ(sample->plan, plan);
      ++samples;
      sampling_.Judge(*sample,
                      agreement ? std::optional(AgreementSample{*agreement, 1}) : std::nullopt);
    }
    return samples;
  }

  const Graph graph_ = Network();
  const Plan remote_ = {.kind = Plan::Kind::kRemote, .keeps = false, .codec = "jpeg:1"};
  Sampling sampling_{graph_, {.share = 0.05}, Resolve({}, {}), /*has_bands=*/false};
  int64_t frame_ = 0;
};

TEST_F(SamplingTest, BadAnswersOfAServerChangeNoLevelAndAWarningSaysOnceWhatIsWrong) {
  SetLogLevel(LogLevel::kWarning);
  testing::internal::CaptureStderr();
  EXPECT_GE(Answer(200, remote_, 0.5), 8);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(sampling_.verdict().level, SafetyLevel::kNormal);
  EXPECT_EQ(sampling_.counts().changes, 0);
  EXPECT_EQ(sampling_.counts().bad_samples, sampling_.counts().samples);
  const PlanSamples samples = sampling_.plans().at("remote jpeg:1 dense");
  EXPECT_TRUE(samples.fails);
  EXPECT_EQ(samples.agreement, 0.5);
  EXPECT_EQ(samples.bad_samples, sampling_.counts().samples);
  EXPECT_EQ(sampling_.state(remote_).agreement, 0.5);
  EXPECT_TRUE(sampling_.state(remote_).is_in_doubt);

  const std::string sentence =
      "answers by remote jpeg:1 dense agree with dense ones by 0.500, below the least of 0.900";
  const size_t at = log.find(sentence);
  ASSERT_NE(at, std::string::npos) << log;
  EXPECT_EQ(log.find("guard", at), std::string::npos) << log;
}

TEST_F(SamplingTest, ABadSampleIsAnAlarmUntilTheNextAnswer) {
  while (Answer(1, remote_, 0.5) == 0) EXPECT_EQ(sampling_.alarm(), "");
  EXPECT_EQ(sampling_.alarm(),
            "an answer by remote jpeg:1 dense agrees with a dense one by 0.500, below the least of "
            "0.900");
  EXPECT_FALSE(sampling_.verdict().forget) << "the robot's own results are as good as they were";
  EXPECT_FALSE(sampling_.plans().at("remote jpeg:1 dense").fails) << "one is never enough";
  Answer(1, remote_, 0.5);
  EXPECT_EQ(sampling_.alarm(), "");
}

TEST_F(SamplingTest, EachPlanHasItsOwnEstimateAndSplitsOneTogether) {
  const Plan png = {.kind = Plan::Kind::kRemote, .keeps = false, .codec = "png"};
  const auto split = [](int after) {
    return Plan{.kind = Plan::Kind::kSplit, .cuts = {{after, 0}}};
  };
  for (int i = 0; i < 10; ++i) {
    Answer(20, remote_, 0.5);
    Answer(20, png, 1.0);
    Answer(20, split(i), 0.95);
    Answer(20, Plan(), 0.97);
  }
  EXPECT_EQ(sampling_.plans().size(), 3U);
  EXPECT_TRUE(sampling_.plans().at("remote jpeg:1 dense").fails);
  EXPECT_FALSE(sampling_.plans().at("remote png dense").fails);
  EXPECT_EQ(sampling_.state(png).agreement, 1.0);
  EXPECT_FALSE(sampling_.state(png).is_in_doubt);
  EXPECT_NEAR(*sampling_.state(split(99)).agreement, 0.95, 1e-9);
  EXPECT_GE(sampling_.plans().at("split cache").samples, 8);
  EXPECT_NEAR(*sampling_.state(Plan()).agreement, 0.97, 1e-9);
  EXPECT_EQ(sampling_.state(Plan()).level, SafetyLevel::kNormal);
}

TEST_F(SamplingTest, BadAnswersByManyPlansAreFoundTogether) {
  SetLogLevel(LogLevel::kWarning);
  testing::internal::CaptureStderr();
  for (const char* const codec : {"jpeg:1", "jpeg:2", "jpeg:3", "jpeg:4"}) {
    const Plan plan = {.kind = Plan::Kind::kRemote, .keeps = false, .codec = codec};
    while (Answer(1, plan, 0.5) == 0) {
    }
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_FALSE(sampling_.plans().at("remote jpeg:1 dense").fails) << "one is never enough";
  EXPECT_TRUE(sampling_.plans().at("all plans together").fails);
  EXPECT_EQ(sampling_.plans().at("all plans together").samples, 4);
  EXPECT_EQ(sampling_.plans().at("all plans together").bad_samples, 4);
  const size_t at = log.find("answers by all plans together agree with dense ones by 0.500");
  ASSERT_NE(at, std::string::npos) << log;
  EXPECT_EQ(log.find("guard", at), std::string::npos) << log;
}

TEST_F(SamplingTest, ASmallerModelsAnswersAreNotTheCaches) {
  const Plan small = {.keeps = false, .model = "small"};
  for (int i = 0; i < 200; ++i) {
    const auto sample = sampling_.Next(small, /*is_whole=*/true, frame_++);
    if (sample) sampling_.Judge(*sample, AgreementSample{0.5, 1});
  }
  EXPECT_GE(sampling_.plans().at("local small dense").samples, 8);
  EXPECT_EQ(sampling_.verdict().level, SafetyLevel::kNormal);
  EXPECT_FALSE(sampling_.verdict().forget);
}

TEST_F(SamplingTest, SamplesWithoutEvidenceCountForNothing) {
  EXPECT_GE(Answer(200, remote_, std::nullopt), 8);
  EXPECT_EQ(sampling_.counts().samples_with_evidence, 0);
  EXPECT_TRUE(sampling_.plans().empty());
  EXPECT_FALSE(sampling_.state(remote_).agreement);
  EXPECT_TRUE(sampling_.state(remote_).is_in_doubt);
}

// At .05 a sample takes 20 frames: ten while little is known, five after a bad one.
TEST_F(SamplingTest, WhatIsKnownIsSampledLessOften) {
  EXPECT_NEAR(Answer(80, remote_, 1.0), 8, 1);
  EXPECT_NEAR(Answer(200, remote_, 1.0), 10, 1) << "they agree";
  EXPECT_NEAR(Answer(200, remote_, 0.0), 10, 2) << "they do not, which is known after two";
}

TEST_F(SamplingTest, OnlyOneSampleIsOpenAndWaitingSavesUpOneMore) {
  std::optional<Sample> open;
  for (int i = 0; i < 8 && !open; ++i) open = sampling_.Next(remote_, false, frame_++);
  ASSERT_TRUE(open);
  EXPECT_FALSE(sampling_.is_overdue());
  EXPECT_EQ(Answer(500, remote_, 1.0), 0);
  EXPECT_TRUE(sampling_.is_overdue());
  sampling_.Judge(*open, AgreementSample{1, 1});
  EXPECT_FALSE(sampling_.is_overdue());
  EXPECT_EQ(Answer(10, remote_, 1.0), 1);
  EXPECT_LE(Answer(20, remote_, 1.0), 2);
}

}  // namespace
}  // namespace cacheinf
