// Video that a GStreamer pipeline encodes is decoded like any other.

#include "common/codec/gst_encoder.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/base/error.h"
#include "tests/codec/pictures.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

constexpr PictureFormat kPipelineFormat = {161, 95, 3, true};
constexpr size_t kStandsAloneAt = 3;  // in a picture's header
const std::string kX264 = "x264enc tune=zerolatency speed-preset=ultrafast key-int-max=1000 ";

PictureEncoder PipelineEncoder(const std::string& pipeline,
                               const PictureFormat& format = kPipelineFormat) {
  return {ParsePictureCodec("video:gst:" + pipeline), format};
}

// Why a robot refuses a pipeline before its first frame.
std::string PipelineRefusal(const std::string& pipeline) {
  return RefusalOf([&] {
    PictureEncoder encoder = PipelineEncoder(pipeline);
    for (int i = 0; i < 5; ++i)
      Encode(encoder, Bytes(kPipelineFormat.byte_count()), kPipelineFormat);
  });
}

std::string Named(const std::string& pipeline, const std::string& what) {
  return "GStreamer pipeline \"" + pipeline + "\"" + what;
}

#ifdef CACHEINF_HAS_GSTREAMER

class GstEncoderTest : public testing::Test {
 protected:
  void SetUp() override {
    if (PipelineRefusal(kX264) == Named(kX264, ": no element \"x264enc\"")) {
      GTEST_SKIP() << "x264enc is missing (Debian: gstreamer1.0-plugins-ugly)";
    }
  }
};

