// Read this first: where frames come from, and what is refused.

#include "common/source/frame_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/videoio.hpp>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/npy.h"
#include "common/source/opencv_files.h"
#include "common/source/opencv_picture.h"
#include "common/source/scenes.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

class FrameSourceTest : public FolderTest {
 protected:
  void WritePicture(const std::string& name, int width, int height, int grey) const {
    cv::imwrite(Path(name), cv::Mat(height, width, CV_8UC3, cv::Scalar::all(grey)));
  }

  // Each frame has the grey value 20 × index.
  std::string WriteVideo(const std::string& name, int frames) const {
    cv::VideoWriter writer(Path(name), cv::CAP_FFMPEG, cv::VideoWriter::fourcc('M', 'J', 'P', 'G'),
                           25, cv::Size(64, 48));
    EXPECT_TRUE(writer.isOpened());
    for (int i = 0; i < frames; ++i) {
      writer.write(cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(20 * i)));
    }
    writer.release();
    return Path(name);
  }

  std::unique_ptr<FrameSource> Open(const std::string& spec) const {
    return OpenSource(spec, clock_);
  }

  std::vector<Frame> ReadAll(FrameSource& source) const {
    std::vector<Frame> frames;
    while (auto frame = source.Next()) frames.push_back(std::move(*frame));
    return frames;
  }

  std::string Refusal(const std::string& spec) const {
    return RefusalOf([&] {
      auto source = Open(spec);
      ReadAll(*source);
    });
  }

  ManualClock clock_;
};

TEST_F(FrameSourceTest, RefusesWhatIsMissingOrEmpty) {
  EXPECT_EQ(Refusal(""), "no source is given");
  EXPECT_EQ(Refusal(Path("missing.mp4")),
            "source " + Path("missing.mp4") + ": no such file or folder");
  EXPECT_EQ(Refusal(folder_),
            "source " + folder_.string() + ": the folder has neither pictures nor .npy files");
  WriteText("empty.mp4", "");
  EXPECT_EQ(Refusal(Path("empty.mp4")), "video " + Path("empty.mp4") + ": cannot be opened");
  WriteText("text.mp4", "this is not a video\n");
  EXPECT_EQ(Refusal(Path("text.mp4")), "video " + Path("text.mp4") + ": cannot be opened");
  EXPECT_NE(Refusal("9999"), "");
  EXPECT_NE(Refusal("nosuchelement ! appsink"), "");
}

TEST_F(FrameSourceTest, ReadsPicturesInTheOrderOfTheirNames) {
  WritePicture("b.png", 8, 6, 20);
  WritePicture("a.JPG.png", 8, 6, 10);
  WritePicture("c.bmp", 8, 6, 30);
  WriteText("notes.txt", "not a picture");
  auto source = Open(folder_);
  EXPECT_FALSE(source->has_tensors());
  const std::vector<Frame> frames = ReadAll(*source);
  ASSERT_EQ(frames.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const Frame& frame = frames[static_cast<size_t>(i)];
    EXPECT_EQ(frame.index, i);
    EXPECT_EQ(frame.picture.width, 8);
    EXPECT_EQ(frame.picture.height, 6);
    EXPECT_EQ(frame.picture.channels, 3);
    EXPECT_EQ(frame.picture.Row(5)[0], 10 * (i + 1));
  }
}

TEST_F(FrameSourceTest, ReadsPicturesOfAnyDepthAndRefusesFloats) {
  cv::imwrite(Path("0.png"), cv::Mat(6, 8, CV_8UC1, cv::Scalar(7)));
  cv::imwrite(Path("1.png"), cv::Mat(6, 8, CV_16UC1, cv::Scalar(257 * 9)));
  cv::imwrite(Path("2.png"), cv::Mat(6, 8, CV_16UC3, cv::Scalar(0, 257 * 11 - 100, 65535)));
  cv::imwrite(Path("3.png"), cv::Mat(6, 8, CV_8UC4, cv::Scalar(1, 2, 3, 128)));
  cv::imwrite(Path("4.tiff"), cv::Mat(6, 8, CV_32FC3, cv::Scalar::all(std::nan(""))));
  auto source = Open(folder_);
  const std::vector<Frame> frames = ReadAll(*source);
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_EQ(source->skipped(), 1);
  const std::vector<std::vector<int>> expected = {{7, 7, 7}, {9, 9, 9}, {0, 11, 255}, {1, 2, 3}};
  for (size_t i = 0; i < frames.size(); ++i) {
    ASSERT_EQ(frames[i].picture.channels, 3);
    for (size_t c = 0; c < 3; ++c) EXPECT_EQ(frames[i].picture.Row(5)[c], expected[i][c]) << i;
  }
  for (int i = 0; i < 4; ++i) fs::remove(Path(std::to_string(i) + ".png"));
  EXPECT_NE(Refusal(folder_).find("4.tiff"), std::string::npos) << Refusal(folder_);
}

