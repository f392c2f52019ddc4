// What an overlay says about how each answer was made, and that players can show it.

#include "client/run/overlay_video.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <opencv2/core/mat.hpp>
#include <opencv2/videoio.hpp>
#include <string>
#include <vector>

#include "client/answer/answer.h"
#include "client/run/caption.h"
#include "common/answer/answers.h"
#include "common/answer/overlay.h"
#include "common/base/log.h"
#include "common/codec/video_codec.h"
#include "common/model/graph/graph.h"
#include "common/model/picture.h"
#include "common/pair/server_part.h"
#include "common/reuse/verdict.h"
#include "tests/testing/folder_test.h"

namespace cacheinf {
namespace {

using Colour = std::array<uint8_t, 3>;

constexpr Colour kYellow = {0, 255, 255};

Picture Grey(int width, int height) {
  return MakePicture(width, height, 3,
                     std::vector<uint8_t>(static_cast<size_t>(3 * width * height), 100));
}

AnswerReader AnyReader() {
  Graph graph;
  graph.outputs = {graph.AddOne("out", op::Activation{}, {graph.AddInput("x", {1, 1, 1, 1})})};
  return AnswerReader(graph, {});
}

Answer AnswerOf(int64_t frame) {
  Answer answer;
  answer.frame = answer.computed_from = frame;
  answer.times.compute = std::chrono::microseconds(12340);
  return answer;
}

std::vector<std::string> Words(const Answer& answer, const std::string& mode, bool is_outlined) {
  std::vector<std::string> words;
  for (const CaptionEntry& entry : CaptionOf(answer, mode, AnyReader(), is_outlined)) {
    words.push_back(entry.text);
  }
  return words;
}

TEST(CaptionTest, SaysWhoMadeAnAnswerInWhatTime) {
  using W = std::vector<std::string>;
  Answer answer = AnswerOf(7);
  EXPECT_EQ(Words(answer, "dense", false), (W{"frame 7", "mode dense", "12.3 ms"}));
  answer.deadline_ms = 10;
  answer.computed_from = 5;
  EXPECT_EQ(Words(answer, "track:3 dense", false),
            (W{"frame 7", "mode track:3 dense", "12.3 ms, late", "answer of frame 5"}));
  answer = AnswerOf(8);
  answer.guard = GuardState{SafetyLevel::kSafer, 0.9876, false};
  EXPECT_EQ(Words(answer, "cache", true),
            (W{"frame 8", "mode cache", "12.3 ms", "guard safer 0.988", "recomputed"}));
  answer.guard->is_in_doubt = true;  // of few samples, or after a bad one, a mean says too little
  EXPECT_EQ(Words(answer, "cache", false),
            (W{"frame 8", "mode cache", "12.3 ms", "guard safer, in doubt"}));
  answer = AnswerOf(9);
  answer.server.emplace();
  EXPECT_EQ(Words(answer, "remote", false),
            (W{"frame 9", "mode remote, by the server", "12.3 ms"}));
  answer.plan = "split dense";
  answer.server->robot_rows = {10};
  EXPECT_EQ(Words(answer, "cacheinf", true),
            (W{"frame 9", "split dense, with the server", "12.3 ms", "recomputed",
               "behind the cut: robot above, server below"}));
}

TEST(CaptionTest, ListsTheClassesOfAMapTheLargestFirst) {
  Answer answer = AnswerOf(1);
  answer.content = ClassMap{3, 2, {4, 1, 1, 1, 4, 9}};
  const std::vector<CaptionEntry> entries = CaptionOf(answer, "dense", AnyReader(), false);
  ASSERT_EQ(entries.size(), 6u);
  EXPECT_EQ(entries[3], (CaptionEntry{"1", ClassColour(1)}));
  EXPECT_EQ(entries[4], (CaptionEntry{"4", ClassColour(4)}));
  EXPECT_EQ(entries[5], (CaptionEntry{"9", ClassColour(9)}));
}

// A frame twice as high as the model's picture. The second cut leaves the robot nothing.
TEST(CaptionTest, DrawsALineWhereTheServersRowsBegin) {
  PictureSpec spec;
  spec.width = 32;
  spec.height = 24;
  const PictureFit fit(spec, 32, 48);
  ServerPart server;
  server.robot_rows = {9, 0, 24};
  const Picture drawn = DrawBoundaries(Grey(32, 48), fit, server);
  for (int y = 0; y < 48; ++y) {
    const uint8_t* const pixel = drawn.Row(y) + 3 * 31;
    EXPECT_EQ((Colour{pixel[0], pixel[1], pixel[2]}) == kYellow, y == 18) << y;
  }
}

TEST(CaptionTest, StandsBelowThePicture) {
  for (const int width : {700, 90}) {
    const std::vector<CaptionEntry> entries(20, {"entry", kYellow});
    const Picture captioned = AddCaption(Grey(width, 33), entries);
    EXPECT_EQ(captioned.width, width);
    EXPECT_EQ(captioned.height, AddCaption(Grey(width, 33), {}).height);
    EXPECT_EQ(captioned.height % 2, 0);
    EXPECT_TRUE(std::all_of(captioned.Row(0), captioned.Row(33), [](int v) { return v == 100; }));
    const uint8_t* const swatch = captioned.Row(33 + 6) + ptrdiff_t{3} * 5;
    EXPECT_EQ((Colour{swatch[0], swatch[1], swatch[2]}), kYellow);
  }
}

class OverlayVideoTest : public FolderTest {
 protected:
  // Writes three frames, the second one smaller, and reads them; returns the video's codec.
  int CodecOf(OverlayVideo video) const {
    for (const int height : {96, 48, 96}) video.Write(Grey(128, height), {{"frame"}});
    video.Close();
    cv::VideoCapture reader(Path("o.mp4"));
    EXPECT_EQ(static_cast<int>(reader.get(cv::CAP_PROP_CODEC_PIXEL_FORMAT)),
              cv::VideoWriter::fourcc('I', '4', '2', '0'));
    cv::Mat frame;
    int count = 0;
    for (; reader.read(frame); ++count) {
      EXPECT_EQ(frame.cols, 128);
      EXPECT_GT(frame.rows, 96);
      EXPECT_NEAR(frame.at<cv::Vec3b>(90, 64)[1], 100, 6);
    }
    EXPECT_EQ(count, 3);
    return static_cast<int>(reader.get(cv::CAP_PROP_FOURCC));
  }
};

TEST_F(OverlayVideoTest, IsH264InColoursThatPlayersShow) {
  if (NameOfH264Encoder().empty()) GTEST_SKIP() << "libavcodec has no encoder for H.264";
  const int codec = CodecOf(OverlayVideo(Path("o.mp4"), 10));
  EXPECT_TRUE(codec == cv::VideoWriter::fourcc('h', '2', '6', '4') ||
              codec == cv::VideoWriter::fourcc('a', 'v', 'c', '1'));
}

TEST_F(OverlayVideoTest, IsMpeg4WithAWarningWithoutAnEncoderForH264) {
  SetLogLevel(LogLevel::kWarning);
  testing::internal::CaptureStderr();
  const int codec = CodecOf(OverlayVideo(Path("o.mp4"), 10, ""));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("so it is MPEG-4 Part 2"),
            std::string::npos);
  EXPECT_TRUE(codec == cv::VideoWriter::fourcc('F', 'M', 'P', '4') ||
              codec == cv::VideoWriter::fourcc('m', 'p', '4', 'v'));
}

}  // namespace
}  // namespace cacheinf