TEST_F(GstEncoderTest, WhatGLibComplainsOfIsNotPrinted) {
  testing::internal::CaptureStderr();
  EXPECT_NE(PipelineRefusal("x264enc key-int-max=-5"), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(GstEncoderTest, APictureComesBackAtOnceAndTheSameToEverybody) {
  for (const int channels : {1, 3}) {
    PictureFormat format = kPipelineFormat;
    format.channels = channels;
    const SceneClip clip(format);
    PictureEncoder encoder =
        PipelineEncoder("queue ! " + kX264 + "! video/x-h264, profile=baseline", format);
    PictureDecoder robot(format);
    PictureDecoder server(format);
    for (int frame = 0; frame < 20; ++frame) {
      const Bytes pixels = clip.Picture(frame);
      const Bytes bytes = Encode(encoder, pixels, format);
      EXPECT_EQ(bytes[kStandsAloneAt], frame == 0 ? 1 : 0);
      EXPECT_LT(bytes.size(), pixels.size());
      ASSERT_EQ(Decode(robot, bytes), "");
      ASSERT_EQ(Decode(server, bytes), "");
      ASSERT_EQ(PixelsOf(robot), PixelsOf(server));
      EXPECT_LT(MeanError(PixelsOf(robot), pixels), 5.0) << frame << ' ' << channels;
    }
  }
}

TEST_F(GstEncoderTest, RedStaysRedWhicheverColourIsFirst) {
  for (const bool is_blue_first : {false, true}) {
    const PictureFormat format = {34, 18, 3, is_blue_first};
    Bytes pixels(format.byte_count(), 20);
    for (size_t i = is_blue_first ? 2 : 0; i < pixels.size(); i += 3) pixels[i] = 230;
    PictureEncoder encoder = PipelineEncoder(kX264, format);
    PictureDecoder decoder(format);
    ASSERT_EQ(Decode(decoder, Encode(encoder, pixels, format)), "");
    EXPECT_LT(MeanError(PixelsOf(decoder), pixels), 3.0) << is_blue_first;
  }
}

// The pipeline goes on, and counts the pictures before the gap, too.
TEST_F(GstEncoderTest, AfterAGapAPictureStandsAlone) {
  const SceneClip clip(kPipelineFormat);
  PictureEncoder encoder = PipelineEncoder("identity error-after=8 ! " + kX264);
  PictureDecoder all(kPipelineFormat);
  for (int frame = 0; frame < 5; ++frame) {
    if (frame == 3) encoder.Reset();
    PictureDecoder late(kPipelineFormat);
    const Bytes bytes = Encode(encoder, clip.Picture(frame), kPipelineFormat);
    ASSERT_EQ(Decode(all, bytes), "") << frame;
    const bool is_alone = frame == 0 || frame == 3;
    ASSERT_EQ(Decode(late, bytes), is_alone ? "" : "a picture depends on one that did not arrive");
    if (is_alone) {
      EXPECT_EQ(PixelsOf(late), PixelsOf(all));
    }
  }
  try {
    for (int frame = 5; frame < 8; ++frame) Encode(encoder, clip.Picture(frame), kPipelineFormat);
    FAIL() << "the pipeline began again";
  } catch (const InputError& error) {
    FAIL() << "a robot that runs is told that it was started wrongly: " << error.what();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(" fails: "), std::string::npos) << error.what();
  }
  // After a failure the encoder begins again.
  const Bytes bytes = Encode(encoder, clip.Picture(8), kPipelineFormat);
  EXPECT_EQ(Decode(all, bytes), "");
}

TEST_F(GstEncoderTest, AnEncoderThatIgnoresRequestsIsStartedAgain) {
  const SceneClip clip(kPipelineFormat);
  PictureEncoder encoder = PipelineEncoder(kX264 + "min-force-key-unit-interval=3600000000000");
  for (int frame = 0; frame < 6; ++frame) {
    if (frame % 2 == 0) encoder.Reset();
    PictureDecoder late(kPipelineFormat);
    const std::string error = Decode(late, Encode(encoder, clip.Picture(frame), kPipelineFormat));
    EXPECT_EQ(error.empty(), frame % 2 == 0) << frame << ' ' << error;
  }
}

TEST_F(GstEncoderTest, WhatDoesNotEncodeAtOnceIsRefusedInASentence) {
  for (const auto& [pipeline, what] : std::initializer_list<std::pair<std::string, std::string>>{
           {"x264nothing", ": no element \"x264nothing\""},
           {"x264enc nothing=1", ": no property \"nothing\" in element \"x264enc\""},
           {kX264 + "!", ": syntax error"},
           {"fakesrc ! " + kX264, ": could not link cacheinf_source to fakesrc0"},
           {"identity", " fails: Internal data stream error"},
           {"x264enc", " keeps pictures back, or takes more than 2 s for one"},
           {"identity eos-after=1 ! " + kX264, " ends by itself"},
           {"identity error-after=1 ! " + kX264, " fails: "}}) {
    const std::string sentence = Named(pipeline, what);
    EXPECT_EQ(PipelineRefusal(pipeline).substr(0, sentence.size()), sentence);
  }
}

TEST_F(GstEncoderTest, EveryPictureHasOnePacket) {
  const std::string pipeline = kX264 + "! tee name=t ! f.sink_0 t. ! f.sink_1 funnel name=f";
  PictureEncoder encoder = PipelineEncoder(pipeline);
  try {
    for (int i = 0; i < 50; ++i)
      Encode(encoder, Bytes(kPipelineFormat.byte_count()), kPipelineFormat);
    FAIL() << "packets are left over";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(), Named(pipeline, " gives more than one packet for a picture"));
  }
}

#else

TEST(GstEncoderTest, ABuildWithoutGStreamerRefuses) {
  EXPECT_EQ(
      PipelineRefusal(kX264),
      "this build has no GStreamer: scripts/setup installs it, then run cmake and build again");
}

#endif

TEST(PictureCodecTest, APipelineIsTakenAsItStands) {
  const std::string pipeline = "a b=c:d ! e, f=\"g\" ! h";
  EXPECT_EQ(ParsePictureCodec("video:gst:" + pipeline).gst_pipeline, pipeline);
  EXPECT_THROW(ParsePictureCodec("video:gst: "), InputError);
}

}  // namespace
}  // namespace cacheinf