TEST_F(FrameSourceTest, WhiteIsWhatANetpbmFileSays) {
  const auto level = [this](const std::string& name, const std::string& bytes) {
    WriteText(name, bytes);
    return int{ReadAll(*Open(Path(name)))[0].picture.Row(0)[0]};
  };
  using namespace std::string_literals;
  EXPECT_EQ(level("0.pgm", "P5\n2 1\n1023\n\x02\x00\x03\xff"s), 128);
  EXPECT_EQ(level("1.pgm", "P5 # of 12 bits\n2 # wide\n1\n4095\n\x08\x00\x00\x00"s), 128);
  EXPECT_EQ(level("2.pgm", "P5\n2 1\n65535\n\x80\x80\x00\x00"s), 128);
  EXPECT_EQ(level("3.pgm", "P5\n2 1\n100\n\x32\x00"s), 128);
  EXPECT_EQ(level("4.pgm", "P5\n2 1\n255\n\x32\x00"s), 50);
  EXPECT_EQ(level("5.pgm", "P5\n2 1\n1023\n\x08\x00\x03\xff"s), 255) << "more than white";
  EXPECT_EQ(level("6.ppm", "P6\n1 1\n1023\n\x00\x00\x00\x00\x02\x00"s), 128);  // blue
  EXPECT_EQ(level("7.pgm", "P2\n2 1\n1023\n512 0\n"), 128);
  EXPECT_EQ(level("8.ppm", "P3\n1 1\n1023\n0 0 512\n"), 128);
  EXPECT_EQ(level("9.pgm", "P2\n2 1\n100\n50 0\n"), 127) << "as OpenCV rounds";
}

// NaN in a tensor is the user's affair: it reaches the network as it is.
TEST_F(FrameSourceTest, TensorsMayHoldWhatIsNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  WriteNpy(Path("0.npy"), std::vector<int64_t>{1, 2}, std::vector<float>{nan, 1.0f});
  auto source = Open(folder_);
  const std::vector<Frame> frames = ReadAll(*source);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_TRUE(std::isnan(frames[0].tensor.view().data[0]));
  EXPECT_EQ(frames[0].tensor.view().data[1], 1.0f);
}

TEST_F(FrameSourceTest, SkipsAndCountsBrokenPictures) {
  WritePicture("0.png", 8, 6, 0);
  WriteText("1.png", "broken");
  WriteText("2.jpg", "");
  WritePicture("3.png", 4, 4, 30);
  auto source = Open(folder_);
  const std::vector<Frame> frames = ReadAll(*source);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[1].index, 3);
  EXPECT_EQ(frames[1].picture.width, 4);
  EXPECT_EQ(source->skipped(), 2);
}

TEST_F(FrameSourceTest, RefusesAFolderWithoutAnyGoodPicture) {
  WriteText("0.png", "broken");
  EXPECT_NE(Refusal(folder_).find("no frame can be read"), std::string::npos);
}

TEST_F(FrameSourceTest, AFolderMayBeNamedLikeACamera) {
  const fs::path before = fs::current_path();
  fs::create_directories(Path("2024"));
  WritePicture("2024/0.png", 8, 6, 5);
  fs::current_path(folder_);
  EXPECT_EQ(ReadAll(*Open("2024")).size(), 1u);
  fs::current_path(before);
  EXPECT_EQ(Refusal("2024"), "camera 2024: cannot be opened");
  EXPECT_EQ(Refusal("20240101"), "source 20240101: no such file or folder");
}

TEST_F(FrameSourceTest, ReadsOnePictureAsAVideoOfOneFrame) {
  WritePicture("0.png", 8, 6, 5);
  WritePicture("Go!.png", 8, 6, 5);  // no pipeline
  for (const char* name : {"0.png", "Go!.png"}) {
    auto source = Open(Path(name));
    EXPECT_EQ(ReadAll(*source).size(), 1u) << name;
  }
}

