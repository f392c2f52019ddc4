#include "common/reuse/reuse_timing.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/guard/sampling.h"
#include "common/plan/plan.h"
#include "common/reuse/in_place.h"
#include "common/reuse/reuse.h"
#include "tests/reuse/demo_network.h"

// A robot whose cache is neither right nor quicker computes everything, and says so.

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

constexpr int kHeight = 64;
constexpr int kWidth = 96;

// Decides about a still scene. Nothing is executed; a manual clock says what it took.
class ReuseTimingTest : public testing::Test {
 protected:
  void Start(const CacheConfig& config) {
    const ReuseSettings settings = Resolve(config, {});
    reuse_ = std::make_unique<Reuse>(settings, *graph_, std::make_unique<InPlace>(kWidth, kHeight));
    timing_ = {};
  }

  // Returns why the next frame is computed whole, if it is and something could have been reused.
  Rest Show(milliseconds whole, milliseconds reused, milliseconds refreshed = milliseconds(0)) {
    const PictureView picture = {pixels_.data(), kWidth, kHeight, 3};
    const FrameDecision& decision = reuse_->Decide(frame_, picture, {.is_slow = timing_.is_slow()});
    FrameWork work;
    work.is_dense = decision.kind == FrameDecision::Kind::kWhole;
    work.rest = reuse_->rest();
    const auto begin = clock_.Now();
    clock_.Advance(work.is_dense ? whole : reused);
    reuse_->Commit({.done = work.is_dense ? 10 : 3, .of_all = 10});
    timing_.Note(work, clock_.Now() - begin, work.is_dense ? milliseconds(0) : refreshed, frame_++);
    EXPECT_EQ(work.is_dense, work.rest != Rest::kNone || frame_ == 1);
    return work.rest;
  }

  // How many of so many frames rest.
  int Rested(int frames, milliseconds whole, milliseconds reused,
             milliseconds refreshed = milliseconds(0)) {
    int rested = 0;
    for (int i = 0; i < frames; ++i) rested += Show(whole, reused, refreshed) == Rest::kTooSlow;
    return rested;
  }

  std::shared_ptr<const Graph> graph_ = MakeDemoNetwork(kHeight, kWidth);
  std::vector<uint8_t> pixels_ = std::vector<uint8_t>(size_t{kHeight} * kWidth * 3, 100);
  ManualClock clock_;
  ReuseTiming timing_;
  std::unique_ptr<Reuse> reuse_;
  int64_t frame_ = 0;
};

// With 30 % of the work, but longer than all of it.
TEST_F(ReuseTimingTest, WhereReuseIsSlowerAlmostAllFramesAreComputedWhole) {
  Start({.policy = CacheConfig::Policy::kExact});
  Show(milliseconds(150), milliseconds(126));  // the first, in new memory
  std::vector<int> tries;
  for (int frame = 1; frame < 200; ++frame) {
    if (Show(milliseconds(100), milliseconds(126)) == Rest::kNone) tries.push_back(frame);
  }
  EXPECT_EQ(tries, (std::vector<int>{1, 2, 4, 7, 12, 21, 38, 71, 104, 137, 170}));
}

TEST_F(ReuseTimingTest, WhereItIsQuickerOneWholeFrameShowsThat) {
  Start({.policy = CacheConfig::Policy::kExact});
  Show(milliseconds(200), milliseconds(90));
  EXPECT_EQ(Rested(100, milliseconds(100), milliseconds(90)), 0) << "too little of the first";
  Start({.policy = CacheConfig::Policy::kExact});
  frame_ = 0;
  Show(milliseconds(120), milliseconds(90));
  EXPECT_EQ(Rested(100, milliseconds(100), milliseconds(90)), 1);
}

TEST_F(ReuseTimingTest, ALittleLongerForLessWorkIsNoCause) {
  Start({.policy = CacheConfig::Policy::kExact});
  Show(milliseconds(120), milliseconds(105));
  EXPECT_EQ(Rested(100, milliseconds(100), milliseconds(105)), 1) << "to know a whole frame's time";
  EXPECT_GT(Rested(100, milliseconds(100), milliseconds(115)), 80);
}

