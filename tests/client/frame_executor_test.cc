// Which plans a robot can follow.

#include "client/frame_executor.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/backend/host/cpu_backend.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/exec/compiled_model.h"
#include "tests/testing/networks.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

class FrameExecutorTest : public testing::Test {
 protected:
  std::string Refusal(const std::string& users_codec, const std::string& codec) const {
    RobotConfig config;
    config.mode = RobotConfig::Mode::kDense;
    config.server.codec = users_codec;
    const FrameExecutor executor(model_, config, clock_, clock_);
    return RefusalOf([&] { executor.Check({.kind = Plan::Kind::kRemote, .codec = codec}); });
  }

  SteadyClock clock_;
  const std::shared_ptr<const CompiledModel> model_ = std::make_shared<const CompiledModel>(
      MakeNetwork(TenNetworks().front(), 64, 96), std::make_unique<CpuBackend>());
};

// A server's schedule must not run programs of its choice.
TEST_F(FrameExecutorTest, AScheduleRunsNoPipelineButTheUsers) {
  const std::string refusal = "a schedule runs a GStreamer pipeline only if --codec names the same";
  const std::string codec = "video:gst:nothing";
  EXPECT_EQ(Refusal("jpeg", codec), refusal);
  EXPECT_EQ(Refusal(codec, codec + " "), refusal);
  EXPECT_NE(Refusal(codec, codec), refusal);
  EXPECT_EQ(Refusal("jpeg", "video"), "");
}

TEST_F(FrameExecutorTest, AnEncoderOfAnotherSizeIsRefusedBeforeTheFirstFrame) {
  const auto refusal = [this](const std::string& scaled) {
    const std::string codec = "video:gst:" + scaled + "x264enc tune=zerolatency";
    return Refusal(codec, codec);
  };
  const std::string usual = refusal("");
  if (usual.find("no GStreamer") != usual.npos || usual.find("no element") != usual.npos) {
    GTEST_SKIP() << usual;
  }
  EXPECT_EQ(usual, "");
  const std::string scaled = refusal("videoscale ! video/x-raw, width=80 ! ");
  EXPECT_NE(scaled.find(": a video's picture has another size or format"), scaled.npos) << scaled;
}

TEST_F(FrameExecutorTest, AnExactRobotThatSendsWhatIsLossyIsWarned) {
  RobotConfig config;
  const auto warning = [&](CacheConfig::Policy policy, const std::string& codec) {
    config.cache.policy = policy;
    config.server.address = "mpi:robots";
    config.server.codec = codec;
    testing::internal::CaptureStderr();
    SetLogLevel(LogLevel::kWarning);
    const FrameExecutor executor(model_, config, clock_, clock_, {[] { return nullptr; }});
    SetLogLevel(LogLevel::kOff);
    return testing::internal::GetCapturedStderr();
  };
  config.mode = RobotConfig::Mode::kRemote;
  const std::string lossy = warning(CacheConfig::Policy::kExact, "jpeg:85");
  EXPECT_NE(lossy.find("the codec jpeg:85 is lossy: answers may have other bits"), lossy.npos)
      << lossy;
  EXPECT_EQ(warning(CacheConfig::Policy::kExact, "png"), "");
  EXPECT_EQ(warning(CacheConfig::Policy::kFixed, "jpeg:85"), "");

  config.mode = RobotConfig::Mode::kSplit;
  config.server.cuts = {model_->graph().operators[0].name + ":0.5"};
  EXPECT_EQ(warning(CacheConfig::Policy::kExact, "jpeg:85"), "");
  config.server.slice_codec = SliceCodec::kFp16;
  const std::string rounded = warning(CacheConfig::Policy::kExact, "jpeg:85");
  EXPECT_NE(rounded.find("the slice codec fp16 is lossy: answers may have other bits"),
            rounded.npos)
      << rounded;
}

}  // namespace
}  // namespace cacheinf