TEST_F(FrameSourceTest, ReadsTensorsAndSkipsBrokenOnes) {
  const std::vector<int64_t> shape = {1, 2, 1, 3};
  WriteNpy(Path("000000.npy"), shape, std::vector<float>{1, 2, 3, 4, 5, 6});
  WriteText("000001.npy", "broken");
  WriteNpy(Path("000002.npy"), std::vector<int64_t>{0}, std::vector<float>{});
  WriteNpy(Path("000003.npy"), std::vector<int64_t>{1, 1, 1, 1}, std::vector<int64_t>{1});
  WriteNpy(Path("000004.npy"), shape, std::vector<float>{6, 5, 4, 3, 2, 1});
  auto source = Open(folder_);
  EXPECT_TRUE(source->has_tensors());
  const std::vector<Frame> frames = ReadAll(*source);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].tensor.shape(), shape);
  EXPECT_EQ(frames[0].tensor.data()[5], 6.0f);
  EXPECT_EQ(frames[1].index, 4);
  EXPECT_EQ(source->skipped(), 3);
}

TEST_F(FrameSourceTest, RefusesAFolderOfBoth) {
  WritePicture("0.png", 8, 6, 5);
  WriteNpy(Path("0.npy"), std::vector<int64_t>{1, 1, 1, 1}, std::vector<float>{1});
  EXPECT_NE(Refusal(folder_).find("both"), std::string::npos);
}

TEST_F(FrameSourceTest, ReadsVideosWithTheirTimes) {
  auto source = Open(WriteVideo("v.avi", 5));
  EXPECT_EQ(source->frame_rate(), 25);
  EXPECT_FALSE(source->is_live());
  const std::vector<Frame> frames = ReadAll(*source);
  ASSERT_EQ(frames.size(), 5u);
  for (int i = 0; i < 5; ++i) {
    const Frame& frame = frames[static_cast<size_t>(i)];
    EXPECT_EQ(frame.index, i);
    EXPECT_EQ(frame.stamp, std::chrono::milliseconds(40 * i));
    EXPECT_EQ(frame.picture.width, 64);
    EXPECT_EQ(frame.picture.height, 48);
    EXPECT_NEAR(frame.picture.Row(20)[30], 20 * i, 4);
  }
}

// A list of pictures for libavformat, which says how long each is shown.
TEST_F(FrameSourceTest, FramesOfAVariableRateComeWhenTheFileSays) {
  for (const char* name : {"0.jpg", "1.jpg", "2.jpg"}) WritePicture(name, 64, 48, 9);
  WriteText("v.ffconcat",
            "ffconcat version 1.0\nfile 0.jpg\nduration 0.2\nfile 1.jpg\nduration 2\n"
            "file 2.jpg\n");
  const std::vector<Frame> frames = ReadAll(*Open(Path("v.ffconcat")));
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].stamp, std::chrono::milliseconds(0));
  EXPECT_EQ(frames[1].stamp, std::chrono::milliseconds(200));
  EXPECT_EQ(frames[2].stamp, std::chrono::milliseconds(2200));
}

// Of the last frames of H.264 OpenCV does not say when they are.
TEST_F(FrameSourceTest, FramesWhoseTimesAreNotToldGoOnByTheRate) {
  std::unique_ptr<VideoWriter> writer =
      LoadOpenCvFiles().write(Path("v.mp4"), /*is_h264=*/true, 25, {64, 48});
  if (writer == nullptr) GTEST_SKIP() << "libavcodec has no encoder for H.264";
  for (int i = 0; i < 12; ++i) writer->Write(cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(20 * i)));
  writer.reset();
  const std::vector<Frame> frames = ReadAll(*Open(Path("v.mp4")));
  ASSERT_EQ(frames.size(), 12u);
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(frames[static_cast<size_t>(i)].stamp, std::chrono::milliseconds(40 * i));
  }
}

TEST_F(FrameSourceTest, ReadsWhatIsLeftOfAVideoCutShort) {
  const std::string bytes = ReadFile(WriteVideo("v.avi", 10));
  for (const double share : {0.9, 0.6, 0.5}) {
    WriteText("cut.avi", bytes.substr(0, static_cast<size_t>(share * bytes.size())));
    try {
      auto source = Open(Path("cut.avi"));
      EXPECT_LE(ReadAll(*source).size(), 10u);
    } catch (const InputError&) {
    }
  }
}

TEST_F(FrameSourceTest, SurvivesDamageInTheMiddleOfAVideo) {
  std::string bytes = ReadFile(WriteVideo("v.avi", 10));
  const size_t middle = bytes.find("00dc", bytes.size() / 2);
  ASSERT_NE(middle, std::string::npos);
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(middle) + 8, 40, '\0');
  WriteText("damaged.avi", bytes);
  auto source = Open(Path("damaged.avi"));
  const size_t count = ReadAll(*source).size();
  EXPECT_GE(count, 8u);
  EXPECT_LE(count, 10u);
}