TEST_F(ReuseTimingTest, ARefreshCountsUnlessItsAnswerIsQuicker) {
  Start({.policy = CacheConfig::Policy::kExact});
  Show(milliseconds(100), milliseconds(106), milliseconds(28));
  EXPECT_GT(Rested(100, milliseconds(100), milliseconds(106), milliseconds(28)), 80);
  Rested(40, milliseconds(100), milliseconds(80), milliseconds(40));
  EXPECT_EQ(Rested(40, milliseconds(100), milliseconds(80), milliseconds(40)), 0);
}

TEST_F(ReuseTimingTest, OneSlowFrameIsNoCauseAndOneQuickFrameEndsARest) {
  Start({.policy = CacheConfig::Policy::kExact});
  Show(milliseconds(100), milliseconds(20));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Show(milliseconds(100), milliseconds(300)), Rest::kNone);
    EXPECT_EQ(Show(milliseconds(100), milliseconds(20)), Rest::kNone);
  }
  EXPECT_GT(Rested(100, milliseconds(100), milliseconds(126)), 80);
  EXPECT_LE(Rested(40, milliseconds(100), milliseconds(20)), 32);
  EXPECT_EQ(Rested(40, milliseconds(100), milliseconds(20)), 0);
}

TEST_F(ReuseTimingTest, ReuseCanBeMeasuredByItself) {
  Start({.policy = CacheConfig::Policy::kExact, .most_work = 0.0});
  EXPECT_EQ(Rested(50, milliseconds(100), milliseconds(126)), 0);
}

TEST_F(ReuseTimingTest, SaysOnceThatItRunsDenseAndOnceThatItReusesAgain) {
  Start({.policy = CacheConfig::Policy::kExact});
  SetLogLevel(LogLevel::kInfo);
  testing::internal::CaptureStderr();
  Rested(100, milliseconds(100), milliseconds(126));
  Rested(40, milliseconds(100), milliseconds(20));
  Rested(100, milliseconds(100), milliseconds(126));
  const std::string slow = testing::internal::GetCapturedStderr();
  testing::internal::CaptureStderr();
  Rested(100, milliseconds(100), milliseconds(20));
  const std::string quick = testing::internal::GetCapturedStderr();
  SetLogLevel(LogLevel::kOff);
  const std::string sentence =
      "reusing results took 126.0 ms where computing everything takes 100.0 ms, so the robot "
      "computes frames whole, and tries again now and then\n";
  const size_t at = slow.find(sentence);
  ASSERT_NE(at, std::string::npos) << slow;
  EXPECT_EQ(slow.find("frame", at + sentence.size()), std::string::npos) << slow;
  EXPECT_NE(quick.find("reusing results is quicker again, so the robot reuses them\n"),
            std::string::npos)
      << quick;
}

// Every answer that reuses anything is wrong.
TEST(SamplingTest, AtTheLastLevelFramesAreComputedWholeAndTheLogSaysSo) {
  const auto graph = MakeDemoNetwork(kHeight, kWidth);
  Sampling sampling(*graph, {.share = 1}, Resolve({}, {}), /*has_bands=*/false);
  SetLogLevel(LogLevel::kWarning);
  testing::internal::CaptureStderr();
  int64_t frame = 0;
  while (sampling.verdict().level != SafetyLevel::kDense && frame < 1000) {
    if (const auto sample = sampling.Next(Plan(), /*is_whole=*/false, frame)) {
      sampling.Judge(*sample, AgreementSample{0.67, 1});
    }
    ++frame;
  }
  const std::string log = testing::internal::GetCapturedStderr();
  SetLogLevel(LogLevel::kOff);
  EXPECT_LT(frame, 1000);
  EXPECT_NE(log.find("guard: reused results do not agree at any level, so the robot computes "
                     "frames whole\n"),
            std::string::npos)
      << log;
}

}  // namespace
}  // namespace cacheinf
