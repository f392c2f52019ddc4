#include "common/plan/exactness.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/codec/slice_codec.h"
#include "common/plan/plan.h"

// Which plans an exact robot may follow.

namespace cacheinf {
namespace {

const PairArithmetic kEqual = {.robot = "exact FP32", .server = "exact FP32"};

Plan Remote(const std::string& codec) { return {.kind = Plan::Kind::kRemote, .codec = codec}; }

Plan Split() { return {.kind = Plan::Kind::kSplit, .cuts = {{-1, 500}}}; }

TEST(Exactness, OnlyLosslessPicturesKeepTheBits) {
  for (const char* const codec : {"raw", "png", "blocks:raw"}) {
    EXPECT_EQ(WhyNotExact(Remote(codec), kEqual), "") << codec;
  }
  for (const std::string codec : {"jpeg", "jpeg:100", "blocks", "blocks:90", "video",
                                  "video:libx264:qp=0", "video:gst:x264enc"}) {
    EXPECT_EQ(WhyNotExact(Remote(codec), kEqual), "the codec " + codec + " is lossy");
  }
  EXPECT_THROW((void)WhyNotExact(Remote("jpg"), kEqual), InputError);
}

TEST(Exactness, LossySlicesChangeTheBitsOfSplitsAndOfAnswers) {
  PairArithmetic pair = kEqual;
  for (const SliceCodec codec : {SliceCodec::kFp16, SliceCodec::kFp16Zstd}) {
    pair.slice_codec = codec;
    const std::string why = std::string("the slice codec ") + NameOf(codec) + " is lossy";
    EXPECT_EQ(WhyNotExact(Split(), pair), why);
    EXPECT_EQ(WhyNotExact(Remote("raw"), pair), why);
    EXPECT_EQ(WhyNotExact({}, pair), "");
  }
  for (const SliceCodec codec : {SliceCodec::kRaw, SliceCodec::kZstd}) {
    pair.slice_codec = codec;
    EXPECT_EQ(WhyNotExact(Split(), pair), "");
    EXPECT_EQ(WhyNotExact(Remote("raw"), pair), "");
  }
}

TEST(Exactness, AnotherArithmeticLeavesOnlyTheRobot) {
  PairArithmetic pair = kEqual;
  pair.server = "TF32";
  for (const Plan& plan : {Remote("raw"), Split()}) {
    EXPECT_EQ(WhyNotExact(plan, pair),
              "the robot computes in exact FP32, the server in TF32: give both the same CacheInf "
              "and precision");
  }
  EXPECT_EQ(WhyNotExact({.keeps = false}, pair), "");
  pair.server = "";
  EXPECT_EQ(WhyNotExact(Remote("raw"), pair), "") << "no server has said what it computes in";
}

TEST(Exactness, ForeignOperatorsLeaveOnlyTheRobot) {
  PairArithmetic pair = kEqual;
  pair.has_foreign = true;
  EXPECT_NE(WhyNotExact(Remote("raw"), pair), "");
  EXPECT_NE(WhyNotExact(Split(), pair), "");
  EXPECT_EQ(WhyNotExact({}, pair), "");
}

}  // namespace
}  // namespace cacheinf