TEST_F(FrameSourceTest, ReadsPipelinesAndStampsTheirFramesByTheClock) {
  std::unique_ptr<FrameSource> source;
  try {
    source =
        Open("videotestsrc num-buffers=3 ! video/x-raw,width=64,height=48,format=BGR ! appsink");
  } catch (const InputError&) {
    GTEST_SKIP() << "OpenCV has no GStreamer, or gstreamer1.0-plugins-base is not installed";
  }
  EXPECT_TRUE(source->is_live());
  clock_.Advance(std::chrono::seconds(1));
  const std::vector<Frame> frames = ReadAll(*source);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[2].picture.width, 64);
  EXPECT_EQ(frames[2].stamp, std::chrono::seconds(1));
}

TEST_F(FrameSourceTest, NamesWhatIsWrongInAPipelineAtOnce) {
  const auto refusal = [&](const std::string& pipeline) {
    return RefusalOf([&] { OpenSource(pipeline, clock_, {std::chrono::seconds(1000), {}}); });
  };
  EXPECT_EQ(refusal("videotestsrc ! autovideosink"),
            "pipeline \"videotestsrc ! autovideosink\": has no appsink; let it end with \"… ! "
            "appsink\"");
#ifdef CACHEINF_HAS_GSTREAMER
  EXPECT_EQ(refusal("videotestsrcc ! appsink"),
            "pipeline \"videotestsrcc ! appsink\": no element \"videotestsrcc\"; gst-inspect-1.0 "
            "lists what this machine has");
  EXPECT_NE(refusal("fakesrc num-bufers=3 ! appsink").find("\"num-bufers\""), std::string::npos);
#endif
}

TEST_F(FrameSourceTest, ConvertsWhatCamerasDeliverOrRefusesIt) {
  const std::string source =
      "videotestsrc num-buffers=2 pattern=red ! video/x-raw,width=64,height=48";
  try {
    Open(source + ",format=BGR ! appsink");
  } catch (const InputError&) {
    GTEST_SKIP() << "OpenCV has no GStreamer, or gstreamer1.0-plugins-base is not installed";
  }
  const std::unique_ptr<FrameSource> yuyv = Open(source + ",format=YUY2 ! appsink");
  const std::optional<Frame> frame = yuyv->Next();
  ASSERT_TRUE(frame);
  ASSERT_EQ(frame->picture.channels, 3);
  EXPECT_LT(frame->picture.Row(20)[30 * 3 + 0], 20);
  EXPECT_LT(frame->picture.Row(20)[30 * 3 + 1], 20);
  EXPECT_GT(frame->picture.Row(20)[30 * 3 + 2], 235);
  for (const char* format : {"BGRx", "GRAY8", "GRAY16_LE"}) {
    SCOPED_TRACE(format);
    const std::unique_ptr<FrameSource> other = Open(source + ",format=" + format + " ! appsink");
    const std::optional<Frame> converted = other->Next();
    ASSERT_TRUE(converted);
    const int channels = converted->picture.channels;
    const uint8_t* const pixel = converted->picture.Row(20) + ptrdiff_t{30} * channels;
    if (channels == 1) {
      EXPECT_NEAR(pixel[0], 70, 30);  // red's brightness, in whatever norm
    } else {
      EXPECT_LT(pixel[0], 20);
      EXPECT_GT(pixel[2], 235);
    }
  }
  for (const char* format : {"I420", "NV12"}) {
    EXPECT_NE(Refusal(source + ",format=" + format + " ! appsink").find("videoconvert"),
              std::string::npos);
  }
}

// OpenCV would take the first colour for blue, or brightness for colour.
TEST_F(FrameSourceTest, RefusesPipelinesThatEndInAnotherOrderOfColours) {
  const std::string source = "videotestsrc num-buffers=2 ! video/x-raw,width=64,height=48,format=";
  for (const std::string format : {"RGB", "RGBx", "RGBA", "xBGR", "UYVY", "YVYU", "I420", "NV12"}) {
    const std::string refusal = Refusal(source + format + " ! appsink");
    EXPECT_NE(refusal.find("format " + format + " is not supported"), std::string::npos) << refusal;
    EXPECT_NE(Refusal(source + "(string)" + format + ", framerate=30/1!appsink name=x")
                  .find("format " + format),
              std::string::npos);
    // After a conversion the order does not matter.
    EXPECT_EQ(Refusal(source + format + " ! videoconvert ! appsink").find("not supported"),
              std::string::npos);
  }
}

TEST(PictureFromTest, ConvertsToEightBits) {
  const Picture grey = PictureFrom(cv::Mat(4, 6, CV_16UC1, cv::Scalar(65535)));
  EXPECT_EQ(grey.channels, 1);
  EXPECT_EQ(grey.Row(3)[5], 255);
  const Picture colours = PictureFrom(cv::Mat(4, 6, CV_16UC3, cv::Scalar(0, 257 * 7, 257 * 255)));
  EXPECT_EQ(colours.channels, 3);
  EXPECT_EQ(colours.Row(1)[3], 0);
  EXPECT_EQ(colours.Row(1)[4], 7);
  EXPECT_EQ(colours.Row(1)[5], 255);
  const Picture opaque = PictureFrom(cv::Mat(4, 6, CV_8UC4, cv::Scalar(1, 2, 3, 4)));
  EXPECT_EQ(opaque.channels, 3);
  EXPECT_EQ(opaque.Row(3)[17], 3);
  for (const int type : {CV_32FC1, CV_32FC3, CV_64FC3, CV_16SC1, CV_8SC3}) {
    EXPECT_THROW(PictureFrom(cv::Mat(4, 6, type, cv::Scalar(1))), InputError);
  }
  EXPECT_THROW(PictureFrom(cv::Mat(4, 5, CV_8UC2, cv::Scalar(1))), InputError);
}

TEST_F(FrameSourceTest, GeneratesScenesWithTheirTruth) {
  auto source = Open("generated:seed=7,frames=3,width=64,height=48,camera=travel");
  const std::vector<Frame> frames = ReadAll(*source);
  ASSERT_EQ(frames.size(), 3u);
  for (const Frame& frame : frames) {
    EXPECT_EQ(frame.picture.width, 64);
    EXPECT_EQ(frame.picture.channels, 3);
    ASSERT_EQ(frame.truth.width, 64);
    ASSERT_EQ(frame.truth.height, 48);
    ASSERT_EQ(frame.truth.channels, 1);
    EXPECT_LT(*std::max_element(frame.truth.Row(0), frame.truth.Row(48)), kSceneClassCount);
  }
  EXPECT_FALSE(
      std::equal(frames[0].picture.Row(0), frames[0].picture.Row(48), frames[2].picture.Row(0)));
  auto again = Open("generated:seed=7,frames=3,width=64,height=48,camera=travel");
  const std::vector<Frame> same = ReadAll(*again);
  EXPECT_TRUE(
      std::equal(frames[2].picture.Row(0), frames[2].picture.Row(48), same[2].picture.Row(0)));
}

// At each cut the next seed's scene begins, from its first frame.
TEST_F(FrameSourceTest, CutsFromSceneToScene) {
  const std::string size = ",width=64,height=48";
  const std::vector<Frame> cut = ReadAll(*Open("generated:seed=7,frames=5,cut=2" + size));
  const std::vector<Frame> first = ReadAll(*Open("generated:seed=7,frames=2" + size));
  const std::vector<Frame> second = ReadAll(*Open("generated:seed=8,frames=2" + size));
  ASSERT_EQ(cut.size(), 5u);
  const auto same = [](const Picture& a, const Picture& b) {
    return std::equal(a.Row(0), a.Row(0) + 48 * a.row_stride, b.Row(0));
  };
  EXPECT_TRUE(same(cut[1].picture, first[1].picture));
  EXPECT_TRUE(same(cut[2].picture, second[0].picture));
  EXPECT_TRUE(same(cut[3].picture, second[1].picture));
  EXPECT_TRUE(same(cut[3].truth, second[1].truth));
  EXPECT_FALSE(same(cut[3].picture, first[1].picture));
  EXPECT_EQ(cut[4].index, 4);
}

TEST_F(FrameSourceTest, NamesWhatIsWrongWithAGeneratedSource) {
  EXPECT_NE(Refusal("generated:cut=-1"), "");
  EXPECT_EQ(Refusal("generated:sead=7"),
            "generated source: unknown key \"sead\"; did you mean \"seed\"?");
  EXPECT_EQ(Refusal("generated:seed"), "generated source: \"seed\" is not of the form key=value");
  EXPECT_EQ(Refusal("generated:frames=x"),
            "generated source: frames must be an integer, got \"x\"");
  EXPECT_NE(Refusal("generated:width=-4"), "");
  EXPECT_NE(Refusal("generated:camera=flying"), "");
}

}  // namespace
}  // namespace cacheinf
